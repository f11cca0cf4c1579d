#include "daemons/common/terminal/arguments.h"
#include <algorithm>
#include <charconv>

namespace postrider {

namespace {

constexpr Option common_options[] = {
    {"--config", "FILE", ""}, {"-c", "FILE", ""}, {"--json", "", ""},
    {"--help", "", ""},       {"-h", "", ""},     {"--version", "", ""},
};

void take(Arguments& out, std::string_view name, std::string_view value) {
    if (name == "-c" || name == "--config")
        out.config = value;
    else if (name == "--json")
        out.json = true;
    else if (name == "-h" || name == "--help")
        out.help = true;
    else if (name == "--version")
        out.version = true;
    else
        out.options.insert_or_assign(std::string(name), std::string(value));
}

} // namespace

std::optional<std::uint64_t> Arguments::number(std::string_view name) const {
    const auto text = option(name);
    std::uint64_t value = 0;
    if (!text || text->empty()) return {};
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc() || end != text->data() + text->size()) return {};
    return value;
}

std::expected<Arguments, std::string> parse_arguments(const std::vector<std::string_view>& given,
                                                      std::span<const Option> known,
                                                      std::span<const RenamedOption> renamed) {
    Arguments out;
    bool options_ended = false;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const auto word = given[i];
        if (options_ended || word.size() < 2 || word[0] != '-') {
            out.words.emplace_back(word);
            continue;
        }
        if (word == "--") {
            options_ended = true;
            continue;
        }
        const bool is_long = word.starts_with("--");
        const auto equals = is_long ? word.find('=') : word.npos;
        const auto name = is_long ? word.substr(0, equals) : word.substr(0, 2);
        const auto* option = std::ranges::find(common_options, name, &Option::name);
        if (option == std::end(common_options)) {
            const auto found = std::ranges::find(known, name, &Option::name);
            if (const auto former = std::ranges::find(renamed, name, &RenamedOption::former); former != renamed.end())
                return std::unexpected(std::string(name) + " is now called " + std::string(former->present));
            if (found == known.end()) return std::unexpected("unknown option " + std::string(word));
            option = &*found;
        }
        const bool has_value = is_long ? equals != word.npos : word.size() > 2;
        if (option->value.empty()) {
            if (has_value)
                return std::unexpected(is_long ? std::string(name) + " takes no value"
                                               : "unknown option " + std::string(word));
            take(out, name, "");
        } else if (has_value) {
            take(out, name, word.substr(is_long ? equals + 1 : 2));
        } else if (++i < given.size()) {
            take(out, name, given[i]);
        } else {
            return std::unexpected(std::string(name) + " needs " + std::string(option->value));
        }
    }
    return out;
}

} // namespace postrider
