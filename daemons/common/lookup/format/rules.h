// Tables of rules, of which the first that matches a key is used, as in Postfix's pcre_table(5) and cidr_table(5):
// "/pattern/flags value" or "network value", "!" before either for no match, and "if /pattern/" … "endif" around
// rules that are tried only if it matches. Pure; the work on one key is bounded, whatever the rules are.
#pragma once
#include "daemons/common/lookup/format/lines.h"
#include "daemons/common/net/network.h"
#include "daemons/common/text/pattern.h"
#include <expected>
#include <functional>
#include <optional>
#include <variant>

namespace tables {

class RuleTable final : public TableContents {
public:
    static std::unique_ptr<const TableContents> read_regexp(std::string_view text);
    static std::unique_ptr<const TableContents>
    read_cidr(std::string_view text); // keys are addresses; no other key is there

    // Of regexp, $1 … in the value are what the groups of the pattern caught.
    Answer find(std::string_view key) const override;
    std::size_t entries() const override { return entries_; }
    // The right-hand sides, as they stand; stops when `take` returns false.
    void each(const std::function<bool(std::uint32_t line, std::string_view value)>& take) const;

private:
    enum class Step : std::uint8_t { value, open, close };
    struct Rule {
        std::uint32_t line = 0;
        Step step = Step::value;
        bool negated = false;
        std::variant<std::monostate, common::Pattern, common::Network> what;
        std::string value;
        std::size_t end = 0; // open: the place of its endif
    };
    using Condition = std::expected<decltype(Rule::what), smtp::Malformed> (*)(std::string_view& text);
    static std::unique_ptr<const TableContents> read(std::string_view text, Condition take);
    static std::expected<Rule, smtp::Malformed> rule_of(std::string_view line, Condition take);

    std::vector<Rule> rules_;
    std::size_t entries_ = 0;
};

} // namespace tables
