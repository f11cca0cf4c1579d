#include "daemons/postrider/setup/zone_text.h"
#include "daemons/postrider/command/txt_strings.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider::setup {

namespace {

constexpr std::size_t columns = 76; // of a comment, after "; "
constexpr unsigned ttl = 3600;

} // namespace

std::string zone_line(const Record& record) {
    const auto value =
        record.kind == RecordKind::mx ? fmt::format("{} {}.", mx_preference, record.value) : txt_strings(record.value);
    return fmt::format("{}. {} IN {} {}", record.name, ttl, record.type(), value);
}

std::string zone_comment(std::string_view text) {
    std::string out, line;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (!line.empty() && line.size() + 1 + word.size() > columns) {
            out += fmt::format("; {}\n", line);
            line.clear();
        }
        line += fmt::format("{}{}", line.empty() ? "" : " ", word);
    }
    return out + fmt::format("; {}\n", line);
}

} // namespace postrider::setup
