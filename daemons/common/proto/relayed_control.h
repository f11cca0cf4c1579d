// http → queue-manager, events: operations of run/control (control.h) and run/hooks (hook_control.h) on behalf of
// clients that http has authenticated. One request at a time on a connection; the answer is as on the socket, lines of
// JSON, in pieces. A connection that ends cancels its request.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto::relayed_control {

inline constexpr std::string_view conversation = "control";
inline constexpr std::size_t longest_request = 512 * 1024, longest_piece = 64 * 1024; // bytes

struct Request {
    std::uint32_t uid = 0; // of the user, if `who` is empty
    std::string who;       // "token shop"
    std::string body;      // one object, as on the socket
    static void fields(auto& m, auto& f) {
        f("uid", m.uid);
        f("who", m.who);
        f("body", m.body);
    }
};

struct Lines {
    std::string text; // a line may go over several pieces
    static void fields(auto& m, auto& f) { f("text", m.text); }
};

using Message = std::variant<Request, Lines>;

} // namespace proto::relayed_control
