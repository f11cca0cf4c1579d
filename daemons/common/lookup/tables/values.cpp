#include "daemons/common/lookup/tables/values.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/format/rules.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/lookup/tables/lmdb_table.h"
#include "daemons/common/lookup/tables/section_contents.h"
#include "daemons/common/lookup/tables/sqlite_table.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/text/pattern.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <span>

namespace tables {

namespace {

constexpr std::size_t max_linted_file = 64 << 20, most_of_sqlite = 20'000, keys_at_once = 500;
constexpr std::string_view a_service = "the service answers only one key at a time";

// Takes values; returns whether one more is wanted.
class Taking {
public:
    Taking(const std::function<void(const TableValue&)>& take, std::size_t most) : take_(take), most_(most) {}

    bool operator()(const TableValue& value) {
        if (scan.examined == most_) return scan.whole = false;
        ++scan.examined;
        take_(value);
        return true;
    }
    Scan cannot(std::string why) {
        scan.whole = false;
        scan.error = std::move(why);
        return std::move(scan);
    }

    Scan scan;

private:
    const std::function<void(const TableValue&)>& take_;
    std::size_t most_;
};

void entries_of(std::string_view text, Taking& taking) {
    Problems passed_over;
    KeyValues entries(text, passed_over);
    while (const auto entry = entries.next())
        if (!taking({entry->key, entry->value, entry->line})) return;
}

void of_rules(const TableContents& rules, bool groups, Taking& taking) {
    static_cast<const RuleTable&>(rules).each(
        [&](std::uint32_t line, std::string_view value) { return taking({"", value, line, groups}); });
}

Scan of_file(const Specification& what, Taking& taking) {
    const auto text = common::read_bounded(what.name, max_linted_file);
    if (!text) return taking.cannot(std::strerror(text.error()));
    if (what.kind == Kind::text) {
        entries_of(*text, taking);
    } else {
        const auto rules = what.kind == Kind::regexp ? RuleTable::read_regexp(*text) : RuleTable::read_cidr(*text);
        of_rules(*rules, what.kind == Kind::regexp, taking);
    }
    return std::move(taking.scan);
}

Scan of_lmdb(const std::string& path, Taking& taking) {
    const auto file = LmdbFile::open(path);
    const auto read = file ? (*file)->each([&](auto key, auto value) { return taking({key, value, 0}); })
                           : std::unexpected(file.error());
    return read ? std::move(taking.scan) : taking.cannot(read.error());
}

Scan of_sqlite(const SqliteQuery& query, Taking& taking, std::size_t most) {
    most = std::min(most, most_of_sqlite);
    auto keys = sqlite_keys(query, most + 1);
    if (!keys) return taking.cannot(std::move(keys).error());
    const bool more = keys->size() > most;
    if (more) keys->resize(most);
    for (std::size_t at = 0; at < keys->size(); at += keys_at_once) {
        const std::vector<std::string> some(keys->begin() + static_cast<std::ptrdiff_t>(at),
                                            keys->begin() +
                                                static_cast<std::ptrdiff_t>(std::min(at + keys_at_once, keys->size())));
        const auto answers = ask_sqlite(query, some);
        if (!answers) return taking.cannot(answers.error());
        for (std::size_t n = 0; n < answers->size(); ++n)
            if ((*answers)[n].status == Answer::Status::found) taking({some[n], (*answers)[n].value, 0});
        if (answers->size() < some.size()) return taking.cannot("the query takes too long to check more of them");
    }
    taking.scan.whole = !more;
    return std::move(taking.scan);
}

// Of each of the tables, of which the lines are not known to the caller.
Scan of_parts(std::span<const std::string> parts, const std::vector<config::LookupTable>& sections,
              const std::function<void(const TableValue&)>& take, std::size_t most) {
    Scan out;
    for (const auto& part : parts) {
        auto scan = each_value(
            part, sections,
            [&](const TableValue& value) {
                auto without_line = value;
                without_line.line = 0;
                take(without_line);
            },
            most - out.examined);
        out.examined += scan.examined;
        out.whole = out.whole && scan.whole;
        if (out.error.empty()) out.error = std::move(scan.error);
    }
    return out;
}

} // namespace

std::string Scan::text() const {
    const auto counted = fmt::format("{} value{}", examined, examined == 1 ? "" : "s");
    if (!error.empty())
        return examined == 0 ? fmt::format("its values cannot be checked: {}", error)
                             : fmt::format("the first {} checked: {}", counted, error);
    return fmt::format("{}{} checked", whole ? "" : "the first ", counted);
}

Scan each_value(std::string_view table, const std::vector<config::LookupTable>& sections,
                const std::function<void(const TableValue&)>& take, std::size_t most) {
    Taking taking(take, most);
    const auto what = Specification::parse(table);
    if (!what) return taking.cannot(what.error().why);
    switch (what->kind) {
    case Kind::text:
    case Kind::regexp:
    case Kind::cidr: return of_file(*what, taking);
    case Kind::lmdb: return of_lmdb(what->name, taking);
    case Kind::socketmap:
    case Kind::tcp:
    case Kind::mysql:
    case Kind::pgsql:
    case Kind::ldap: return taking.cannot(std::string(a_service));
    case Kind::fixed: taking({"", what->value, 0}); return std::move(taking.scan);
    case Kind::section: break;
    }
    const auto section = std::ranges::find(sections, what->name, &config::LookupTable::name);
    if (section == sections.end()) return taking.cannot("there is no such section");
    switch (section->kind) {
    case config::LookupKind::entries:
        for (const auto& entry : section->entries) entries_of(entry, taking);
        return std::move(taking.scan);
    case config::LookupKind::regexp:
    case config::LookupKind::cidr:
        of_rules(*section_contents(*section), section->kind == config::LookupKind::regexp, taking);
        return std::move(taking.scan);
    case config::LookupKind::merged: return of_parts(section->tables, sections, take, most);
    case config::LookupKind::chained: return of_parts({&section->tables.back(), 1}, sections, take, most);
    case config::LookupKind::sqlite:
        return of_sqlite({section->database, section->query, section->timeout, section->cache}, taking, most);
    case config::LookupKind::socketmap:
    case config::LookupKind::tcp:
    case config::LookupKind::none: break;
    }
    return taking.cannot(std::string(a_service));
}

std::optional<std::string> check_value(const TableValue& value, const ValueCheck& wrong) {
    if (!value.groups) return wrong(std::string(value.value));
    std::optional<std::string> first;
    for (const std::string_view word : {"user", "example.org", "user@example.org", "25"}) {
        auto found = wrong(common::filled_in_with(value.value, word));
        if (!found) return std::nullopt;
        if (!first) first = std::move(found);
    }
    return first;
}

} // namespace tables
