// For parsers that take a stream: the same bytes whole, in sevens, one at a time, and split in two at every
// place.
#pragma once
#include <string_view>
#include <vector>

namespace pieces {

using Pieces = std::vector<std::string_view>;

inline Pieces of(std::string_view text, std::size_t length) {
    Pieces out;
    for (std::size_t at = 0; at < text.size(); at += length) out.push_back(text.substr(at, length));
    return out;
}

inline std::vector<Pieces> every_way(std::string_view text) {
    std::vector<Pieces> out = {{text}, of(text, 7), of(text, 1)};
    for (std::size_t at = 1; at < text.size() && text.size() < 400; ++at)
        out.push_back({text.substr(0, at), text.substr(at)});
    return out;
}

} // namespace pieces
