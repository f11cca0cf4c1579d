// What guarded in Postfix is carried over, or a line of [undecided] says that it is not: never neither.
#include "tests/import-postfix/conversion/machine.h"

using namespace postrider;

namespace {

std::string all(const std::vector<std::string>& lines) {
    std::string out;
    for (const auto& line : lines) out += line + "\n";
    return out;
}

const std::string sasl = "smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = private/auth\n";
const std::string open_list = "smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination, ";

} // namespace

TEST_CASE("a guard of main.cf that has no counterpart is a line to decide about, at its line") {
    struct Row {
        std::string main, guard, advice;
        std::map<std::string, std::string> files = {};
    };
    const Row rows[] = {
        // Filters and checks of content.
        {"content_filter = amavis:[127.0.0.1]:10024", "content_filter = amavis:[127.0.0.1]:10024", "not a transport"},
        {"content_filter = smtp:scanner.example", "content_filter = smtp:scanner.example", "in brackets"},
        {"smtpd_proxy_filter = 127.0.0.1:10024", "smtpd_proxy_filter = 127.0.0.1:10024", "[milter]"},
        {"smtpd_milters = inet:milter.example:8891", "smtpd_milters", "numeric address"},
        {"non_smtpd_milters = inet:milter.example:8891", "non_smtpd_milters", "numeric address"},
        {"smtpd_milter_maps = cidr:/x", "smtpd_milter_maps = cidr:/x", "listener"},
        {"body_checks = pcre:/x", "body_checks: pcre:/x", "there is no such file"},
        {"mime_header_checks = pcre:/x", "mime_header_checks: pcre:/x", "there is no such file"},
        {"nested_header_checks = pcre:/x", "nested_header_checks: pcre:/x", "there is no such file"},
        {"smtp_header_checks = pcre:/x", "smtp_header_checks: pcre:/x", "there is no such file"},
        {"smtp_body_checks = pcre:/x", "smtp_body_checks: pcre:/x", "there is no such file"},
        {"smtp_header_checks = pcre:/pf/h",
         "smtp_header_checks: pcre:/pf/h line 1",
         "can only be changed",
         {{"/pf/h", "/^X-A:/ REJECT\n"}}},
        {"lmtp_header_checks = pcre:/x", "lmtp_header_checks = pcre:/x", "over LMTP"},
        {"milter_header_checks = pcre:/x", "milter_header_checks = pcre:/x", "milter"},
        {"header_checks = pcre:/no/such", "header_checks: pcre:/no/such", "there is no such file"},
        {"header_checks = hash:/pf/h", "header_checks: hash:/pf/h", "regular expressions", {{"/pf/h", "x y\n"}}},
        {"header_checks = pcre:/pf/h",
         "header_checks: pcre:/pf/h line 2",
         "in brackets",
         {{"/pf/h", "/^X-A:/ IGNORE\n/^X-B:/ FILTER smtp:scan.example\n"}}},
        {"header_checks = pcre:/pf/h",
         "header_checks: pcre:/pf/h line 1",
         "missing closing parenthesis at 1; the rules up to its endif are left out",
         {{"/pf/h", "if /(/\n/^X-B:/ REJECT\nendif\n"}}},
        {"header_checks = pcre:/pf/h",
         "header_checks: pcre:/pf/h line 2",
         "in brackets",
         {{"/pf/h", "if /^X-/\n/^X-B:/ FILTER smtp:scan.example\nendif\n"}}},
        {"message_reject_characters = \\0", "message_reject_characters", "[milter]"},
        {"strict_8bitmime = yes", "strict_8bitmime = yes", ""},
        // Who may send, and what.
        {"smtpd_client_restrictions = check_ccert_access hash:/x\nsmtpd_tls_fingerprint_digest = md5",
         "smtpd_client_restrictions: check_ccert_access hash:/x", "SHA-256"},
        {"smtpd_helo_restrictions = reject_unheard_of", "smtpd_helo_restrictions: reject_unheard_of", "policy service"},
        {"smtpd_sender_restrictions = permit_mynetworks, reject_unlisted_sender",
         "smtpd_sender_restrictions: reject_unlisted_sender", "not looked up"},
        {open_list + "reject_unlisted_sender", "reject_unlisted_sender", "not looked up"},
        {open_list + "reject_non_fqdn_sender, reject_unlisted_sender", "reject_unlisted_sender", "not looked up"},
        {open_list + "reject_rbl_client bl\"x.example", "reject_rbl_client", "name the zone"},
        {open_list + "reject_non_fqdn_sender, reject_rbl_client bl\"x.example", "reject_rbl_client",
         "not a valid zone"},
        {open_list + "check_policy_service inet:policy.example:10023", "check_policy_service", "numeric address"},
        {open_list + "reject_non_fqdn_sender, check_policy_service inet:policy.example:10023", "check_policy_service",
         "numeric address"},
        {"smtpd_restriction_classes = strict\nstrict = reject_unlisted_sender\n" + open_list + "strict",
         "strict: reject_unlisted_sender", "not looked up"},
        {"smtpd_restriction_classes = strict\n" + open_list + "strict", "smtpd_restriction_classes: strict",
         "not defined"},
        {"smtpd_data_restrictions = reject_unlisted_sender", "smtpd_data_restrictions: reject_unlisted_sender", ""},
        // Tables with results that are not here.
        {"smtpd_sender_restrictions = check_sender_access hash:/pf/s",
         "check_sender_access hash:/pf/s: b.example FILTER smtp:scan.example",
         "in brackets",
         {{"/pf/s",
           "a.example REJECT\nb.example FILTER smtp:scan.example\nc.example FILTER smtp:[127.0.0.1]:10024\n"}}},
        {"smtpd_sender_restrictions = check_sender_access pcre:/pf/s",
         "check_sender_access pcre:/pf/s line 2",
         "not a transport",
         {{"/pf/s", "/a/ FILTER smtp:[127.0.0.1]:10024\n/b/ FILTER scan:[127.0.0.1]:10024\n"}}},
        {"smtpd_sender_restrictions = check_sender_access hash:/pf/s",
         "check_sender_access hash:/pf/s: a.example reject_unlisted_sender",
         "not supported",
         {{"/pf/s", "a.example reject_unlisted_sender\n"}}},
        {"smtpd_sender_restrictions = check_sender_access unix:passwd.byname", "check_sender_access unix:passwd.byname",
         "could not be converted"},
        {"smtpd_reject_unlisted_sender = yes", "smtpd_reject_unlisted_sender = yes", ""},
        {"local_login_sender_maps = hash:/x", "local_login_sender_maps", "any sender"},
        {"authorized_submit_users = !www-data, static:all", "authorized_submit_users", "Every user"},
        {"authorized_mailq_users = root", "authorized_mailq_users", "Every user"},
        {"local_recipient_maps = nis:x", "local_recipient_maps = nis:x", ""},
        // Accepted, and returned by delivery; accepted for nobody.
        {"local_recipient_maps = hash:/x\nmailbox_transport = lmtp:unix:/run/lmtp", "local_recipient_maps = hash:/x",
         "virtual_mailbox.domains"},
        {"local_recipient_maps = unix:passwd.byname hash:/x\nmailbox_transport_maps = hash:/y", "local_recipient_maps",
         "virtual_mailbox.domains"},
        {"local_recipient_maps = hash:/x\nfallback_transport_maps = hash:/y", "local_recipient_maps",
         "virtual_mailbox.domains"},
        {"local_recipient_maps =\nfallback_transport = lmtp:unix:/run/lmtp",
         "local_recipient_maps =", "virtual_mailbox.domains"},
        {"local_recipient_maps =\nfallback_transport = lmtp:unix:/run/lmtp\nluser_relay = ann",
         "local_recipient_maps =", "goes to local.catch_all"},
        {"postscreen_access_list = cidr:/x\npostscreen_denylist_action = drop", "", ""}, // no postscreen: see below
        // Limits.
        {"smtpd_client_auth_rate_limit = 5", "smtpd_client_auth_rate_limit = 5", "auth.failures_per_network"},
        {"smtpd_client_new_tls_session_rate_limit = 5", "smtpd_client_new_tls_session_rate_limit = 5", ""},
        {"smtpd_forbidden_commands = CONNECT GET POST USER", "smtpd_forbidden_commands", ""},
        // TLS and SASL.
        {"smtpd_tls_req_ccert = yes\nsmtpd_tls_security_level = encrypt\nsmtpd_tls_cert_file = /x",
         "smtpd_tls_req_ccert", "tls.client_ca_file"},
        {"smtp_tls_fingerprint_cert_match = ab:cd", "smtp_tls_fingerprint_cert_match = ab:cd", "not pinned"},
        {"smtp_tls_secure_cert_match = nexthop", "smtp_tls_secure_cert_match = nexthop", "host name"},
        {"smtp_tls_trust_anchor_file = /x", "smtp_tls_trust_anchor_file = /x", "tls_ca_file"},
        {"smtp_tls_security_level = verify\nsmtp_tls_CApath = /x", "smtp_tls_CApath = /x", "tls_ca_file"},
        {"smtp_tls_security_level = secure", "smtp_tls_security_level = secure", "DNS"},
        {"smtp_tls_mandatory_exclude_ciphers = ECDHE-RSA-AES128-SHA", "smtp_tls_mandatory_exclude_ciphers",
         "tls_ciphers"},
        {"smtpd_tls_mandatory_exclude_ciphers = ECDHE-RSA-AES128-SHA", "smtpd_tls_mandatory_exclude_ciphers",
         "tls.ciphers"},
        {"smtpd_tls_exclude_ciphers = !AES", "smtpd_tls_exclude_ciphers", "tls.ciphers"},
        {"tls_medium_cipherlist = ECDHE-RSA-AES128-GCM-SHA256", "tls_medium_cipherlist", "tls.ciphers"},
        {"smtp_tls_CApath = /x\nsmtp_tls_policy_maps = inline:{a.example=verify}", "smtp_tls_CApath = /x",
         "tls_ca_file"},
        {"smtp_tls_per_site = hash:/x", "smtp_tls_per_site = hash:/x", "route"},
        {"lmtp_tls_security_level = encrypt", "lmtp_tls_security_level = encrypt", "route"},
        {"smtp_tls_policy_maps = inline:{{a.example=secure match=x}}", "smtp_tls_policy_maps: a.example", "match=x"},
        {"smtp_tls_policy_maps = inline:{[a.example]:587=encrypt}", "smtp_tls_policy_maps: [a.example]:587", "[route]"},
        {"smtp_tls_security_level = encrypt\nsmtp_tls_policy_maps = socketmap:inet:127.0.0.1:8461:postfix",
         "smtp_tls_policy_maps: socketmap:inet:127.0.0.1:8461:postfix", "MTA-STS"},
        {sasl + "smtpd_sasl_security_options = noanonymous, nodictionary",
         "smtpd_sasl_security_options = noanonymous, nodictionary", "auth.mechanisms"},
        {sasl + "smtpd_sasl_exceptions_networks = !10.0.0.0/8, static:all", "smtpd_sasl_exceptions_networks",
         "listener"},
        {sasl + "smtpd_sasl_mechanism_filter = scram-sha-256", "smtpd_sasl_mechanism_filter", "auth.mechanisms"},
        {"smtp_sasl_mechanism_filter = scram-sha-256", "smtp_sasl_mechanism_filter", ".auth"},
        // Mail that does not leave.
        {"relay_domains = pgsql:/x\ndefault_transport = error:this host sends no mail", "default_transport",
         "postrider pause all"},
        {"relay_domains = pgsql:/x\ndefault_transport = discard:", "default_transport", "mail leaves"},
        {"relay_domains = r.example, pgsql:/x\nrelay_transport = discard:", "relay_transport", "[route]"},
        {"mydestination = a.example, pgsql:/x\nlocal_transport = error:no local mail", "local_transport", "users"},
        // Mail that gets to somebody else.
        {"mydestination = a.example\nlocal_transport = virtual", "local_transport = virtual", "users of this system"},
        {"mailbox_transport = spam-filter", "mailbox_transport = spam-filter", "mailboxes of this system"},
        {"relayhost = # relay.example will be set later", "relayhost = # relay.example", "not a supported next hop"},
        // A limit that Postfix's virtual(8) sets.
        {"virtual_mailbox_domains = b.example\nvirtual_mailbox_base = /srv\nvirtual_uid_maps = "
         "static:5000\nvirtual_mailbox_limit = 1000000",
         "virtual_mailbox_limit", "quotas"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.main);
        const auto lines = undecided(drafted(row.main + "\n", row.files));
        if (row.guard.empty()) {
            CHECK_MESSAGE(lines.empty(), all(lines));
            continue;
        }
        const auto found = std::ranges::find_if(lines, [&](const auto& line) {
            return line.starts_with("main.cf:") && line.find(row.guard) != line.npos &&
                   line.find(row.advice) != line.npos;
        });
        CHECK_MESSAGE(found != lines.end(), "none of: " << all(lines));
        for (const auto& line : lines) CHECK(line.size() < 450);
    }
}

TEST_CASE("what guards nothing, or no less than before, is no line") {
    for (
        const auto* main :
        {"",
         "smtpd_banner = hello",
         "append_dot_mydomain = yes",
         "body_checks =",
         "content_filter =",
         "smtpd_client_auth_rate_limit = 0",
         "smtpd_tls_req_ccert = no",
         "smtpd_tls_exclude_ciphers = aNULL, MD5",
         "smtpd_tls_exclude_ciphers = ECDHE-RSA-AES128-SHA",
         "tls_preempt_cipherlist = yes",
         "relay_transport = error:no relaying",
         "smtpd_client_restrictions = permit_mynetworks, permit_tls_clientcerts, sleep 1, permit",
         "smtpd_client_restrictions = warn_if_reject reject_unknown_client_hostname",
         "smtpd_recipient_restrictions = permit_mynetworks, permit_auth_destination, reject",
         "smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination, permit, check_client_access x:y",
         "smtpd_recipient_restrictions = permit_mynetworks, permit_sasl_authenticated, reject_unauth_destination, "
         "reject_unlisted_recipient, reject_unauth_pipelining, reject_rbl_client bl.example",
         "smtpd_client_restrictions = permit_mynetworks, reject",
         "smtpd_client_restrictions = permit_mynetworks, reject\nsmtpd_recipient_restrictions = permit_mynetworks, "
         "check_client_access cidr:/x",
         "postscreen_access_list = permit_mynetworks",
         "default_transport = uucp",
         "virtual_mailbox_limit = 1000000",
         "local_recipient_maps =",
         "local_recipient_maps = proxy:unix:passwd.byname $alias_maps",
         "mailbox_transport = lmtp:unix:/run/lmtp\nalias_maps = hash:/etc/aliases\n"
         "local_recipient_maps = proxy:unix:passwd.byname proxy:hash:/etc/aliases",
         "local_recipient_maps =\nluser_relay = ann",
         "local_recipient_maps = hash:/x\nluser_relay = ann",
         "smtp_tls_security_level = verify",
         "relayhost = [r.example]\nsmtp_tls_security_level = secure",
         "smtp_generic_maps = hash:/x",
         "masquerade_domains = example.com",
         "body_checks_size_limit = 1000",
         "smtpd_etrn_restrictions = reject",
         "smtp_tls_mandatory_ciphers = high"}) {
        CAPTURE(main);
        const auto lines = undecided(drafted(std::string(main) + "\n"));
        CHECK_MESSAGE(lines.empty(), all(lines));
    }
}

TEST_CASE("every setting of which the table says that it guards is carried over or a line") {
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows) {
            if (row.conversion != Conversion::none || row.if_lost != IfLost::unguarded) continue;
            if (row.name.find('*') != row.name.npos || row.name.starts_with("postscreen_")) continue;
            CAPTURE(row.name);
            const bool files = row.name == "virtual_mailbox_limit"; // of virtual(8)
            const auto lines = undecided(drafted(fmt::format(
                "{}{} = 77\n", files ? "virtual_mailbox_domains = b.example\nvirtual_mailbox_base = /srv\n" : "",
                row.name)));
            CHECK_MESSAGE(
                std::ranges::any_of(lines, [&](const auto& line) { return line.find(row.name) != line.npos; }),
                all(lines));
        }
}

TEST_CASE("what services of master.cf guard themselves") {
    struct Row {
        std::string main, master, guard;
    };
    const Row rows[] = {
        {"", "smtp inet n - n - - smtpd -o content_filter=spam:x\n", "smtp inet: content_filter = spam:x"},
        {"", "smtp inet n - n - - smtpd -o smtpd_proxy_filter=x:1\n", "smtp inet: smtpd_proxy_filter = x:1"},
        {"", "smtp inet n - n - - smtpd -o smtpd_client_connection_rate_limit=5\n",
         "smtp inet: smtpd_client_connection_rate_limit = 5"},
        {"", "smtp inet n - n - - smtpd -o smtpd_sender_restrictions=reject_unlisted_sender\n",
         "smtp inet: smtpd_sender_restrictions: reject_unlisted_sender"},
        // Restrictions of the smtpd to which postscreen hands its clients.
        {"smtpd_tls_fingerprint_digest = md5\n",
         "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd -o "
         "smtpd_client_restrictions=check_ccert_access,hash:/x\n",
         "smtpd_client_restrictions: check_ccert_access hash:/x"},
        {"postscreen_access_list = unix:passwd.byname\npostscreen_denylist_action = drop\n",
         "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd\n", "postscreen_access_list: unix:passwd.byname"},
        {"postscreen_access_list = unix:passwd.byname\npostscreen_blacklist_action = enforce\n",
         "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd\n", "postscreen_access_list: unix:passwd.byname"},
        {"postscreen_dnsbl_sites = bl\"x.example\npostscreen_dnsbl_action = enforce\n",
         "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd\n", "postscreen_dnsbl_sites"},
        // Of clients and of cleanup.
        {"", smtp_line + "smtp unix - - n - - smtp -o smtp_tls_security_level=encrypt\n",
         "smtp unix: smtp_tls_security_level = encrypt"},
        {"", smtp_line + "secure unix - - n - - smtp -o smtp_tls_security_level=encrypt\n",
         "secure unix: smtp_tls_security_level = encrypt"},
        {"", smtp_line + "cleanup unix n - n - 0 cleanup -o header_checks=pcre:/x\n",
         "cleanup unix: header_checks = pcre:/x"},
        {"", smtp_line + "pickup unix n - n 60 1 pickup -o content_filter=x:y\n", "pickup unix: content_filter = x:y"},
        // One listener relays for mynetworks, the other does not.
        {"mynetworks = 10.0.0.0/8\n",
         "smtp inet n - n - - smtpd -o smtpd_relay_restrictions=reject_unauth_destination\n"
         "10.0.0.1:2525 inet n - n - - smtpd\n",
         "smtp inet: smtpd_relay_restrictions"},
        {"mynetworks = 10.0.0.0/8\n",
         "smtp inet n - n - - smtpd -o mynetworks=10.1.0.0/16\n2525 inet n - n - - smtpd\n",
         "smtp inet: mynetworks = 10.1.0.0/16"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.master);
        const auto lines = undecided(drafted(row.main, {}, row.master));
        CHECK_MESSAGE(std::ranges::any_of(lines, [&](const auto& line) { return line.find(row.guard) != line.npos; }),
                      "none of: " << all(lines));
    }
    for (const auto* master : {"smtp inet n - n - - smtpd -o smtpd_client_connection_rate_limit=0 -o header_checks=\n",
                               "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd\n",
                               "smtp inet n - n - - smtpd\ncleanup unix n - n - 0 cleanup -o header_checks=\n",
                               "127.0.0.1:25 inet n - n - - smtpd -o mynetworks=127.0.0.0/8\n",
                               "smtp inet n - n - - smtpd\nsmtp unix - - n - - smtp -o syslog_name=x\n"}) {
        CAPTURE(master);
        const auto lines =
            undecided(drafted("mynetworks = 10.0.0.0/8\npostscreen_access_list = permit_mynetworks\n", {}, master));
        CHECK_MESSAGE(lines.empty(), all(lines));
    }
}

TEST_CASE("a cleanup service of a listener's own is named, with what it does to the listener's mail") {
    const std::string master = smtp_line + "submission inet n - y - - smtpd -o smtpd_tls_security_level=encrypt -o "
                                           "smtpd_client_restrictions=permit_sasl_authenticated,reject -o "
                                           "cleanup_service_name=hide\n"
                                           "hide unix n - y - 0 cleanup\n -o header_checks=regexp:/pf/received\n";
    const auto from =
        drafted(sasl + "smtpd_tls_cert_file = /pf/c\n", {{"/pf/c", "x"}, {"/pf/received", "/x/ IGNORE\n"}}, master);
    const auto lines = all(undecided(from));
    CHECK_MESSAGE(lines.find("hide unix: header_checks = regexp:/pf/received") != lines.npos, lines);
    CHECK_MESSAGE(lines.find("submission inet") != lines.npos, lines);
    CHECK(result_of(from, "hide unix").kind == SettingResult::Kind::unsupported);
    CHECK(all(result_of(from, "submission inet").remarks).find("cleanup_service_name = hide") != std::string::npos);
    // The same for all, from main.cf; and one that does nothing of its own.
    const auto everywhere = drafted("cleanup_service_name = hide\n", {}, master);
    CHECK(result_of(everywhere, "cleanup_service_name").kind != SettingResult::Kind::converted);
    const auto plain =
        drafted("", {}, "smtp inet n - n - - smtpd -o cleanup_service_name=same\nsame unix n - n - 0 cleanup\n");
    CHECK(undecided(plain).empty());
}

TEST_CASE("levels of TLS for servers keep their demands") {
    const auto level = [](const std::string& main, std::map<std::string, std::string> files = {}) {
        return key(drafted(main + "smtp_tls_policy_maps = inline:{partner.example=encrypt}\n", std::move(files)),
                   "route.\"partner.example\".tls");
    };
    CHECK(level("") == "\"encrypt\"");
    CHECK(level("smtp_fallback_relay = [f.example]\n") == "\"encrypt\"");
    CHECK(level("relayhost = [r.example]\n") == "-"); // its mail goes to the relay host
    const std::map<std::string, std::string> past = {{"/pf/t", "partner.example smtp:\nother.example :[o.example]\n"}};
    CHECK(level("relayhost = [r.example]\ntransport_maps = hash:/pf/t\n", past) == "\"encrypt\"");
    CHECK(level("relayhost = [r.example]\ntransport_maps = hash:/pf/t\n", {{"/pf/t", "* smtp:\n"}}) == "\"encrypt\"");
    // Next hops of transport_maps and relay_transport.
    const auto by_hop = drafted("relayhost = [r.example]\ntransport_maps = hash:/pf/t\nsmtp_tls_policy_maps = "
                                "inline:{[o.example]=verify}\n",
                                past);
    CHECK(key(by_hop, "route.\"other.example\".tls") == "\"verify\"");
    CHECK(key(by_hop, "route.\"other.example\".next_hop") == "\"[o.example]\"");
    CHECK(undecided(by_hop).empty());
    const auto relayed =
        drafted("relay_domains = d.example\nrelay_transport = relay:[in.example]\nsmtp_tls_policy_maps = "
                "inline:{[in.example]=encrypt}\n");
    CHECK(key(relayed, "route.\"d.example\".tls") == "\"encrypt\"");
    // Whether mail goes past the relay host is in a table that cannot be read.
    const auto unknown = drafted("relayhost = [r.example]\ntransport_maps = pcre:/pf/t\nsmtp_tls_policy_maps = "
                                 "inline:{partner.example=encrypt}\n",
                                 {{"/pf/t", "/x/ smtp:\n"}});
    CHECK(all(undecided(unknown)).find("smtp_tls_policy_maps: partner.example") != std::string::npos);
}

TEST_CASE("levels of TLS for clients keep their demands") {
    for (const auto* level : {"encrypt", "verify", "secure", "fingerprint"})
        CHECK(key(drafted(fmt::format("smtpd_tls_security_level = {}\n", level)), "listen.smtp.tls") == "\"require\"");
    const std::string plain_only_with_tls =
        sasl + "smtpd_tls_cert_file = /pf/c\nsmtpd_tls_security_level = may\nsmtpd_tls_auth_only = no\n";
    CHECK(key(drafted(plain_only_with_tls, {{"/pf/c", "x"}}), "listen.smtp.auth_without_tls") == "true");
    const auto never = drafted(plain_only_with_tls + "smtpd_sasl_security_options = noanonymous, noplaintext\n"
                                                     "smtpd_sasl_tls_security_options = noanonymous\n",
                               {{"/pf/c", "x"}});
    CHECK(key(never, "listen.smtp.auth_without_tls") == "-");
    CHECK(key(never, "auth.mechanisms") == "-");
}

TEST_CASE("whom postscreen exempts is looked up in the lists of smtpd no more, which is to be decided") {
    const std::string master = "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd\n";
    const auto main = "postscreen_greet_action = drop\n" + open_list + "reject_rbl_client c.example\n";
    CHECK(undecided(drafted(main, {}, master)).empty());
    const auto from =
        drafted(main + "postscreen_access_list = cidr:/pf/access\n", {{"/pf/access", "192.0.2.0/24 permit\n"}}, master);
    CHECK(all(undecided(from)).find("reject_rbl_client c.example") != std::string::npos);
}

TEST_CASE("a DNS list that rejects by itself still does beside postscreen's threshold") {
    const auto from = drafted("postscreen_dnsbl_sites = a.example*2, b.example*2\npostscreen_dnsbl_threshold = "
                              "3\npostscreen_dnsbl_action = enforce\n" +
                                  open_list + "reject_rbl_client c.example, reject_rbl_client a.example\n",
                              {}, "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd\n");
    CHECK(key(from, "smtpd.dns_list_threshold") == "3");
    CHECK(key(from, "dns_list.\"a.example\".weight") == "3");
    CHECK(key(from, "dns_list.\"b.example\".weight") == "2");
    CHECK(key(from, "dns_list.\"c.example\".weight") == "3");
    const auto any = drafted(open_list + "reject_rbl_client z.example, reject_rbl_client z.example=127.0.0.9\n");
    CHECK(key(any, "dns_list.\"z.example\".answers") == "-"); // any answer
}

TEST_CASE("who owns a sender is in tables, for the listeners where users log in") {
    const std::string port = "587 inet n - n - - smtpd -o smtpd_sasl_auth_enable=yes -o "
                             "smtpd_sender_restrictions=reject_known_sender_login_mismatch";
    const auto from = imported("smtpd_sender_login_maps = hash:/pf/s\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = x\n"
                               "smtpd_sender_restrictions = reject_sender_login_mismatch\n",
                               {{"/pf/s", "a@b.example ann, bob\n"}}, smtp_line + port + "\n");
    CHECK_MESSAGE(undecided(from).empty(), all(undecided(from)));
    CHECK(key(from, "auth.sender_login_tables") == R"(["text:/pf/s"])");
    CHECK(key(from, "auth.sender_match") == "-");
    CHECK(key(from, "access.postfix.sender") == R"(["reject_known_sender_login_mismatch"])");
    CHECK(key(from, "access.postfix.listeners") == R"(["submission"])");
    const auto other = drafted("smtpd_sender_login_maps = hash:/pf/s\nsmtpd_sasl_auth_enable = yes\n"
                               "smtpd_sender_restrictions = reject_sender_login_mismatch\n",
                               {{"/pf/s", "a@b.example ann\n"}, {"/pf/t", "a@b.example bob\n"}},
                               smtp_line + port + " -o smtpd_sender_login_maps=hash:/pf/t\n");
    CHECK(undecided(other).size() == 1);
    const auto none =
        drafted("smtpd_sasl_auth_enable = yes\nsmtpd_sender_restrictions = reject_sender_login_mismatch\n");
    CHECK(key(none, "auth.sender_match") == "true");
}

TEST_CASE("a program that spawn(8) starts is for somebody else to start") {
    const auto from = drafted("smtpd_recipient_restrictions = reject_unauth_destination, check_policy_service "
                              "unix:private/policy\n",
                              {}, smtp_line + "policy unix - n n - 0 spawn user=nobody argv=/usr/bin/policyd\n");
    REQUIRE(undecided(from).size() == 1);
    CHECK(undecided(from).front().find("policy unix: spawn") != std::string::npos);
    CHECK(key(from, "policy.postfix_1.address") == R"("unix:/run/policy.sock")");
    // At an address, behind a socket for everybody, and as a next hop.
    const auto service = [](const std::string& main, const std::string& line,
                            std::map<std::string, std::string> files = {}) {
        const auto other = drafted(main, std::move(files), smtp_line + line + " spawn user=nobody argv=/usr/bin/x\n");
        REQUIRE(undecided(other).size() == 1);
        CHECK(undecided(other).front().contains(line.substr(0, line.find(' ')) + " " +
                                                (line.contains("inet") ? "inet" : "unix") + ": spawn"));
        return other;
    };
    const std::string list = "smtpd_recipient_restrictions = reject_unauth_destination, check_policy_service ";
    CHECK(key(service(list + "inet:127.0.0.1:10031\n", "127.0.0.1:10031 inet n n n - 0"), "policy.postfix_1.address") ==
          R"("inet:127.0.0.1:10031")");
    service(list + "inet:localhost:10031\n", "10031 inet n n n - 0");
    CHECK(key(service(list + "unix:public/policy\n", "policy unix n n n - 0"), "policy.postfix_1.address") ==
          R"("unix:/run/policy.sock")");
    CHECK(key(service("relay_domains = a.example\nrelay_transport = lmtp:unix:public/store\n", "store unix n n n - 0"),
              "route.\"a.example\".next_hop") == R"("lmtp:/run/store.sock")");
    service("relay_domains = a.example\nrelay_transport = smtp:[127.0.0.1]:10026\n", "127.0.0.1:10026 inet n n n - 0");
    service("transport_maps = inline:{a.example=smtp:[127.0.0.1]:10026}\n", "127.0.0.1:10026 inet n n n - 0");
    CHECK(undecided(drafted(list + "inet:127.0.0.1:10032\n", {},
                            smtp_line + "127.0.0.1:10031 inet n n n - 0 spawn user=nobody argv=/usr/bin/x\n"))
              .empty());
}

TEST_CASE("transports by sender with limits, or beside transports by recipient, are routes") {
    const std::string bulk =
        smtp_line + "bulk unix - - n - - smtp -o smtp_bind_address=192.0.2.7\nslow unix - - n - - smtp\n";
    const std::string by_sender = "sender_dependent_default_transport_maps = inline:{ {@news.example=bulk:} }\n";
    for (const auto* other :
         {"bulk_destination_concurrency_limit = 3\n", "transport_maps = inline:{ {slow.example=slow:} }\n"}) {
        CAPTURE(other);
        const auto from = imported(by_sender + other + "smtp_bind_address = 192.0.2.1\n", {}, bulk);
        CHECK(key(from, "pools.by_sender") == "-");
        CHECK(key(from, "table.sender_transports.entries") == R"(["@news.example bulk:"])");
        CHECK(key(from, "route.\"bulk\".pool") == R"("bulk")");
        CHECK(key(from, "pool.bulk.addresses") == R"(["192.0.2.7"])");
        CHECK(key(from, "route.\"*\".pool") == R"("postfix")");
    }
    const auto limited =
        imported(by_sender + "bulk_destination_concurrency_limit = 3\nrelayhost = [r.example]\n", {}, bulk);
    CHECK(key(limited, "route.\"bulk\".connections") == "3");
    CHECK(key(limited, "route.\"bulk\".next_hop") == R"("[r.example]")");
    const auto beside =
        imported("transport_maps = inline:{ {slow.example=slow:} }\nsmtp_bind_address = 192.0.2.1\n", {}, bulk);
    CHECK(key(beside, "route.\"slow\".pool") == R"("postfix")");
}

TEST_CASE("transports by sender that are only source addresses are pools") {
    const auto from = imported(
        "sender_dependent_default_transport_maps = inline:{ {@news.example=bulk:} {ann@a.example=vip} "
        "{@b.example=smtp:[relay.example]:587} {@c.example=slow:} {@d.example=bulk:[out.example]} }\n",
        {},
        smtp_line + "bulk unix - - n - - smtp -o smtp_bind_address=192.0.2.7 -o smtp_helo_name=bulk.example -o "
                    "syslog_name=x\nvip unix - - n - - smtp -o smtp_bind_address=192.0.2.8 -o "
                    "smtp_bind_address6=2001:db8::8\nslow unix - - n - 1 smtp -o smtp_destination_rate_delay=5s\n");
    CHECK(key(from, "pool.bulk.addresses") == R"(["192.0.2.7 bulk.example"])");
    CHECK(key(from, "pool.vip.addresses") == R"(["192.0.2.8", "2001:db8::8"])");
    CHECK(key(from, "pools.by_sender") == R"(["@news.example bulk", "ann@a.example vip", "@d.example bulk"])");
    CHECK(key(from, "sender_relay.tables") == R"(["table:sender_transports"])");
    CHECK(key(from, "table.sender_transports.entries") ==
          R"(["@b.example [relay.example]:587", "@c.example slow:", "@d.example [out.example]"])");
    CHECK(result_of(from, "bulk unix").kind == SettingResult::Kind::converted);
    CHECK(result_of(from, "sender_dependent_default_transport_maps").kind == SettingResult::Kind::converted);
    CHECK(key(from, "route.\"slow\".connections") == "1");
    CHECK(all(result_of(from, "slow unix").remarks).find("Postfix ignores it") != std::string::npos);
    const auto table = drafted("sender_dependent_default_transport_maps = pcre:/x\n");
    CHECK(all(result_of(table, "sender_dependent_default_transport_maps").remarks).find("[pools] by_sender") !=
          std::string::npos);
}

// As of the listener to which amavis sends mail back.
TEST_CASE("a listener that is limited less than the others, or sets what smtpd does not read, is no line") {
    const auto result =
        drafted("smtpd_soft_error_limit = 5\nmynetworks = 127.0.0.0/8", {},
                smtp_line + "127.0.0.1:10025 inet n - n - - smtpd -o smtpd_soft_error_limit=1001 "
                            "-o smtpd_hard_error_limit=1000 -o smtpd_error_sleep_time=0 -o smtpd_restriction_classes= "
                            "-o mynetworks_style=host -o smtp_tls_security_level=none -o local_recipient_maps= "
                            "-o smtpd_client_connection_rate_limit=0 -o smtpd_milters= -o smtpd_tls_loglevel=0\n");
    CHECK_MESSAGE(undecided(result).empty(), all(undecided(result)));
    const auto found = std::ranges::find(result.results, "127.0.0.1:10025 inet", &SettingResult::name);
    REQUIRE(found != result.results.end());
    CHECK(found->kind == SettingResult::Kind::with_remark);
    const auto remarks = all(found->remarks);
    for (const auto* named :
         {"smtpd_soft_error_limit", "smtpd_hard_error_limit", "smtpd_error_sleep_time", "local_recipient_maps"})
        CHECK_MESSAGE(remarks.find(named) != remarks.npos, named << " in " << remarks);
    for (const auto* silent : {"restriction_classes", "mynetworks_style", "smtp_tls", "loglevel", "rate_limit"})
        CHECK_MESSAGE(remarks.find(silent) == remarks.npos, silent << " in " << remarks);
}

TEST_CASE("a listener that is limited more than the others is a line") {
    const auto lines =
        undecided(drafted("", {}, smtp_line + "2525 inet n - n - - smtpd -o smtpd_hard_error_limit=3\n"));
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find("smtpd_hard_error_limit = 3") != lines[0].npos);
}

TEST_CASE("the transport of a content filter: what is done anyway is no remark, a timeout is one") {
    const auto result = drafted("content_filter = scan:[127.0.0.1]:10024", {},
                                smtp_line + "scan unix - - n - 2 smtp -o smtp_send_xforward_command=yes "
                                            "-o disable_dns_lookups=yes -o syslog_name=scan -o smtp_helo_timeout=7\n");
    const auto found = std::ranges::find(result.results, "scan unix", &SettingResult::name);
    REQUIRE(found != result.results.end());
    REQUIRE(found->remarks.size() == 1);
    CHECK(found->remarks[0].find("smtp_helo_timeout") != found->remarks[0].npos);
}

TEST_CASE("names of aliases that only the server of mailbox_transport knows have to be decided") {
    const auto lines = [](const std::string& aliases, const std::string& more = "") {
        return all(undecided(drafted("mailbox_transport = lmtp:unix:/run/lmtp\nalias_maps = hash:/etc/aliases" + more +
                                         "\nmydestination = a.example\nrecipient_delimiter = +\n",
                                     {{"/etc/aliases", aliases}, {"/pf/a.cf", "dbname = d\nquery = SELECT a\n"}})));
    };
    const auto lost = lines("team: bob, \"eve+x\"@a.example, ann\nroot: team\n");
    CHECK_MESSAGE(lost.contains("mailbox_transport: aliases to users"), lost);
    CHECK(lost.contains("bob"));
    CHECK(lost.contains("eve"));
    CHECK_FALSE(lost.contains("ann"));
    CHECK_FALSE(lost.contains("root"));
    CHECK(lines("team: ann, bob@far.example, |/bin/x, /var/mail/x, \\ann, :include:/l\nroot: team, Ann+y\n") == "");
    CHECK(lines("root: ann\n", ", mysql:/pf/a.cf").contains("mailbox_transport: mysql:/pf/a.cf"));
}
