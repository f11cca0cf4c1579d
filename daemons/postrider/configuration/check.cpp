// check: is the configuration valid, and what would run with it?
#include "daemons/postrider/configuration/check.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/commands/config_files_check.h"
#include "daemons/common/commands/config_warnings.h"
#include "daemons/common/commands/database_files.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/transport_names.h"
#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/common/crypto/dkim/signing_key.h"
#include "daemons/common/crypto/tls/context.h"
#include "daemons/common/delivery/report_texts.h"
#include "daemons/common/logging/log_destination.h"
#include "daemons/common/lookup/aliases/address_lint.h"
#include "daemons/common/net/local_address.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/process/process_plan.h"
#include "daemons/common/process/programs.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/configuration/transport_lint.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace postrider {

using nlohmann::json;

namespace {

int print_problems(const std::vector<config::Problem>& problems, bool as_json) {
    if (!as_json) {
        for (const auto& problem : problems) print_error(problem.to_string());
        return bad_config;
    }
    json list = json::array();
    for (const auto& p : problems)
        list.push_back({{"file", p.file}, {"line", p.line}, {"column", p.column}, {"message", p.message}});
    fmt::print("{}\n", json{{"version", 1}, {"valid", false}, {"problems", list}}.dump());
    return bad_config;
}

std::string_view service_name(config::Service service) {
    return service == config::Service::relay      ? "relay"
           : service == config::Service::filtered ? "filtered"
                                                  : "submission";
}

// Where a name of this system comes from, for the user's information.
std::string name_source_text(config::NameSource source, std::string_view key) {
    switch (source) {
    case config::NameSource::configuration: return fmt::format("mta.{}", key);
    case config::NameSource::mailname: return "/etc/mailname";
    case config::NameSource::system: return "the system's name";
    case config::NameSource::hostname: return "the host name";
    }
    return "";
}

void print_plan(const config::Config& config) {
    fmt::print("{}: good\n\n", config.file);
    fmt::print("Host name   {} ({})\nOrigin      {} ({})\n", config.mta.hostname,
               name_source_text(config.mta.hostname_from, "hostname"), config.mta.origin,
               name_source_text(config.mta.origin_from, "origin"));
    auto log = common::log_file(config);
    if (config.log.syslog && log == config.log.file) log += log.empty() ? "syslog" : ", syslog";
    fmt::print("Spool       {}\nLog         {}\nUser        {}\n", config.spool.directory, log,
               config.mta.users ? config.mta.user : "the user who starts it (single-user mode)");
    for (const auto& listener : config.listeners)
        for (const auto& address : listener.addresses)
            fmt::print("Listens     {} ({}, {})\n", address.to_string(), listener.name, service_name(listener.service));
    for (const auto& address : config.metrics.listen)
        fmt::print("Metrics     http://{}/metrics\n", address.to_string());
    fmt::print("Processes   master");
    for (const auto& process : common::installed_plan(config)) fmt::print(", {}", process.name);
    fmt::print("\n");
}

void print_plan_json(const config::Config& config, const std::vector<std::string>& warnings) {
    json listeners = json::array(), metrics = json::array(), processes = json::array({"master"});
    for (const auto& listener : config.listeners)
        for (const auto& address : listener.addresses)
            listeners.push_back({{"name", listener.name},
                                 {"address", address.to_string()},
                                 {"service", service_name(listener.service)}});
    for (const auto& address : config.metrics.listen) metrics.push_back(address.to_string());
    for (const auto& process : common::installed_plan(config)) processes.push_back(process.name);
    fmt::print("{}\n", json{{"version", 1},
                            {"valid", true},
                            {"file", config.file},
                            {"hostname", config.mta.hostname},
                            {"hostname_from", name_source_text(config.mta.hostname_from, "hostname")},
                            {"origin", config.mta.origin},
                            {"origin_from", name_source_text(config.mta.origin_from, "origin")},
                            {"spool", config.spool.directory},
                            {"single_user", !config.mta.users},
                            {"listeners", listeners},
                            {"metrics", metrics},
                            {"processes", processes},
                            {"warnings", warnings}}
                           .dump());
}

// Warnings: an address may come up later, and the pool's others are used meanwhile.
std::vector<std::string> foreign_address_warnings(const config::Config& config) {
    std::vector<std::string> out;
    for (const auto& pool : config.pools)
        for (const auto& source : pool.addresses)
            if (const auto why = common::local_address_error(source.address))
                out.push_back(fmt::format("pool.{}.addresses: {} is not an address of this host: {}", pool.name,
                                          source.address.to_string(), *why));
    return out;
}

} // namespace

namespace {

// Not an error: the file may contain passwords.
std::string unreadable_config_warning(const config::Config& config) {
    struct stat facts{};
    if (!config.mta.users || ::stat(config.file.c_str(), &facts) != 0 || (facts.st_mode & 04) != 0) return {};
    return fmt::format("{} is not readable for ordinary users (mode {:04o}): their sendmail and mailq use "
                       "what the running MTA publishes, or the defaults if none is running; \"chmod 644\" "
                       "makes it readable",
                       config.file, facts.st_mode & 07777);
}

} // namespace

int check(const Arguments& arguments) {
    const auto config = config::load(common::config_file(arguments.config));
    if (!config) return print_problems(config.error(), arguments.json);
    if (const auto problems = problems_in_files(*config); !problems.empty())
        return print_problems(problems, arguments.json);
    if (config->mta.users)
        if (const auto user = common::service_user(config->mta); !user)
            return print_problems({{config->file, 0, 0, user.error().what}}, arguments.json);
    auto warnings = foreign_address_warnings(*config);
    if (auto closed = unreadable_config_warning(*config); !closed.empty()) warnings.push_back(std::move(closed));
    for (auto& problem : common::load_report_texts(config->bounce.templates).problems)
        warnings.push_back(std::move(problem)); // the built-in texts are used instead
    for (auto& each : common::config_warnings(
             *config, std::chrono::time_point_cast<smtp::Duration>(std::chrono::system_clock::now())))
        warnings.push_back(std::move(each));
    for (auto& each : common::environment_warnings(*config)) warnings.push_back(std::move(each));
    for (auto& each : common::database_file_warnings(config->table_references)) warnings.push_back(std::move(each));
    for (const auto& each : common::lint_addresses(*config)) warnings.push_back(each.text());
    for (auto& each : common::missing_groups(config->mta)) warnings.push_back(std::move(each));
    for (const auto& table : config->addresses.transport.tables)
        for (const auto& each :
             lint_transport_table(config->addresses, config::transport_names(config->commands, config->routes),
                                  config->tables, table)
                 .problems)
            warnings.push_back(each.line == 0 ? fmt::format("{}: {}", table, each.message)
                                              : fmt::format("{}, line {}: {}", table, each.line, each.message));
    if (const auto name = config::System::here().mailname; !name.empty() && !config::is_domain_name(name))
        warnings.push_back(fmt::format("/etc/mailname: \"{}\" is not a valid domain name: the file is ignored", name));
    if (!arguments.json)
        for (const auto& warning : warnings) print_error("warning: " + warning);
    if (arguments.json)
        print_plan_json(*config, warnings);
    else
        print_plan(*config);
    const auto missing = common::missing_programs(*config); // a valid configuration is of no use without
    for (const auto& each : missing) print_error(each);
    return missing.empty() ? ok : unavailable;
}

} // namespace postrider
