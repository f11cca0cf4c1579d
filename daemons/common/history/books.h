// The books of the journal: every message that was accepted is finished, removed, or still queued, and so is each of
// its recipients. Takes the events in their order and says what does not balance; keeps only the messages that are
// open, and the ids of those that were moved to other nodes. Pure; knows events, and what the spool has of a message;
// reads neither.
#pragma once
#include "libspool/format/queue_id.h"
#include "libspool/message/message_state.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace history {

struct Imbalance {
    std::string id, why;
};

class Books {
public:
    // Imbalances beyond this are counted only.
    static constexpr std::size_t most_kept = 1000;

    // `recorded_as`: the other form in which the journal may have an address; null: there is none.
    using OtherForm = std::function<std::string(std::string_view address)>;
    explicit Books(OtherForm recorded_as = {}) : recorded_as_(std::move(recorded_as)) {}

    void add(const nlohmann::json& event);

    struct Totals {
        std::uint64_t accepted = 0, finished = 0, removed = 0;
        std::uint64_t older = 0;      // finished or removed, and accepted before the journal begins
        std::uint64_t gaps = 0;       // events journal.gap
        std::uint64_t imbalances = 0; // of messages that are finished or removed
    };
    const Totals& totals() const { return totals_; }
    // Of messages that are finished or removed.
    const std::vector<Imbalance>& imbalances() const { return imbalances_; }

    // Accepted, and neither finished nor removed.
    std::vector<spool::QueueId> open() const;
    bool is_open(spool::QueueId id) const { return open_.contains(id); }
    // What does not balance about a message that is in the spool, as its file says; "": nothing.
    std::string compare(spool::QueueId id, const spool::MessageState& file) const;

private:
    static constexpr std::size_t kinds = 6; // of ends that have an event
    struct Open {
        bool acceptance_known = false;
        std::uint64_t recipients = 0;                // accepted
        std::array<std::uint64_t, kinds> events{};   // of each end
        std::array<std::uint64_t, kinds> distinct{}; // the same without those that are repeated
        bool erased = false;                         // some of its events, so that recipients cannot be told
        std::unordered_set<std::size_t> ended;       // hashes of end and recipient, and of recipient alone
    };

    void accepted(spool::QueueId id, const nlohmann::json& event);
    void ended(spool::QueueId id, std::size_t kind, const nlohmann::json& event);
    void finished(spool::QueueId id, const nlohmann::json& event);
    bool is_older(spool::QueueId id) const;
    void imbalance(spool::QueueId id, std::string why);

    bool has_ended(const Open& open, std::string_view recipient) const;

    OtherForm recorded_as_;
    std::string since_; // time of the first event, RFC 3339; "" before it
    std::unordered_map<spool::QueueId, Open> open_;
    std::unordered_set<spool::QueueId> moved_; // to other nodes
    Totals totals_;
    std::vector<Imbalance> imbalances_;
};

} // namespace history
