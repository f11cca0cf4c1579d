#include "daemons/decide/queue/rates/rate_lease.h"
#include <algorithm>
#include <limits>
#include <utility>

namespace decide::queue {

using namespace std::chrono_literals;
using smtp::Duration;
using smtp::Monotonic;

namespace {

constexpr Duration token_life = 1s; // at least
constexpr Duration shortest_lead = 100ms, longest_lead = 500ms;
constexpr Duration between_questions = 100ms; // on average …
constexpr Duration burst = 400ms;             // … over this
constexpr Duration period = 500ms;            // of counting what begins
constexpr Duration late = 100ms;              // timers come late: what is lost by that is made up for
constexpr Duration shortest_retry = 10ms, longest_spread = 2s;
constexpr Duration first_pause = 1s; // after failures
constexpr std::uint32_t usual_batch = 10;
constexpr std::size_t most_runs = 16;

std::uint32_t whole(std::uint64_t number) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, std::numeric_limits<std::uint32_t>::max()));
}

// Tokens within that time.
std::uint64_t tokens_in(Duration time, Duration gap) {
    return static_cast<std::uint64_t>(time / std::max(gap, Duration(1)));
}

} // namespace

// A quarter of a second, or what the store's answer takes; where that is little, ten; never more than a second's
// worth, but one.
std::uint32_t RateLease::batch() const {
    const auto least =
        std::max(tokens_in(std::max<Duration>(250ms, 2 * answer_time_), shared_gap()), std::uint64_t{usual_batch});
    return whole(std::max<std::uint64_t>(std::min(least, tokens_in(horizon, shared_gap())), 1));
}

// What the others leave for those that are missing.
Duration RateLease::shared_gap() const { return gap_ * nodes_ / (nodes_ - missing_); }

// How long before the last token is used more of them are asked for.
Duration RateLease::lead() const { return std::clamp<Duration>(2 * answer_time_, shortest_lead, longest_lead); }

// A token of a slow rate is good until the next one would be: what is lost is never more than one.
Duration RateLease::good_for(const Run& run) const { return std::max(token_life, run.gap); }

std::uint32_t RateLease::stock() const {
    std::uint64_t sum = 0;
    for (const Run& each : runs_) sum += each.count;
    return whole(sum);
}

void RateLease::expire(Monotonic now) {
    for (auto run = runs_.begin(); run != runs_.end();) {
        const auto life = good_for(*run);
        while (run->count > 0 && run->first + life < now) {
            run->first += run->gap;
            --run->count;
            ++expired_;
        }
        run = run->count == 0 ? runs_.erase(run) : run + 1;
    }
}

const RateLease::Run* RateLease::first_good(Monotonic now) const {
    const Run* best = nullptr;
    for (const Run& each : runs_)
        if (each.last() + good_for(each) >= now && (!best || each.first < best->first)) best = &each;
    return best;
}

void RateLease::note_use(Monotonic now) {
    if (now - period_ >= period) {
        last_period_ = now - period_ < 2 * period ? this_period_ : 0;
        this_period_ = 0;
        period_ = now;
    }
    ++this_period_;
}

// How many will begin within a period, at the present pace.
std::uint32_t RateLease::ahead(Monotonic now) {
    if (now - period_ >= 2 * period) return 0;
    const auto counted = period + std::min(now - period_, period);
    return whole(static_cast<std::uint64_t>(Duration(period * (last_period_ + this_period_)) / counted));
}

void RateLease::set_gap(Duration gap) {
    const auto former = std::exchange(gap_, gap);
    if (gap >= former || !last_) return;
    floor_ = std::min(floor_, *last_ + gap);
    next_ = std::min(next_, *last_ + gap * nodes_);
    if (failures_ == 0) retry_at_ = std::min(retry_at_, *last_ + gap);
}

// Others may have sent what the store granted last, and each would begin with a part of its own: at slow rates they
// begin at random moments, so that together they are no faster than the rate.
void RateLease::divide(Monotonic now) {
    if (divided_) return;
    divided_ = true;
    next_ = std::max(next_, now);
    const auto turn = gap_ * nodes_;
    if (answered_at_) {
        const auto phase = gap_ > horizon ? std::chrono::duration_cast<Duration>(turn * chance_) : Duration{};
        next_ = std::max(next_, *answered_at_ + horizon + phase); // until then others may have tokens
    }
    if (last_) next_ = std::max(next_, *last_ + turn);
    for (const Run& each : runs_) next_ = std::max(next_, each.last());
}

void RateLease::failed(Monotonic now) {
    asked_ = false;
    failures_ = std::min(failures_ + 1, most_failures + 2);
    retry_at_ = now + (failures_ < most_failures ? shortest_retry : first_pause * (1 << (failures_ - most_failures)));
    if (failures_ < most_failures) return;
    by_failures_ = true;
    divide(now);
}

void RateLease::settle(const FleetState& fleet, Monotonic now) {
    nodes_ = std::max(fleet.nodes, 1U);
    missing_ = std::min(fleet.missing, nodes_ - 1);
    store_ = fleet.store;
    hold_until_ = fleet.hold_until;
    if (asked_ && now - asked_at_ >= answer_limit) failed(now);
    if (now < hold_until_) return;
    if (!followed_ || !store_) return divide_alone(now);
    if (divided_ && !by_failures_) divided_ = false; // it is asked first
}

// There is no store for it.
void RateLease::divide_alone(Monotonic now) {
    divide(now);
    by_failures_ = asked_ = false;
    failures_ = 0;
    retry_at_ = std::min(retry_at_, now);
}

std::optional<RateLease::Question> RateLease::question(const FleetState& fleet, std::uint32_t waiting,
                                                       std::uint64_t number, Monotonic now) {
    settle(fleet, now);
    expire(now);
    if (!followed_ || !store_ || asked_ || now < ask_at() || runs_.size() >= most_runs) return {};
    const auto have = stock();
    const auto used_soon = ahead(now);
    std::uint64_t wanted = 0;
    if (waiting > have) {
        Monotonic last{};
        for (const Run& each : runs_) last = std::max(last, each.last());
        if (have > 0 && last - now > lead()) return {};
        wanted = std::uint64_t{waiting} - have + used_soon;
    } else {
        const auto spare = have - waiting;
        if (spare * std::uint64_t{2} >= used_soon) return {};
        wanted = used_soon - spare;
    }
    cap_ = expired_ > 0 ? std::max(2U, used_ + 1) : whole(std::min(std::uint64_t{cap_} * 2, std::uint64_t{batch()}));
    used_ = expired_ = 0;
    asked_ = true;
    number_ = number;
    asked_at_ = now;
    asked_count_ = whole(std::min<std::uint64_t>({wanted, cap_, batch()}));
    asked_gap_ = shared_gap();
    next_question_ = std::max(next_question_, now - burst) + between_questions;
    return Question{number_, asked_gap_, asked_count_};
}

bool RateLease::answered(const Answer& answer, double chance, Monotonic now) {
    if (!asked_ || answer.number != number_) return false;
    const bool possible = answer.count <= asked_count_ && answer.delay >= Duration::zero() && answer.delay <= horizon &&
                          answer.wait >= Duration::zero();
    if (!answer.known || !possible) {
        failed(now);
        return true;
    }
    asked_ = false;
    failures_ = 0;
    divided_ = by_failures_ = false;
    chance_ = chance;
    const auto took = now - asked_at_;
    answer_time_ = answer_time_ == Duration::zero() ? took : (answer_time_ + took) / 2;
    answered_at_ = now;
    retry_at_ = now;
    if (answer.count > 0) {
        runs_.push_back({now + answer.delay, asked_gap_, answer.count});
        return true;
    }
    // Others have them all. Those who wait come back one after the other.
    const auto wait = std::clamp<Duration>(answer.wait, shortest_retry, std::max(2 * asked_gap_, horizon));
    const auto spread = std::min<Duration>(std::max<Duration>(gap_ * batch(), gap_ / 4) * nodes_, longest_spread);
    retry_at_ = now + wait + std::chrono::duration_cast<Duration>(spread * chance);
    return true;
}

// When the next one may begin by what is there; without an end: by nothing.
Monotonic RateLease::open_at() const {
    auto open = Monotonic::max();
    for (const Run& each : runs_) open = std::min(open, each.first);
    if (divided_) open = std::min(open, next_);
    return open == Monotonic::max() ? open : std::max({open, floor_, hold_until_});
}

// Not before it could be used.
Monotonic RateLease::ask_at() const { return std::max({retry_at_, next_question_, floor_ - lead()}); }

bool RateLease::may_begin(Monotonic now) const {
    if (now < hold_until_ || now < floor_) return false;
    const Run* token = first_good(now);
    return (token && token->first <= now) || (divided_ && next_ <= now);
}

Monotonic RateLease::look_at(Monotonic now) const {
    if (now < hold_until_) return hold_until_;
    auto next = Monotonic::max();
    if (followed_ && store_) next = asked_ ? asked_at_ + answer_limit : ask_at();
    if (next <= now) next = now + between_questions; // question() was not called
    if (divided_ && std::max(next_, floor_) > now) next = std::min(next, std::max(next_, floor_));
    if (const Run* token = first_good(now); token && std::max(token->first, floor_) > now)
        next = std::min(next, std::max(token->first, floor_));
    return next == Monotonic::max() ? now + between_questions : next;
}

Monotonic RateLease::waits_until(Monotonic now) const {
    if (may_begin(now)) return {};
    if (now < hold_until_) return hold_until_;
    auto until = open_at();
    if (asked_)
        until = std::min(until, asked_at_ + answer_limit);
    else if (followed_ && store_ && ask_at() > now)
        until = std::min(until, ask_at());
    else if (followed_ && store_ && runs_.empty())
        return {}; // it is worth asking
    return until > now && until != Monotonic::max() ? until : Monotonic{};
}

void RateLease::take(Monotonic now) {
    note_use(now);
    expire(now);
    last_ = now;
    floor_ = std::max(floor_, now - std::max(horizon, gap_)) + gap_;
    auto first = runs_.end();
    for (auto run = runs_.begin(); run != runs_.end(); ++run)
        if (run->first <= now && (first == runs_.end() || run->first < first->first)) first = run;
    if (first != runs_.end()) {
        ++used_;
        first->first += first->gap;
        if (--first->count == 0) runs_.erase(first);
        return;
    }
    if (divided_) next_ = (now - next_ <= late ? next_ : now) + gap_ * nodes_;
}

} // namespace decide::queue
