#include "daemons/queue-manager/spool/suppressions.h"
#include "daemons/common/store/lmdb.h"
#include <algorithm>
#include <fmt/format.h>
#include <sys/stat.h>

namespace queue_manager {

using namespace std::chrono_literals;
using common::SuppressionList;
using decide::Suppression;
using spool::Result;

namespace {

constexpr smtp::Duration gather_for = 1s, count_again = 1h, open_again = 1min;
constexpr std::size_t max_buffered = 1000, walked_at_once = 1000;

std::int64_t day_of(smtp::WallTime time) {
    return std::chrono::floor<std::chrono::days>(time).time_since_epoch().count();
}

struct Counted {
    std::uint64_t entries = 0, automatic = 0;
};

Result<Counted> count_of(const SuppressionList& list, smtp::WallTime now) {
    Counted out;
    std::string after;
    while (true) {
        const auto some = TRY(list.walk(after, walked_at_once, now));
        for (const auto& each : some) {
            ++out.entries;
            out.automatic += each.automatic && day_of(each.added) == day_of(now);
        }
        if (some.size() < walked_at_once) return out;
    }
}

// On a thread. Afterwards `entries` are those that were added or removed.
Result<Suppressions::ChangeCounts> execute(SuppressionList& list, Suppressions::Order& order, smtp::WallTime now) {
    using Operation = Suppressions::Operation;
    Suppressions::ChangeCounts counts;
    if (order.keeps_manual || order.dry_run) {
        Suppressions::Entries kept;
        for (auto& each : order.entries) {
            const auto there = TRY(list.entry(each.recipient, each.scope, now));
            if (order.keeps_manual && there && !there->automatic) continue;
            if (order.dry_run) ++((order.doing == Operation::put) == !there ? counts.made : counts.other);
            kept.push_back(std::move(each));
        }
        order.entries = std::move(kept);
    }
    if (order.dry_run || order.entries.empty()) return counts;
    const auto made =
        TRY(order.doing == Operation::put ? list.put(order.entries, now) : list.erase(order.entries, now));
    Suppressions::Entries erased;
    for (std::size_t n = 0; n < made.size(); ++n) {
        ++(made[n] ? counts.made : counts.other);
        if (made[n] && order.doing == Operation::erase) erased.push_back(std::move(order.entries[n]));
    }
    if (order.doing == Operation::erase) order.entries = std::move(erased);
    return counts;
}

} // namespace

Suppressions::Suppressions(Dependencies hands)
    : deps_(std::move(hands)), gathering_(deps_.loop, [this] { flush(); }), recount_(deps_.loop, [this] { count(); }),
      reopen_(deps_.loop, [this] { open(); }) {}

void Suppressions::open() {
    opening_ = true;
    deps_.pool.post([this] {
        const auto directory = SuppressionList::directory_in(deps_.spool);
        ::mkdir(directory.c_str(), 0700); // if master has not; errors are reported below
        auto store = store::Lmdb::open(directory, {.max_size = 4ULL << 30, .keeper = true});
        std::string aside = store ? (*store)->quarantine_reason() : std::string();
        struct stat facts{};
        if (const auto old = directory + "/data.mdb.damaged"; ::stat(old.c_str(), &facts) == 0)
            aside = fmt::format("the suppression list was damaged{}{}: it was moved to {}, and a new one was "
                                "started; import your copy of it (postrider suppress import), then remove that file",
                                aside.empty() ? "" : ": ", aside, old);
        auto list = store
                        ? Result<std::unique_ptr<SuppressionList>>(std::make_unique<SuppressionList>(std::move(*store)))
                        : std::unexpected(store.error());
        deps_.pool.complete([this, list = std::move(list), aside = std::move(aside)]() mutable {
            opened(std::move(list), std::move(aside));
        });
    });
}

void Suppressions::opened(Result<std::unique_ptr<SuppressionList>> list, std::string put_aside) {
    opening_ = false;
    why_not_ = list ? "" : list.error().what;
    if (list) {
        list_ = std::move(*list);
        standing_ = std::move(put_aside);
        deps_.report_problem(standing_);
        count();
    } else {
        deps_.report_problem(fmt::format("the suppression list cannot be used: {}: mail waits until it can", why_not_));
        reopen_.start(open_again);
    }
    for (auto& work : std::exchange(waiting_, {})) look(std::move(work));
    next();
}

void Suppressions::count() {
    if (counting_ || !list_) return;
    counting_ = true;
    deps_.pool.post([this, now = common::Loop::now().wall] {
        auto counted = count_of(*list_, now);
        deps_.pool.complete([this, now, counted = std::move(counted)] {
            counting_ = false;
            recount_.start(count_again);
            if (!counted) return deps_.report_problem(fmt::format("the suppression list: {}", counted.error().what));
            counted_ = true;
            entries_ = counted->entries;
            automatic_ = counted->automatic;
            day_ = day_of(now);
            deps_.changed(any());
        });
    });
}

void Suppressions::look(Work work) {
    if (opening_) return waiting_.push_back(std::move(work));
    deps_.pool.post([list = list_.get(), work = std::move(work)] { work(list); });
}

void Suppressions::change(Order order) {
    orders_.push_back(std::move(order));
    next();
}

void Suppressions::refused(Suppression entry) {
    const auto same = [&](const Suppression& each) { return each.recipient == entry.recipient; };
    if (std::ranges::any_of(collected_, same)) return;
    collected_.push_back(std::move(entry));
    if (collected_.size() >= max_buffered)
        flush();
    else if (!gathering_.armed())
        gathering_.start(gather_for);
}

void Suppressions::flush() {
    gathering_.stop();
    if (!collected_.empty()) change({.entries = std::exchange(collected_, {}), .keeps_manual = true});
}

void Suppressions::next() {
    if (busy_ || opening_ || orders_.empty()) return;
    auto order = std::move(orders_.front());
    orders_.pop_front();
    if (!list_) {
        if (order.done) order.done(std::unexpected(spool::Error{EIO, why_not_}));
        return next();
    }
    busy_ = true;
    list_->share(shared_);
    if (order.exchange)
        return deps_.pool.post([this, order = std::move(order), now = common::Loop::now().wall]() mutable {
            auto merged = order.exchange(list_->exchange(), now);
            deps_.pool.complete([this, order = std::move(order), merged = std::move(merged)]() mutable {
                busy_ = false;
                exchanged(order, std::move(merged));
                next();
            });
        });
    deps_.pool.post([this, order = std::move(order), now = common::Loop::now().wall]() mutable {
        auto counts = execute(*list_, order, now);
        deps_.pool.complete([this, order = std::move(order), counts = std::move(counts)]() mutable {
            busy_ = false;
            finish(order, counts);
            next();
        });
    });
}

void Suppressions::finish(const Order& order, const Result<ChangeCounts>& counts) {
    if (!counts)
        deps_.report_problem(fmt::format("the suppression list: {}", counts.error().what));
    else if (failing_)
        deps_.report_problem(standing_);
    failing_ = !counts;
    if (counts && !order.dry_run && !order.entries.empty()) {
        const auto now = common::Loop::now().wall;
        if (std::exchange(day_, day_of(now)) != day_of(now)) automatic_ = 0;
        if (order.doing == Operation::put) {
            entries_ += counts->made;
            if (order.keeps_manual) automatic_ += order.entries.size();
            deps_.added(order.entries);
        } else {
            entries_ -= std::min(entries_, counts->made);
            deps_.removed(order.entries);
        }
        deps_.changed(any());
        if (shared_) deps_.to_share();
    }
    if (order.done) order.done(counts);
}

void Suppressions::exchanged(const Order& order, Result<common::SuppressionExchange::Merged> merged) {
    ChangeCounts counts;
    if (merged) {
        counts.made = merged->added.size() + merged->removed.size();
        counts.other = merged->future;
        entries_ += merged->fresh;
        entries_ -= std::min<std::uint64_t>(entries_, merged->removed.size());
        if (!merged->added.empty()) deps_.added(merged->added);
        if (!merged->removed.empty()) deps_.removed(merged->removed);
        if (counts.made > 0) deps_.changed(any());
    }
    if (order.done) order.done(merged ? Result<ChangeCounts>(counts) : std::unexpected(merged.error()));
}

void Suppressions::share(bool shared) {
    shared_ = shared;
    if (!shared_) forget_others();
}

void Suppressions::forget_others() {
    change({.exchange = [](common::SuppressionExchange& exchange,
                           smtp::WallTime now) -> Result<common::SuppressionExchange::Merged> {
        TRY(exchange.forget(now));
        return common::SuppressionExchange::Merged{};
    }});
}

Suppressions::Figures Suppressions::figures(smtp::WallTime now) const {
    return {why_not_, entries_, day_ == day_of(now) ? automatic_ : 0, !counted_ && why_not_.empty()};
}

} // namespace queue_manager
