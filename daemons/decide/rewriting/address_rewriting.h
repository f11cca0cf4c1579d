// One address, rewritten by tables: the forms in which it is looked up, and the address that the first answer stands
// for. For canonical.sender and generic.tables. Pure; tables are looked up through functions, and an answer that is
// pending is requested.
#pragma once
#include "daemons/decide/rewriting/lookups.h"
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

struct RewritingSettings {
    std::string origin;   // completes bare names in results
    char delimiter = '+'; // 0: none
    // Of a domain in lower case: are its users those of this system? Then bare names are looked up, too. The error:
    // what a table has answered instead, which is not_yet or unreadable.
    std::function<std::expected<bool, TableAnswer>(std::string_view domain, Lookups& lookups)> is_local;
    // What happens to an extension that was left out for the lookup.
    enum class Extension : bool { dropped, added_to_result } extension = Extension::added_to_result;
    bool repeated = false; // results are looked up again, until nothing changes
};

struct RewrittenAddress {
    enum class Status : std::uint8_t { unchanged, rewritten, pending, failed };
    Status status = Status::unchanged;
    std::string address;  // rewritten
    std::string why;      // failed: which table, and what is wrong with it
    bool invalid = false; // failed: by a value, and not because the table cannot be read
    bool listed = false;  // a table has the address, even if it stays
    std::string warning;  // rewritten, unchanged: for the administrator; "" nothing
};

// `address` is not empty. `whose`: before it in an error, "the sender " or "". `then`: tables for what it is then.
RewrittenAddress rewritten_address(std::string_view address, std::string_view whose,
                                   const std::vector<std::string>& tables, const RewritingSettings& settings,
                                   Lookups& lookups, const std::vector<std::string>& then = {});

} // namespace decide
