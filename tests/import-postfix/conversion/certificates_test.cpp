// TLS: levels, certificates that are shown, and clients that relay by theirs.
#include "tests/import-postfix/conversion/machine.h"

using namespace postrider;

TEST_CASE("what goes in plain text") {
    const std::string dovecot =
        "smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = private/auth\n";
    const auto required = drafted(dovecot + "smtpd_tls_security_level = encrypt\n"); // without a certificate
    CHECK(key(required, "listen.smtp.tls") == "\"require\"");
    CHECK(key(required, "listen.smtp.auth_without_tls") == "-");
    const auto only = imported(dovecot + "smtpd_tls_auth_only = yes\n");
    CHECK(key(only, "listen.smtp.auth") == "false");
    CHECK(key(imported(dovecot), "listen.smtp.auth_without_tls") == "true"); // as in Postfix
}

TEST_CASE("a service that tells Postfix of MTA-STS") {
    CHECK(
        key(imported("smtp_tls_security_level = dane\nsmtp_tls_policy_maps = socketmap:inet:127.0.0.1:8461:postfix\n"),
            "smtp_client.tls") == "\"sts\"");
    CHECK(key(imported(
                  "smtp_tls_security_level = encrypt\nsmtp_tls_policy_maps = socketmap:inet:127.0.0.1:8461:postfix\n"),
              "smtp_client.tls") == "\"encrypt\"");
}

TEST_CASE("certificates that servers are shown are kept") {
    auto from = imported("smtp_tls_cert_file = /pf/c.pem\nsmtp_tls_key_file = /pf/c.key\nsmtp_tls_eccert_file = "
                         "/pf/e.pem\nsmtp_tls_eckey_file = /pf/e.key\n");
    CHECK(key(from, "smtp_client.tls_certificates") == R"(["/pf/c.pem", "/pf/e.pem"])");
    CHECK(key(from, "smtp_client.tls_keys") == R"(["/pf/c.key", "/pf/e.key"])");
    CHECK(result_of(from, "smtp_tls_cert_file").kind != SettingResult::Kind::unsupported); // the files are not there
    from = imported("smtp_tls_cert_file = /pf/c.pem\n");
    CHECK(key(from, "smtp_client.tls_certificates") == R"(["/pf/c.pem"])");
    CHECK(key(from, "smtp_client.tls_keys") == "-");
    from = imported("smtp_tls_chain_files = /pf/k.pem, /pf/c.pem\nsmtp_tls_cert_file = /pf/old.pem\n",
                    {{"/pf/k.pem", "-----BEGIN PRIVATE KEY-----\n"}, {"/pf/c.pem", "-----BEGIN CERTIFICATE-----\n"}});
    CHECK(key(from, "smtp_client.tls_certificates") == R"(["/pf/c.pem"])");
    CHECK(key(from, "smtp_client.tls_keys") == R"(["/pf/k.pem"])");
}

TEST_CASE("clients that relay by their certificates go on doing so, if the fingerprints are by SHA-256") {
    const std::string tls = "smtpd_tls_cert_file = /pf/c.pem\nsmtpd_tls_security_level = may\nsmtpd_tls_ask_ccert = "
                            "yes\nrelay_clientcerts = texthash:/pf/clients\n",
                      permit = "smtpd_relay_restrictions = permit_mynetworks permit_tls_clientcerts "
                               "reject_unauth_destination\n",
                      service = "smtp inet n - n - - smtpd\n";
    const std::map<std::string, std::string> files = {{"/pf/clients", "AB:CD shop\n"}};
    auto from = imported(tls + permit + "smtpd_tls_fingerprint_digest = sha256\n", files, service);
    CHECK(key(from, "listen.smtp.client_certificates") == "true");
    CHECK(key(from, "relay.client_certificates") == R"(["text:/pf/clients"])");
    from = imported(tls + permit + "smtpd_tls_fingerprint_digest = md5\n", files, service);
    CHECK(key(from, "relay.client_certificates") == "-");
    CHECK(result_of(from, "relay_clientcerts").kind == SettingResult::Kind::unsupported);
    from = imported(tls + "smtpd_tls_fingerprint_digest = sha256\n", files, service); // nothing lets them relay
    CHECK(key(from, "relay.client_certificates") == "-");

    const std::string required = "smtpd_tls_cert_file = /pf/c.pem\nsmtpd_tls_security_level = encrypt\n"
                                 "smtpd_tls_req_ccert = yes\nsmtpd_tls_CAfile = /pf/ca.pem\n";
    from = imported(required + "smtpd_relay_restrictions = permit_tls_all_clientcerts reject_unauth_destination\n", {},
                    service);
    CHECK(key(from, "listen.smtp.client_certificate_required") == "true");
    CHECK(key(from, "relay.verified_client_certificates") == "true");
}

TEST_CASE("a table of certificates that only other lists use is not lost in silence") {
    const auto from =
        imported("smtpd_tls_cert_file = /pf/c.pem\nsmtpd_tls_security_level = may\nsmtpd_tls_ask_ccert = yes\n"
                 "relay_clientcerts = texthash:/pf/clients\nsmtpd_tls_fingerprint_digest = sha256\n"
                 "smtpd_client_restrictions = permit_mynetworks, permit_tls_clientcerts, reject\n"
                 "smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination\n",
                 {{"/pf/clients", "AB:CD shop\n"}});
    CHECK(key(from, "relay.client_certificates") == "-");
    CHECK(result_of(from, "relay_clientcerts").kind == SettingResult::Kind::unsupported);
}

TEST_CASE("certificates permit relaying only because a word says so, and where it does") {
    const std::string tls =
        "smtpd_tls_cert_file = /pf/c.pem\nsmtpd_tls_security_level = may\nsmtpd_tls_ask_ccert = yes\n"
        "smtpd_tls_CAfile = /pf/ca.pem\nrelay_clientcerts = texthash:/pf/clients\n"
        "smtpd_tls_fingerprint_digest = sha256\n"
        "smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination\n";
    const std::map<std::string, std::string> files = {{"/pf/clients", "AB:CD shop\n"}};
    const std::string smtp = "smtp inet n - n - - smtpd\n";
    // "permit" on the port of a content filter is not about certificates.
    auto from = imported(tls, files,
                         smtp + "127.0.0.1:10025 inet n - n - - smtpd -o smtpd_relay_restrictions=permit -o "
                                "smtpd_recipient_restrictions=permit\n");
    CHECK(key(from, "relay.verified_client_certificates") == "-");
    CHECK(key(from, "relay.client_certificates") == "-");
    // One listener's word would permit it on the others, too: that is to be decided.
    for (const auto* word : {"permit_tls_all_clientcerts", "permit_tls_clientcerts"}) {
        from = drafted(tls, files,
                       smtp + "2525 inet n - n - - smtpd -o smtpd_relay_restrictions=" + word +
                           ",reject_unauth_destination\n");
        const auto lines = undecided(from);
        CHECK_MESSAGE(
            std::ranges::any_of(lines, [&](const auto& line) { return line.find(word) != std::string::npos; }), word);
    }
}
