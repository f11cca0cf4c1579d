#include "libsmtp/message/header_scan.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <cstring>

namespace smtp {

static constexpr std::size_t max_name = 77, max_message_id = 998, max_tls_required = 100, max_precedence = 100;

// A view may end anywhere, so the position in the line is remembered between
// calls; only a field's name and the requested values are ever copied.
void HeaderScan::scan(std::string_view content) {
    while (!content.empty() && !ended_) {
        const char c = content.front();
        switch (place_) {
        case Place::line_start:
            if (c == '\r') {
                ++size_;
                content.remove_prefix(1);
                place_ = Place::header_end;
            } else if (c == '\n') {
                place_ = Place::header_end;
            } else if (c == ' ' || c == '\t') { // continues the previous field
                if (fields_ == 0) ended_ = true;
                place_ = Place::rest_of_line;
            } else {
                kept_ = Kept::nothing;
                value_ = nullptr;
                name_.clear();
                place_ = Place::name;
            }
            break;
        case Place::header_end: // the LF of the empty line
            ++size_;
            ended_ = true;
            break;
        case Place::name: {
            const auto end = content.find_first_of(": \t\r\n");
            name_.append(content.substr(0, std::min(end, max_name + 1 - std::min(max_name, name_.size()))));
            if (end == content.npos && name_.size() <= max_name) {
                size_ += content.size();
                return;
            }
            if (name_.size() > max_name || content[end] == '\r' || content[end] == '\n' || name_.empty()) {
                ended_ = true; // no field: the body starts without an empty line
                break;
            }
            size_ += end;
            content.remove_prefix(end);
            place_ = Place::after_name;
            break;
        }
        case Place::after_name:
            if (c == ':')
                field_named(name_);
            else if (c != ' ' && c != '\t')
                ended_ = true;
            ++size_;
            content.remove_prefix(1);
            break;
        case Place::rest_of_line: {
            const void* hit = std::memchr(content.data(), '\n', content.size());
            const auto length = hit ? static_cast<const char*>(hit) - content.data() + 1 : content.size();
            const auto piece = content.substr(0, length);
            if (kept_ == Kept::message_id && message_id_.size() < max_message_id) message_id_ += piece;
            if (kept_ == Kept::tls_required) tls_required_ += piece.substr(0, max_tls_required - tls_required_.size());
            if (value_ != nullptr) *value_ += piece.substr(0, longest_value - std::min(longest_value, value_->size()));
            if (kept_ == Kept::precedence) precedence_ += piece.substr(0, max_precedence - precedence_.size());
            size_ += piece.size();
            content.remove_prefix(piece.size());
            if (hit) place_ = Place::line_start;
            break;
        }
        }
    }
}

void HeaderScan::field_named(std::string_view name) {
    ++fields_;
    if (same_ignoring_case(name, "received")) ++received_;
    if (message_id_.empty() && same_ignoring_case(name, "message-id")) kept_ = Kept::message_id;
    if (same_ignoring_case(name, "tls-required") && ++tls_requireds_ == 1) kept_ = Kept::tls_required;
    if (same_ignoring_case(name, "precedence") && ++precedences_ == 1) kept_ = Kept::precedence;
    for (auto& each : fields_wanted_)
        if (!each.seen && same_ignoring_case(name, each.name)) {
            each.seen = true;
            value_ = &each.text;
        }
    place_ = Place::rest_of_line;
}

std::vector<HeaderScan::Found> HeaderScan::found() const {
    std::vector<Found> out;
    for (const auto& each : fields_wanted_) {
        if (!each.seen) continue;
        auto value = each.text;
        std::erase_if(value, [](char c) { return c == '\r' || c == '\n'; });
        out.push_back({each.name, std::string(trimmed(value))});
    }
    return out;
}

static std::string_view without_blanks(std::string_view value) {
    constexpr std::string_view blank = " \t\r\n";
    value.remove_prefix(std::min(value.size(), value.find_first_not_of(blank)));
    return value.substr(0, value.find_last_not_of(blank) + 1);
}

bool HeaderScan::tls_optional() const {
    return tls_requireds_ == 1 && same_ignoring_case(without_blanks(tls_required_), "no");
}

std::string HeaderScan::precedence() const { return lowered(without_blanks(precedence_)); }

std::string HeaderScan::message_id() const {
    std::string_view text = message_id_;
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    std::string out;
    for (char c : text.substr(0, max_message_id))
        if (!is_blank(c)) out.push_back(is_printable(c) ? c : '?');
    return out;
}

} // namespace smtp
