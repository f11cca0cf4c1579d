// A directory of Postfix's that exists only in a test, and what the importer makes of it.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/import-postfix/conversion/conversion.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <toml++/toml.h>

namespace postrider {

struct Machine {
    std::map<std::string, std::string> files;
    HostEnvironment environment() const {
        HostEnvironment out;
        out.directory = "/pf";
        out.hostname = "mx.site.example";
        out.interfaces = {{*common::IpAddress::parse("127.0.0.1"), 104},
                          {*common::IpAddress::parse("192.0.2.7"), 120},
                          {*common::IpAddress::parse("2001:db8::7"), 64}};
        out.read = [this](const std::string& path) -> std::expected<std::string, std::string> {
            const auto found = files.find(path);
            if (found == files.end()) return std::unexpected(std::string("No such file or directory"));
            if (found->second == "forbidden") return std::unexpected(std::string("Permission denied"));
            return found->second;
        };
        out.exists = [this](const std::string& path) { return files.contains(path); };
        out.user_name = [](std::uint32_t uid) { return uid == 5000 ? "vmail" : ""; };
        out.is_user = [](const std::string& name) { return name == "ann" || name == "vmail"; };
        return out;
    }
};

inline const std::string smtp_line = "smtp inet n - n - - smtpd\n";

// What comes of a main.cf, before the command lets the configuration's parser judge it.
inline ImportResult drafted(const std::string& main, std::map<std::string, std::string> files = {},
                            const std::string& master = smtp_line) {
    Machine machine{std::move(files)};
    machine.files["/pf/main.cf"] = "compatibility_level = 3.6\n" + main;
    machine.files["/pf/master.cf"] = master;
    auto read = import_postfix(machine.environment());
    REQUIRE_MESSAGE(read, (read ? "" : read.error().to_string()));
    return *std::move(read);
}

// The same; everything in it but lines of [undecided] is accepted by the configuration's own parser. Leaves those out.
inline ImportResult imported(const std::string& main, std::map<std::string, std::string> files = {},
                             const std::string& master = smtp_line) {
    auto read = drafted(main, std::move(files), master);
    read.draft.remove("undecided.");
    const auto text = read.text();
    const auto config = config::parse(text, "postrider.toml", {"mx.site.example", "someone", 2});
    std::string problems;
    if (!config)
        for (const auto& problem : config.error()) problems += problem.to_string() + "\n";
    CHECK_MESSAGE(config, problems << text);
    return read;
}

inline std::string fault(const std::string& main, std::map<std::string, std::string> files = {}) {
    Machine machine{std::move(files)};
    machine.files["/pf/main.cf"] = main;
    const auto read = import_postfix(machine.environment());
    REQUIRE(!read);
    return read.error().to_string();
}

inline std::string key(const ImportResult& from, std::string_view path) {
    const auto* found = from.draft.find(path);
    return found ? found->value : "-";
}

inline const SettingResult& result_of(const ImportResult& from, std::string_view name) {
    const auto found = std::ranges::find(from.results, name, &SettingResult::name);
    REQUIRE(found != from.results.end());
    return *found;
}

// The lines of [undecided]: "KEY = TEXT".
inline std::vector<std::string> undecided(ImportResult from) {
    const auto read = toml::parse(from.text());
    std::vector<std::string> out;
    if (const auto* section = read["undecided"].as_table())
        for (auto&& [name, text] : *section) out.push_back(fmt::format("{} = {}", name.str(), text.as_string()->get()));
    return out;
}

} // namespace postrider
