// A reply of the store, as a value.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace fleet::redis {

struct Reply {
    enum class Kind : std::uint8_t { nil, integer, status, text, error, list };
    Kind kind = Kind::nil;
    std::int64_t number = 0; // integer
    std::string text;        // status, text, error
    std::vector<Reply> elements;

    bool is_text() const { return kind == Kind::text; }
    bool is_list() const { return kind == Kind::list; }
    bool is_error() const { return kind == Kind::error; }
    bool operator==(const Reply&) const = default;
};

} // namespace fleet::redis
