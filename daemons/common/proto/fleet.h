// fleet ↔ queue-manager: what the other nodes learn about this one, and the suppression list that all of them share.
// fleet asks; the queue-manager answers, each question once and in any order, and says when it has changes to share.
//
// Besides, the queue-manager asks for tokens (fleet_rates.h).
//
//   AskFacts, AskPosition, AskOwn, AskAll, Merge, Shared   from fleet
//   Facts, Position, Own, All, Merged, News                from the queue-manager
#pragma once
#include "daemons/common/proto/fleet_rates.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::fleet {

inline constexpr std::string_view conversation = "fleet";
inline constexpr std::size_t most_changes = 100; // in a message: it fits into a frame

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

struct Change { // of an entry of the suppression list: common::SuppressionExchange::Change
    std::string key, value;
    bool operator==(const Change&) const = default;
    static void fields(auto& m, auto& f) {
        f("key", m.key);
        f("value", m.value);
    }
};

// How far the changes of the other nodes have been applied.
struct AskPosition {
    static void fields(auto&, auto&) {}
};
struct Position {
    std::string error; // "": none
    std::string store; // "": none has been followed
    std::uint64_t cursor = 0;
    static void fields(auto& m, auto& f) {
        f("error", m.error);
        f("store", m.store);
        f("cursor", m.cursor);
    }
};

// The changes of this node that are not shared yet: the first ones. Fewer than most_changes: these are all.
struct AskOwn {
    static void fields(auto&, auto&) {}
};
struct Own {
    std::string error;
    std::vector<Change> changes;
    std::uint64_t waiting = 0; // in all, as far as 1000
    static void fields(auto& m, auto& f) {
        f("error", m.error);
        f("changes", m.changes);
        f("waiting", m.waiting);
    }
};
// They are in the store; no answer.
struct Shared {
    std::vector<Change> changes;
    static void fields(auto& m, auto& f) { f("changes", m.changes); }
};
// There is something for AskOwn.
struct News {
    static void fields(auto&, auto&) {}
};

// The whole list, in parts; `after`: as the last answer had it, at first "".
struct AskAll {
    std::string after;
    static void fields(auto& m, auto& f) { f("after", m.after); }
};
struct All {
    std::string error;
    std::vector<Change> changes;
    std::string after;
    bool last = false;
    static void fields(auto& m, auto& f) {
        f("error", m.error);
        f("changes", m.changes);
        f("after", m.after);
        f("last", m.last);
    }
};

// Changes of other nodes, to be applied; with a store, everything up to `cursor` has been sent.
struct Merge {
    std::vector<Change> changes;
    std::string store;
    std::uint64_t cursor = 0;
    static void fields(auto& m, auto& f) {
        f("changes", m.changes);
        f("store", m.store);
        f("cursor", m.cursor);
    }
};
struct Merged { // durably
    std::string error;
    std::uint64_t applied = 0; // entries that were added, replaced or removed
    std::uint64_t future = 0;  // changes that were not taken: made too far ahead of this node's clock
    static void fields(auto& m, auto& f) {
        f("error", m.error);
        f("applied", m.applied);
        f("future", m.future);
    }
};

using Message = std::variant<AskFacts, Facts, AskPosition, Position, AskOwn, Own, Shared, News, AskAll, All, Merge,
                             Merged, AskTokens, Tokens, Sharing>;

} // namespace proto::fleet
