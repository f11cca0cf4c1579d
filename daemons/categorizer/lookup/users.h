// Which users have a mailbox here: the system's users (looked up off the loop, cached for a while), or a configured
// list.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace categorizer {

// Whose user ids have no mailbox: root's, the service's own, and those below local.minimum_uid.
struct ReservedIds {
    bool switching = false;        // each user's mail is written as that user; false: one user writes everything
    std::uint32_t minimum_uid = 1; // the lowest with a mailbox
    std::uint32_t service_uid = 0;
    bool has(std::uint32_t uid) const { return switching && (uid == 0 || uid < minimum_uid || uid == service_uid); }
};

// Asks the system, blocking; for another thread. "" needs no lookup.
decide::UserAnswer look_up_system_user(const std::string& name, const ReservedIds& reserved);

class Users {
public:
    // `found`: one that was not_yet is known now.
    Users(common::Loop& loop, std::function<void(const std::string&)> found);
    ~Users(); // lookups under way end without a report
    Users(const Users&) = delete;
    Users& operator=(const Users&) = delete;

    // Only these, even if the system has no such users; empty: the system's.
    void configure(const std::vector<std::string>& only, const ReservedIds& reserved);
    decide::UserAnswer answer(const std::string& name);
    // For a name that was not_yet: `found` follows, not from within the call.
    void find(const std::string& name);

private:
    struct Work;
    struct CacheEntry {
        decide::UserAnswer answer;
        smtp::Monotonic until;
    };
    void done(Work& work);
    smtp::Monotonic now() const;

    common::Loop& loop_;
    std::function<void(const std::string&)> found_;
    std::set<std::string> only_;
    ReservedIds reserved_ids_;
    std::map<std::string, Work*> open_;
    std::unordered_map<std::string, CacheEntry> cache_;
};

} // namespace categorizer
