// The suppression list for the expansion: a lookup in a snapshot of it, which never waits. While its keeper examines
// it, the answer is not available yet, and is reported when it is. Knows the list; must not know its callers, nor
// change it (the queue-manager keeps it).
#pragma once
#include "daemons/common/runtime/timer.h"
#include "daemons/common/store/suppression_list.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace categorizer {

class Suppressions {
public:
    // `trouble`: for `status`; "" clears it. `known`: an address that was not_yet and fetched has an answer now; not
    // from within fetch().
    Suppressions(common::Loop& loop, std::function<void(std::string)> trouble,
                 std::function<void(const std::string& address)> known)
        : trouble_(std::move(trouble)), known_(std::move(known)), again_(loop, [this] { look_again(); }) {}
    void configure(const std::string& spool, const std::vector<std::string>& local_domains);

    // Does it have entries, according to the queue-manager? Nothing is looked up while it has none.
    void set_any(bool any) { any_ = any; }
    bool any() const { return any_; }

    // ExpansionTables::suppressed for that message.
    std::function<decide::TableAnswer(const std::string& address)> for_mail(decide::SuppressionSubject message);
    // For one that was not_yet.
    void fetch(const std::string& address);

private:
    decide::TableAnswer find(const std::string& address, const decide::SuppressionSubject& message);
    decide::TableAnswer unreadable(const spool::Error& error);
    spool::Result<> open();
    void look_again();

    std::function<void(std::string)> trouble_;
    std::function<void(const std::string& address)> known_;
    common::Timer again_;
    std::set<std::string> asked_; // not_yet
    std::string spool_;
    std::vector<std::string> local_domains_;
    std::unique_ptr<common::SuppressionList> list_;
    bool any_ = true; // until it is known
    bool in_trouble_ = false;
};

} // namespace categorizer
