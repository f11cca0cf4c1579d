// The suppression list's keeper: the one who changes it, for operators and for what is configured, one change
// after the other and on a thread, for the loop never waits for a disk. Counts what is on it. Knows the list;
// must not know the engine, nor who asks.
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
    // What a change came to.
    struct ChangeCounts {
        std::uint64_t made = 0;  // put: that were not there; erase: that were
        std::uint64_t other = 0; // put: that took the place of another; erase: that were not there
    };
    struct Order {
        Operation doing = Operation::put;
        Entries entries;
        bool dry_run = false;
        bool keeps_manual = false; // by itself: what an operator has put there stays as it is
        std::function<void(const spool::Result<ChangeCounts>&)> done = {};
    };
    struct Figures {
        std::string why_not;                            // "" unless the list cannot be used
        std::uint64_t entries = 0, automatic_today = 0; // UTC's day
        bool loading = false;
    };
    struct Dependencies {
        common::Loop& loop;
        spool::CommitPool& pool;
        std::string spool;
        std::function<void(std::string text)> report_problem;            // for `status`; "" clears it
        std::function<void(std::span<const decide::Suppression>)> added; // durably
        std::function<void(bool any)> changed;                           // is there anybody on the list?
    };

    explicit Suppressions(Dependencies hands);

    // Looks the list over, and makes one if there is none; what is asked meanwhile waits.
    void open();
    void change(Order order);
    // Soon, together with what else comes within a second.
    void refused(decide::Suppression entry);
    void flush(); // what `refused` gathers, now
    Figures figures(smtp::WallTime now) const;
    // Is there anybody on it? As long as that is not known: perhaps.
    bool any() const { return entries_ > 0 || !counted_; }

    // Calls `work` on a thread once the list is there; null if it cannot be opened.
    using Work = std::function<void(const common::SuppressionList* list)>;
    void look(Work work);

private:
    void opened(spool::Result<std::unique_ptr<common::SuppressionList>> list, std::string put_aside);
    void next();
    void finish(const Order& order, const spool::Result<ChangeCounts>& counts);
    void count();

    Dependencies deps_;
    std::unique_ptr<common::SuppressionList> list_; // threads read it; lives as long as the pool
    bool opening_ = true, busy_ = false, counting_ = false, counted_ = false;
    std::string why_not_, standing_; // trouble that stays
    bool failing_ = false;
    std::vector<Work> waiting_;
    std::deque<Order> orders_;
    Entries collected_;
    std::uint64_t entries_ = 0, automatic_ = 0;
    std::int64_t day_ = 0; // of `automatic_`, since 1970
    common::Timer gathering_, recount_, reopen_;
};

} // namespace queue_manager
