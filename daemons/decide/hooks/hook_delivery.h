// Delivery of events to one endpoint, strictly in their order, each at least once: what is sent next, what an answer
// means, when a request is repeated, when an event is given up and when the endpoint. Knows neither HTTP nor the
// journal; no I/O and no clock. Holds the events that were read ahead, bounded.
#pragma once
#include "daemons/decide/hooks/hook_progress.h"
#include "daemons/decide/hooks/verdict.h"
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace decide::hooks {

struct HookEvent {
    std::uint64_t number = 0;
    std::string line; // as it is sent
};

struct DeliverySettings {
    std::size_t batch = 1;               // most events in one request
    std::vector<smtp::Duration> retries; // waits between the attempts of a request; the last is repeated. Not empty
};

// Of an answer.
struct DeliveryReport {
    enum class Change : std::uint8_t {
        none,
        delivered, // or part of it
        recovered, // delivered, for the first time since it failed
        failing,   // for the first time since it worked
        paused,
        switched_off,
    };
    Change change = Change::none;
    std::optional<HookEvent> given_up; // to be kept elsewhere
};

class HookDelivery {
public:
    // Read ahead: at most this much, but one event in any case.
    static constexpr std::size_t most_events = 1000, most_bytes = 512 * 1024;
    static constexpr unsigned most_refusals = 3; // of one event
    static constexpr double jitter = 0.1;        // waits are longer by up to this part
    static constexpr smtp::Duration shortest_wait = std::chrono::seconds(1), longest_wait = std::chrono::hours(24);

    HookDelivery(DeliverySettings settings, HookProgress progress);
    void use(DeliverySettings settings) { settings_ = std::move(settings); }
    const HookProgress& progress() const { return progress_; }

    // ---- events come ----

    bool has_room() const { return events_.empty() || (events_.size() < most_events && bytes_ < most_bytes); }
    std::uint64_t read_from() const { return read_from_; }
    // In their order, not before read_from(); what is between was not selected.
    void add(HookEvent event);
    // All up to that number have been read.
    void read_through(std::uint64_t number);
    const std::deque<HookEvent>& events() const { return events_; }

    // ---- requests go ----

    // How many of events(), from the first, are to be sent now, and are in flight from then on; 0: none.
    std::size_t begin(smtp::Monotonic now);
    std::size_t in_flight() const { return in_flight_; }
    // When begin() has something to send although no event comes.
    std::optional<smtp::Monotonic> retry_at() const { return retry_at_; }
    // Part of what is in flight is accepted: up to that number. False: it is not among it.
    bool acknowledge(std::uint64_t number);
    // The answer for what is in flight. `random`: from 0 to 1.
    DeliveryReport finish(const EndpointAnswer& answer, smtp::Now now, double random);
    // There will be no answer: the same is sent again.
    void abandon() { in_flight_ = 0; }

    // ---- an operator's commands; nothing must be in flight, except for pause() ----

    void pause(std::string reason);
    void resume();
    // Gives up the first event; nothing: none has been read.
    std::optional<HookEvent> skip();
    // What was read ahead is forgotten, because others are selected now.
    void read_again();
    // Continues with that number, earlier or later.
    void restart_at(std::uint64_t number);

private:
    std::size_t next_size() const;
    void accept(std::size_t count);
    void drop_first();
    DeliveryReport refused(bool too_large, const EndpointAnswer& answer, smtp::Now now, double random);
    DeliveryReport failed(smtp::Now now, smtp::Duration wait);
    DeliveryReport stop(HookState state, std::string reason);
    smtp::Duration wait_after(unsigned attempts, double random) const;

    DeliverySettings settings_;
    HookProgress progress_;
    std::deque<HookEvent> events_;
    std::size_t bytes_ = 0; // of events_
    std::uint64_t read_from_;
    std::size_t in_flight_ = 0;
    std::optional<smtp::Monotonic> retry_at_;
    // Of a batch that was refused, smaller ones are sent until its last event is accounted for.
    std::size_t smaller_batch_ = 0;
    std::uint64_t smaller_through_ = 0;
    std::size_t largest_request_ = most_bytes; // smaller after a 413
};

} // namespace decide::hooks
