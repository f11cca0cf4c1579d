// metrics ↔ every other daemon: each sends its counts on request, and once more before it exits. Counts are
// increments since the last time, gauges are absolute. Cells are numbered as in logging/metrics/registry.h.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::metrics {

inline constexpr std::string_view conversation = "figures";

struct Ask {                 // metrics → daemon
    std::uint64_t round = 0; // never 0
    static void fields(auto& m, auto& f) { f("round", m.round); }
};

struct Cell {
    std::uint32_t number = 0;
    std::int64_t value = 0;
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("value", m.value);
    }
};

struct LinkAttempts { // recipients tried over a link since the last time
    std::string link; // "": the links beyond the limit on named ones, together
    std::uint64_t delivered = 0, deferred = 0, bounced = 0;
    static void fields(auto& m, auto& f) {
        f("link", m.link);
        f("delivered", m.delivered);
        f("deferred", m.deferred);
        f("bounced", m.bounced);
    }
};

struct LinkState {    // of a link, now; the queue-manager's
    std::string link; // "": all that are not reported individually, together
    std::uint64_t deliveries = 0, active = 0, connections = 0, failures = 0; // failures: in a row
    std::uint64_t failing = 0; // 1: it is failing; of "": the number that are
    static void fields(auto& m, auto& f) {
        f("link", m.link);
        f("deliveries", m.deliveries);
        f("active", m.active);
        f("connections", m.connections);
        f("failures", m.failures);
        f("failing", m.failing);
    }
};

struct HookState { // of [hook.<name>]; that of events
    std::string hook;
    std::uint64_t pushed = 0, failed = 0, dead = 0; // events, requests, events given up: since the last time
    std::uint64_t behind = 0;                       // events that are yet to be read or pushed, now
    std::uint64_t working = 0;                      // 1: its endpoint accepts events
    static void fields(auto& m, auto& f) {
        f("hook", m.hook);
        f("pushed", m.pushed);
        f("failed", m.failed);
        f("dead", m.dead);
        f("behind", m.behind);
        f("working", m.working);
    }
};

struct TableState { // of a table in a database; that of maps. Since the last time
    std::string table;
    std::uint64_t found = 0, missing = 0, failed = 0; // lookups, by result
    std::uint64_t microseconds = 0;                   // that all of them took
    static void fields(auto& m, auto& f) {
        f("table", m.table);
        f("found", m.found);
        f("missing", m.missing);
        f("failed", m.failed);
        f("microseconds", m.microseconds);
    }
};

struct Report {              // daemon → metrics
    std::uint64_t round = 0; // 0: unasked, the last report before it ends
    std::vector<Cell> cells; // those that are not 0
    std::vector<LinkAttempts> attempts;
    std::vector<LinkState> links;
    std::vector<HookState> hooks;
    std::vector<TableState> tables;
    static void fields(auto& m, auto& f) {
        f("round", m.round);
        f("cells", m.cells);
        f("attempts", m.attempts);
        f("links", m.links);
        f("hooks", m.hooks);
        f("tables", m.tables);
    }
};

using Message = std::variant<Ask, Report>;

} // namespace proto::metrics
