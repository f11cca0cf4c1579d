#include "daemons/import-postfix/import/tables.h"
#include "daemons/common/lookup/database/parameters.h"
#include "daemons/common/lookup/database/table_file.h"
#include "daemons/common/lookup/format/rules.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/networks.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

using postfix::trimmed;

namespace {

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> list) {
    return std::ranges::find(list, word) != list.end();
}

bool is_text_table(std::string_view type) {
    return is_any_of(type, {"hash", "lmdb", "texthash", "btree", "dbm", "cdb", "sdbm"});
}

bool has_rules(std::string_view type) { return is_any_of(type, {"regexp", "pcre", "cidr"}); }

constexpr std::size_t max_list_size = 10'000, max_list_files = 20;

std::optional<std::string> file_table(Import& import, std::string_view name, const std::string& type,
                                      std::string path) {
    if (!path.starts_with('/')) {
        import.mark_unsupported(name, fmt::format("{}:{}: the path is not absolute", type, path));
        return {};
    }
    path = import.resolved_path(path);
    const bool rules = has_rules(type);
    if (type == "lmdb" && !import.environment.exists(path) && import.environment.exists(path + ".lmdb")) {
        import.add_remark(name,
                          fmt::format("{0}.lmdb is used as postmap has made it, because its text, {0}, does not exist. "
                                      "\"postmap -s lmdb:{0} >{0}\" writes the text, and \"postmap lmdb:{0}\" compiles "
                                      "it again, also when Postfix is gone",
                                      path));
        return "lmdb:" + path;
    }
    const auto text = import.file(name, path); // must be there and readable
    if (import.error) return {};
    if (type == "regexp")
        import.add_remark(name, fmt::format("{}: its patterns are now interpreted as Perl's (PCRE2)", path));
    if (!rules)
        if (const auto read = postfix::read_table(text, path); !read && !import.error) {
            import.error = read.error();
            return std::nullopt;
        }
    return fmt::format("{}:{}", type == "cidr" ? "cidr" : rules ? "regexp" : "text", path);
}

std::optional<std::string> inline_table(Import& import, std::string_view name, std::string_view text) {
    const auto read = table_entries(import, name, fmt::format("inline:{}", text));
    if (!read) return {};
    std::vector<std::string> pairs;
    for (const auto& entry : *read) pairs.push_back(fmt::format("{} {}", entry.key, entry.value));
    const auto [section, is_new] = import.table_section(fmt::format("inline:{}", text), name);
    if (!is_new) return "table:" + section;
    import.draft.set(fmt::format("table.{}.kind", section), toml("entries"), name);
    import.draft.set(fmt::format("table.{}.entries", section), toml(pairs));
    return "table:" + section;
}

// "{{/pattern/ value}, {if /other/}}", which has one rule in each pair of braces.
std::optional<std::vector<postfix::LogicalLine>> inline_rules(Import& import, std::string_view name,
                                                              std::string_view text) {
    const auto parts = postfix::split(postfix::unbraced(text), ", \t\r\n");
    std::vector<postfix::LogicalLine> out;
    for (const auto& part : parts ? *parts : std::vector<std::string>{}) {
        if (!part.starts_with('{')) {
            import.fail(name, fmt::format("\"{}\": expected a rule in braces, as in {{{{/pattern/ value}}}}",
                                          postfix::excerpt(part)));
            return {};
        }
        if (const auto rule = postfix::unbraced(part); !rule.empty() && !rule.starts_with('#'))
            out.push_back({std::string(rule), static_cast<std::uint32_t>(out.size() + 1)});
    }
    if (!parts && !import.error) import.fail(name, parts.error());
    return import.error ? std::nullopt : std::optional(std::move(out));
}

// Rules in main.cf become a section with the same rules.
std::optional<std::string> table_of_inline_rules(Import& import, std::string_view name, const std::string& type,
                                                 std::string_view text) {
    const auto lines = inline_rules(import, name, text);
    if (!lines) return {};
    if (type == "regexp") import.add_remark(name, "its patterns are now interpreted as Perl's (PCRE2)");
    std::vector<std::string> rules;
    for (const auto& line : *lines) rules.push_back(line.text);
    const auto kind = type == "cidr" ? "cidr" : "regexp";
    const auto [section, is_new] = import.table_section(fmt::format("{}:{}", kind, text), name);
    if (is_new) {
        import.draft.set(fmt::format("table.{}.kind", section), toml(kind), name);
        import.draft.set(fmt::format("table.{}.rules", section), toml(rules));
    }
    return "patterns:" + section;
}

constexpr std::size_t deepest_braces = 50;

// How deep they are nested.
std::size_t braces_in(std::string_view text) {
    std::size_t open = 0, deepest = 0;
    for (const char c : text)
        if (c == '{')
            deepest = std::max(deepest, ++open);
        else if (c == '}' && open > 0)
            --open;
    return deepest;
}

// "unionmap:{TABLE, TABLE}", "pipemap:{…}": what has no counterpart among the tables stays in the section, for check to
// refuse.
std::optional<std::string> combined_table(Import& import, std::string_view name, const std::string& type,
                                          std::string_view text) {
    const auto words = postfix::split(postfix::unbraced(text), ", \t\r\n");
    if (!words || words->empty() || braces_in(text) > deepest_braces) {
        import.fail(name, !words           ? words.error()
                          : words->empty() ? fmt::format("{}: expected tables in braces", type)
                                           : fmt::format("{}: more than {} levels of braces", type, deepest_braces));
        return {};
    }
    const auto [section, is_new] = import.table_section(fmt::format("{}:{}", type, text), name);
    const auto kind = fmt::format("table.{}.kind", section), key = fmt::format("table.{}.tables", section);
    if (is_new) {
        std::vector<std::string> tables;
        for (const auto& word : *words) tables.push_back(converted_table(import, name, word).value_or(word));
        if (import.error) return {};
        import.draft.set(kind, toml(type == "unionmap" ? "union" : "chain"), name);
        import.draft.set(key, toml(tables));
    }
    const auto& tables = import.draft.find(key)->value;
    const bool patterns = std::ranges::any_of(
        std::initializer_list<std::string_view>{"regexp:", "cidr:", "tcp:", "patterns:"}, [&](auto start) {
            return std::string_view(tables).substr(tables.find_first_of("\"'") + 1).starts_with(start);
        }); // of the first one
    return (patterns ? "patterns:" : "table:") + section;
}

// What sqlite_table(5) has in a file: dbpath and query. '%s' is our parameter.
std::optional<std::string> sqlite_table(Import& import, std::string_view name, const std::string& path) {
    const auto place = import.resolved_path(path);
    const auto read = postfix::read_main(import.file(name, path), place);
    if (!read && !import.error) import.error = read.error();
    if (import.error) return {};
    std::string database, query;
    for (const auto& setting : *read) {
        if (setting.name == "dbpath") database = setting.value;
        if (setting.name == "query") query = setting.value;
        if (is_any_of(setting.name, {"domain", "result_format", "expansion_limit"}))
            import.add_remark(name,
                              fmt::format("{}: \"{}\" has no counterpart: do this in the query", path, setting.name));
    }
    for (auto at = query.find("'%s'"); at != query.npos; at = query.find("'%s'")) query.replace(at, 4, ":key");
    if (database.empty() || query.empty() || query.find('%') != query.npos || query.find(":key") == query.npos) {
        import.mark_unsupported(
            name, fmt::format("{}: only a dbpath and a query with '%s' are imported; write a [table.NAME] of "
                              "kind sqlite",
                              path));
        return {};
    }
    const auto [section, is_new] = import.table_section("sqlite:" + place, name);
    if (!is_new) return "table:" + section;
    import.draft.set(fmt::format("table.{}.kind", section), toml("sqlite"), name);
    import.draft.set(fmt::format("table.{}.database", section), toml(import.resolved_path(database)));
    import.draft.set(fmt::format("table.{}.query", section), toml(query));
    return "table:" + section;
}

// Postfix's file is used as it is. What of it cannot be carried over makes mail wait, and is named.
std::optional<std::string> database_table(Import& import, std::string_view name, const std::string& type,
                                          const std::string& path) {
    if (!path.starts_with('/')) {
        import.mark_unsupported(name, fmt::format("{}:{}: the path is not absolute: parameters in main.cf have to be "
                                                  "moved to a file of their own",
                                                  type, path));
        return {};
    }
    const auto place = import.resolved_path(path);
    const auto table = fmt::format("{}:{}", type, place);
    const auto what = tables::Specification::parse(table);
    if (!what) {
        import.mark_unsupported(name, what.error().why);
        return {};
    }
    const auto text = import.file(name, path); // one that is missing stays named
    if (import.error || !import.environment.exists(place)) return table;
    const auto read = tables::read_table_file(what->kind, text);
    if (!read) {
        for (const auto& problem : read.error())
            import.mark_unsupported(name,
                                    fmt::format("{}: {}; mail that depends on this table waits until the file is "
                                                "corrected",
                                                place, problem.text()),
                                    IfLost::harmless);
        return table;
    }
    for (const auto& note : read->notes) import.add_remark(name, fmt::format("{}: {}", place, note));
    const auto parameters = tables::read_parameters(text);
    if (what->kind == tables::Kind::ldap &&
        std::ranges::find(*parameters, "version", &tables::Parameter::name) == parameters->end())
        import.add_remark(name,
                          fmt::format("{}: version 3 of the protocol is used, where Postfix's default is 2", place));
    if (what->kind == tables::Kind::mysql)
        import.add_remark(name, fmt::format("{}: the group [client] of MySQL's option files, which Postfix reads too, "
                                            "is not read",
                                            place));
    import.add_remark(name,
                      fmt::format("{}: the file is used as it is; the package postrider-maps is required", place));
    return table;
}

std::optional<std::string> service_table(Import& import, std::string_view name, const std::string& type,
                                         std::string_view text) {
    auto address = type == "tcp" ? fmt::format("tcp:inet:{}", text) : fmt::format("socketmap:{}", text);
    if (const auto at = address.find("unix:"); at != address.npos && !address.substr(at + 5).starts_with('/'))
        address.insert(at + 5, import.value("queue_directory") + "/");
    if (tables::Specification::parse(address)) return address;
    import.mark_unsupported(
        name, fmt::format("{}:{}: write the numeric address of the service, \"socketmap:inet:127.0.0.1:3000:NAME\"",
                          type, text));
    return {};
}

// What becomes of tables that a list names.
enum class NamedTables : std::uint8_t { are_read, stay };

// Rules for networks that do not hold for all of the network that they begin with: "if", and "!192.0.2.0/24".
bool is_conditional(const postfix::LogicalLine& line) {
    const auto start = smtp::lowered(std::string_view(line.text).substr(0, 5));
    return start.starts_with('!') || start.starts_with("if") || start == "endif";
}

// Text files, and "inline": not databases, patterns and services.
bool has_readable_entries(std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    const auto table = postfix::parse_typed(word);
    return table && (is_text_table(table->type) || table->type == "inline");
}

} // namespace

std::optional<std::vector<postfix::LogicalLine>> rule_lines(Import& import, std::string_view name,
                                                            std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    const auto table = postfix::parse_typed(word);
    if (!table || !has_rules(table->type)) return {};
    if (table->name.starts_with('{')) return inline_rules(import, name, table->name);
    const auto path = import.resolved_path(table->name);
    if (!import.environment.exists(path)) return {};
    auto lines = postfix::logical_lines(import.file(name, table->name), path);
    if (!lines && !import.error) import.error = lines.error();
    return import.error ? std::nullopt : std::optional(*std::move(lines));
}

std::optional<std::vector<postfix::Entry>> table_entries(Import& import, std::string_view name, std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    const auto table = postfix::parse_typed(word);
    if (!table || !is_text_table(table->type)) {
        if (table && table->type == "inline") {
            std::vector<postfix::Entry> out;
            const auto pairs = postfix::split(postfix::unbraced(table->name), ", \t");
            for (const auto& pair : pairs ? *pairs : std::vector<std::string>{}) {
                const auto bare = postfix::unbraced(pair);
                const auto equals = bare.find('=');
                if (equals == bare.npos) {
                    import.fail(name, fmt::format("\"{}\": expected key=value", postfix::excerpt(bare)));
                    return std::nullopt;
                }
                out.push_back(
                    {std::string(trimmed(bare.substr(0, equals))), std::string(trimmed(bare.substr(equals + 1))), 0});
            }
            return out;
        }
        import.add_remark(name,
                          fmt::format("{}: tables of this type cannot be read, so nothing was copied from it", word));
        return {};
    }
    const auto path = import.resolved_path(table->name);
    if (table->type == "lmdb" && !import.environment.exists(path) && import.environment.exists(path + ".lmdb")) {
        import.add_remark(name, fmt::format("{}: only the compiled table exists; its entries were not copied", path));
        return {};
    }
    const auto text = import.file(name, path);
    if (import.error) return {};
    auto read = postfix::read_table(text, path);
    if (!read && !import.error) import.error = read.error();
    return read ? std::optional(*std::move(read)) : std::nullopt;
}

// Behind "/pattern/flags", which may be invalid; 0: it does not begin with one.
static std::size_t end_of_pattern(std::string_view text) {
    if (text.empty() || smtp::is_letter(text.front()) || smtp::is_digit(text.front())) return 0;
    for (std::size_t at = 1; at < text.size(); ++at) {
        if (text[at] == '\\')
            ++at;
        else if (text[at] == text.front())
            return std::min(text.find_first_of(" \t", at), text.size());
    }
    return 0;
}

std::optional<std::vector<TableLine>> table_lines(Import& import, std::string_view name, std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    const auto table = postfix::parse_typed(word);
    std::vector<TableLine> out;
    if (table && table->type == "static") {
        out.push_back({{"*", std::string(postfix::unbraced(table->name)), 0}});
        return out;
    }
    if (!table || (table->type != "regexp" && table->type != "pcre")) {
        auto entries = table_entries(import, name, word);
        if (!entries) return {};
        for (auto& entry : *entries) out.push_back({std::move(entry)});
        return out;
    }
    const auto rules = rule_lines(import, name, word);
    if (!rules) return {};
    for (const auto& rule : *rules) {
        std::string_view text = rule.text;
        while (text.starts_with('!')) text = trimmed(text.substr(1));
        const auto end = end_of_pattern(text);
        if (end == 0) continue;
        const auto read = tables::RuleTable::read_regexp(rule.text);
        const auto& problems = read->problems().first();
        out.push_back({{std::string(text.substr(0, end)), std::string(trimmed(text.substr(end))), rule.line},
                       true,
                       problems.empty() ? "" : problems.front().message});
    }
    return out;
}

static std::vector<std::string> expanded(Import& import, std::string_view name, std::vector<std::string> open,
                                         NamedTables named_tables) {
    std::vector<std::string> out;
    std::size_t files = 0;
    for (std::size_t i = 0; i < open.size() && !import.error; ++i) {
        const auto word = open[i];
        if (out.size() > max_list_size) {
            import.fail(name, fmt::format("more than {} words", max_list_size));
            return out;
        }
        const auto table = postfix::parse_typed(word);
        if (word.starts_with('/')) {
            if (++files > max_list_files) {
                import.fail(name, fmt::format("more than {} files in one list", max_list_files));
                return out;
            }
            const auto lines = postfix::logical_lines(import.file(name, word), import.resolved_path(word));
            if (!lines && !import.error) import.error = lines.error();
            if (import.error) return out;
            if (!import.environment.exists(import.resolved_path(word)))
                out.push_back(word); // unread it stays, for check to refuse
            for (const auto& line : *lines)
                for (auto& each : postfix::words_of(line.text)) open.push_back(std::move(each));
        } else if (table && named_tables == NamedTables::are_read &&
                   is_any_of(table->type, {"pcre",      "regexp",  "mysql", "pgsql",  "ldap", "sqlite",   "memcache",
                                           "socketmap", "tcp",     "nis",   "static", "unix", "cidr",     "pipemap",
                                           "unionmap",  "randmap", "proxy", "hash",   "lmdb", "texthash", "btree",
                                           "dbm",       "cdb",     "sdbm",  "inline"})) {
            if (table->type == "cidr") {
                const auto lines = rule_lines(import, name, word);
                if (import.error) return out;
                if (!lines) import.file(name, table->name); // it is missing, which is noted
                if (lines && std::ranges::any_of(*lines, is_conditional)) {
                    if (auto networks = networks_of_rules(*lines)) {
                        for (auto& network : *networks) out.push_back(std::move(network));
                    } else {
                        import.mark_unsupported(name, fmt::format("{}: {}", word, networks.error()), IfLost::harmless);
                        out.push_back(word);
                    }
                    continue;
                }
                for (const auto& line : lines ? *lines : std::vector<postfix::LogicalLine>{})
                    out.push_back(line.text.substr(0, line.text.find_first_of(" \t")));
            } else if (!has_readable_entries(word)) {
                out.push_back(word);
            } else if (const auto read = table_entries(import, name, word)) {
                for (const auto& entry : *read) out.push_back(entry.key);
                if (table->type != "inline" && !import.environment.exists(import.resolved_path(table->name)))
                    out.push_back(word);
            } else {
                out.push_back(word);
            }
        } else {
            out.push_back(word);
        }
    }
    return out;
}

std::vector<std::string> expanded_list(Import& import, std::string_view name) {
    return expanded_list(import, name, import.words(name));
}

std::vector<std::string> expanded_list(Import& import, std::string_view name, std::vector<std::string> words) {
    return expanded(import, name, std::move(words), NamedTables::are_read);
}

std::vector<std::string> list_with_tables(Import& import, std::string_view name) {
    return expanded(import, name, import.words(name), NamedTables::stay);
}

std::vector<std::string> tables_of(Import& import, std::string_view name) {
    std::vector<std::string> out;
    for (const auto& word : import.words(name))
        for (auto& table : postfix::tables_in(word)) out.push_back(std::move(table));
    return out;
}

std::vector<std::string> converted_tables(Import& import, std::string_view name) {
    std::vector<std::string> out;
    for (const auto& word : import.words(name))
        if (auto table = converted_table(import, name, word)) out.push_back(*std::move(table));
    import.mark_converted(name);
    return out;
}

std::optional<std::string> converted_table(Import& import, std::string_view name, std::string_view word) {
    if (import.error) return {};
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    auto what = postfix::parse_typed(word);
    if (!what && word.starts_with('/'))
        what = postfix::TypedName{import.value("default_database_type"), std::string(word)};
    if (!what) {
        import.mark_unsupported(name, fmt::format("\"{}\" names no table", word));
        return {};
    }
    const auto& [type, rest] = *what;
    if (has_rules(type) && rest.starts_with('{')) return table_of_inline_rules(import, name, type, rest);
    if (is_any_of(type, {"unionmap", "pipemap"})) return combined_table(import, name, type, rest);
    if (is_any_of(type, {"hash", "lmdb", "texthash", "btree", "dbm", "cdb", "sdbm", "regexp", "pcre", "cidr"}))
        return file_table(import, name, type, rest);
    if (type == "inline") return inline_table(import, name, rest);
    if (type == "static")
        if (auto table = fmt::format("static:{}", trimmed(postfix::unbraced(rest)));
            tables::Specification::parse(table))
            return table;
    if (type == "sqlite") return sqlite_table(import, name, rest);
    if (is_any_of(type, {"mysql", "pgsql", "ldap"})) return database_table(import, name, type, rest);
    if (type == "socketmap" || type == "tcp") return service_table(import, name, type, rest);
    if (is_any_of(type, {"unix", "nis"})) {
        import.mark_unsupported(name, fmt::format("{}: users of this system need no table", word));
        return {};
    }
    if (type == "randmap") {
        import.mark_unsupported(
            name,
            fmt::format(
                "{}: there are no tables with random values. A transport entry may name several hosts, "
                "\"smtp:[a.example], [b.example]\", and a name with several MX or SRV records shares mail out. It was "
                "copied unchanged, and postrider check rejects it until it is replaced or removed",
                word),
            IfLost::harmless);
        return std::string(word);
    }
    // Tables of recipients and destinations: without this one, mail would be accepted or rejected wrongly.
    import.mark_unsupported(
        name,
        fmt::format("tables of type \"{}\" have no counterpart: write the entries to a text file, or use a socketmap. "
                    "It was copied unchanged, and postrider check rejects it until it is replaced or removed",
                    type),
        IfLost::harmless);
    return std::string(word);
}

} // namespace postrider
