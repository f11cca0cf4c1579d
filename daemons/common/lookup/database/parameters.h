// The lines "name = value" of a file that describes a query, in the syntax of Postfix's mysql_table(5): comments,
// continued lines. Knows no parameter. Pure; errors never repeat text of the file, which has passwords.
#pragma once
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace tables {

struct Parameter {
    std::string name, value; // a name is lower case; "" is a value
    std::uint32_t line = 0;
    bool operator==(const Parameter&) const = default;
};

// In their order. Of a name that is given more than once, the last one counts: only that one is here.
std::expected<std::vector<Parameter>, smtp::Malformed> read_parameters(std::string_view text);

} // namespace tables
