#include "libsmtp/message/header_addresses.h"
#include "libsmtp/text/text.h"
#include <algorithm>

namespace smtp {
namespace {

constexpr std::string_view fields_of_senders[] = {"From",
                                                  "Sender",
                                                  "Reply-To",
                                                  "Resent-From",
                                                  "Errors-To",
                                                  "Resent-Sender",
                                                  "Return-Receipt-To",
                                                  "Mail-Followup-To",
                                                  "Disposition-Notification-To"};
constexpr std::string_view fields_of_recipients[] = {"To",        "Cc",        "Bcc",        "Apparently-To",
                                                     "Resent-To", "Resent-Cc", "Resent-Bcc", "Resent-Reply-To"};

// A line with a replaced address is folded before that address if it would be longer.
constexpr std::size_t line_to_fold = 900;
constexpr std::size_t most_unreadable = 10;

// The comments between the words of an address as it is written.
std::string comments_within(std::string_view written) {
    std::string out;
    for (std::size_t at = 0; at < written.size(); ++at) {
        if (written[at] == '"' || written[at] == '[') {
            const char close = written[at] == '"' ? '"' : ']';
            for (++at; at < written.size() && written[at] != close; ++at)
                if (written[at] == '\\') ++at;
        } else if (written[at] == '(') {
            const auto begin = at;
            std::size_t depth = 0;
            for (; at < written.size(); ++at) {
                if (written[at] == '\\')
                    ++at;
                else if (written[at] == '(')
                    ++depth;
                else if (written[at] == ')' && --depth == 0)
                    break;
            }
            out.append(" ").append(written.substr(begin, at + 1 - begin));
        }
    }
    return out;
}

// Breaks the last line of `out` before the blank that precedes the next address.
void fold_before_address(std::string& out) {
    auto place = out.size();
    if (place > 0 && out[place - 1] == '<') --place;
    if (place == 0 || (out[place - 1] != ' ' && out[place - 1] != '\t')) return;
    // A line of blanks alone would end the header.
    const auto line = out.rfind('\n', place - 1) + 1; // 0: the first one, with the name
    if (out.find_first_not_of(" \t", line) < place - 1) out.insert(place - 1, "\r\n");
}

std::size_t length_of_last_line(std::string_view text) {
    const auto end = text.rfind('\n');
    return end == text.npos ? text.size() : text.size() - end - 1;
}

} // namespace

AddressFieldKind address_field_kind(std::string_view name) {
    const auto is_name = [&](std::string_view each) { return same_ignoring_case(each, name); };
    if (std::ranges::any_of(fields_of_senders, is_name)) return AddressFieldKind::sender;
    if (std::ranges::any_of(fields_of_recipients, is_name)) return AddressFieldKind::recipient;
    return AddressFieldKind::none;
}

HeaderAddresses addresses_of_header(const HeaderBlock& block, const HeaderAddressLimits& limits) {
    HeaderAddresses out;
    auto left = limits.addresses;
    for (std::size_t number = 0; number < block.fields.size(); ++number) {
        const auto& field = block.fields[number];
        const auto kind = address_field_kind(field.name);
        if (kind == AddressFieldKind::none) continue;
        if (field.raw.size() > limits.field || left == 0) {
            out.complete = false;
            continue;
        }
        AddressListLimits of_list;
        of_list.addresses = left + 1; // one more, which shows that it is too many
        of_list.form = AddressListLimits::Form::as_found;
        auto list = parse_address_list(field.value, of_list);
        if (!list) {
            if (std::ranges::count_if(field.value, [](char c) { return c == ',' || c == ';'; }) >=
                static_cast<std::ptrdiff_t>(left))
                out.complete = false;
            else if (field.value.find('@') != field.value.npos && out.unreadable.size() < most_unreadable)
                out.unreadable.push_back({field.name, std::move(list.error().why)});
            continue;
        }
        if (list->size() > left) {
            out.complete = false;
            continue;
        }
        if (list->empty()) continue;
        left -= list->size();
        const auto value_at = static_cast<std::size_t>(field.value.data() - field.raw.data());
        out.fields.push_back({number, kind, field.raw, value_at, *std::move(list)});
    }
    return out;
}

std::optional<std::string> rewritten_field(const AddressField& field, const AddressReplacement& replacement) {
    std::string out;
    std::size_t from = 0; // of the field, the first byte that is not in `out`
    for (const auto& address : field.addresses) {
        if (address.domain.empty()) continue;
        const auto other = replacement(field.kind, address.address());
        if (!other || *other == address.address()) continue;
        const auto begin = field.value_at + address.route, end = field.value_at + address.end;
        out.append(field.raw.substr(from, begin - from));
        const auto until = std::min(field.raw.find('\n', end), field.raw.size());
        if (length_of_last_line(out) + other->size() + (until - end) > line_to_fold) fold_before_address(out);
        out.append(*other).append(comments_within(field.raw.substr(begin, end - begin)));
        from = end;
    }
    if (from == 0) return std::nullopt;
    return out.append(field.raw.substr(from));
}

} // namespace smtp
