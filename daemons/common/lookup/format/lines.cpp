#include "daemons/common/lookup/format/lines.h"
#include "libsmtp/text/trim.h"
#include <algorithm>

namespace tables {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";
bool blank(char c) { return blanks.find(c) != blanks.npos; }

bool printable(std::string_view text) {
    return std::ranges::none_of(text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

} // namespace

std::string_view trimmed(std::string_view text) { return smtp::trimmed(text, blanks); }

bool Lines::take(std::string_view& raw) {
    while (!rest_.empty()) {
        raw = rest_.substr(0, rest_.find('\n'));
        rest_.remove_prefix(std::min(rest_.size(), raw.size() + 1));
        ++number_;
        raw = smtp::trimmed_right(raw, blanks);
        const auto content = trimmed(raw);
        if (!content.empty() && content.front() != '#') return true;
    }
    return false;
}

bool Lines::next(std::string& line, std::uint32_t& number) {
    for (std::string_view raw; take(raw);) {
        if (blank(raw.front())) {
            problems_.add(number_, "continues nothing");
            continue;
        }
        number = number_;
        line = raw;
        for (;;) { // what continues it, behind comments too
            const auto before = rest_;
            const auto number_before = number_;
            if (!take(raw)) break;
            if (!blank(raw.front())) {
                rest_ = before;
                number_ = number_before;
                break;
            }
            if (line.size() <= longest_line) line += raw;
        }
        if (line.size() > longest_line)
            problems_.add(number, "longer than 1 MiB; skipped");
        else if (!printable(line))
            problems_.add(number, "has control characters; skipped");
        else
            return true;
    }
    return false;
}

} // namespace tables
