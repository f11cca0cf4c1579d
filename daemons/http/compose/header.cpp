#include "daemons/http/compose/header.h"
#include "daemons/http/compose/field_text.h"
#include "daemons/http/compose/wrong_member.h"
#include "libsmtp/message/address_list.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace http::compose {

namespace {

using Text = std::expected<std::string, std::string>;

enum class Kind : std::uint8_t { text, exact, addresses, own };

struct KnownField {
    std::string_view name; // lower case
    Kind kind;             // own: made of other members, or not the sender's
    bool once = true;
};
constexpr KnownField known_fields[] = {
    {"from", Kind::addresses},       {"sender", Kind::addresses},     {"reply-to", Kind::addresses},
    {"to", Kind::addresses},         {"cc", Kind::addresses},         {"comments", Kind::text, false},
    {"date", Kind::exact},           {"message-id", Kind::exact},     {"in-reply-to", Kind::exact},
    {"references", Kind::exact},     {"keywords", Kind::text, false}, {"precedence", Kind::exact},
    {"auto-submitted", Kind::exact}, {"subject", Kind::own},          {"bcc", Kind::own},
    {"mime-version", Kind::own},     {"received", Kind::own},         {"return-path", Kind::own},
    {"delivered-to", Kind::own},     {"idempotency-key", Kind::own},  {"tls-required", Kind::exact},
};
constexpr std::string_view own_prefixes[] = {"content-", "resent-", "x-postrider-"};
constexpr std::string_view exact_prefixes[] = {"list-", "dkim-", "arc-"};

KnownField kind_of(std::string_view lower_name) {
    const auto known = std::ranges::find(known_fields, lower_name, &KnownField::name);
    if (known != std::end(known_fields)) return *known;
    const auto begins = [&](std::string_view prefix) { return lower_name.starts_with(prefix); };
    if (std::ranges::any_of(own_prefixes, begins)) return {lower_name, Kind::own};
    if (std::ranges::any_of(exact_prefixes, begins)) return {lower_name, Kind::exact, false};
    return {lower_name, Kind::text, false};
}

bool is_field_name(std::string_view name) {
    return !name.empty() && name.size() <= 76 &&
           std::ranges::all_of(name, [](char c) { return smtp::is_printable(c) && c != ' ' && c != ':'; });
}

Text one_field(Kind kind, std::string_view name, std::string_view value) {
    if (kind == Kind::text) return text_field(name, value);
    return kind == Kind::exact ? exact_field(name, value) : address_field(name, value);
}

// Sender is one address; From and Reply-To are some, not only a group that is empty.
std::string_view missing_in(const KnownField& known, std::string_view list) {
    const auto listed = smtp::parse_address_list(list);
    if (known.kind != Kind::addresses || known.name == "to" || known.name == "cc" || !listed) return {};
    if (known.name == "sender" && listed->size() != 1) return "one address";
    return listed->empty() ? "an address" : "";
}

Text field(const GivenField& given, const KnownField& known) {
    const auto member = "headers." + smtp::printable(given.name, 64);
    auto values = given.values;
    std::erase_if(values, [](const std::string& each) { return each.find_first_not_of(' ') == each.npos; });
    for (const auto& each : values)
        if (!is_line(each) || each.size() > longest_value)
            return wrong_member(member,
                                fmt::format("lines of at most {} bytes, without control characters", longest_value));
    if (known.kind == Kind::addresses && !values.empty()) values = {fmt::format("{}", fmt::join(values, ", "))};
    if (known.once && values.size() > 1) return wrong_member(member, "one value");
    std::string out;
    for (const auto& each : values) {
        if (const auto missing = missing_in(known, each); !missing.empty()) return wrong_member(member, missing);
        const auto text = one_field(known.kind, given.name, each);
        if (!text) return wrong_member(member, text.error());
        out += *text;
    }
    return out;
}

struct GivenFields {
    std::string text;
    std::set<std::string> names; // lower case
};

std::expected<GivenFields, std::string> given_fields(const std::vector<GivenField>& given) {
    GivenFields out;
    if (given.size() > most_fields) return wrong_member("headers", fmt::format("at most {} fields", most_fields));
    for (const auto& each : given) {
        const auto name = smtp::lowered(each.name);
        const auto known = kind_of(name);
        if (!is_field_name(each.name) || known.kind == Kind::own)
            return wrong_member("headers", fmt::format("other fields than \"{}\"", smtp::printable(each.name, 64)));
        if (!out.names.insert(name).second) return wrong_member("headers." + smtp::printable(each.name, 64), "it once");
        const auto text = field(each, known);
        if (!text) return std::unexpected(text.error());
        if (text->empty()) out.names.erase(name);
        out.text += *text;
    }
    return out;
}

} // namespace

std::expected<std::string, std::string> header(const Draft& draft) {
    const auto given = given_fields(draft.fields);
    if (!given) return std::unexpected(given.error());
    std::string out;
    const auto& names = given->names;
    if (!names.contains("from") && !draft.sender.empty()) {
        const auto from = address_field("From", draft.sender);
        if (!from) return wrong_member("from", from.error());
        out += *from;
    }
    out += given->text;
    if (!names.contains("to") && !names.contains("cc")) {
        const auto to =
            address_field("To", draft.recipients.size() == 1 ? draft.recipients.front() : "undisclosed-recipients:;");
        if (!to) return wrong_member("to", to.error());
        out += *to;
    }
    if (!draft.subject) return out;
    if (!is_line(*draft.subject) || draft.subject->size() > longest_value)
        return wrong_member("subject",
                            fmt::format("a line of at most {} bytes, without control characters", longest_value));
    return out + text_field("Subject", *draft.subject);
}

} // namespace http::compose
