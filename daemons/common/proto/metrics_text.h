// http → metrics: what Prometheus would get, for clients of the API. One request at a time on a connection.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto::metrics_text {

inline constexpr std::string_view conversation = "metrics-text";
inline constexpr std::size_t largest_piece = 64 * 1024; // bytes

struct Scrape {
    static void fields(auto&, auto&) {}
};

struct Piece {
    std::string text;
    bool last = false;
    static void fields(auto& m, auto& f) {
        f("text", m.text);
        f("last", m.last);
    }
};

using Message = std::variant<Scrape, Piece>;

} // namespace proto::metrics_text
