#include "daemons/common/commands/config_warnings.h"
#include "daemons/common/commands/sending_warnings.h"
#include "daemons/common/commands/standard_names.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/crypto/tls/context.h"
#include "daemons/common/logging/log_destination.h"
#include "daemons/common/process/programs.h"
#include "daemons/common/runtime/read_file.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

namespace common {

using namespace std::chrono_literals;

std::string expiry_warning(const std::string& file, smtp::WallTime end, smtp::WallTime now) {
    const auto day = smtp::iso_date(end);
    if (end <= now)
        return fmt::format("{}: the certificate expired on {}: renew it; the file is read again within a minute", file,
                           day);
    if (end - now > certificate_warning_period) return {};
    const auto hours = std::chrono::floor<std::chrono::hours>(end - now).count();
    const auto left = hours >= 48 ? fmt::format("{} days", hours / 24) : fmt::format("{} hours", hours);
    return fmt::format("{}: the certificate expires in {} ({}): renew it; the file is read again within a minute", file,
                       left, day);
}

std::string permission_warning(const std::string& file, unsigned mode) {
    if ((mode & 04) == 0) return {};
    return fmt::format("{} contains secrets and is readable by every user of this host (mode {:04o}): "
                       "\"chmod 600 {}\" fixes this",
                       file, mode & 07777, file);
}

namespace {

// The set-gid helper takes no configuration: where it leaves mail was said when it was built.
std::string about_drop(const config::Config& config) {
    const auto fixed = config::Spool{}.directory;
    const auto& ours = config.spool.directory;
    std::error_code unknown;
    if (!config.mta.users ||
        std::filesystem::weakly_canonical(ours, unknown) == std::filesystem::weakly_canonical(fixed, unknown) ||
        std::filesystem::equivalent(ours, fixed, unknown))
        return {};
    return fmt::format(
        "spool.directory is {0}, but while Postrider is stopped, sendmail can submit mail only to {1}/drop, "
        "for which postrider-drop was built: \"ln -s {0} {1}\" makes them the same",
        ours, fixed);
}

std::string about_content_filters(const config::Config& config) {
    const auto& all = config.listeners;
    const bool used = !config.submit.content_filter.empty() || !config.content.filters().empty() ||
                      std::ranges::any_of(all, [](const auto& each) { return !each.content_filter.empty(); });
    if (!used || std::ranges::count(all, config::Service::filtered, &config::Listener::service) > 0) return {};
    return "content_filter or FILTER is set, but no listener has service = \"filtered\", so a filter cannot return "
           "mail: other listeners would treat it as mail of the filter's own";
}

// A table that has every key makes a domain of ours of each.
std::string about_relayed_domains(const config::Config& config) {
    for (const auto& table : config.relay.domain_tables)
        if (table.starts_with("static:"))
            return fmt::format("relay.domain_tables: {} has every domain: mail is relayed from all clients to all "
                               "domains",
                               table);
    return {};
}

std::string about_shared_rates(const config::Config& config) {
    for (const auto& [pattern, route] : config.queue.routes) {
        if (!route.share_rates) continue;
        if (route.messages_per_second == 0 && route.messages_per_hour == 0 && route.connections_per_second == 0)
            return fmt::format("route.\"{}\".share_rates: the route has no rate: set messages_per_second, "
                               "messages_per_hour or connections_per_second",
                               pattern);
        if (!config.fleet.enabled())
            return fmt::format("route.\"{}\".share_rates: fleet.store is not set: each node has the whole rate",
                               pattern);
        if (config.fleet.expected_nodes == 0)
            return fmt::format("route.\"{}\".share_rates: fleet.expected_nodes is not set: a node that is started "
                               "while the store is away does not know how many nodes share the rate, and takes the "
                               "whole",
                               pattern);
    }
    return {};
}

// Those that servers are shown, each file once, with its key's.
template <class Take> void for_each_shown_certificate(const config::Config& config, Take take) {
    std::vector<std::string> seen;
    const auto look = [&](const decide::CertificateFiles& own) {
        for (std::size_t i = 0; i < own.size(); ++i) {
            const auto& file = (*own.certificates)[i];
            if (std::ranges::find(seen, file) != seen.end()) continue;
            seen.push_back(file);
            take(file, own.key_of(i));
        }
    };
    look(config.smtp_client.certificates);
    for (const auto& rule : config.routes) look(rule.certificates);
}

} // namespace

std::vector<std::string> config_warnings(const config::Config& config, smtp::WallTime now) {
    std::vector<std::string> out;
    const auto add = [&](std::string text) {
        if (!text.empty()) out.push_back(std::move(text));
    };
    const auto look_at_expiry = [&](const std::string& file) {
        if (const auto text = read_file(file))
            if (const auto end = tls::certificate_expiry(*text)) add(expiry_warning(file, *end, now));
    };
    for (const auto& file : config.tls.certificates) look_at_expiry(file);
    if (config.http.encrypted()) look_at_expiry(config.http.certificate);
    for_each_shown_certificate(config, [&](const std::string& file, const std::string& key) {
        look_at_expiry(file);
        if (const auto text = read_file(file); text && !tls::is_for_clients(*text))
            add(fmt::format("{}: the certificate is not for clients (extended key usage): servers may reject it",
                            file));
        struct stat facts;
        if (::stat(key.c_str(), &facts) == 0) add(permission_warning(key, facts.st_mode));
    });
    const auto& secrets = config.tls.keys.empty() ? config.tls.certificates : config.tls.keys;
    const auto look_at_mode = [&](const std::string& file) {
        struct stat facts;
        if (!file.empty() && ::stat(file.c_str(), &facts) == 0) add(permission_warning(file, facts.st_mode));
    };
    for (const auto& file : secrets) look_at_mode(file);
    look_at_mode(config.http.key.empty() ? config.http.certificate : config.http.key);
    look_at_mode(config.auth.passwords);
    add(about_drop(config));
    add(about_content_filters(config));
    add(about_relayed_domains(config));
    add(about_shared_rates(config));
    const auto text =
        config.smtp_client.credentials.empty() ? std::string() : read_file(config.smtp_client.credentials).value_or("");
    for (auto& each : sending_warnings(config, auth::Credentials::parse(text).value_or(auth::Credentials{})))
        add(std::move(each));
    return out;
}

std::vector<std::string> environment_warnings(const config::Config& config) {
    std::vector<std::string> out;
    if (auto text = log_warning(config); !text.empty()) out.push_back(std::move(text));
    if (auto text = missing_package(config.http); !text.empty()) out.push_back(std::move(text));
    if (auto text = missing_maps_package(config); !text.empty()) out.push_back(std::move(text));
    if (auto text = missing_fleet_package(config); !text.empty()) out.push_back(std::move(text));
    if (!config.mta.users) return out; // single-user mode: not responsible for the mail of the host
    if (auto text = lost_names_warning(""); !text.empty()) out.push_back(std::move(text));
    return out;
}

spool::Result<Identity> service_user(const config::Mta& mta) {
    auto user = look_up_user(mta.user);
    if (!user)
        return std::unexpected(spool::Error{
            user.error().code, user.error().what +
                                   " to run the daemons as: create one with \"adduser --system "
                                   "--group " +
                                   "--no-create-home " + mta.user + "\", or set multi_user = false in [mta]"});
    if (user->uid == 0) return std::unexpected(spool::Error{EPERM, "mta.user must not be root"});
    return user;
}

std::vector<std::string> missing_groups(const config::Mta& mta) {
    std::vector<std::string> out;
    if (!mta.users) return out;
    if (!look_up_group(mta.admin_group))
        out.push_back(
            fmt::format("mta.admin_group: there is no group {0}: only root and {1} may use the command postrider; "
                        "\"addgroup --system {0}\" creates it",
                        mta.admin_group, mta.user));
    if (!look_up_group(mta.drop_group))
        out.push_back(
            fmt::format("mta.drop_group: there is no group {0}: while Postrider is stopped, programs of ordinary users "
                        "cannot submit mail; \"addgroup --system {0}\" creates it",
                        mta.drop_group));
    return out;
}

} // namespace common
