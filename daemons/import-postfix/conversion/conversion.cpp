#include "daemons/import-postfix/conversion/conversion.h"
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/restrictions/restrictions.h"
#include "daemons/import-postfix/restrictions/verification.h"
#include "daemons/import-postfix/transports/content_filters.h"
#include "daemons/import-postfix/transports/sender_transports.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

using postfix::FileError;
using postfix::Read;

namespace {

// What Postfix takes for its own name if main.cf does not set it.
std::map<std::string, std::string, std::less<>> host_defaults(const HostEnvironment& environment,
                                                              const std::vector<postfix::Setting>& main) {
    std::string myhostname = environment.hostname, mydomain = "localdomain", set_domain;
    for (const auto& setting : main) {
        if (setting.name == "mydomain") set_domain = setting.value;
        if (setting.name == "myhostname") myhostname = setting.value;
    }
    if (myhostname.find('.') == myhostname.npos && myhostname.find('$') == myhostname.npos)
        myhostname += "." + (set_domain.empty() ? mydomain : set_domain);
    if (const auto dot = myhostname.find('.'); dot != myhostname.npos && myhostname.find('$') == myhostname.npos)
        mydomain = myhostname.substr(dot + 1);
    return {{"myhostname", std::move(myhostname)},
            {"mydomain", std::move(mydomain)},
            {"config_directory", environment.directory},
            {"process_name", "postrider"}};
}

constexpr struct {
    Conversion conversion;
    char unit;
} units[] = {{Conversion::seconds, 's'}, {Conversion::hours, 'h'}, {Conversion::days, 'd'}};

std::string duration(std::uint64_t seconds) {
    for (const auto& [size, letter] : {std::pair{86400u, 'd'}, {3600u, 'h'}, {60u, 'm'}})
        if (seconds != 0 && seconds % size == 0) return fmt::format("{}{}", seconds / size, letter);
    return fmt::format("{}s", seconds);
}

// The rows that are carried over unchanged.
void carry_over(Import& import, const SettingMapping& row) {
    const auto name = row.name;
    if (row.key.empty() || row.conversion == Conversion::custom ||
        (!import.given(name) && !row.also_if_unset && row.conversion != Conversion::tables))
        return;
    const auto value = import.value(name);
    if (import.error || (value.empty() && !import.given(name))) return;
    if (value.empty() && row.conversion != Conversion::text && row.conversion != Conversion::tables)
        return import.fail(name, "the value is missing");
    switch (row.conversion) {
    case Conversion::text:
        if (value.empty()) return import.mark_converted(name);
        return import.set(row.key, toml(value), name);
    case Conversion::number:
        if (const auto number = import.number(name)) import.set(row.key, toml(*number), name);
        return;
    case Conversion::size:
        if (const auto number = import.number(name)) {
            if (*number == 0 && name != "mailbox_size_limit")
                return import.add_remark(name,
                                         fmt::format("0 means no limit in Postfix; {} keeps its default", row.key));
            import.set(row.key, toml(*number), name);
        }
        return;
    case Conversion::seconds:
    case Conversion::hours:
    case Conversion::days:
        for (const auto& [conversion, unit] : units)
            if (conversion == row.conversion)
                if (const auto seconds = import.seconds(name, unit))
                    import.set(row.key, toml(duration(*seconds)), name);
        return;
    case Conversion::yes_no:
    case Conversion::no_yes:
        return import.set(row.key, toml(import.flag(name) == (row.conversion == Conversion::yes_no)), name);
    case Conversion::tables:
        if (const auto tables = converted_tables(import, name); !tables.empty())
            import.set(row.key, toml(tables), name);
        return import.mark_converted(name);
    case Conversion::custom:
    case Conversion::obsolete:
    case Conversion::none: return;
    }
}

// Clients of postscreen get to the smtpd of type "pass": what it sets for itself applies to them, beside what
// postscreen sets.
void join_postscreen(std::vector<postfix::Service>& services) {
    const auto behind =
        std::ranges::find_if(services, [](const auto& each) { return each.type == "pass" && each.command == "smtpd"; });
    if (behind == services.end()) return;
    for (auto& each : services)
        if (each.type == "inet" && each.command == "postscreen")
            each.overrides.insert(each.overrides.begin(), behind->overrides.begin(), behind->overrides.end());
}

} // namespace

Read<ImportResult> import_postfix(const HostEnvironment& environment) {
    const auto main_file = environment.directory + "/main.cf", master_file = environment.directory + "/master.cf";
    const auto main_text = environment.read(main_file);
    if (!main_text) return std::unexpected(FileError{main_file, 0, main_text.error()});
    auto main = postfix::read_main(*main_text, main_file);
    if (!main) return std::unexpected(main.error());
    std::vector<postfix::Service> services;
    if (environment.exists(master_file)) {
        const auto text = environment.read(master_file);
        if (!text) return std::unexpected(FileError{master_file, 0, text.error()});
        auto read = postfix::read_master(*text, master_file);
        if (!read) return std::unexpected(read.error());
        services = *std::move(read);
    }
    join_postscreen(services);
    auto host = host_defaults(environment, *main);
    postfix::Values values(main_file, *std::move(main), std::move(host));
    Import import(environment, std::move(values), std::move(services));
    for (const auto& [name, setting] : import.values.all()) import.value(name); // each must be valid, used or not
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows)
            if (!import.error) carry_over(import, row);
    for (const auto part : {import_names, import_local, import_addresses, import_security, import_listeners,
                            import_restrictions, import_verification, import_filters, import_content_filters,
                            import_sending, import_accounts, import_sender_transports, import_queue})
        if (!import.error) part(import);
    if (import.error) return std::unexpected(*import.error);
    return import.finish();
}

} // namespace postrider
