// Lookup tables that need more than a name: one struct per
// [table.<name>] section; and where tables may be used. Part of Config.
#pragma once
#include "daemons/common/net/service_address.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace config {

enum class LookupKind : std::uint8_t {
    none,
    entries,
    regexp, // rules, here instead of in a file
    cidr,   // networks, the same
    sqlite,
    socketmap,
    tcp,
    merged,  // "union": what all of several tables have for the key
    chained, // "chain": the value of a table is the key of the next one
};

constexpr bool is_combined(LookupKind kind) { return kind == LookupKind::merged || kind == LookupKind::chained; }

struct LookupTable { // [table.<name>]
    std::string name;
    LookupKind kind = LookupKind::none; // never none after parse()
    std::vector<std::string> entries;   // "key value"
    std::vector<std::string> rules;     // regexp, cidr: one a line
    std::vector<std::string> tables;    // merged, chained: by their specifications
    std::string database, query;        // sqlite: a file; a SELECT with one parameter
    common::ServiceAddress address;     // socketmap, tcp
    std::string map;                    // socketmap: its name at the server
    std::chrono::microseconds timeout = std::chrono::seconds(10);
    std::chrono::microseconds cache = std::chrono::seconds(30); // how long sqlite, socketmap and tcp answers are kept
    bool operator==(const LookupTable&) const = default;
};

// Is it asked for whole addresses only, because it has patterns? Of several tables the first decides.
bool has_only_whole_keys(const LookupTable& table);

// A table that a key of the configuration names, as written: "text:/etc/postrider/virtual".
struct TableReference {
    std::string table;
    std::string key; // "relay.recipients"
    std::uint32_t line = 0, column = 0;
};

} // namespace config
