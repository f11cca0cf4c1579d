// Lookup tables for several who need answers at a time: answers what is known, fetches what is not, and tells each who
// waits. Knows no messages.
#pragma once
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/lookup/tables/tables.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <functional>
#include <list>
#include <string>
#include <vector>

namespace common {

class AwaitedTables {
public:
    AwaitedTables(Loop& loop, Log& log);
    AwaitedTables(const AwaitedTables&) = delete;
    AwaitedTables& operator=(const AwaitedTables&) = delete;

    // As tables::Tables.
    void configure(const std::vector<config::LookupTable>& sections, std::string maps_socket);
    const decide::ExpansionTables& lookups() const { return lookups_; }
    // For status: which of them cannot be asked, "one; two"; "" all can.
    std::string problem() const { return tables_.problem(); }
    void ask(const decide::LookupRequest& need) { tables_.ask(need.name, need.key); }

    // Called for each answer that is known now, never from within ask() or a lookup; it must destroy no waiter. An
    // empty key: of all keys of that table.
    using Answered = std::function<void(const decide::LookupRequest& request)>;
    class Waiter {
    public:
        // `tables` must outlive it.
        Waiter(AwaitedTables& tables, Answered answered);
        ~Waiter() { tables_.waiters_.erase(place_); }
        Waiter(const Waiter&) = delete;
        Waiter& operator=(const Waiter&) = delete;

    private:
        AwaitedTables& tables_;
        std::list<Answered>::iterator place_;
    };

private:
    tables::Tables tables_;
    decide::ExpansionTables lookups_;
    std::list<Answered> waiters_;
};

} // namespace common
