#include "daemons/decide/access/result_lint.h"
#include "daemons/decide/access/rule.h"
#include "daemons/decide/routing/filter_destination.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide::access {

namespace {

std::optional<WrongResult> wrong_filter(std::string_view text, const std::function<bool(std::string_view)>& is_route) {
    const auto filter = filter_destination(text);
    if (!filter) return WrongResult{fmt::format("FILTER: {}", not_a_filter)};
    const auto route = route_of_filter(*filter);
    if (route.empty() || is_route(route)) return {};
    return WrongResult{fmt::format("FILTER: there is no [route.\"{}\"]", route)};
}

} // namespace

std::optional<WrongResult> wrong_result(std::string_view value, const std::function<bool(std::string_view)>& is_class,
                                        const std::function<bool(std::string_view)>& is_route) {
    constexpr std::string_view simple[] = {"dunno", "ok",   "relay", "reject",  "defer",          "defer_if_permit",
                                           "info",  "warn", "hold",  "discard", "defer_if_reject"};
    const auto ineffective = [](std::string why) { return WrongResult{std::move(why), false}; };
    value = smtp::trimmed(value);
    const auto first = value.substr(0, value.find_first_of(" \t"));
    const auto text = smtp::trimmed(value.substr(first.size()));
    const auto action = smtp::lowered(first);
    const bool digits = !first.empty() && std::ranges::all_of(first, smtp::is_digit);
    const bool reply = digits && first.size() == 3 && (first[0] == '4' || first[0] == '5');
    if (std::ranges::find(simple, action) != std::end(simple)) return {};
    if (reply && text.empty())
        return ineffective(fmt::format("{} without a text permits, as any number does: add a text to reject", first));
    if (reply || (digits && text.empty())) return {};
    if (action == "filter") return wrong_filter(text, is_route);
    if (action == "redirect" || action == "bcc") {
        if (text.find('@') != text.npos && text.find_first_of(" \t<>,") == text.npos) return {};
        return ineffective(fmt::format("{} has no effect without an address", first));
    }
    if (action == "prepend") {
        const auto colon = text.find(':');
        if (colon != text.npos && colon > 0 && text.substr(0, colon).find_first_of(" \t") == text.npos) return {};
        return ineffective(fmt::format("{} has no effect without a header field", first));
    }
    if (value.find(':') != value.npos) return WrongResult{"a result must not name a table: use an [access_class]"};
    const auto rules = Rule::parse_value(value);
    if (!rules) return WrongResult{rules.error().why};
    for (const auto& rule : *rules)
        if (rule.check == Check::rule_class && !is_class(rule.argument))
            return WrongResult{fmt::format("\"{0}\" is not a result, and there is no [access_class.{0}]",
                                           smtp::printable(rule.argument, 100))};
    return {};
}

} // namespace decide::access
