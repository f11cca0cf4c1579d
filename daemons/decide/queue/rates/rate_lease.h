// A rate that all nodes of a fleet keep together, as one node sees it: the tokens that it was granted, each good from a
// moment on and for a while; when to ask for more, and for how many; and what holds while the store grants none: the
// rate divided by the number of nodes. One token is one beginning. Knows no store and no link. Time and chance are
// passed in. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace decide::queue {

// What a node knows of its fleet.
struct FleetState {
    bool store = false;           // tokens can be asked for
    std::uint32_t nodes = 0;      // that were seen last, this one included; 0: not known
    std::uint32_t missing = 0;    // of them: the store has just come back to this one, perhaps not yet to them
    smtp::Monotonic hold_until{}; // nothing may begin before: nothing is known yet
    bool operator==(const FleetState&) const = default;
};

class RateLease {
public:
    // The store grants no token for a later time than this: what is granted can be lost, and exceeded, by this much.
    static constexpr smtp::Duration horizon = std::chrono::seconds(1);
    static constexpr smtp::Duration answer_limit = std::chrono::seconds(2);
    static constexpr std::uint32_t most_failures = 2; // in a row, before the rate is divided

    struct Question {
        std::uint64_t number = 0; // of the answer
        smtp::Duration gap{};     // between two tokens, on all nodes together
        std::uint32_t count = 0;
    };
    struct Answer {
        std::uint64_t number = 0;
        bool known = false;      // false: the store did not answer, or not with this
        std::uint32_t count = 0; // of tokens; 0: none now, …
        smtp::Duration wait{};   // … but after this
        smtp::Duration delay{};  // until the first one is good; the others follow in the distance that was asked for
    };

    // Not followed: its rate is always divided.
    enum class Followed : std::uint8_t { no, yes };
    explicit RateLease(Followed followed) : followed_(followed == Followed::yes) {}

    // Between two beginnings, on all nodes together; more than 0. A faster one shortens what there is to wait for.
    void set_gap(smtp::Duration gap);
    smtp::Duration gap() const { return gap_; }
    bool followed() const { return followed_; }
    void follow() { followed_ = true; }

    // To be called before each beginning, of `waiting` that could begin now (1 or more): is the store to be asked?
    std::optional<Question> question(const FleetState& fleet, std::uint32_t waiting, std::uint64_t number,
                                     smtp::Monotonic now);
    // `chance`: from 0 to 1. False: to a question of the past.
    bool answered(const Answer& answer, double chance, smtp::Monotonic now);

    // May one begin now? If not, when may it be worth looking again: later than now.
    bool may_begin(smtp::Monotonic now) const;
    smtp::Monotonic look_at(smtp::Monotonic now) const;
    // Until when nothing may begin, as far as is known without asking; {}: nothing stands against it.
    smtp::Monotonic waits_until(smtp::Monotonic now) const;
    bool is_asking() const { return asked_; }
    bool is_unknown(smtp::Monotonic now) const { return now < hold_until_; } // nothing is known of the fleet
    // While the rate is divided: before this, nothing may begin, and the lease may not be forgotten.
    smtp::Monotonic kept_until() const { return divided_ ? next_ : smtp::Monotonic{}; }
    // One begins.
    void take(smtp::Monotonic now);

    bool divided() const { return divided_; }
    std::uint32_t nodes() const { return nodes_; }

private:
    struct Run { // of tokens
        smtp::Monotonic first{};
        smtp::Duration gap{};
        std::uint32_t count = 0;
        smtp::Monotonic last() const { return first + gap * (count - 1); }
    };
    void settle(const FleetState& fleet, smtp::Monotonic now);
    void divide(smtp::Monotonic now);
    void divide_alone(smtp::Monotonic now);
    void failed(smtp::Monotonic now);
    void expire(smtp::Monotonic now);
    smtp::Duration good_for(const Run& run) const;
    std::uint32_t stock() const;
    smtp::Duration shared_gap() const;
    std::uint32_t batch() const;
    smtp::Duration lead() const;
    std::uint32_t ahead(smtp::Monotonic now);
    const Run* first_good(smtp::Monotonic now) const;
    void note_use(smtp::Monotonic now);
    smtp::Monotonic open_at() const;
    smtp::Monotonic ask_at() const;

    bool followed_;
    smtp::Duration gap_ = std::chrono::seconds(1);
    std::deque<Run> runs_; // in the order they came
    std::uint32_t nodes_ = 1, missing_ = 0;
    bool store_ = false;
    smtp::Monotonic hold_until_{};

    // This node alone is never faster than the whole rate, whatever the store grants: the moment of its next beginning,
    // of which it may be ahead by what it may have saved.
    smtp::Monotonic floor_{};
    std::optional<smtp::Monotonic> last_; // beginning

    // The question under way.
    bool asked_ = false;
    std::uint64_t number_ = 0;
    std::uint32_t asked_count_ = 0;
    smtp::Duration asked_gap_{};
    smtp::Monotonic asked_at_{};
    // The next one.
    smtp::Monotonic next_question_{}, retry_at_{};
    std::uint32_t cap_ = 2;                // of tokens: it doubles as long as all are used
    std::uint32_t used_ = 0, expired_ = 0; // since the last one
    std::uint32_t failures_ = 0;           // in a row
    smtp::Duration answer_time_{};
    std::optional<smtp::Monotonic> answered_at_;
    double chance_ = 0; // of the last answer

    // How many begin, in two periods: that is, how many will.
    smtp::Monotonic period_{};
    std::uint32_t this_period_ = 0, last_period_ = 0;

    // While the rate is divided.
    bool divided_ = false;
    bool by_failures_ = false; // and not because there is no store
    smtp::Monotonic next_{};
};

} // namespace decide::queue
