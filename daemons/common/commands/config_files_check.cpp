#include "daemons/common/commands/config_files_check.h"
#include "daemons/common/config/config.h"
#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/common/crypto/dkim/signing_key.h"
#include "daemons/common/crypto/tls/context.h"
#include "daemons/common/crypto/webhook/signing.h"
#include "daemons/common/delivery/report_texts.h"
#include "daemons/common/lookup/aliases/address_lint.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/runtime/read_file.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

namespace postrider {

namespace {

using ProblemFound = std::function<void(const std::string& key, const std::string& text)>;

// Those that are shown to servers. Files that cannot be read are reported with the others.
void check_shown_certificates(const decide::CertificateFiles& own, const std::string& section,
                              const ProblemFound& found) {
    std::vector<proto::secrets::Certificate> read;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const auto& file = (*own.certificates)[i];
        const auto chain = common::read_file(file), key = common::read_file(own.key_of(i));
        if (!chain || !key) continue;
        read.push_back({file, *chain, *key});
        if (const auto good = tls::check(read.back(), own.key_of(i)); !good)
            return found(section + ".tls_certificates", good.error().what);
    }
    if (const auto good = tls::check_together(read); !good) found(section + ".tls_certificates", good.error().what);
}

} // namespace

std::vector<config::Problem> problems_in_files(const config::Config& config) {
    std::vector<config::Problem> problems;
    const auto check_file = [&](const config::FileReference& file, auto check) {
        if (access(file.path.c_str(), R_OK) != 0) return;
        const auto result = [&]() -> spool::Result<> { return check(TRY(common::read_file(file.path))); }();
        if (!result)
            problems.push_back(
                {config.file, file.line, file.column, fmt::format("{}: {}", file.key, result.error().what)});
    };
    const auto check_certificate = [&](const config::FileReference& file, const std::string& key) {
        if (access(key.c_str(), R_OK) != 0) return;
        check_file(file, [&](const std::string& chain) -> spool::Result<> {
            return tls::check({file.path, chain, TRY(common::read_file(key))}, key);
        });
    };
    const auto place_of = [&](const std::string& key) {
        const auto at = std::ranges::find(config.files, key, &config::FileReference::key);
        return at != config.files.end() ? *at : config::FileReference{};
    };
    const auto found = [&](const std::string& key, const std::string& text) {
        const auto place = place_of(key);
        problems.push_back({config.file, place.line, place.column, fmt::format("{}: {}", key, text)});
    };
    check_shown_certificates(config.smtp_client.certificates, "smtp_client", found);
    for (const auto& rule : config.routes)
        check_shown_certificates(rule.certificates, fmt::format("route.\"{}\"", rule.pattern), found);
    std::size_t certificate = 0;
    for (const auto& file : config.files) {
        if (file.key == "tls.certificates") {
            const auto number = certificate++;
            check_certificate(file, config.tls.keys.empty() ? file.path : config.tls.keys[number]);
        }
        if (file.key == "http.certificate")
            check_certificate(file, config.http.key.empty() ? file.path : config.http.key);
        if (file.key == "tls.client_ca_file" || file.key == "smtp_client.tls_ca_file")
            check_file(file, [&](const std::string& text) { return tls::check_authorities(text, file.path); });
        const auto read_secret = [&]() -> spool::Result<std::string> {
            return common::read_private_file(
                file.path, config.mta.users ? TRY(common::look_up_user(config.mta.user)).uid : geteuid());
        };
        if (file.key == "smtp_client.credentials")
            check_file(file, [&](const std::string&) -> spool::Result<> {
                const auto read = auth::Credentials::parse(TRY(read_secret()));
                if (!read) return std::unexpected(spool::Error{0, file.path + ": " + read.error().why});
                return {};
            });
        if (file.key.starts_with("hook.") && file.key.ends_with(".secret_file"))
            check_file(file, [&](const std::string&) -> spool::Result<> {
                const auto read = webhook::Secrets::parse(TRY(read_secret()));
                if (!read) return std::unexpected(spool::Error{0, file.path + ": " + read.error()});
                return {};
            });
        if (file.key.starts_with("dkim."))
            check_file(file, [&](const std::string&) -> spool::Result<> {
                TRY(dkim::SigningKey::read(TRY(read_secret()), file.path));
                return {};
            });
    }
    return problems;
}

} // namespace postrider
