// Lookup tables that need more than a name: one struct per
// [table.<name>] section; and where tables may be used. Part of Config.
#pragma once
#include "daemons/common/net/service_address.h"
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace config {

enum class LookupKind : std::uint8_t { none, entries, sqlite, socketmap, tcp };

struct LookupTable { // [table.<name>]
    std::string name;
    LookupKind kind = LookupKind::none; // never none after parse()
    std::vector<std::string> entries;   // "key value"
    std::string database, query;        // sqlite: a file; a SELECT with one parameter
    common::ServiceAddress address;     // socketmap, tcp
    std::string map;                    // socketmap: its name at the server
    std::chrono::microseconds timeout = std::chrono::seconds(10);
    std::chrono::microseconds cache = std::chrono::seconds(30); // how long sqlite, socketmap and tcp answers are kept
    bool operator==(const LookupTable&) const = default;
};

// A table that a key of the configuration names, as written: "text:/etc/postrider/virtual".
struct TableReference {
    std::string table;
    std::string key; // "relay.recipients"
    std::uint32_t line = 0, column = 0;
};

} // namespace config
