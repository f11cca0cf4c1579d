// The kinds of events, and the names under which the journal has them. Names never change their meaning.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spool::journal {

enum class EventType : std::uint8_t {
    message_accepted,
    message_duplicate,
    message_expanded,
    message_deferred,
    message_delivered,
    message_failed,
    message_expired,
    message_suppressed,
    message_discarded,
    message_finished,
    message_held,
    message_released,
    message_rerouted,
    message_requeued,
    message_reprioritized,
    message_expiry_changed,
    message_removed,
    message_restored,
    message_waiting,
    report_sent,
    suppression_added,
    suppression_removed,
    link_failed,
    link_recovered,
    link_down,
    link_up,
    pause_set,
    pause_cleared,
    routes_reset,
    config_reloaded,
    session_rejected,
    auth_failed,
    limit_hit,
    milter_rejected,
    journal_gap,
    journal_erased,
    last_ = journal_erased,
};

constexpr std::string_view name_of(EventType type) {
    constexpr std::string_view names[] = {"message.accepted",
                                          "message.duplicate",
                                          "message.expanded",
                                          "message.deferred",
                                          "message.delivered",
                                          "message.failed",
                                          "message.expired",
                                          "message.suppressed",
                                          "message.discarded",
                                          "message.finished",
                                          "message.held",
                                          "message.released",
                                          "message.rerouted",
                                          "message.requeued",
                                          "message.reprioritized",
                                          "message.expiry_changed",
                                          "message.removed",
                                          "message.restored",
                                          "message.waiting",
                                          "report.sent",
                                          "suppression.added",
                                          "suppression.removed",
                                          "link.failed",
                                          "link.recovered",
                                          "link.down",
                                          "link.up",
                                          "pause.set",
                                          "pause.cleared",
                                          "routes.reset",
                                          "config.reloaded",
                                          "session.rejected",
                                          "auth.failed",
                                          "limit.hit",
                                          "milter.rejected",
                                          "journal.gap",
                                          "journal.erased"};
    return names[static_cast<std::size_t>(type)];
}

} // namespace spool::journal
