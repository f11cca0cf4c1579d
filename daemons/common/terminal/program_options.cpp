#include "daemons/common/terminal/program_options.h"
#include "daemons/common/terminal/output.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

std::vector<std::string> command_line(const Arguments& arguments, std::span<const Option> known) {
    std::vector<std::string> line;
    if (!arguments.config.empty()) line.insert(line.end(), {"-c", arguments.config});
    if (arguments.json) line.emplace_back("--json");
    for (const auto& [name, value] : arguments.options) {
        line.push_back(name);
        const auto option = std::ranges::find(known, std::string_view(name), &Option::name);
        if (option != known.end() && !option->value.empty()) line.push_back(value);
    }
    line.emplace_back("--"); // a word may begin with "-"
    line.insert(line.end(), arguments.words.begin(), arguments.words.end());
    return line;
}

std::optional<Arguments> program_arguments(std::string_view command, const std::vector<std::string_view>& given,
                                           std::span<const Option> known, std::size_t words) {
    auto arguments = parse_arguments(given, known);
    if (arguments && !arguments->help && !arguments->version && arguments->words.size() == words)
        return *std::move(arguments);
    if (!arguments) print_error(arguments.error());
    print_error(fmt::format("this program is part of \"postrider {0}\": run \"postrider {0}\" instead; see "
                            "postrider(1)",
                            command));
    return {};
}

} // namespace postrider
