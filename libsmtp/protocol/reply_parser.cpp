#include "libsmtp/protocol/reply_parser.h"
#include <algorithm>
#include <utility>

namespace smtp {

ReplyParser::Result ReplyParser::next(std::string_view& input, std::size_t keep) {
    while (!input.empty()) {
        const auto end = input.find('\n');
        const auto part = input.substr(0, end == input.npos ? end : end + 1);
        if (line_.size() + part.size() > line_limit + 2) return Malformed{"reply line too long"};
        input.remove_prefix(part.size());
        if (end == input.npos) {
            line_.append(part);
            return Incomplete{};
        }
        std::string_view line = part;
        if (!line_.empty()) line = line_.append(part);
        if (!line.ends_with("\r\n")) return Malformed{"reply line ends in a bare LF: " + printable(line, 80)};
        line.remove_suffix(2);
        auto result = take_line(line, keep);
        line_.clear();
        if (!std::holds_alternative<Incomplete>(result)) return result;
    }
    return Incomplete{};
}

ReplyParser::Result ReplyParser::take_line(std::string_view line, std::size_t keep) {
    const bool last = line.size() == 3 || (line.size() > 3 && line[3] == ' ');
    const bool well_formed = line.size() >= 3 && line[0] >= '2' && line[0] <= '5' && is_digit(line[1]) &&
                             is_digit(line[2]) && (last || line[3] == '-') && line.find('\0') == line.npos &&
                             line.find('\r') == line.npos;
    if (!well_formed) return Malformed{"not a reply: " + printable(line, 80)};
    const int code = (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
    if (lines_ > 0 && code != reply_.code) return Malformed{"one reply with two codes: " + printable(line, 80)};
    if (++lines_ > lines_limit) return Malformed{"reply with too many lines"};
    line.remove_prefix(std::min<std::size_t>(4, line.size()));

    const auto word = line.substr(0, line.find(' '));
    if (auto status = EnhancedStatus::parse(word); status && status->klass == code / 100) {
        line.remove_prefix(std::min(word.size() + 1, line.size()));
        if (!reply_.status.given()) reply_.status = *status;
    }
    if (lines_ == 1) reply_.code = code;
    if (lines_ > 1 && reply_.text.size() < keep) reply_.text += '\n';
    if (reply_.text.size() < keep) reply_.text += printable(line, keep - reply_.text.size());
    if (!last) return Incomplete{};
    lines_ = 0;
    return std::exchange(reply_, {});
}

} // namespace smtp
