// The log lines of one client's session, in the words that log analyzers expect, the metrics of refusals, and their
// events for the journal. Decides nothing.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/smtpd/access/door_events.h"
#include "daemons/smtpd/intake/message_intake.h"
#include "daemons/smtpd/policy/policy_chain.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/server_session.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace smtpd {

// What rejects a client or its mail.
struct Rejector {
    PolicySource by = PolicySource::policy;
    std::string_view rule = {}; // "" relay control, the recipient check
    bool limit = false;         // `rule` is the limit's key in the configuration
};

class SessionLog {
public:
    // All outlive it. `number`: of the session; `client`: the one that is speaking now.
    SessionLog(common::Log& log, common::Metrics& metrics, DoorEvents& events, std::string_view listener,
               std::uint64_t number, const smtp::ServerSession& session, const Client& client)
        : log_(log), metrics_(metrics), events_(events), listener_(listener), number_(number), session_(session),
          client_(client) {}
    SessionLog(const SessionLog&) = delete;

    common::LogContext lines() const { return log_.context("smtpd", number_); }
    // About a whole message: analyzers expect these lines from the cleanup service.
    common::LogContext lines_of_message() const { return log_.context("cleanup"); }

    // `message`: null outside of a transaction; `to`: the recipient it is about, "" none.
    // "reject:", by the policy of this server or of others.
    void rejected(smtp::Verb command, const smtp::Reply& reply, const MessageIntake* message, std::string_view to,
                  const Rejector& rejector = {});
    // Its event alone: the log has another line of it.
    void record(smtp::Verb command, const smtp::Reply& reply, const MessageIntake* message, std::string_view to,
                const Rejector& rejector);
    // By a test of the client, which has written its own line.
    void rejected_quietly(smtp::Verb command, const smtp::Reply& reply, std::string_view rule);
    // The same, except that a protocol error gets a line of its own, because analyzers count "reject:" as
    // messages. Equal protocol errors in a row are logged once.
    void rejected_unless_protocol_error(smtp::Verb command, const smtp::Reply& reply, const MessageIntake* message,
                                        std::string_view to, const Rejector& rejector = {});
    // The event of a failed authentication; AuthExchange has logged it.
    void authentication_failed(std::string_view mechanism, std::string_view user, std::string_view why,
                               const smtp::Reply& reply);
    // By the session itself: equal ones in a row, such as recipients over the limit, are logged once.
    void refused_by_session(smtp::event::Refused& refused, const MessageIntake* message);
    // Ends such a row.
    void begin_row() { last_refusal_ = {}; }

    // "QID: client=", with the first recipient; `forwarded`: where it came from before.
    void message_begun(const MessageIntake& message, std::string_view forwarded);
    void note(smtp::Verb command, const LogNote& note, const MessageIntake* message, std::string_view to = {});
    void disconnected(smtp::event::Disconnect::Cause cause);

private:
    common::LogContext lines_of(PolicySource by, smtp::Verb command) const;
    std::string envelope_text(const MessageIntake* message, std::string_view to) const;
    void describe(DoorEvents::Event& event, const smtp::Reply& reply) const;

    common::Log& log_;
    common::Metrics& metrics_;
    DoorEvents& events_;
    const std::string_view listener_; // its name
    const std::uint64_t number_;
    const smtp::ServerSession& session_;
    const Client& client_;
    smtp::Reply last_refusal_;
};

} // namespace smtpd
