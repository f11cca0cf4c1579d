// postmap(1): compiles a lookup table, asks tables, lists and changes a compiled one. Postfix's names for kinds of files
// are taken for what is here instead: "hash:FILE" and the like for FILE.lmdb, or for the text itself where that is newer.
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/lookup/tables/asker.h"
#include "daemons/common/lookup/format/compile.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/tables/lmdb_table.h"
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
struct Map {
    std::string kind, file;
};

constexpr std::string_view compiled_kinds[] = {"hash", "btree", "dbm", "cdb", "lmdb"};

bool is_compiled(const Map& map) { return std::ranges::find(compiled_kinds, map.kind) != std::end(compiled_kinds); }

Map map_of(const std::string& word) {
    const auto colon = word.find(':');
    if (colon == word.npos || word.starts_with('/') || word.starts_with('.')) return {"hash", word};
    return {word.substr(0, colon), word.substr(colon + 1)};
}

std::string compiled_file(const Map& map) { return map.file + ".lmdb"; }

// Was it made of the text as it is, or is there no text?
bool is_current(const Map& map) {
    struct stat text {}, compiled {};
    if (::stat(compiled_file(map).c_str(), &compiled) != 0) return false;
    return ::stat(map.file.c_str(), &text) != 0 || compiled.st_mtim.tv_sec >= text.st_mtim.tv_sec;
}

// As Postrider names it.
std::string our_name(const Map& map) {
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

int query(const Call& call, const std::vector<Map>& maps) {
    std::vector<config::LookupTable> sections;
    if (std::ranges::any_of(maps, [](const Map& map) { return map.kind == "table"; })) {
        auto config = parse_config(call);
        if (!config) return call.failure;
        sections = std::move(config->tables);
    }
    tables::Asker asker(sections);
    const bool many = call.value('q') == "-";
    bool any = false;
    for (const auto& key : keys_of(call.value('q')))
        for (const auto& map : maps) {
            const auto answer = asker.ask(our_name(map), key);
            if (answer.said == tables::Answer::Said::unavailable) return fatal(call, answer.why);
            if (answer.said != tables::Answer::Said::found) continue;
            fmt::print("{}{}{}\n", many ? key : "", many ? "\t" : "", answer.value);
            any = true;
            break;
        }
    return any ? EX_OK : EXIT_FAILURE;
}

int list(const Call& call, const Map& map) {
    const auto print = [](std::string_view key, std::string_view value) {
        fmt::print("{}\t{}\n", key, value);
        return true;
    };
    if (our_name(map).starts_with("lmdb:")) {
        const auto file = tables::LmdbFile::open(compiled_file(map));
        if (!file) return fatal(call, fmt::format("open {}: {}", compiled_file(map), file.error()));
        const auto done = (*file)->each(print);
        return done ? EX_OK : fatal(call, fmt::format("read {}: {}", compiled_file(map), done.error()));
    }
    if (!our_name(map).starts_with("text:")) return fatal(call, "unsupported map type for this operation: " + map.kind);
    const auto text = common::read_file(map.file);
    if (!text) return fatal(call, text.error().what);
    tables::Problems problems;
    tables::KeyValues entries(*text, problems);
    std::map<std::string, std::string> sorted; // the first of a key counts
    while (auto entry = entries.next()) sorted.emplace(tables::folded_key(entry->key), std::move(entry->value));
    for (const auto& [key, value] : sorted) print(key, value);
    return EX_OK;
}

void warn(const Call& call, const std::string& file, const tables::Problems& problems) {
    for (const auto& problem : problems.first())
        warning(call, fmt::format("{}, line {}: {}", file, problem.line, problem.message));
}

int create(const Call& call, const Map& map) {
    if (!is_compiled(map)) return fatal(call, "unsupported map type for this operation: " + map.kind);
    const auto made = tables::compile(map.file);
    if (!made) return fatal(call, made.error().what);
    if (!call.has('w')) warn(call, map.file, made->problems);
    return EX_OK;
}

// Makes the table anew with a change to what it holds.
int change(const Call& call, const Map& map, const std::function<spool::Result<>(tables::Writer&)>& change) {
    if (!is_compiled(map)) return fatal(call, "unsupported map type for this operation: " + map.kind);
    const auto path = compiled_file(map);
    std::unique_ptr<tables::LmdbFile> old;
    struct stat facts {};
    if (const bool there = ::stat(path.c_str(), &facts) == 0; there || call.has('d')) {
        auto opened = tables::LmdbFile::open(path);
        if (!opened) return fatal(call, fmt::format("open {}: {}", path, opened.error()));
        old = *std::move(opened);
    }
    const auto made = tables::write_compiled(path, old ? path : map.file, [&](tables::Writer& writer) -> spool::Result<> {
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
    return made ? EX_OK : fatal(call, made.error().what);
}

int insert(const Call& call, const Map& map) {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    tables::Problems problems;
    const int status = change(call, map, [&](tables::Writer& writer) -> spool::Result<> {
        tables::KeyValues entries(text, problems);
        while (const auto entry = entries.next())
            switch (TRY(writer.put(entry->key, entry->value, call.has('r')))) {
            case tables::Writer::Put::added: break;
            case tables::Writer::Put::there: problems.add(entry->line, fmt::format("duplicate entry: \"{}\"", entry->key)); break;
            case tables::Writer::Put::too_long: problems.add(entry->line, "the key is too long; passed over"); break;
            }
        return {};
    });
    if (status == EX_OK && !call.has('w')) warn(call, "standard input", problems);
    return status;
}

int erase(const Call& call, const Map& map) {
    const auto keys = keys_of(call.value('d'));
    bool any = false;
    if (auto file = tables::LmdbFile::open(compiled_file(map)))
        any = std::ranges::any_of(keys, [&](const auto& key) {
            return (*file)->find(tables::folded_key(key)).said != tables::Answer::Said::none;
        });
    const int status = change(call, map, [&](tables::Writer& writer) -> spool::Result<> {
        for (const auto& key : keys) TRY(writer.erase(key));
        return {};
    });
    return status != EX_OK ? status : any ? EX_OK : EXIT_FAILURE;
}

} // namespace

// -f, -n, -N, -o, -p, -u and -U have no meaning here: keys know no case, and a new table has the mode and owner of its text.
int postmap(const Call& call) {
    for (const char letter : {'b', 'h', 'm', 'F'})
        if (call.has(letter))
            return fatal(call,
                         fmt::format("-{} is not to be had: it asks tables in a way that nothing here does", letter));
    std::vector<Map> maps;
    for (const auto& word : call.words) maps.push_back(map_of(word));
    if (maps.empty() || call.has('q') + call.has('d') + call.has('s') + call.has('i') > 1) return EX_USAGE;
    if (call.has('q')) return call.value('q').empty() ? EX_USAGE : query(call, maps);
    for (const auto& map : maps) {
        const int status = call.has('s') ? list(call, map) : call.has('i') ? insert(call, map) : call.has('d') ? erase(call, map) : create(call, map);
        if (status != EX_OK) return status;
    }
    return EX_OK;
}

} // namespace postfix_commands
