// The rates of links that all nodes of a fleet keep together: what is known of the fleet, the questions for tokens, and
// whether one more message or connection may begin. Whatever has no such rate is always open here.
#pragma once
#include "daemons/decide/queue/model/step.h"

namespace decide::queue {

class FleetRates {
public:
    static constexpr std::size_t most_followed = 1000;                    // the rates of others are divided
    static constexpr smtp::Duration first_wait = std::chrono::seconds(5); // at startup, to hear of the fleet

    FleetRates(const Settings& settings, Step& step) : settings_(settings), step_(step) {}
    FleetRates(const FleetRates&) = delete;
    FleetRates& operator=(const FleetRates&) = delete;

    // Its gap; 0: it is not shared.
    void set_gap(Link& link, SharedRate rate, smtp::Duration gap);
    void forget(Link& link);

    // False: that was known.
    bool set_state(const FleetPresence& presence);
    // To the question with that number, of this link.
    void answered(Link& link, const TokensGranted& event);
    static Slot link_of(std::uint64_t question) { return static_cast<Slot>(question); }

    // May one of `waiting` begin now? Asks for tokens where they will be needed.
    bool may_begin(Slot slot, Link& link, SharedRate rate, std::uint32_t waiting);
    // Without asking: {} if it is open, else when to look again.
    smtp::Monotonic opens_at(const Link& link, SharedRate rate) const;
    // Until when it is known to be closed, without asking; {}: it may be open.
    smtp::Monotonic waits_until(const Link& link, SharedRate rate) const;
    static bool is_asking(const Link& link); // the store has a question about one of its rates
    // Before this the link may not be forgotten.
    static smtp::Monotonic kept_until(const Link& link);
    void take(Link& link, SharedRate rate);

private:
    FleetState state() const;

    const Settings& settings_;
    Step& step_;
    std::optional<FleetPresence> presence_;
    std::uint64_t questions_ = 0;
    std::size_t followed_ = 0;
};

} // namespace decide::queue
