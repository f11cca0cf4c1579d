// The command line of `postrider`: command, options anywhere, words. Pure.
#pragma once
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

// What a command may be given beside -c, --json and --help.
struct Option {
    std::string_view name;        // "--reason"
    std::string_view value;       // "TEXT"; "": takes no value
    std::string_view description; // for --help
};

// An option that had another name before: the error message gives the present one.
struct RenamedOption {
    std::string_view former, present;
};

struct Arguments {
    std::string config; // as given; "" the usual place
    bool json = false;
    bool help = false;
    bool version = false;
    std::map<std::string, std::string, std::less<>> options; // those of the command, by name
    std::vector<std::string> words;                          // the command first

    bool has(std::string_view name) const { return options.contains(name); }
    // Its value; nothing if it was not given.
    std::optional<std::string> option(std::string_view name) const {
        const auto found = options.find(name);
        return found == options.end() ? std::nullopt : std::optional(found->second);
    }
    // As a whole number; nothing if it is none or was not given.
    std::optional<std::uint64_t> number(std::string_view name) const;
};

// argv[1] …, with the options of all commands; an error is a line for the user.
std::expected<Arguments, std::string> parse_arguments(const std::vector<std::string_view>& given,
                                                      std::span<const Option> known,
                                                      std::span<const RenamedOption> renamed = {});

} // namespace postrider
