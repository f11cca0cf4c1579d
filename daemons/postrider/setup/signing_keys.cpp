#include "daemons/postrider/setup/signing_keys.h"
#include "daemons/common/crypto/dkim/signing_key.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/postrider/command/new_key_file.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

namespace postrider::setup {

namespace {

constexpr int rsa_bits = 2048; // RFC 8301: what every verifier accepts

std::expected<DomainKey, KeyError> read_key(const std::string& selector, const std::string& file) {
    const auto pem = common::read_file(file);
    if (!pem) return std::unexpected(KeyError{pem.error().what, pem.error().code == EACCES ? no_permission : no_input});
    const auto key = dkim::SigningKey::read(*pem, file);
    if (!key) return std::unexpected(KeyError{key.error().what, data_error});
    return DomainKey{.record = {selector, key->record()}, .file = file};
}

} // namespace

std::expected<std::vector<DomainKey>, KeyError> configured_keys(const std::vector<decide::SigningRule>& rules,
                                                                const std::string& domain) {
    std::vector<DomainKey> keys;
    const auto rule = std::ranges::find(rules, domain, &decide::SigningRule::domain);
    if (rule == rules.end()) return keys;
    for (const auto& each : rule->keys) {
        auto key = read_key(each.selector, each.file);
        if (!key) return std::unexpected(key.error());
        key->configured = true;
        keys.push_back(*std::move(key));
    }
    return keys;
}

std::expected<std::vector<DomainKey>, KeyError> key_in(const std::string& file, const std::string& selector,
                                                       IfMissing if_missing) {
    bool generated = false;
    if (struct stat there; ::stat(file.c_str(), &there) != 0 && errno == ENOENT) {
        if (if_missing == IfMissing::leave) return std::vector<DomainKey>{};
        const auto directory = std::filesystem::path(file).parent_path().string();
        if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
            return std::unexpected(KeyError{fmt::format("{}: {}", directory, std::strerror(errno)),
                                            errno == EACCES ? no_permission : cannot_create});
        const auto key = dkim::SigningKey::make_rsa(rsa_bits);
        if (!key) return std::unexpected(KeyError{key.error().what, software});
        if (const auto error = write_new_key_file(file, key->pem()))
            return std::unexpected(KeyError{fmt::format("{}: {}", file, std::strerror(*error)),
                                            *error == EACCES ? no_permission : disk_error});
        generated = true;
    }
    auto key = read_key(selector, file);
    if (!key) return std::unexpected(key.error());
    key->generated = generated;
    return std::vector<DomainKey>{*std::move(key)};
}

} // namespace postrider::setup
