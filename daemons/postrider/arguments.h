// The command line of `postrider`: verb, options anywhere, words. Pure.
#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

struct Arguments {
    std::string config; // as given; "" the usual place
    bool json = false;
    bool help = false;
    bool version = false;
    std::vector<std::string> words; // the verb first
};

// argv[1] …; an error is a line for the user.
std::expected<Arguments, std::string> parse_arguments(const std::vector<std::string_view>& given);

} // namespace postrider
