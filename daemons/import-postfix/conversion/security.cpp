// Certificates, versions of TLS, levels of TLS towards others, and which clients may authenticate.
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr std::string_view key_mark = "PRIVATE KEY-----", certificate_mark = "BEGIN CERTIFICATE-----";

// Certificates and their keys, in order.
class Chains {
public:
    // The keys that they become.
    struct Keys {
        std::string_view certificates, keys;
    };
    Chains(Import& import, Keys keys) : import_(import), names_(keys) {}

    void pair(std::string_view certificate_name, std::string_view key_name) {
        const auto certificate = import_.value(certificate_name);
        import_.mark_converted(certificate_name), import_.mark_converted(key_name);
        if (certificate.empty() || certificate == "none") return;
        const auto key = import_.value(key_name);
        add(certificate_name, certificate, key.empty() ? certificate : key);
    }

    // Files that hold keys, each followed by its certificates in the same file or the next ones.
    void files(std::string_view name, const std::vector<std::string>& list) {
        std::string key;
        for (const auto& path : list) {
            const auto text = import_.environment.read(import_.resolved_path(path));
            if (!text) return unread(name, list, fmt::format("{}: {}", path, text.error()));
            if (text->find(key_mark) != text->npos) key = path;
            if (text->find(certificate_mark) != text->npos && !key.empty()) add(name, path, key);
        }
        import_.mark_converted(name);
    }

    void write(std::string_view from) {
        if (certificates_.empty()) return;
        import_.set(std::string(names_.certificates), toml(certificates_), from);
        if (certificates_ != keys_) import_.set(std::string(names_.keys), toml(keys_), from);
    }
    bool empty() const { return certificates_.empty(); }

private:
    // Their content is not readable here: the key first, as is the custom, and one file of certificates.
    void unread(std::string_view name, const std::vector<std::string>& list, std::string why) {
        import_.add_remark(name, fmt::format("{}: {} and {} name it anyway", why, names_.certificates, names_.keys));
        add(name, list.size() > 1 ? list[1] : list[0], list[0]);
    }

    // A file that is missing stays: without it TLS would be no longer what it was.
    void add(std::string_view name, const std::string& certificate, const std::string& key) {
        for (const auto& path : {certificate, key})
            if (!import_.environment.exists(import_.resolved_path(path)))
                import_.add_remark(name, fmt::format("{}: there is no such file; postrider check requires it", path));
        const auto place = import_.resolved_path(certificate);
        if (std::ranges::find(certificates_, place) != certificates_.end()) return;
        certificates_.push_back(place);
        keys_.push_back(import_.resolved_path(key));
    }

    Import& import_;
    const Keys names_;
    std::vector<std::string> certificates_, keys_;
};

void certificates(Import& import) {
    Chains chains(import, {"tls.certificates", "tls.keys"});
    std::string_view from = "smtpd_tls_chain_files";
    if (const auto list = import.words("smtpd_tls_chain_files"); !list.empty()) {
        chains.files("smtpd_tls_chain_files", list);
        for (const auto* name :
             {"smtpd_tls_cert_file", "smtpd_tls_key_file", "smtpd_tls_eccert_file", "smtpd_tls_eckey_file"})
            import.mark_converted(name); // ignored
    } else {
        from = "smtpd_tls_cert_file";
        chains.pair("smtpd_tls_cert_file", "smtpd_tls_key_file");
        chains.pair("smtpd_tls_eccert_file", "smtpd_tls_eckey_file");
    }
    for (const auto& word : import.words("tls_server_sni_maps"))
        if (const auto entries = table_entries(import, "tls_server_sni_maps", word))
            for (const auto& entry : *entries) chains.files("tls_server_sni_maps", postfix::words_of(entry.value));
    import.mark_converted("tls_server_sni_maps");
    chains.write(from);
}

// What we show to servers.
void client_certificates(Import& import) {
    Chains chains(import, {"smtp_client.tls_certificates", "smtp_client.tls_keys"});
    std::string_view from = "smtp_tls_chain_files";
    const auto list = import.words("smtp_tls_chain_files");
    if (!list.empty()) chains.files("smtp_tls_chain_files", list);
    for (const auto& [certificate, key] : {std::pair{"smtp_tls_cert_file", "smtp_tls_key_file"},
                                           std::pair{"smtp_tls_eccert_file", "smtp_tls_eckey_file"}}) {
        import.mark_converted(certificate), import.mark_converted(key);
        if (!list.empty()) continue; // ignored
        from = "smtp_tls_cert_file";
        chains.pair(certificate, key);
    }
    import.mark_converted("smtp_tls_chain_files");
    chains.write(from);
}

// ">=TLSv1.2", "!SSLv2, !SSLv3, !TLSv1, !TLSv1.1", "TLSv1.2 TLSv1.3": the oldest that is left.
void versions(Import& import, std::string_view name, std::string_view key) {
    if (!import.given(name)) return;
    bool only_13 = false, old = true;
    bool named_12 = false, named_13 = false;
    for (auto word : import.words(name)) {
        for (auto& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        if (word == ">=tlsv1.3" || word == ">=0304" || word == "!tlsv1.2") only_13 = true;
        if (word == ">=tlsv1.3" || word == ">=tlsv1.2" || word == ">=0303" || word == "!tlsv1.1") old = false;
        if (word.starts_with("tlsv") || word.starts_with("sslv"))
            named_12 = named_12 || word == "tlsv1.2", named_13 = named_13 || word == "tlsv1.3",
            old = old && (word != "tlsv1.2" && word != "tlsv1.3");
    }
    if (named_13 && !named_12) only_13 = true;
    import.set(key, toml(only_13 ? "1.3" : "1.2"), name);
    if (old) import.add_remark(name, "versions before TLS 1.2 are not supported");
}

// What is excluded in all sessions, taken out of OpenSSL's own list; a name that it does not know means nothing there.
void excluded_ciphers(Import& import, std::string_view name, std::string_view key) {
    if (!import.given(name)) return;
    import.mark_converted(name);
    const auto value = import.value(name);
    if (const auto* row = mapping_of(name); row && row->is_equivalent(value)) return;
    std::string list = "DEFAULT";
    for (const auto& word : postfix::split(value, ", \t\r\n:").value_or(std::vector<std::string>{})) {
        const auto belongs = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '+' || c == '_'; };
        if (!std::ranges::all_of(word, belongs) || !std::isalnum(static_cast<unsigned char>(word.front())))
            return import.mark_unsupported(
                name, fmt::format("\"{}\" is not the name of ciphers: {} is an OpenSSL cipher list", word, key));
        list += ":!" + word;
    }
    if (list != "DEFAULT") import.set(key, toml(list), name);
}

void client_level(Import& import) {
    auto level = import.value("smtp_tls_security_level");
    std::string_view from = "smtp_tls_security_level";
    if (level.empty() && import.flag("smtp_enforce_tls")) level = "encrypt", from = "smtp_enforce_tls";
    if (level.empty() && import.flag("smtp_use_tls")) level = "may", from = "smtp_use_tls";
    for (const auto* name : {"smtp_tls_security_level", "smtp_enforce_tls", "smtp_use_tls"})
        import.mark_converted(name);
    if (const auto path = import.value("smtp_tls_CApath");
        !path.empty() && (!level.empty() || import.given("smtp_tls_policy_maps")) && !import.given("smtp_tls_CAfile") &&
        path != "/etc/ssl/certs" && path != "/etc/ssl/certs/")
        import.mark_unsupported("smtp_tls_CApath",
                                "put the certificates of the authorities into one file, smtp_client.tls_ca_file");
    if (!level.empty()) import.mark_converted("smtp_tls_CApath");
    if (level.empty()) return;
    const auto hops = import.words("relayhost");
    const bool to_hosts =
        !hops.empty() && std::ranges::all_of(hops, [](const auto& hop) { return hop.starts_with('['); });
    if (level == "secure" && !to_hosts)
        import.mark_unsupported(from,
                                "the certificate had to match the next hop or domain; \"verify\" compares it with "
                                "the host name that the DNS gives: use \"dane-only\", or a [route] to a host in "
                                "brackets");
    if (level == "secure" || level == "fingerprint") {
        import.add_remark(
            from, fmt::format("\"{}\" is treated as \"verify\": the certificate must match the host name", level));
        level = "verify";
    }
    import.set("smtp_client.tls", toml(level), from);
}

void authentication(Import& import) {
    bool wanted = import.flag("smtpd_sasl_auth_enable");
    for (const auto& service : import.services)
        for (const auto& over : service.overrides)
            wanted = wanted || (over.name == "smtpd_sasl_auth_enable" && postfix::flag_of(over.value).value_or(false));
    for (const auto* name : {"smtpd_sasl_auth_enable", "smtpd_sasl_type", "smtpd_sasl_path",
                             "smtpd_sasl_security_options", "smtpd_sasl_tls_security_options"})
        import.mark_converted(name);
    if (!wanted) return;
    // Services may name it for themselves; one decides for all.
    auto type = import.value("smtpd_sasl_type"), path = import.value("smtpd_sasl_path");
    std::string_view from = "smtpd_sasl_path";
    for (const auto& service : import.services) {
        const auto own = import.values.of(service, import.environment.directory + "/master.cf");
        for (const auto& over : service.overrides) {
            if (over.name == "smtpd_sasl_type" && type != "dovecot") type = import.value(own, over.name);
            if (over.name == "smtpd_sasl_path" && !import.given("smtpd_sasl_path")) path = import.value(own, over.name);
        }
    }
    if (type != "dovecot") {
        import.mark_unsupported(
            "smtpd_sasl_auth_enable",
            fmt::format("\"{}\" SASL has no counterpart: Dovecot's auth service checks the passwords that saslauthd "
                        "checks (passdb pam, ldap or sql): set auth.dovecot, postrider-dovecot(7) has an example; or "
                        "create a password file with postrider passwd (auth.passwords). Then set auth = true for the "
                        "listeners",
                        type));
        return import.mark_unsupported("smtpd_sasl_type", "only dovecot has a counterpart");
    }
    if (path.starts_with("inet:"))
        return import.mark_unsupported("smtpd_sasl_path",
                                       "Dovecot is asked through a UNIX socket: add a unix_listener of type "
                                       "auth-client to its service auth, and name it in auth.dovecot");
    import.set("auth.dovecot", toml(import.queue_path(path.starts_with("unix:") ? path.substr(5) : path)),
               import.given(from) ? from : "smtpd_sasl_auth_enable");
    for (const auto* name : {"smtpd_sasl_security_options", "smtpd_sasl_tls_security_options"})
        for (const auto& word : import.given(name) ? import.words(name) : std::vector<std::string>{})
            if (word != "noanonymous" && word != "noplaintext")
                import.mark_unsupported(
                    name, fmt::format("\"{}\": auth.mechanisms lists the mechanisms that are offered", word));
    const auto options = import.words("smtpd_sasl_tls_security_options");
    if (std::ranges::find(options, "noplaintext") != options.end())
        import.set("auth.mechanisms", toml(std::vector<std::string>{"SCRAM-SHA-256"}),
                   import.given("smtpd_sasl_tls_security_options") ? "smtpd_sasl_tls_security_options"
                                                                   : "smtpd_sasl_security_options");
}

} // namespace

void import_security(Import& import) {
    certificates(import);
    client_certificates(import);
    versions(import, "smtpd_tls_protocols", "tls.minimum_version");
    versions(import, "smtpd_tls_mandatory_protocols", "tls.minimum_version");
    versions(import, "smtp_tls_protocols", "smtp_client.tls_minimum_version");
    versions(import, "smtp_tls_mandatory_protocols", "smtp_client.tls_minimum_version");
    excluded_ciphers(import, "smtpd_tls_exclude_ciphers", "tls.ciphers");
    excluded_ciphers(import, "smtp_tls_exclude_ciphers", "smtp_client.tls_ciphers");
    client_level(import);
    authentication(import);
}

} // namespace postrider
