#include "daemons/common/lookup/tables/single_lookup.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/format/rules.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/lookup/tables/combined_table.h"
#include "daemons/common/lookup/tables/lmdb_table.h"
#include "daemons/common/lookup/tables/section_contents.h"
#include "daemons/common/lookup/tables/sqlite_table.h"
#include "daemons/common/runtime/read_file.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace tables {

namespace {

constexpr std::size_t max_lookup_file = 64 << 20;

const config::LookupTable* section_of(const Specification& what, const std::vector<config::LookupTable>& sections) {
    const auto found = std::ranges::find(sections, what.name, &config::LookupTable::name);
    return found == sections.end() ? nullptr : &*found;
}

Answer ask(const Specification& what, const std::vector<config::LookupTable>& sections, std::string_view key);

// Without waiting: whatever is needed for an answer is read for it.
class SingleTable final : public Table {
public:
    SingleTable(const std::string& table, const std::vector<config::LookupTable>& sections)
        : table_(table), sections_(sections) {}
    Answer find(std::string_view key, smtp::Now) override { return look_up_once(table_, sections_, key); }
    bool ask(const std::string&, smtp::Now) override { return false; }
    std::string problem() const override { return ""; }

private:
    const std::string& table_;
    const std::vector<config::LookupTable>& sections_;
};

Answer of_section(const config::LookupTable& section, const std::vector<config::LookupTable>& sections,
                  std::string_view key) {
    if (const auto contents = section_contents(section)) return contents->find(key);
    if (config::is_combined(section.kind)) {
        std::vector<CombinedTable::Make> parts;
        for (const auto& part : section.tables)
            parts.emplace_back([&](const Table::OnAnswer&) { return std::make_unique<SingleTable>(part, sections); });
        return CombinedTable("", section.kind, parts, [](const std::string&) {}).find(key, {});
    }
    if (section.kind != config::LookupKind::sqlite) return Answer::unavailable("only its service can answer");
    const auto answers =
        ask_sqlite({section.database, section.query, section.timeout, section.cache}, {std::string(key)});
    if (!answers) return Answer::unavailable(answers.error());
    return answers->empty() ? Answer::unavailable("the query failed") : answers->front();
}

Answer ask(const Specification& what, const std::vector<config::LookupTable>& sections, std::string_view key) {
    if (what.kind == Kind::section) {
        const auto* section = section_of(what, sections);
        return section ? of_section(*section, sections, key) : Answer::unavailable("there is no such section");
    }
    if (what.kind == Kind::fixed) return Answer::found(what.value);
    if (what.kind == Kind::socketmap || what.kind == Kind::tcp || is_database(what.kind))
        return Answer::unavailable("only its service can answer");
    if (what.kind == Kind::lmdb) {
        const auto file = LmdbFile::open(what.name);
        return file ? (*file)->find(folded_key(key)) : Answer::unavailable(file.error());
    }
    const auto text = common::read_bounded(what.name, max_lookup_file);
    if (!text) return Answer::unavailable(std::strerror(text.error()));
    const auto contents = what.kind == Kind::regexp ? RuleTable::read_regexp(*text)
                          : what.kind == Kind::cidr ? RuleTable::read_cidr(*text)
                                                    : TextTable::read(*text);
    return contents->find(key);
}

} // namespace

bool is_service(std::string_view table, const std::vector<config::LookupTable>& sections) {
    const auto what = Specification::parse(table);
    if (!what) return false;
    if (what->kind != Kind::section)
        return what->kind == Kind::socketmap || what->kind == Kind::tcp || is_database(what->kind);
    const auto* section = section_of(*what, sections);
    if (!section) return false;
    return section->kind == config::LookupKind::socketmap || section->kind == config::LookupKind::tcp ||
           std::ranges::any_of(section->tables, [&](const auto& part) { return is_service(part, sections); });
}

Answer look_up_once(std::string_view table, const std::vector<config::LookupTable>& sections, std::string_view key) {
    const auto what = Specification::parse(table);
    auto answer = what ? ask(*what, sections, key) : Answer::unavailable(what.error().why);
    if (answer.status == Answer::Status::unavailable) answer.why = fmt::format("table {}: {}", table, answer.why);
    return answer;
}

} // namespace tables
