// The suppression list's keeper: makes all changes, for operators and by the configured rules, one after the other and
// on a thread, because the loop never waits for a disk. Counts the entries. Knows the list; must not know the engine,
// nor its callers.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/store/suppression_list.h"
#include "libspool/disk/commit_pool.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace queue_manager {

class Suppressions {
public:
    using Entries = std::vector<decide::Suppression>;
    enum class Operation : std::uint8_t { put, erase };
    // The result of a change.
    struct ChangeCounts {
        std::uint64_t made = 0;  // put: new ones; erase: those erased
        std::uint64_t other = 0; // put: those replaced; erase: those that did not exist; of other nodes: too new
    };
    struct Order {
        Operation doing = Operation::put;
        Entries entries;
        bool dry_run = false;
        // Instead of all that: on a thread, what nodes exchange.
        std::function<spool::Result<common::SuppressionExchange::Merged>(common::SuppressionExchange&, smtp::WallTime)>
            exchange = {};
        bool keeps_manual = false; // automatic change: entries made by an operator stay
        std::function<void(const spool::Result<ChangeCounts>&)> done = {};
    };
    struct Figures {
        std::string why_not;                            // why the list cannot be used; "": it can
        std::uint64_t entries = 0, automatic_today = 0; // UTC's day
        bool loading = false;
    };
    struct Dependencies {
        common::Loop& loop;
        spool::CommitPool& pool;
        std::string spool;
        std::function<void(std::string text)> report_problem;              // for `status`; "" clears it
        std::function<void(std::span<const decide::Suppression>)> added;   // durably
        std::function<void(std::span<const decide::Suppression>)> removed; // likewise
        std::function<void(bool any)> changed;                             // is the list not empty?
        std::function<void()> to_share;                                    // a change that other nodes must get
    };

    explicit Suppressions(Dependencies hands);

    // Checks the list, and creates one if there is none; requests made meanwhile wait.
    void open();
    void change(Order order);
    // Soon, together with others that come within a second.
    void refused(decide::Suppression entry);
    void flush(); // what refused() has collected, now
    // Whether other nodes share the list. If not, they are compared with it as a whole when they do so again.
    void share(bool shared);
    bool shared() const { return shared_; }
    Figures figures(smtp::WallTime now) const;
    // Is the list not empty? As long as that is not known: true.
    bool any() const { return entries_ > 0 || !counted_; }

    // Calls `work` on a thread once the list is open; null if it cannot be opened.
    using Work = std::function<void(const common::SuppressionList* list)>;
    void look(Work work);

private:
    void opened(spool::Result<std::unique_ptr<common::SuppressionList>> list, std::string put_aside);
    void next();
    void exchanged(const Order& order, spool::Result<common::SuppressionExchange::Merged> merged);
    void forget_others();
    void finish(const Order& order, const spool::Result<ChangeCounts>& counts);
    void count();

    Dependencies deps_;
    std::unique_ptr<common::SuppressionList> list_; // threads read it; lives as long as the pool
    bool opening_ = true, busy_ = false, counting_ = false, counted_ = false;
    std::string why_not_, standing_; // a problem that remains
    bool failing_ = false, shared_ = false;
    std::vector<Work> waiting_;
    std::deque<Order> orders_;
    Entries collected_;
    std::uint64_t entries_ = 0, automatic_ = 0;
    std::int64_t day_ = 0; // of `automatic_`, since 1970
    common::Timer gathering_, recount_, reopen_;
};

} // namespace queue_manager
