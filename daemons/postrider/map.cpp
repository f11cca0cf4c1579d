// map: compiles lookup tables, asks one as the daemons would, and looks whether all are in order.
#include "daemons/common/address_review.h"
#include "daemons/common/config_file.h"
#include "daemons/common/tables/asker.h"
#include "daemons/common/tables/compile.h"
#include "daemons/postrider/command.h"
#include "daemons/postrider/transport_values.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <set>

namespace postrider {

namespace {

int compile(const Arguments& arguments) {
    int status = ok;
    for (const auto& file : arguments.words) {
        const auto made = tables::compile(file);
        if (!made) {
            complain(made.error().what);
            const int code = made.error().code;
            status = code == EACCES || code == EPERM ? no_permission : code == ENOENT ? not_found : system_error;
            continue;
        }
        for (const auto& problem : made->problems.first())
            complain(fmt::format("warning: {}:{}: {}", file, problem.line, problem.message));
        if (made->problems.count() > tables::Problems::most)
            complain(fmt::format("warning: {}: {} more lines like these", file, made->problems.count() - tables::Problems::most));
        if (arguments.json)
            print_json({{"version", 1}, {"table", made->path}, {"entries", made->entries}, {"odd_lines", made->problems.count()}});
        else
            fmt::print("{}: {} {}\n", made->path, made->entries, made->entries == 1 ? "entry" : "entries");
    }
    return status;
}

// The sections of the configuration, where a table among `names` needs them. Nothing: it was complained about.
std::optional<std::vector<config::LookupTable>> sections(const Arguments& arguments, const std::vector<std::string>& names) {
    if (std::ranges::none_of(names, [](const auto& name) { return name.starts_with("table:"); }))
        return std::vector<config::LookupTable>{};
    auto config = parse_config(arguments);
    if (!config) return {};
    return std::move(config->tables);
}

// The tables in their order, until one has the key.
int query(const Arguments& arguments, const std::string& key, const std::vector<std::string>& names) {
    const auto known = sections(arguments, names);
    if (!known) return bad_config;
    tables::Asker asker(*known);
    for (const auto& name : names) {
        const auto answer = asker.ask(name, key);
        if (answer.said == tables::Answer::Said::none) continue;
        if (answer.said == tables::Answer::Said::unavailable) return complain(answer.why), try_again;
        if (arguments.json)
            print_json({{"version", 1}, {"table", name}, {"key", key}, {"value", answer.value}});
        else
            fmt::print("{}\n", answer.value);
        return ok;
    }
    return not_found;
}

// Values of tables that are to be addresses, by what the configuration asks them for.
std::vector<common::AddressOddity> odd_addresses(const std::optional<config::Config>& config, const std::string& table) {
    std::vector<common::AddressOddity> out;
    if (!config) return out;
    std::set<std::string> keys;
    for (const auto& each : config->tables_named)
        if (each.table == table && keys.insert(each.key).second)
            for (auto& odd : common::review_table(*config, table, each.key)) out.push_back(std::move(odd));
    return out;
}

int check_alias_files(const config::Config& config) {
    const auto odd = common::review_alias_files(config);
    for (const auto& each : odd) complain(each.text());
    return odd.empty() ? ok : data_error;
}

int check_tables(const Arguments& arguments, std::vector<std::string> names) {
    std::vector<config::LookupTable> known;
    std::optional<config::Config> config; // which tables are for what
    int status = ok;
    if (names.empty()) {
        config = parse_config(arguments);
        if (!config) return bad_config;
        known = config->tables;
        status = check_alias_files(*config);
        for (const auto& each : config->tables_named) names.push_back(each.table);
        for (const auto& each : config->tables) names.push_back("table:" + each.name);
        std::ranges::sort(names);
        names.erase(std::ranges::unique(names).begin(), names.end());
        if (names.empty()) fmt::print("The configuration names no tables.\n");
    } else {
        auto found = sections(arguments, names);
        if (!found) return bad_config;
        known = *std::move(found);
        if (auto there = config::parse_file(common::config_file(arguments.config))) config = *std::move(there);
    }
    tables::Asker asker(known);
    for (const auto& name : names) {
        const auto answer = asker.ask(name, "postmaster"); // whether it is there does not matter
        auto problems = asker.problems(name);
        if (config) std::ranges::copy(odd_transports_of(*config, name), std::back_inserter(problems));
        const auto odd = odd_addresses(config, name);
        if (answer.said == tables::Answer::Said::unavailable) complain(answer.why);
        for (const auto& problem : problems) complain(fmt::format("table {}, line {}: {}", name, problem.line, problem.message));
        for (const auto& each : odd) complain(fmt::format("table {}, line {}: {}", name, each.line, each.message));
        if (answer.said != tables::Answer::Said::unavailable && problems.empty() && odd.empty())
            fmt::print("{}: good\n", name);
        else
            status = data_error;
    }
    return status;
}

} // namespace

int map(const Arguments& arguments) {
    std::vector<std::string> names;
    for (const auto& word : arguments.words) names.push_back(tables::absolute(word));
    const auto key = arguments.option("--query");
    if (key && arguments.has("--check")) return complain("--query and --check do not go together"), usage;
    if (arguments.has("--check")) return check_tables(arguments, std::move(names));
    if (names.empty())
        return complain(key ? "name the tables to ask, such as text:/etc/postrider/virtual"
                            : "name the files to compile, such as /etc/postrider/virtual"),
               usage;
    return key ? query(arguments, *key, names) : compile(arguments);
}

} // namespace postrider
