// The kinds of events, and the names under which the journal has them. Names never change their meaning.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spool::journal {

enum class EventType : std::uint8_t {
    message_accepted,
    message_expanded,
    message_deferred,
    message_delivered,
    message_failed,
    message_expired,
    message_finished,
    journal_gap,
    last_ = journal_gap,
};

constexpr std::string_view name_of(EventType type) {
    constexpr std::string_view names[] = {"message.accepted",  "message.expanded", "message.deferred",
                                          "message.delivered", "message.failed",   "message.expired",
                                          "message.finished",  "journal.gap"};
    return names[static_cast<std::size_t>(type)];
}

} // namespace spool::journal
