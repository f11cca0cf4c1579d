// Part of the conversation between fleet and queue-manager (fleet.h): rates that all nodes of the fleet keep together.
// The queue-manager asks for tokens, the fleet process answers each question once, and says how many nodes there are.
#pragma once
#include <cstdint>
#include <string>

namespace proto::fleet {

// Times in µs.
struct AskTokens {            // from the queue-manager
    std::uint64_t number = 0; // of the answer
    std::string limit;        // the same on all nodes
    std::uint64_t gap = 0;    // between two tokens, on all nodes together
    std::uint64_t count = 0;
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("limit", m.limit);
        f("gap", m.gap);
        f("count", m.count);
    }
};
struct Tokens { // from fleet
    std::uint64_t number = 0;
    bool known = false; // false: the store did not answer
    std::uint64_t count = 0;
    std::uint64_t delay = 0; // until the first is good
    std::uint64_t wait = 0;  // count 0: until it is of use to ask again
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("known", m.known);
        f("count", m.count);
        f("delay", m.delay);
        f("wait", m.wait);
    }
};

// From fleet, when it is known and whenever it changes.
struct Sharing {
    bool store = false;        // AskTokens will be answered by it
    std::uint32_t nodes = 0;   // seen last, this one included; 0: not known
    std::uint32_t missing = 0; // of them: not heard since the store came back
    bool operator==(const Sharing&) const = default;
    static void fields(auto& m, auto& f) {
        f("store", m.store);
        f("nodes", m.nodes);
        f("missing", m.missing);
    }
};

} // namespace proto::fleet
