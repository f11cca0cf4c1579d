#include "daemons/common/lookup/format/condition_blocks.h"
#include "libsmtp/text/trim.h"
#include <fmt/format.h>

namespace common {

BlockStep take_block_step(std::string_view& line) {
    for (const auto& [word, step] : {std::pair{"endif", BlockStep::close}, {"if", BlockStep::open}}) {
        if (!smtp::starts_with_ignoring_case(line, word)) continue;
        const auto rest = line.substr(std::string_view(word).size());
        if (!rest.empty() && (smtp::is_letter(rest.front()) || smtp::is_digit(rest.front()))) continue;
        line = smtp::trimmed(rest);
        return step;
    }
    return BlockStep::rule;
}

std::expected<std::vector<std::string>, smtp::Malformed> open_conditions(std::span<const std::string> lines) {
    std::vector<std::string> open;
    for (const auto& line : lines) {
        auto rest = smtp::trimmed(line);
        const auto step = take_block_step(rest);
        if (step == BlockStep::open) open.push_back(line);
        if (step != BlockStep::close) continue;
        if (open.empty()) return std::unexpected(smtp::Malformed{"\"endif\" without \"if\""});
        open.pop_back();
    }
    return open;
}

std::expected<void, smtp::Malformed> check_blocks(std::span<const std::string> lines) {
    const auto open = open_conditions(lines);
    if (!open) return std::unexpected(open.error());
    if (open->empty()) return {};
    return std::unexpected(
        smtp::Malformed{fmt::format("\"{}\" without \"endif\"", smtp::printable(open->back(), 100))});
}

} // namespace common
