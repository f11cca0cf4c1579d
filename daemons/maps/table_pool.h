// The connections of one table to its database: a few threads, each with one connection, that are begun when they are
// needed. A lookup has a time limit whatever the library does; threads that a server keeps waiting are left behind, and
// delay only lookups of this table. On the loop's thread, except what is marked.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/wake.h"
#include "daemons/maps/database.h"
#include "daemons/maps/lookup_queue.h"
#include <functional>
#include <map>

namespace maps {

class TablePool {
public:
    // Called once, from the loop, never from within look_up(). `whole_table`: no key can be looked up; never of a table
    // that is limited to some domains, as keys of others are not concerned.
    using Done = std::function<void(const tables::Answer& answer, bool whole_table)>;

    // `name`: "mysql:/etc/postrider/users.cf". `former`: the pool that this one replaces, whose lookups are repeated
    // here.
    TablePool(common::Loop& loop, common::Log& log, common::Metrics& metrics, std::string name,
              tables::DatabaseTable table, TablePool* former);
    ~TablePool();
    TablePool(const TablePool&) = delete;

    // No pool takes over: all that wait learn that.
    void give_up(const std::string& why);

    // `key` as the daemons have it. Number 0: `done` is called in a later turn whatever happens.
    std::uint64_t look_up(const std::string& key, Done done);
    void forget(std::uint64_t number); // its `done` will not be called

    std::size_t connections() const;
    bool has_domains() const;                             // is the table limited to some?
    const std::string& outage() const { return outage_; } // why nothing can be looked up; "" it can
    const std::string& name() const { return name_; }

private:
    struct Shared; // with the threads
    struct Waiting {
        std::string key;
        Done done;
    };
    void assign();
    void collect();
    void expire();
    void finish(const LookupQueue::Lookup& lookup, const tables::Answer& answer, bool whole_table);
    std::string overdue_reason(const LookupQueue::Lookup& lookup) const;

    common::Loop& loop_;
    common::Log& log_;
    common::Metrics& metrics_;
    std::string name_;
    std::shared_ptr<Shared> shared_;
    LookupQueue queue_;
    std::map<std::uint64_t, Waiting> waiting_;
    std::size_t threads_ = 0;
    std::string outage_;
    common::Timer deadline_;
};

} // namespace maps
