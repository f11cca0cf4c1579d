// What a node publishes about itself in the store, as JSON, so that nodes of another release can read it: fields that
// are missing have their defaults, and unknown ones are ignored. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fleet {

struct NodeFacts {
    static constexpr std::size_t longest = 2000; // of the text

    std::string version;
    std::string instance;       // of its process: another one after each start
    bool stopped = false;       // in good order: its last words
    std::int64_t messages = -1; // in its queue; -1: not known
    bool accepting = false, delivering = false;
    std::int64_t lag = -1;    // changes of others that it has yet to apply; -1: not known
    std::int64_t waiting = 0; // its own changes that the store has yet to get
    std::int64_t clock = 0;   // its clock minus the store's, in µs
    bool operator==(const NodeFacts&) const = default;

    std::string text() const;
    static std::optional<NodeFacts> parse(std::string_view text);
};

} // namespace fleet
