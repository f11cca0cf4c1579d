#include "daemons/common/history/erasure.h"
#include "daemons/common/history/history_query.h"
#include "daemons/common/history/line_filter.h"
#include "libspool/journal/journal_line.h"
#include "libspool/journal/json_object.h"
#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

namespace history {

using nlohmann::json;

namespace {

constexpr std::string_view erased_member = "erased";

bool continues_address(char c) {
    constexpr std::string_view others = "!#$%&'*+-/=?^_`{|}~.";
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80 ||
           others.find(c) != others.npos;
}

bool continues_domain(std::string_view rest) {
    const auto of_label = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || static_cast<unsigned char>(c) >= 0x80 || c == '-';
    };
    if (rest.empty()) return false;
    return of_label(rest[0]) || (rest[0] == '.' && rest.size() > 1 && of_label(rest[1]));
}

// The longest part of it that JSON writes in one way only.
std::string plain_part_of(std::string_view form) {
    std::string_view longest;
    for (std::size_t begin = 0; begin <= form.size();) {
        const auto end = std::min(form.find_first_of("\"\\/", begin), form.size());
        if (end - begin > longest.size()) longest = form.substr(begin, end - begin);
        begin = end + 1;
    }
    return std::string(longest);
}

} // namespace

bool is_erased(const json& event) {
    const auto found = event.find(erased_member);
    return found != event.end() && found->is_boolean() && found->get<bool>();
}

std::string tombstone_of(const json& event) {
    std::string out;
    spool::journal::JsonObject line(out);
    line.number("v", event.value("v", spool::journal_version));
    line.number("seq", event.value("seq", std::uint64_t{0}));
    for (const auto* member : {"node", "time", "type", "id"}) line.text(member, string_of(event, member));
    line.flag(erased_member, true);
    line.close();
    return out;
}

Erasure::Erasure(std::string_view address, const AddressHash* hash) : forms_{lowered(address)} {
    if (hash != nullptr) forms_.push_back(hash->of(forms_.front()));
    std::ranges::transform(forms_, std::back_inserter(needles_), plain_part_of);
}

bool Erasure::may_concern(std::string_view lower_case) const {
    return std::ranges::any_of(needles_, [&](const std::string& part) {
        return ::memmem(lower_case.data(), lower_case.size(), part.data(), part.size()) != nullptr;
    });
}

bool Erasure::is_in(std::string_view text) const {
    const auto lower = lowered(text);
    return std::ranges::any_of(forms_, [&](const std::string& form) {
        for (auto at = lower.find(form); at != lower.npos; at = lower.find(form, at + 1)) {
            const bool begins = at == 0 || !continues_address(lower[at - 1]);
            if (begins && !continues_domain(std::string_view(lower).substr(at + form.size()))) return true;
        }
        return false;
    });
}

bool Erasure::concerns(const json& value) const {
    if (value.is_string()) return is_in(value.get_ref<const std::string&>());
    return value.is_structured() && std::ranges::any_of(value, [this](const json& each) { return concerns(each); });
}

std::optional<std::string> Erasure::erased_from(std::string_view lines, std::uint64_t& erased) const {
    std::string lower;
    make_lower(lines, lower);
    if (!may_concern(lower)) return {};
    std::string out;
    bool any = false;
    while (!lines.empty()) {
        const auto size = std::min(lines.find('\n'), lines.size());
        const auto line = lines.substr(0, size);
        lines.remove_prefix(std::min(size + 1, lines.size()));
        const auto concerned = [&](const json& event) { return event.is_object() && concerns(event); };
        make_lower(line, lower);
        if (may_concern(lower)) {
            if (const auto event = json::parse(line, nullptr, false); concerned(event)) {
                out.append(tombstone_of(event)).append("\n");
                any = true;
                ++erased;
                continue;
            }
        }
        out.append(line).append("\n");
    }
    if (!any) return {};
    return out;
}

} // namespace history
