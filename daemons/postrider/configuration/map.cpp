// map: compiles lookup tables, queries one as the daemons would, and checks whether all are in order.
#include "daemons/postrider/configuration/map.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/commands/database_files.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/config/transport_names.h"
#include "daemons/common/lookup/aliases/address_lint.h"
#include "daemons/common/lookup/format/compile.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/lookup/tables/blocking_tables.h"
#include "daemons/common/rewriting/rewriting_settings.h"
#include "daemons/common/rewriting/table_answer.h"
#include "daemons/common/text/idn.h"
#include "daemons/decide/rewriting/address_rewriting.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/configuration/transport_lint.h"
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
            print_error(made.error().what);
            const int code = made.error().code;
            status = code == EACCES || code == EPERM ? no_permission : code == ENOENT ? not_found : system_error;
            continue;
        }
        for (const auto& problem : made->problems.first())
            print_error(fmt::format("warning: {}:{}: {}", file, problem.line, problem.message));
        if (made->problems.count() > tables::Problems::most)
            print_error(fmt::format("warning: {}: {} more lines like these", file,
                                    made->problems.count() - tables::Problems::most));
        if (arguments.json)
            print_json({{"version", 1},
                        {"table", made->path},
                        {"entries", made->entries},
                        {"invalid_lines", made->problems.count()}});
        else
            fmt::print("{}: {} {}\n", made->path, made->entries, made->entries == 1 ? "entry" : "entries");
    }
    return status;
}

// What tables need of the configuration.
struct TableSources {
    std::vector<config::LookupTable> sections;
    std::string maps_socket;
};

bool needs_configuration(const std::string& name) {
    const auto what = tables::Specification::parse(name);
    return what && (what->kind == tables::Kind::section || tables::is_database(what->kind));
}

// Empty if no table among `names` needs it. Nothing: an error was printed.
std::optional<TableSources> sources_for(const Arguments& arguments, const std::vector<std::string>& names) {
    if (std::ranges::none_of(names, needs_configuration)) return TableSources{};
    auto config = parse_config(arguments);
    if (!config) return {};
    return TableSources{std::move(config->tables), tables::maps_socket(config->spool.directory)};
}

// Tries the tables in their order, until one has the key.
int query(const Arguments& arguments, const std::string& key, const std::vector<std::string>& names) {
    const auto known = sources_for(arguments, names);
    if (!known) return bad_config;
    tables::BlockingTables asker(known->sections, known->maps_socket);
    for (const auto& name : names) {
        const auto answer = asker.ask(name, key);
        if (answer.status == tables::Answer::Status::none) continue;
        if (answer.status == tables::Answer::Status::unavailable) return fail(try_again, answer.why);
        if (arguments.json)
            print_json({{"version", 1}, {"table", name}, {"key", key}, {"value", answer.value}});
        else
            fmt::print("{}\n", answer.value);
        return ok;
    }
    return not_found;
}

// Values of a table, by what the configuration uses the table for: problems found, and how many values were checked.
struct TableValues {
    std::vector<tables::Problem> problems;
    std::optional<tables::Scan> scan;
};
TableValues lint_values(const config::Config& config, const std::string& table) {
    TableValues out;
    std::set<std::string> keys;
    for (const auto& each : config.table_references) {
        if (each.table != table || !keys.insert(each.key).second) continue;
        auto review = common::lint_table(config, table, each.key);
        for (auto& odd : review.odd) out.problems.push_back({odd.line, std::move(odd.message)});
        if (review.scan) out.scan = std::move(review.scan);
    }
    auto transports = lint_transport_table(config.addresses, config::transport_names(config.commands, config.routes),
                                           config.tables, table);
    std::ranges::move(transports.problems, std::back_inserter(out.problems));
    if (transports.scan) out.scan = std::move(transports.scan);
    return out;
}

void print_table_problem(const std::string& table, const tables::Problem& problem) {
    print_error(problem.line == 0 ? fmt::format("table {}: {}", table, problem.message)
                                  : fmt::format("table {}, line {}: {}", table, problem.line, problem.message));
}

int check_alias_files(const config::Config& config) {
    const auto odd = common::lint_alias_files(config);
    for (const auto& each : odd) print_error(each.text());
    return odd.empty() ? ok : data_error;
}

int check_tables(const Arguments& arguments, std::vector<std::string> names) {
    TableSources known;
    std::optional<config::Config> config; // which tables are for what
    int status = ok;
    if (names.empty()) {
        config = parse_config(arguments);
        if (!config) return bad_config;
        known = {config->tables, tables::maps_socket(config->spool.directory)};
        status = check_alias_files(*config);
        for (const auto& each : config->table_references) names.push_back(each.table);
        for (const auto& each : config->tables)
            names.push_back((config::has_only_whole_keys(each) ? "patterns:" : "table:") + each.name);
        std::ranges::sort(names);
        names.erase(std::ranges::unique(names).begin(), names.end());
        if (names.empty()) fmt::print("The configuration names no tables.\n");
    } else {
        auto found = sources_for(arguments, names);
        if (!found) return bad_config;
        known = *std::move(found);
        if (auto there = config::parse_file(common::config_file(arguments.config))) config = *std::move(there);
    }
    tables::BlockingTables asker(known.sections, known.maps_socket);
    for (const auto& name : names) {
        const auto answer = asker.ask(name, common::test_key_for(name)); // whether the key exists does not matter
        const auto problems = asker.problems(name);
        const auto values = config ? lint_values(*config, name) : TableValues{};
        const bool unavailable = answer.status == tables::Answer::Status::unavailable;
        if (unavailable) print_error(answer.why);
        for (const auto* odd : {&problems, &values.problems})
            for (const auto& problem : *odd) print_table_problem(name, problem);
        if (unavailable || !problems.empty() || !values.problems.empty())
            status = data_error;
        else
            fmt::print("{}: good{}\n", name, values.scan ? fmt::format(" ({})", values.scan->text()) : "");
    }
    return status;
}

} // namespace

namespace {

// What an address becomes by these tables; itself if they say nothing, or cannot be asked.
std::string by_tables(const config::Config& config, const std::string& address, const std::vector<std::string>& tables,
                      decide::RewritingSettings::Extension extension, std::string& error) {
    if (tables.empty()) return address;
    tables::BlockingTables asker(config.tables, tables::maps_socket(config.spool.directory));
    decide::ExpansionTables lookups;
    lookups.table = [&](const std::string& table, const std::string& key) -> decide::TableAnswer {
        return common::table_answer(asker.ask(table, key));
    };
    const auto settings = common::rewriting_settings(config.domain_classes(), config.mta.origin,
                                                     config.local.recipient_delimiter, extension);
    decide::Lookups questions(lookups);
    auto found = decide::rewritten_address(address, "", tables, settings, questions);
    if (found.status == decide::RewrittenAddress::Status::failed) error = std::move(found.why);
    return found.status == decide::RewrittenAddress::Status::rewritten ? found.address : address;
}

} // namespace

OutwardAddress outward_address(const Arguments& arguments, const std::string& address) {
    OutwardAddress out;
    const auto loaded = config::load(common::config_file(arguments.config));
    if (!loaded) return out;
    const auto& config = *loaded;
    const auto& [masquerade, classes, origins] = config.addresses.masquerade;
    using Extension = decide::RewritingSettings::Extension;
    const auto stored = [&](const std::vector<std::string>& tables, bool masqueraded) {
        auto shown = by_tables(config, address, tables, Extension::added_to_result, out.error);
        if (auto other = masqueraded ? decide::masqueraded(masquerade, shown) : std::nullopt) shown = *std::move(other);
        return shown == address ? std::string() : shown;
    };
    out.in_from = stored(config.addresses.canonical.header_sender, classes.header_sender);
    out.in_to = stored(config.addresses.canonical.header_recipient, classes.header_recipient);
    const auto extension =
        config.addresses.generic.propagate_extension ? Extension::added_to_result : Extension::dropped;
    auto sender = address;
    if (classes.envelope_sender)
        if (auto shown = decide::masqueraded(masquerade, address)) sender = *std::move(shown);
    sender = by_tables(config, sender, config.addresses.generic.tables, extension, out.error);
    if (sender != address) out.as_sender = std::move(sender);
    const auto domain = idn::ascii_domain(std::string_view(address).substr(address.rfind('@') + 1));
    const decide::RouteTable routes(config.routes);
    const auto* rule = routes.find(domain);
    const auto& tables = rule && rule->generic_tables ? *rule->generic_tables : config.addresses.generic.tables;
    if (auto recipient = by_tables(config, address, tables, extension, out.error); recipient != address)
        out.as_recipient = std::move(recipient);
    return out;
}

int map(const Arguments& arguments) {
    std::vector<std::string> names;
    for (const auto& word : arguments.words) names.push_back(tables::absolute(word));
    const auto key = arguments.option("--query");
    if (key && arguments.has("--check")) return fail(usage, "--query and --check cannot be combined");
    if (arguments.has("--check")) return check_tables(arguments, std::move(names));
    if (names.empty())
        return fail(usage, key ? "name the tables to ask, such as text:/etc/postrider/virtual"
                               : "name the files to compile, such as /etc/postrider/virtual");
    return key ? query(arguments, *key, names) : compile(arguments);
}

} // namespace postrider
