// fleet → queue-manager: what the other nodes are told of this one.
//
//   AskFacts  from fleet
//   Facts     the queue-manager's answer
#pragma once
#include <cstdint>
#include <string_view>
#include <variant>

namespace proto::fleet {

inline constexpr std::string_view conversation = "fleet";

struct AskFacts {
    static void fields(auto&, auto&) {}
};

struct Facts {
    std::uint64_t messages = 0; // in the queue
    bool accepting = false, delivering = false;
    static void fields(auto& m, auto& f) {
        f("messages", m.messages);
        f("accepting", m.accepting);
        f("delivering", m.delivering);
    }
};

using Message = std::variant<AskFacts, Facts>;

} // namespace proto::fleet
