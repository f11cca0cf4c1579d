// What became of one message, put together from its events in their order. Pure; knows events, not where they come
// from.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace history {

enum class Outcome : std::uint8_t {
    queued, // accepted, and nothing else yet
    deferred,
    held,
    delivered,
    expanded, // into other recipients
    failed,
    expired,
    suppressed,
    discarded,   // as configured
    removed,     // by an operator
    transferred, // to another system
};
std::string_view name_of(Outcome outcome);

struct RecipientHistory {
    std::string address;
    Outcome outcome = Outcome::queued;
    std::string time, link, reply, failure_class; // of the last event; reply: code, status and text
    std::uint64_t attempts = 0;                   // the number of the last
};

class MessageHistory {
public:
    // Recipients beyond this are counted, not kept.
    static constexpr std::size_t most_recipients = 1000;

    void add(const nlohmann::json& event);

    const std::string& id() const { return id_; }
    const std::string& message_id() const { return message_id_; }
    const std::string& sender() const { return sender_; }
    const std::string& submitter() const { return submitter_; }
    const std::string& accepted() const { return accepted_; } // time; "" the event is gone
    const std::string& last_time() const { return last_time_; }
    std::uint64_t size() const { return size_; }
    std::uint64_t events() const { return events_; }
    bool finished() const { return finished_; }
    const std::vector<RecipientHistory>& recipients() const { return recipients_; }
    std::uint64_t recipients_total() const;
    // Of the whole message: what became of all recipients, or of those that matter most: "delivered", "failed", "2 of 3
    // failed".
    std::string outcome_text() const;
    // The reply that explains it: of the first recipient that was not delivered, otherwise of the last that was.
    std::string reply() const;

private:
    RecipientHistory* recipient(const std::string& address);
    void add_outcome(const nlohmann::json& event, std::string_view type);
    void add_to_all(Outcome outcome, const nlohmann::json& event);

    std::string id_, message_id_, sender_, submitter_, accepted_, last_time_;
    std::uint64_t size_ = 0, events_ = 0, stated_total_ = 0, not_kept_ = 0;
    std::uint64_t erased_ = 0; // ends of recipients that are not known any longer
    bool finished_ = false;
    std::vector<RecipientHistory> recipients_;
};

// "550 5.1.1 No such user", from an event's code, status and text.
std::string reply_of(const nlohmann::json& event);
// A member that is a whole number; 0 otherwise.
std::uint64_t number_of(const nlohmann::json& event, std::string_view member);

} // namespace history
