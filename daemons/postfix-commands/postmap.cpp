// postmap(1): compiles a lookup table, asks tables, lists and changes a compiled one. Postfix's names for kinds of
// files are taken for what is here instead: "hash:FILE" and the like for FILE.lmdb, or for the text itself where that
// is newer.
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/lookup/format/compile.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/tables/blocking_tables.h"
#include "daemons/common/lookup/tables/lmdb_table.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/postfix-commands/command.h"
#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <iterator>
#include <map>
#include <sys/stat.h>
#include <sysexits.h>

namespace postfix_commands {

namespace {

// "hash:/etc/postfix/virtual".
struct MapName {
    std::string kind, file;
};

constexpr std::string_view compiled_kinds[] = {"hash", "btree", "dbm", "cdb", "lmdb"};

bool is_compiled(const MapName& map) { return std::ranges::find(compiled_kinds, map.kind) != std::end(compiled_kinds); }

MapName parse_map(const std::string& word) {
    const auto colon = word.find(':');
    if (colon == word.npos || word.starts_with('/') || word.starts_with('.')) return {"hash", word};
    return {word.substr(0, colon), word.substr(colon + 1)};
}

std::string compiled_file(const MapName& map) { return map.file + ".lmdb"; }

// Was it made of the text as it is, or is there no text?
bool is_current(const MapName& map) {
    struct stat text{}, compiled{};
    if (::stat(compiled_file(map).c_str(), &compiled) != 0) return false;
    return ::stat(map.file.c_str(), &text) != 0 || compiled.st_mtim.tv_sec >= text.st_mtim.tv_sec;
}

// As Postrider names it.
std::string table_name(const MapName& map) {
    std::string kind = map.kind;
    if (kind == "texthash" || (is_compiled(map) && kind != "lmdb" && !is_current(map)))
        kind = "text";
    else if (is_compiled(map))
        kind = "lmdb";
    else if (kind == "pcre")
        kind = "regexp";
    return tables::absolute(kind + ":" + map.file);
}

// Of -q, -d and -i: a key, or those on standard input.
std::vector<std::string> keys_of(const std::string& value) {
    if (value != "-") return {value};
    std::vector<std::string> keys;
    for (std::string line; std::getline(std::cin, line);)
        if (!line.empty()) keys.push_back(line);
    return keys;
}

int query(const Invocation& invocation, const std::vector<MapName>& maps) {
    TableSources sources;
    constexpr std::string_view of_the_configuration[] = {"table", "mysql", "pgsql", "ldap"};
    if (std::ranges::any_of(maps, [&](const MapName& map) {
            return std::ranges::find(of_the_configuration, map.kind) != std::end(of_the_configuration);
        })) {
        auto known = parse_tables(invocation);
        if (!known) return invocation.failure_status;
        sources = *std::move(known);
    }
    tables::BlockingTables asker(sources.sections, sources.maps_socket);
    const bool many = invocation.value('q') == "-";
    bool any = false;
    for (const auto& key : keys_of(invocation.value('q')))
        for (const auto& map : maps) {
            const auto answer = asker.ask(table_name(map), key);
            if (answer.status == tables::Answer::Status::unavailable) return fatal(invocation, answer.why);
            if (answer.status != tables::Answer::Status::found) continue;
            fmt::print("{}{}{}\n", many ? key : "", many ? "\t" : "", answer.value);
            any = true;
            break;
        }
    return any ? EX_OK : EXIT_FAILURE;
}

int list(const Invocation& invocation, const MapName& map) {
    const auto print = [](std::string_view key, std::string_view value) {
        fmt::print("{}\t{}\n", key, value);
        return true;
    };
    if (table_name(map).starts_with("lmdb:")) {
        const auto file = tables::LmdbFile::open(compiled_file(map));
        if (!file) return fatal(invocation, fmt::format("open {}: {}", compiled_file(map), file.error()));
        const auto done = (*file)->each(print);
        return done ? EX_OK : fatal(invocation, fmt::format("read {}: {}", compiled_file(map), done.error()));
    }
    if (!table_name(map).starts_with("text:"))
        return fatal(invocation, "unsupported map type for this operation: " + map.kind);
    const auto text = common::read_file(map.file);
    if (!text) return fatal(invocation, text.error().what);
    tables::Problems problems;
    tables::KeyValues entries(*text, problems);
    std::map<std::string, std::string> sorted; // the first of a key counts
    while (auto entry = entries.next()) sorted.emplace(tables::folded_key(entry->key), std::move(entry->value));
    for (const auto& [key, value] : sorted) print(key, value);
    return EX_OK;
}

void warn(const Invocation& invocation, const std::string& file, const tables::Problems& problems) {
    for (const auto& problem : problems.first())
        warning(invocation, fmt::format("{}, line {}: {}", file, problem.line, problem.message));
}

int create(const Invocation& invocation, const MapName& map) {
    if (!is_compiled(map)) return fatal(invocation, "unsupported map type for this operation: " + map.kind);
    const auto made = tables::compile(map.file);
    if (!made) return fatal(invocation, made.error().what);
    if (!invocation.has('w')) warn(invocation, map.file, made->problems);
    return EX_OK;
}

// Makes the table again with a change to what it holds.
int change(const Invocation& invocation, const MapName& map,
           const std::function<spool::Result<>(tables::Writer&)>& change) {
    if (!is_compiled(map)) return fatal(invocation, "unsupported map type for this operation: " + map.kind);
    const auto path = compiled_file(map);
    std::unique_ptr<tables::LmdbFile> old;
    struct stat facts{};
    if (const bool there = ::stat(path.c_str(), &facts) == 0; there || invocation.has('d')) {
        auto opened = tables::LmdbFile::open(path);
        if (!opened) return fatal(invocation, fmt::format("open {}: {}", path, opened.error()));
        old = *std::move(opened);
    }
    const auto made =
        tables::write_compiled(path, old ? path : map.file, [&](tables::Writer& writer) -> spool::Result<> {
            spool::Result<> result;
            if (old) {
                const auto copied = old->each([&](std::string_view key, std::string_view value) {
                    const auto put = writer.put(key, value);
                    if (!put) result = std::unexpected(put.error());
                    return bool(put);
                });
                if (!copied) return std::unexpected(spool::Error{0, fmt::format("read {}: {}", path, copied.error())});
                TRY(result);
            }
            return change(writer);
        });
    return made ? EX_OK : fatal(invocation, made.error().what);
}

int insert(const Invocation& invocation, const MapName& map) {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    tables::Problems problems;
    const int status = change(invocation, map, [&](tables::Writer& writer) -> spool::Result<> {
        tables::KeyValues entries(text, problems);
        while (const auto entry = entries.next())
            switch (TRY(writer.put(entry->key, entry->value, invocation.has('r')))) {
            case tables::Writer::Put::added: break;
            case tables::Writer::Put::there:
                problems.add(entry->line, fmt::format("duplicate entry: \"{}\"", entry->key));
                break;
            case tables::Writer::Put::too_long: problems.add(entry->line, "the key is too long; skipped"); break;
            }
        return {};
    });
    if (status == EX_OK && !invocation.has('w')) warn(invocation, "standard input", problems);
    return status;
}

int erase(const Invocation& invocation, const MapName& map) {
    const auto keys = keys_of(invocation.value('d'));
    bool any = false;
    if (auto file = tables::LmdbFile::open(compiled_file(map)))
        any = std::ranges::any_of(keys, [&](const auto& key) {
            return (*file)->find(tables::folded_key(key)).status != tables::Answer::Status::none;
        });
    const int status = change(invocation, map, [&](tables::Writer& writer) -> spool::Result<> {
        for (const auto& key : keys) TRY(writer.erase(key));
        return {};
    });
    return status != EX_OK ? status : any ? EX_OK : EXIT_FAILURE;
}

} // namespace

// -f, -n, -N, -o, -p, -u and -U have no meaning here: keys know no case, and a new table has the mode and owner of its
// text.
int postmap(const Invocation& invocation) {
    for (const char letter : {'b', 'h', 'm', 'F'})
        if (invocation.has(letter))
            return fatal(invocation,
                         fmt::format("-{} is not supported: it queries tables in a way that Postrider never "
                                     "does",
                                     letter));
    std::vector<MapName> maps;
    for (const auto& word : invocation.words) maps.push_back(parse_map(word));
    if (maps.empty() || invocation.has('q') + invocation.has('d') + invocation.has('s') + invocation.has('i') > 1)
        return EX_USAGE;
    if (invocation.has('q')) return invocation.value('q').empty() ? EX_USAGE : query(invocation, maps);
    for (const auto& map : maps) {
        const int status = invocation.has('s')   ? list(invocation, map)
                           : invocation.has('i') ? insert(invocation, map)
                           : invocation.has('d') ? erase(invocation, map)
                                                 : create(invocation, map);
        if (status != EX_OK) return status;
    }
    return EX_OK;
}

} // namespace postfix_commands
