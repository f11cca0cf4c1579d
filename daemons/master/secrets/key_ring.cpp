#include "daemons/master/secrets/key_ring.h"
#include "daemons/common/config/config.h"
#include "daemons/common/crypto/auth/password_file.h"
#include "daemons/common/crypto/dkim/signing_key.h"
#include "daemons/common/crypto/tls/context.h"
#include "daemons/common/crypto/webhook/signing.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/runtime/random.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/master/secrets/sealed_file.h"
#include <algorithm>
#include <fmt/format.h>
#include <sys/stat.h>

namespace master {

using spool::Error;
using spool::Result;

namespace {

// `key`: "" the key is in the same file.
Result<proto::secrets::Certificate> certificate_of(const std::string& file, const std::string& key) {
    proto::secrets::Certificate out{.file = file, .chain = TRY(common::read_file(file)), .key = {}};
    out.key = key.empty() ? out.chain : TRY(common::read_file(key));
    TRY(tls::check(out, key.empty() ? file : key));
    return out;
}

Result<std::vector<proto::secrets::Certificate>> certificates_of(const config::Tls& tls) {
    std::vector<proto::secrets::Certificate> out;
    for (std::size_t i = 0; i < tls.certificates.size(); ++i)
        out.push_back(TRY(certificate_of(tls.certificates[i], tls.keys.empty() ? "" : tls.keys[i])));
    return out;
}

// What servers are shown: for all mail, and for that of each route with certificates of its own.
Result<std::vector<proto::secrets::ShownCertificates>> shown_to_servers(const config::Config& config) {
    std::vector<proto::secrets::ShownCertificates> out;
    const auto add = [&](const std::string& route, const decide::CertificateFiles& own) -> Result<> {
        if (!own.certificates) return {};
        auto& shown = out.emplace_back(proto::secrets::ShownCertificates{.route = route, .certificates = {}});
        for (std::size_t i = 0; i < own.size(); ++i)
            shown.certificates.push_back(
                TRY(certificate_of((*own.certificates)[i], own.keys.empty() ? "" : own.keys[i])));
        return tls::check_together(shown.certificates);
    };
    TRY(add("", config.smtp_client.certificates));
    for (const auto& rule : config.routes) TRY(add(rule.pattern, rule.certificates));
    return out;
}

Result<proto::secrets::Api> api_secrets_of(const config::Http& http) {
    proto::secrets::Api out;
    if (http.encrypted()) out.certificate.push_back(TRY(certificate_of(http.certificate, http.key)));
    return out;
}

Result<std::vector<proto::secrets::SigningKey>> signing_keys_of(const config::Config& config, uid_t user) {
    std::vector<proto::secrets::SigningKey> out;
    for (const auto& rule : config.signing)
        for (const auto& [selector, file] : rule.keys) {
            if (std::ranges::find(out, file, &proto::secrets::SigningKey::file) != out.end()) continue;
            auto text = TRY(common::read_private_file(file, user));
            TRY(dkim::SigningKey::read(text, file));
            out.push_back({file, std::move(text)});
        }
    return out;
}

Result<proto::secrets::Hooks> hook_secrets_of(const config::Config& config, uid_t user) {
    proto::secrets::Hooks out;
    for (const auto& hook : config.hooks) {
        if (hook.secret_file.empty()) continue;
        auto text = TRY(common::read_private_file(hook.secret_file, user));
        if (const auto read = webhook::Secrets::parse(text); !read)
            return std::unexpected(Error{0, hook.secret_file + ": " + read.error()});
        out.secrets.push_back({hook.name, std::move(text)});
    }
    return out;
}

// A line with the secret of a token.
Result<std::string> token_in(const std::string& file, uid_t user) {
    auto text = TRY(common::read_private_file(file, user));
    text.resize(std::min(text.find_last_not_of(" \t\r\n") + 1, text.size()));
    const bool one_word = std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f; });
    if (text.empty() || !one_word)
        return std::unexpected(Error{0, file + ": expected a token, such as \"postrider token add\" prints"});
    return text;
}

Result<proto::secrets::Nodes> node_access_of(const config::Config& config, uid_t user) {
    proto::secrets::Nodes out;
    for (const auto& node : config.nodes) {
        proto::secrets::NodeAccess access{
            .node = node.name, .token = TRY(token_in(node.token_file, user)), .authorities = {}};
        const auto& file = node.ca_file.empty() ? config.smtp_client.tls_authorities : node.ca_file;
        const bool encrypted = !node.url.starts_with("http:");
        if (encrypted && !file.empty()) access.authorities = TRY(common::read_file(file));
        if (encrypted && !node.ca_file.empty()) TRY(tls::check_authorities(access.authorities, file));
        out.nodes.push_back(std::move(access));
    }
    return out;
}

// The first line of the file is the password.
Result<proto::secrets::Fleet> store_access_of(const config::Config& config, uid_t user) {
    proto::secrets::Fleet out;
    const auto& fleet = config.fleet;
    if (!fleet.enabled()) return out;
    if (!fleet.password_file.empty()) {
        constexpr std::size_t longest = 512;
        out.password = TRY(common::read_private_file(fleet.password_file, user));
        out.password.resize(std::min(out.password.find_first_of("\r\n"), out.password.size()));
        if (out.password.empty() || out.password.size() > longest)
            return std::unexpected(
                Error{0, fmt::format("{}: expected a password of at most {} characters on the first line",
                                     fleet.password_file, longest)});
    }
    const auto& file = fleet.ca_file.empty() ? config.smtp_client.tls_authorities : fleet.ca_file;
    if (fleet.encrypted() && !file.empty()) out.authorities = TRY(common::read_file(file));
    if (fleet.encrypted() && !fleet.ca_file.empty()) TRY(tls::check_authorities(out.authorities, file));
    return out;
}

// The files of the tables that maps queries, each once. One that cannot be read harms nothing but its table.
proto::secrets::Maps table_files_of(const config::Config& config) {
    constexpr std::size_t largest = 64 << 10;
    proto::secrets::Maps out;
    for (const auto& named : config.table_references) {
        const auto what = tables::Specification::parse(named.table);
        if (!what || !tables::is_database(what->kind)) continue;
        if (std::ranges::find(out.tables, named.table, &proto::secrets::TableFile::table) != out.tables.end()) continue;
        auto text = common::read_bounded(what->name, largest);
        if (text)
            out.tables.push_back({named.table, *std::move(text), ""});
        else
            out.tables.push_back({named.table, "", Error::from_errno("read " + what->name, text.error()).what});
    }
    return out;
}

// Several routes may show the same.
std::vector<const proto::secrets::Certificate*> distinct(const std::vector<proto::secrets::ShownCertificates>& all) {
    std::vector<const proto::secrets::Certificate*> out;
    for (const auto& route : all)
        for (const auto& each : route.certificates)
            if (std::ranges::none_of(out, [&](const auto* other) { return other->file == each.file; }))
                out.push_back(&each);
    return out;
}

// What certificates say of themselves: each of ours with those that vouch for it, and the authorities of clients.
std::vector<proto::secrets::ShownCertificate> shown_of(const config::Tls& tls, const proto::secrets::Server& server,
                                                       const proto::secrets::Client& client,
                                                       const proto::secrets::Api& api) {
    constexpr std::size_t longest_chain = 10, most_authorities = 50;
    std::vector<proto::secrets::ShownCertificate> out;
    const auto add = [&](const std::string& file, const std::string& text, std::size_t most, bool authority) {
        for (auto& each : tls::certificate_facts(text, most))
            out.push_back({file, std::move(each.subject), authority,
                           std::chrono::floor<std::chrono::seconds>(each.expires).time_since_epoch().count()});
    };
    for (const auto& each : server.certificates) add(each.file, each.chain, longest_chain, false);
    for (const auto& each : api.certificate) add(each.file, each.chain, longest_chain, false);
    for (const auto& each : distinct(client.shown)) add(each->file, each->chain, longest_chain, false);
    add(tls.client_authorities, server.client_authorities, most_authorities, true);
    return out;
}

} // namespace

KeyRing::KeyRing(uid_t user) : user_(user) { server_.pepper = common::random_bytes(32); }

std::vector<KeyRing::Stamp> KeyRing::look_at(const config::Config& config) {
    std::vector<Stamp> stamps;
    const auto look = [&](const std::string& path) {
        if (path.empty()) return;
        auto& stamp = stamps.emplace_back(Stamp{path});
        struct stat facts;
        if (::stat(path.c_str(), &facts) != 0) return;
        stamp.changed = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
        stamp.size = facts.st_size;
        stamp.inode = facts.st_ino;
        stamp.mode = facts.st_mode;
        stamp.owner = facts.st_uid;
    };
    for (const auto& path : config.tls.certificates) look(path);
    for (const auto& path : config.tls.keys) look(path);
    look(config.tls.client_authorities);
    look(config.http.certificate);
    look(config.http.key);
    look(config.auth.passwords);
    look(config.smtp_client.credentials);
    const auto look_at_all = [&](const decide::CertificateFiles& own) {
        for (std::size_t i = 0; i < own.size(); ++i) look((*own.certificates)[i]);
        for (const auto& path : own.keys) look(path);
    };
    look_at_all(config.smtp_client.certificates);
    for (const auto& rule : config.routes) look_at_all(rule.certificates);
    for (const auto& rule : config.signing)
        for (const auto& key : rule.keys) look(key.file);
    for (const auto& hook : config.hooks) look(hook.secret_file);
    for (const auto& named : config.table_references)
        if (const auto what = tables::Specification::parse(named.table); what && tables::is_database(what->kind))
            look(what->name);
    for (const auto& node : config.nodes) {
        look(node.token_file);
        look(node.ca_file);
    }
    look(config.fleet.password_file);
    look(config.fleet.ca_file);
    return stamps;
}

Result<> KeyRing::load(const config::Config& config, smtp::Monotonic now) {
    TRY(read(config, now));
    return {};
}

Result<std::vector<proto::Role>> KeyRing::read(const config::Config& config, smtp::Monotonic now) {
    auto seen = look_at(config);
    proto::secrets::Server fresh;
    proto::secrets::Client client;
    fresh.certificates = TRY(certificates_of(config.tls));
    if (const auto& file = config.tls.client_authorities; !file.empty()) {
        fresh.client_authorities = TRY(common::read_file(file));
        TRY(tls::check_authorities(fresh.client_authorities, file));
    }
    if (!config.auth.passwords.empty()) {
        fresh.passwords = TRY(common::read_file(config.auth.passwords));
        if (auto read = auth::PasswordFile::parse(fresh.passwords); !read)
            return std::unexpected(Error{0, config.auth.passwords + ": " + read.error().why});
    }
    if (const auto& file = config.smtp_client.credentials; !file.empty()) {
        client.credentials = TRY(common::read_private_file(file, user_));
        if (auto read = auth::Credentials::parse(client.credentials); !read)
            return std::unexpected(Error{0, file + ": " + read.error().why});
    }
    client.signing_keys = TRY(signing_keys_of(config, user_));
    client.shown = TRY(shown_to_servers(config));
    auto hooks = TRY(hook_secrets_of(config, user_));
    auto nodes = TRY(node_access_of(config, user_));
    auto fleet = TRY(store_access_of(config, user_));
    auto api = TRY(api_secrets_of(config.http));
    fresh.ticket_keys = std::move(server_.ticket_keys);
    fresh.pepper = std::move(server_.pepper);
    server_ = std::move(fresh);
    client_ = std::move(client);
    hooks_ = std::move(hooks);
    nodes_ = std::move(nodes);
    fleet_ = std::move(fleet);
    maps_ = table_files_of(config);
    api_ = std::move(api);
    api_.shown = shown_of(config.tls, server_, client_, api_);
    seen_ = std::move(seen);
    problem_.clear();
    rotate_ticket_keys(config.tls, now);
    return seal();
}

Result<std::vector<proto::Role>> KeyRing::refresh(const config::Config& config, smtp::Monotonic now) {
    renewed_.clear();
    if (auto seen = look_at(config); seen != seen_) {
        std::vector<std::string> changed;
        for (const auto& stamp : seen)
            if (std::ranges::find(seen_, stamp) == seen_.end()) changed.push_back(stamp.path);
        seen_ = std::move(seen);
        auto news = read(config, now);
        if (news)
            renewed_ = std::move(changed);
        else
            problem_ = news.error().what + ": the previous certificates, passwords and credentials stay in use";
        return news;
    }
    if (!rotate_ticket_keys(config.tls, now)) return std::vector<proto::Role>{};
    return seal();
}

// One key seals, the one before it still opens.
bool KeyRing::rotate_ticket_keys(const config::Tls& tls, smtp::Monotonic now) {
    auto& keys = server_.ticket_keys;
    if (tls.certificates.empty() || !tls.session_tickets) {
        keys.clear();
        return false;
    }
    if (!keys.empty() && now - rotated_ < tls.ticket_lifetime) return false;
    rotated_ = now;
    keys.insert(keys.begin(), {common::random_bytes(16), common::random_bytes(32), common::random_bytes(32)});
    if (keys.size() > 2) keys.resize(2);
    return true;
}

// Anew what has changed.
Result<std::vector<proto::Role>> KeyRing::seal() {
    std::vector<proto::Role> changed;
    const auto seal = [&](proto::Role role, proto::secrets::Message content) -> Result<> {
        if (const auto old = sealed_.find(role); old != sealed_.end() && old->second.content == content) return {};
        std::string bytes;
        std::visit([&](const auto& part) { ipc::encode<proto::secrets::Message>(part, bytes); }, content);
        auto file = sealed(bytes);
        explicit_bzero(bytes.data(), bytes.size());
        if (!file) return std::unexpected(file.error());
        sealed_[role] = {std::move(content), *std::move(file)};
        changed.push_back(role);
        return {};
    };
    TRY(seal(proto::Role::smtpd, server_));
    TRY(seal(proto::Role::smtp_client, client_));
    TRY(seal(proto::Role::events, hooks_));
    TRY(seal(proto::Role::http, api_));
    TRY(seal(proto::Role::transfer, nodes_));
    TRY(seal(proto::Role::maps, maps_));
    TRY(seal(proto::Role::fleet, fleet_));
    return changed;
}

auth::Credentials KeyRing::credentials() const {
    auto read = auth::Credentials::parse(client_.credentials); // once already, without a complaint
    return read ? *std::move(read) : auth::Credentials{};
}

int KeyRing::file_for(proto::Role role) const {
    const auto found = sealed_.find(role);
    return found == sealed_.end() ? -1 : found->second.file.number();
}

} // namespace master
