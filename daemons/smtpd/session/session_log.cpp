#include "daemons/smtpd/session/session_log.h"
#include "daemons/smtpd/session/session_metrics.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace smtpd {

using smtp::Reply;
using smtp::Verb;

// "from=<…> to=<…> proto=ESMTP helo=<…>"
std::string SessionLog::envelope_text(const MessageIntake* message, std::string_view to) const {
    std::string out;
    if (message) out = fmt::format("from=<{}> ", message->envelope().reverse_path);
    if (!to.empty())
        out += fmt::format("to=<{}> ", to);
    else if (message && message->envelope().recipients.size() == 1)
        out += fmt::format("to=<{}> ", message->envelope().recipients.front().address);
    return out + fmt::format("proto={} helo=<{}>", session_.protocol(), smtp::printable(session_.helo(), 255));
}

common::LogContext SessionLog::lines_of(PolicySource by, Verb command) const {
    const bool whole = command == Verb::end_of_message;
    const bool by_session = by == PolicySource::policy || by == PolicySource::access;
    return whole && !by_session ? lines_of_message() : lines();
}

// ---- events ----

void SessionLog::describe(DoorEvents::Event& event, const Reply& reply) const {
    event.listener = listener_;
    event.client_name = client_.name;
    event.client_address = client_.address_text;
    event.helo = session_.helo();
    event.protocol = session_.protocol();
    event.user = client_.user;
    event.code = static_cast<std::uint32_t>(reply.code);
    event.status = reply.status.text();
    event.text = reply.text;
}

void SessionLog::record(Verb command, const Reply& reply, const MessageIntake* message, std::string_view to,
                        const Rejector& rejector) {
    using Kind = DoorEvents::Kind;
    const auto kind = rejector.limit                        ? Kind::limit_hit
                      : rejector.by == PolicySource::milter ? Kind::milter_rejected
                                                            : Kind::rejected;
    events_.record(kind, common::Loop::now().monotonic, [&](DoorEvents::Event& event) {
        describe(event, reply);
        event.stage = smtp::lowered(name_of(command));
        event.rule = rejector.rule;
        event.recipient = to;
        if (!message) return;
        const auto& envelope = message->envelope();
        event.sender = envelope.reverse_path;
        if (message->has_begun()) event.id = message->id_text();
        if (to.empty() && envelope.recipients.size() == 1) event.recipient = envelope.recipients.front().address;
    });
}

void SessionLog::authentication_failed(std::string_view mechanism, std::string_view user, std::string_view why,
                                       const Reply& reply) {
    events_.record(DoorEvents::Kind::auth_failed, common::Loop::now().monotonic, [&](DoorEvents::Event& event) {
        describe(event, reply);
        event.user = user;
        event.mechanism = mechanism;
        event.text = why;
    });
}

// ---- lines ----

void SessionLog::rejected(Verb command, const Reply& reply, const MessageIntake* message, std::string_view to,
                          const Rejector& rejector) {
    const auto by = rejector.by;
    count_reject(metrics_, command, reply);
    record(command, reply, message, to, rejector);
    lines_of(by, command)
        .info("{}: {}reject: {} from {}: {}; {}",
              message && message->has_begun() ? std::string_view(message->id_text()) : "NOQUEUE",
              by == PolicySource::milter ? "milter-" : "", name_of(command), client_.peer(), reply.line(),
              envelope_text(message, to));
}

void SessionLog::rejected_quietly(Verb command, const Reply& reply, std::string_view rule) {
    count_reject(metrics_, command, reply);
    record(command, reply, nullptr, {}, {.rule = rule});
}

// RFC 5321, 4.2.2 and 4.2.3: not this message was refused, the command was none or came out of turn.
static bool breaks_protocol(const Reply& reply) {
    constexpr smtp::EnhancedStatus invalid_command{5, 5, 1};
    return (reply.code >= 500 && reply.code <= 504) || reply.code == 555 || reply.status == invalid_command;
}

void SessionLog::rejected_unless_protocol_error(Verb command, const Reply& reply, const MessageIntake* message,
                                                std::string_view to, const Rejector& rejector) {
    if (!breaks_protocol(reply)) return rejected(command, reply, message, to, rejector);
    count_reject(metrics_, command, reply);
    if (reply == last_refusal_) return;
    last_refusal_ = reply;
    const bool of_message = message && message->has_begun();
    lines().warning("{}{}protocol error after {} from {}: {}", of_message ? message->id_text() : "",
                    of_message ? ": " : "", name_of(command), client_.peer(), reply.line());
}

void SessionLog::refused_by_session(smtp::event::Refused& refused, const MessageIntake* message) {
    if (refused.reply == last_refusal_) return;
    const bool too_many = refused.command == Verb::rcpt && refused.reply.code == 452;
    rejected_unless_protocol_error(refused.command, refused.reply, message, {},
                                   too_many ? Rejector{.rule = "recipients", .limit = true} : Rejector());
    last_refusal_ = std::move(refused.reply);
}

void SessionLog::message_begun(const MessageIntake& message, std::string_view forwarded) {
    const auto* certificate = client_.certificate.get();
    lines().info("{}: client={}{}{}{}{}{}{}{}", message.id_text(), client_.peer(),
                 client_.user.empty() ? "" : ", sasl_method=", client_.auth_method,
                 client_.user.empty() ? "" : ", sasl_username=", client_.user,
                 certificate ? ", ccert_fingerprint=" : "", certificate ? certificate->fingerprint : "", forwarded);
}

void SessionLog::note(Verb command, const LogNote& note, const MessageIntake* message, std::string_view to) {
    if (note.by == PolicySource::access)
        return lines().info("{}: {}: {} from {}: {}; {}",
                            message && message->has_begun() ? std::string_view(message->id_text()) : "NOQUEUE",
                            note.verb, name_of(command), client_.peer(), note.text, envelope_text(message, to));
    const auto id = message ? std::string_view(message->id_text()) : "NOQUEUE";
    const auto log = lines_of(note.by, command);
    if (note.by == PolicySource::header_check)
        return log.info("{}: {}: {} from {}; {}: {}", id, note.verb, note.subject, client_.peer(),
                        envelope_text(message, {}), note.text);
    log.info("{}: {}{}: {} from {}: {}", id, note.by == PolicySource::milter ? "milter-" : "", note.verb,
             name_of(command), client_.peer(), note.text);
}

void SessionLog::disconnected(smtp::event::Disconnect::Cause cause) {
    using Cause = smtp::event::Disconnect::Cause;
    count_end(metrics_, cause);
    const auto peer = client_.peer();
    const auto after = session_.last_command();
    const auto log = lines();
    switch (cause) {
    case Cause::lost: log.info("lost connection after {} from {}", after, peer); break;
    case Cause::timed_out: log.info("timeout after {} from {}", after, peer); break;
    case Cause::too_many_errors: log.info("too many errors after {} from {}", after, peer); break;
    case Cause::not_smtp: log.warning("non-SMTP command from {}: {}", peer, session_.unexpected_input()); break;
    case Cause::too_early:
        log.info("improper command pipelining after {} from {}: {}", after, peer, session_.unexpected_input());
        break;
    case Cause::quit:
    case Cause::turned_away:
    case Cause::shut_down: break;
    }
    log.info("disconnect from {} {}", peer, session_.statistics());
}

} // namespace smtpd
