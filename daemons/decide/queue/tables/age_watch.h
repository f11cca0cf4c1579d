// Time passing over messages: which of them may finish before they need a place in messages/, and when the sweeper
// checks each of the others, within one sweep step of each of its times.
#pragma once
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/model/terms.h"
#include "daemons/decide/queue/tables/messages.h"
#include <map>
#include <optional>

namespace decide::queue {

class AgeWatch {
public:
    AgeWatch(const Settings& settings, Step& step, Terms& terms, Messages& messages)
        : settings_(settings), step_(step), terms_(terms), messages_(messages) {}

    std::uint32_t expires(const Message& message) const; // s since 1970
    // Must its sender get a delay notice, and has not got one yet?
    bool owes_delay_notice(const Message& message) const {
        return !message.delay_notified && !message.null_sender &&
               (message.notifies_late || settings_.delay_notice.count() > 0);
    }
    std::uint32_t delay_notice_at(const Message& message) const {
        return message.notifies_late ? messages_.extras[message.extras].notify_at
                                     : message.free_from + whole_seconds(settings_.delay_notice);
    }

    void add_young(Slot message);      // it lies in incoming/
    void leave_incoming(Slot message); // it has to wait
    void watch(Slot message);          // at its next time
    void unwatch(Slot message);

    // The young ones whose time is over leave incoming/.
    void settle();
    // One whose time has come; none. It must be watched again, or removed.
    Slot due() const;
    std::optional<smtp::Monotonic> next() const;

private:
    std::uint32_t sweep_step() const; // seconds

    const Settings& settings_;
    Step& step_;
    Terms& terms_;
    Messages& messages_;

    using MessageList = List<Message, &Message::time_prev, &Message::time_next>;
    MessageList young_;
    std::map<std::uint32_t, MessageList> watched_; // by second (1970)
};

} // namespace decide::queue
