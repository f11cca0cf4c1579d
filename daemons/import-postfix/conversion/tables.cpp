// Lookup tables of Postfix's in our words, and lists that files and tables stand in.
#include "daemons/common/net/service_address.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/import-postfix/conversion/import.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

using postfix::trimmed;

namespace {

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> list) {
    return std::ranges::find(list, word) != list.end();
}

constexpr std::size_t max_list_size = 10'000, max_list_files = 20;

} // namespace

std::string Import::resolved_path(const std::string& path) const {
    constexpr std::string_view home = "/etc/postfix/";
    if (path.starts_with(home) && !environment.exists(path))
        if (auto here = environment.directory + "/" + path.substr(home.size()); environment.exists(here)) return here;
    return path;
}

std::string Import::queue_path(std::string_view path) {
    return path.starts_with('/') ? std::string(path) : fmt::format("{}/{}", value("queue_directory"), path);
}

std::optional<std::string> Import::service_address(std::string_view text) {
    const auto place = postfix::destination_of(text);
    if (!place) return {};
    std::string address;
    if (place->path)
        address = "unix:" + queue_path(place->host);
    else if (place->host.find(':') != std::string::npos)
        address = fmt::format("inet:[{}]:{}", place->host, place->port);
    else
        address = fmt::format("inet:{}:{}", place->host == "localhost" ? "127.0.0.1" : place->host, place->port);
    return common::ServiceAddress::parse(address) ? std::optional(address) : std::nullopt;
}

std::string Import::file(std::string_view name, const std::string& path) {
    if (error) return "";
    const auto place = resolved_path(path);
    if (!environment.exists(place)) return mark_unsupported(name, fmt::format("{}: there is no such file", path)), "";
    auto read = environment.read(place);
    if (read) return *std::move(read);
    fail(name, fmt::format("{}: {}", path, read.error()));
    return "";
}

std::optional<std::vector<postfix::Entry>> Import::entries(std::string_view name, std::string_view word) {
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    const auto table = postfix::parse_typed(word);
    if (!table || !is_any_of(table->type, {"hash", "lmdb", "texthash", "btree", "dbm", "cdb", "sdbm"})) {
        if (table && table->type == "inline") {
            std::vector<postfix::Entry> out;
            const auto pairs = postfix::split(postfix::unbraced(table->name), ", \t");
            for (const auto& pair : pairs ? *pairs : std::vector<std::string>{}) {
                const auto bare = postfix::unbraced(pair);
                const auto equals = bare.find('=');
                if (equals == bare.npos)
                    return fail(name, fmt::format("\"{}\": expected key=value", postfix::excerpt(bare))),
                           std::nullopt;
                out.push_back({std::string(trimmed(bare.substr(0, equals))),
                               std::string(trimmed(bare.substr(equals + 1))), 0});
            }
            return out;
        }
        add_remark(name, fmt::format("{}: tables of this type cannot be read, so nothing was copied from it", word));
        return {};
    }
    const auto path = resolved_path(table->name);
    if (table->type == "lmdb" && !environment.exists(path) && environment.exists(path + ".lmdb")) {
        add_remark(name,
              fmt::format("{}: only the compiled table exists; its entries were not copied", path));
        return {};
    }
    const auto text = file(name, path);
    if (error) return {};
    auto read = postfix::read_table(text, path);
    if (!read && !error) error = read.error();
    return read ? std::optional(*std::move(read)) : std::nullopt;
}

std::vector<std::string> Import::expanded_list(std::string_view name) {
    std::vector<std::string> out, open = words(name);
    std::size_t files = 0;
    for (std::size_t i = 0; i < open.size() && !error; ++i) {
        const auto word = open[i];
        if (out.size() > max_list_size) return fail(name, fmt::format("more than {} words", max_list_size)), out;
        const auto table = postfix::parse_typed(word);
        if (word.starts_with('/')) {
            if (++files > max_list_files)
                return fail(name, fmt::format("more than {} files in one list", max_list_files)), out;
            const auto lines = postfix::logical_lines(file(name, word), resolved_path(word));
            if (!lines && !error) error = lines.error();
            if (error) return out;
            if (!environment.exists(resolved_path(word))) out.push_back(word); // unread it stays, for check to refuse
            for (const auto& line : *lines)
                for (auto& each : split(line.text)) open.push_back(std::move(each));
        } else if (table &&
                   is_any_of(table->type,
                             {"pcre",      "regexp",  "mysql", "pgsql",  "ldap", "sqlite",   "memcache",
                              "socketmap", "tcp",     "nis",   "static", "unix", "cidr",     "pipemap",
                              "unionmap",  "randmap", "proxy", "hash",   "lmdb", "texthash", "btree",
                              "dbm",       "cdb",     "sdbm",  "inline"})) {
            if (table->type == "cidr") {
                const auto lines = postfix::logical_lines(file(name, table->name), resolved_path(table->name));
                if (!lines && !error) error = lines.error();
                if (error) return out;
                for (const auto& line : *lines)
                    out.push_back(line.text.substr(0, line.text.find_first_of(" \t")));
            } else if (const auto read = entries(name, word)) {
                for (const auto& entry : *read) out.push_back(entry.key);
                if (table->type != "inline" && !environment.exists(resolved_path(table->name))) out.push_back(word);
            } else {
                out.push_back(word);
            }
        } else {
            out.push_back(word);
        }
    }
    return out;
}

std::vector<std::string> Import::tables(std::string_view name) {
    std::vector<std::string> out;
    for (const auto& word : words(name))
        if (auto table = this->table(name, word)) out.push_back(*std::move(table));
    mark_converted(name);
    return out;
}

std::optional<std::string> Import::table(std::string_view name, std::string_view word) {
    if (error) return {};
    while (word.starts_with("proxy:")) word.remove_prefix(6);
    auto what = postfix::parse_typed(word);
    if (!what && word.starts_with('/'))
        what = postfix::TypedName{value("default_database_type"), std::string(word)};
    if (!what) {
        mark_unsupported(name, fmt::format("\"{}\" names no table", word));
        return {};
    }
    const auto& [type, rest] = *what;
    if (is_any_of(type,
                  {"hash", "lmdb", "texthash", "btree", "dbm", "cdb", "sdbm", "regexp", "pcre", "cidr"}))
        return file_table(name, type, rest);
    if (type == "inline") return inline_table(name, rest);
    if (type == "sqlite") return sqlite_table(name, rest);
    if (type == "socketmap" || type == "tcp") return service_table(name, type, rest);
    if (is_any_of(type, {"unix", "nis"})) {
        mark_unsupported(name, fmt::format("{}: users of this system need no table", word));
        return {};
    }
    // Who is there, and where mail goes: without it mail would be taken or refused that should not be.
    mark_unsupported(
        name, fmt::format("tables of type \"{}\" have no counterpart: {}. It was copied unchanged, and "
                          "postrider check rejects it until it is replaced or removed",
                          type,
                          type == "static" ? "write a regexp: table with one pattern that matches everything"
                                           : "write the entries to a text file, or use a socketmap"));
    return std::string(word);
}

std::optional<std::string> Import::file_table(std::string_view name, const std::string& type,
                                              std::string path) {
    if (!path.starts_with('/')) {
        mark_unsupported(name, fmt::format("{}:{}: the path is not absolute", type, path));
        return {};
    }
    path = resolved_path(path);
    const bool rules = is_any_of(type, {"regexp", "pcre", "cidr"});
    if (type == "lmdb" && !environment.exists(path) && environment.exists(path + ".lmdb")) return "lmdb:" + path;
    const auto text = file(name, path); // must be there and readable
    if (error) return {};
    if (type == "regexp") add_remark(name, fmt::format("{}: its patterns are now interpreted as Perl's (PCRE2)", path));
    if (!rules)
        if (const auto read = postfix::read_table(text, path); !read && !error)
            return error = read.error(), std::nullopt;
    return fmt::format("{}:{}", type == "cidr" ? "cidr" : rules ? "regexp" : "text", path);
}

std::optional<std::string> Import::inline_table(std::string_view name, std::string_view text) {
    const auto read = entries(name, fmt::format("inline:{}", text));
    if (!read) return {};
    std::vector<std::string> pairs;
    for (const auto& entry : *read) pairs.push_back(fmt::format("{} {}", entry.key, entry.value));
    const auto section = fmt::format("{}_{}", name, ++tables_made_);
    draft.set(fmt::format("table.{}.kind", section), toml("entries"), name);
    draft.set(fmt::format("table.{}.entries", section), toml(pairs));
    return "table:" + section;
}

// What sqlite_table(5) has in a file: dbpath and query. '%s' is our parameter.
std::optional<std::string> Import::sqlite_table(std::string_view name, const std::string& path) {
    const auto place = resolved_path(path);
    const auto read = postfix::read_main(file(name, path), place);
    if (!read && !error) error = read.error();
    if (error) return {};
    std::string database, query;
    for (const auto& setting : *read) {
        if (setting.name == "dbpath") database = setting.value;
        if (setting.name == "query") query = setting.value;
        if (is_any_of(setting.name, {"domain", "result_format", "expansion_limit"}))
            add_remark(name,
                  fmt::format("{}: \"{}\" has no counterpart: do this in the query", path, setting.name));
    }
    for (auto at = query.find("'%s'"); at != query.npos; at = query.find("'%s'"))
        query.replace(at, 4, ":key");
    if (database.empty() || query.empty() || query.find('%') != query.npos ||
        query.find(":key") == query.npos) {
        mark_unsupported(name, fmt::format("{}: only a dbpath and a query with '%s' are imported; write a "
                                           "[table.NAME] of kind sqlite",
                                  path));
        return {};
    }
    const auto section = fmt::format("{}_{}", name, ++tables_made_);
    draft.set(fmt::format("table.{}.kind", section), toml("sqlite"), name);
    draft.set(fmt::format("table.{}.database", section), toml(resolved_path(database)));
    draft.set(fmt::format("table.{}.query", section), toml(query));
    return "table:" + section;
}

std::optional<std::string> Import::service_table(std::string_view name, const std::string& type,
                                                 std::string_view text) {
    auto address = type == "tcp" ? fmt::format("tcp:inet:{}", text) : fmt::format("socketmap:{}", text);
    if (const auto at = address.find("unix:"); at != address.npos && !address.substr(at + 5).starts_with('/'))
        address.insert(at + 5, value("queue_directory") + "/");
    if (tables::Specification::parse(address)) return address;
    mark_unsupported(name,
            fmt::format(
                "{}:{}: write the numeric address of the service, \"socketmap:inet:127.0.0.1:3000:NAME\"",
                type, text));
    return {};
}

} // namespace postrider
