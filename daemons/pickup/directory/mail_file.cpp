#include "daemons/pickup/directory/mail_file.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace pickup {

namespace {

// Takes the next field off `text`, with its continued lines; nothing: the header has ended.
std::optional<std::string_view> take_field(std::string_view& text) {
    if (text.empty() || text.starts_with("\n") || text.starts_with("\r\n")) return {};
    std::size_t end = 0;
    do {
        end = std::min(text.find('\n', end), text.size() - 1) + 1;
    } while (end < text.size() && (text[end] == ' ' || text[end] == '\t'));
    const auto field = text.substr(0, end);
    text.remove_prefix(end);
    return field;
}

std::optional<std::string> value_of(std::string_view field, std::string_view name) {
    if (field.size() <= name.size() || !smtp::same_ignoring_case(field.substr(0, name.size()), name)) return {};
    const auto colon = field.find_first_not_of(" \t", name.size());
    if (colon == field.npos || field[colon] != ':') return {};
    std::string out;
    for (const char c : field.substr(colon + 1))
        if (c != '\r' && c != '\n') out += c;
    const auto begin = std::min(out.find_first_not_of(" \t"), out.size());
    return out.substr(begin, out.find_last_not_of(" \t") + 1 - begin);
}

} // namespace

std::expected<MailFile, std::string> MailFile::parse(std::string_view beginning, bool whole) {
    MailFile out;
    auto rest = beginning;
    std::optional<std::string> sender;
    while (true) {
        auto after = rest;
        const auto field = take_field(after);
        if (!field) break;
        if (auto given = value_of(*field, "X-Sender")) {
            if (sender) return std::unexpected("X-Sender is given twice, expected once");
            sender = *given == "<>" ? "" : *std::move(given);
        } else if (auto receiver = value_of(*field, "X-Receiver")) {
            if (receiver->empty()) return std::unexpected("X-Receiver without an address");
            out.receivers.push_back(*std::move(receiver));
        } else {
            break;
        }
        rest = after;
    }
    out.message_at = static_cast<std::size_t>(rest.data() - beginning.data());
    std::optional<std::string> from, header_sender;
    while (const auto field = take_field(rest)) {
        if (!from) from = value_of(*field, "From");
        if (!header_sender) header_sender = value_of(*field, "Sender");
    }
    if (rest.empty() && !whole)
        return std::unexpected(fmt::format("its envelope and header are larger than {} KiB", largest_beginning / 1024));
    if (!sender) sender = header_sender ? header_sender : from;
    if (!sender) return std::unexpected("it has neither a line X-Sender nor a field From: its sender is not known");
    out.sender = *std::move(sender);
    return out;
}

} // namespace pickup
