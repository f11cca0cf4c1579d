// Checks a result of an access table before mail depends on it. Pure text.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace decide::access {

struct WrongResult {
    std::string why;
    bool rejects =
        true; // mail that gets it, as a faulty configuration; else it permits or has no effect, as in Postfix
};

// What is wrong with it; nullopt: nothing. `is_class`: is there an [access_class] of that name? `is_route`: a [route]?
std::optional<WrongResult> wrong_result(std::string_view value, const std::function<bool(std::string_view)>& is_class,
                                        const std::function<bool(std::string_view)>& is_route);

} // namespace decide::access
