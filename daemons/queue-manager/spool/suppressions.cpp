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
constexpr std::size_t most_gathered = 1000, walked_at_once = 1000;

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

// On a thread. `entries` are afterwards those that were put there or taken away.
Result<Suppressions::Tally> carry_out(SuppressionList& list, Suppressions::Order& order, smtp::WallTime now) {
    using Doing = Suppressions::Doing;
    Suppressions::Tally tally;
    if (order.yields || order.dry_run) {
        Suppressions::Entries kept;
        for (auto& each : order.entries) {
            const auto there = TRY(list.entry(each.recipient, each.sender, now));
            if (order.yields && there && !there->automatic) continue;
            if (order.dry_run) ++((order.doing == Doing::put) == !there ? tally.made : tally.other);
            kept.push_back(std::move(each));
        }
        order.entries = std::move(kept);
    }
    if (order.dry_run || order.entries.empty()) return tally;
    const auto made = TRY(order.doing == Doing::put ? list.put(order.entries, now) : list.erase(order.entries, now));
    for (const bool each : made) ++(each ? tally.made : tally.other);
    return tally;
}

} // namespace

Suppressions::Suppressions(Hands hands)
    : hands_(std::move(hands)), gathering_(hands_.loop, [this] { flush(); }),
      recount_(hands_.loop, [this] { count(); }), reopen_(hands_.loop, [this] { open(); }) {}

void Suppressions::open() {
    opening_ = true;
    hands_.pool.post([this] {
        const auto directory = SuppressionList::directory_in(hands_.spool);
        ::mkdir(directory.c_str(), 0700); // if master has not; what is wrong with it is said below
        auto store = store::Lmdb::open(directory, {.largest = 4ULL << 30, .keeper = true});
        std::string aside = store ? (*store)->put_aside() : std::string();
        struct stat facts{};
        if (const auto old = directory + "/data.mdb.damaged"; ::stat(old.c_str(), &facts) == 0)
            aside = fmt::format("the suppression list was damaged{}{}: it lies in {}, and a new one was begun; import "
                                "what you have of it (postrider suppress import), then remove that file",
                                aside.empty() ? "" : ": ", aside, old);
        auto list = store ? Result<std::unique_ptr<SuppressionList>>(std::make_unique<SuppressionList>(std::move(*store)))
                          : std::unexpected(store.error());
        hands_.pool.complete([this, list = std::move(list), aside = std::move(aside)]() mutable {
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
        hands_.trouble(standing_);
        count();
    } else {
        hands_.trouble(fmt::format("the suppression list cannot be used: {}: mail waits until it can", why_not_));
        reopen_.start(open_again);
    }
    for (auto& work : std::exchange(waiting_, {})) look(std::move(work));
    next();
}

void Suppressions::count() {
    if (counting_ || !list_) return;
    counting_ = true;
    hands_.pool.post([this, now = common::Loop::now().wall] {
        auto counted = count_of(*list_, now);
        hands_.pool.complete([this, now, counted = std::move(counted)] {
            counting_ = false;
            recount_.start(count_again);
            if (!counted) return hands_.trouble(fmt::format("the suppression list: {}", counted.error().what));
            counted_ = true;
            entries_ = counted->entries;
            automatic_ = counted->automatic;
            day_ = day_of(now);
            hands_.changed(any());
        });
    });
}

void Suppressions::look(Work work) {
    if (opening_) return waiting_.push_back(std::move(work));
    hands_.pool.post([list = list_.get(), work = std::move(work)] { work(list); });
}

void Suppressions::change(Order order) {
    orders_.push_back(std::move(order));
    next();
}

void Suppressions::refused(Suppression entry) {
    const auto same = [&](const Suppression& each) { return each.recipient == entry.recipient; };
    if (std::ranges::any_of(gathered_, same)) return;
    gathered_.push_back(std::move(entry));
    if (gathered_.size() >= most_gathered)
        flush();
    else if (!gathering_.armed())
        gathering_.start(gather_for);
}

void Suppressions::flush() {
    gathering_.stop();
    if (!gathered_.empty()) change({.entries = std::exchange(gathered_, {}), .yields = true});
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
    hands_.pool.post([this, order = std::move(order), now = common::Loop::now().wall]() mutable {
        auto tally = carry_out(*list_, order, now);
        hands_.pool.complete([this, order = std::move(order), tally = std::move(tally)]() mutable {
            busy_ = false;
            finish(order, tally);
            next();
        });
    });
}

void Suppressions::finish(const Order& order, const Result<Tally>& tally) {
    if (!tally)
        hands_.trouble(fmt::format("the suppression list: {}", tally.error().what));
    else if (failing_)
        hands_.trouble(standing_);
    failing_ = !tally;
    if (tally && !order.dry_run && !order.entries.empty()) {
        const auto now = common::Loop::now().wall;
        if (std::exchange(day_, day_of(now)) != day_of(now)) automatic_ = 0;
        if (order.doing == Doing::put) {
            entries_ += tally->made;
            if (order.yields) automatic_ += order.entries.size();
            hands_.added(order.entries);
        } else {
            entries_ -= std::min(entries_, tally->made);
        }
        hands_.changed(any());
    }
    if (order.done) order.done(tally);
}

Suppressions::Figures Suppressions::figures(smtp::WallTime now) const {
    return {why_not_, entries_, day_ == day_of(now) ? automatic_ : 0, !counted_ && why_not_.empty()};
}

} // namespace queue_manager
