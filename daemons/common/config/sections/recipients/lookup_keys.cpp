// The keys of lookup tables.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/lookup/format/header_checks.h"
#include "daemons/common/lookup/format/reply_rules.h"
#include "daemons/common/lookup/format/specification.h"
#include "libsmtp/text/text.h"
#include <memory>

namespace config {

using namespace std::chrono_literals;

namespace {

constexpr EnumValue<LookupKind> kinds[] = {{"entries", LookupKind::entries},     {"regexp", LookupKind::regexp},
                                           {"cidr", LookupKind::cidr},           {"sqlite", LookupKind::sqlite},
                                           {"socketmap", LookupKind::socketmap}, {"tcp", LookupKind::tcp},
                                           {"union", LookupKind::merged},        {"chain", LookupKind::chained}};

// One rule of a table, as a line of its file would be; which kind of rule is not known yet.
Refusal read_rule(std::string_view text, std::string& value) {
    if (auto refusal = any_text(value).set(text)) return refusal;
    if (text.empty() || text.front() == ' ' || text.front() == '\t' || text.front() == '#')
        return fmt::format("\"{}\": expected a rule such as \"/pattern/ value\"", smtp::printable(text, 100));
    return std::nullopt;
}

// The same rule may be there twice, "endif" for one.
ListKey table_rules(std::vector<std::string>& rules) {
    return {.clear = [&rules] { rules.clear(); },
            .add = [&rules](std::string_view text) -> Refusal {
                std::string rule;
                auto refusal = read_rule(text, rule);
                if (!refusal) rules.push_back(std::move(rule));
                return refusal;
            },
            .show = [&rules] { return rules; }};
}

// A chain may ask one table twice, and a union has its values twice then.
ListKey parts_of_table(std::vector<std::string>& tables) {
    return {.clear = [&tables] { tables.clear(); },
            .add = [&tables](std::string_view text) -> Refusal {
                const auto read = tables::Specification::parse(text);
                if (!read) return read.error().why;
                tables.emplace_back(text);
                return std::nullopt;
            },
            .show = [&tables] { return tables; },
            .of_tables = true};
}

// Rules with "if" and "endif": the same line may be there twice, "endif" for one. `step_of` says what a line is.
template <class F> ListKey rules_in_blocks(std::vector<std::string>& values, F step_of) {
    const auto open_so_far = std::make_shared<std::size_t>(0);
    return {.clear = [&values, open_so_far] { values.clear(), *open_so_far = 0; },
            .add = [&values, step_of, open_so_far](std::string_view text) -> Refusal {
                using common::BlockStep;
                const auto step = step_of(text);
                if (!step) return fmt::format("\"{}\": {}", smtp::printable(text, 100), step.error().why);
                if (*step == BlockStep::close && *open_so_far == 0) return "\"endif\" without \"if\"";
                *open_so_far += *step == BlockStep::open ? 1 : 0;
                *open_so_far -= *step == BlockStep::close ? 1 : 0;
                values.emplace_back(text);
                return std::nullopt;
            },
            .show = [&values] { return values; },
            .finish = [&values]() -> Refusal {
                const auto blocks = common::check_blocks(values);
                return blocks ? std::nullopt : Refusal(blocks.error().why);
            }};
}

} // namespace

ListKey lookup_tables(std::vector<std::string>& values) {
    auto list = list_of<std::string>(values, [](std::string_view text, std::string& value) -> Refusal {
        const auto read = tables::Specification::parse(text);
        if (!read) return read.error().why;
        value = text;
        return std::nullopt;
    });
    list.of_tables = true;
    return list;
}

ListKey check_rules(std::vector<std::string>& values, CheckedPart part) {
    using Use = common::HeaderChecks::Use;
    const auto use = part == CheckedPart::header            ? Use::header
                     : part == CheckedPart::body            ? Use::body
                     : part == CheckedPart::outgoing_header ? Use::outgoing_header
                                                            : Use::outgoing_body;
    return rules_in_blocks(values, [use](std::string_view text) { return common::HeaderChecks::step_of(text, use); });
}

ListKey reply_patterns(std::vector<std::string>& values) {
    return rules_in_blocks(values, common::ReplyPatterns::step_of);
}

ListKey optional_lookup_tables(std::optional<std::vector<std::string>>& values) {
    return {[&values] { values.emplace(); },
            [&values](std::string_view text) -> Refusal {
                auto so_far = *values;
                if (auto refusal = lookup_tables(so_far).add(text)) return refusal;
                values = std::move(so_far);
                return std::nullopt;
            },
            [&values] { return values.value_or(std::vector<std::string>{}); }, true};
}

Section section_for(LookupTable& s) {
    return {
        "table.<name>",
        "A lookup table that needs more settings than a type and a location. Lists of tables refer to it as "
        "\"table:NAME\", or as \"patterns:NAME\" if its keys are patterns or networks (kinds \"regexp\" and "
        "\"cidr\", and \"union\" and \"chain\" whose first table is such a one). Text files, compiled files, "
        "regular expressions and networks in files need no such section: see postrider-tables(5).",
        {
            {"kind", one_of(s.kind, kinds),
             "Type of the table. \"entries\": the entries listed here. \"regexp\", \"cidr\": the rules listed here. "
             "\"sqlite\": a query of an SQLite database. "
             "\"socketmap\", \"tcp\": a service with the protocol of Sendmail's socket maps, or with that of "
             "Postfix's tcp_table(5). \"union\": the values that all tables in \"tables\" have for the key, joined "
             "with commas. \"chain\": the value in each of these tables is the key in the next one, and the value in "
             "the last one is the result. A union and a chain are unavailable while one of their tables is.",
             "\"sqlite\""},
            {"entries",
             list_of<std::string>(s.entries,
                                  [](std::string_view text, std::string& value) -> Refusal {
                                      const auto blank = text.find_first_of(" \t");
                                      std::string plain;
                                      if (auto refusal = any_text(plain).set(text)) return refusal;
                                      if (blank == 0 || blank == text.npos ||
                                          text.find_first_not_of(" \t", blank) == text.npos)
                                          return fmt::format("\"{}\": expected \"key value\"",
                                                             smtp::printable(text, 100));
                                      value = text;
                                      return std::nullopt;
                                  }),
             "For kind \"entries\": strings \"key value\".", "[\"sales@example.com ann@example.com\"]"},
            {"rules", table_rules(s.rules),
             "For kinds \"regexp\" and \"cidr\": rules as in the lines of such a file, one per string, also with "
             "\"if\" and \"endif\".",
             "['/^(.+)-request@lists\\.example\\.com$/ owner-$1@example.com']"},
            {"tables", parts_of_table(s.tables),
             "For kinds \"union\" and \"chain\": tables, in order; at most 50 with those in the tables listed, and at "
             "most 5 levels deep.",
             "[\"pgsql:/etc/postrider/logins\", \"text:/etc/postrider/logins\"]"},
            {"database", any_text(s.database), "For kind \"sqlite\": file of the database. It is only read.",
             "\"/var/lib/mail/users.sqlite\""},
            {"query", any_text(s.query),
             "For kind \"sqlite\": a SELECT with one parameter, ? or :key, which is replaced by the key in lower "
             "case. The values in the first column of all rows are joined with commas; no rows mean that the key "
             "does not exist.",
             "\"SELECT target FROM aliases WHERE address = ?\""},
            {"address", service_address(s.address), "For kinds \"socketmap\" and \"tcp\": address of the service.",
             "\"unix:/run/users/map.sock\""},
            {"map", any_text(s.map), "For kind \"socketmap\": the service's name for this table.", "\"aliases\""},
            {"timeout", DurationKey{&s.timeout, 100ms, 5min},
             "For kinds \"sqlite\", \"socketmap\" and \"tcp\": time limit for a reply. After that, the table is "
             "temporarily unavailable, and mail that depends on it waits.",
             ""},
            {"cache", DurationKey{&s.cache, 1s, 1h}, "How long a reply is cached, for the same kinds.", ""},
        }};
}

bool has_only_whole_keys(const LookupTable& table) {
    if (table.kind == LookupKind::regexp || table.kind == LookupKind::cidr) return true;
    if (!is_combined(table.kind) || table.tables.empty()) return false;
    const auto first = tables::Specification::parse(table.tables.front());
    return first && (first->patterns || first->kind == tables::Kind::regexp || first->kind == tables::Kind::cidr ||
                     first->kind == tables::Kind::tcp);
}

std::vector<std::string_view> missing_keys(const LookupTable& table) {
    std::vector<std::string_view> out;
    const auto need = [&](bool there, std::string_view key) {
        if (!there) out.push_back(key);
    };
    switch (table.kind) {
    case LookupKind::none: need(false, "kind"); break;
    case LookupKind::entries: need(!table.entries.empty(), "entries"); break;
    case LookupKind::regexp:
    case LookupKind::cidr: need(!table.rules.empty(), "rules"); break;
    case LookupKind::merged:
    case LookupKind::chained: need(!table.tables.empty(), "tables"); break;
    case LookupKind::sqlite:
        need(!table.database.empty(), "database");
        need(!table.query.empty(), "query");
        break;
    case LookupKind::socketmap: need(!table.map.empty(), "map"); [[fallthrough]];
    case LookupKind::tcp: need(table.address != common::ServiceAddress{}, "address"); break;
    }
    return out;
}

} // namespace config
