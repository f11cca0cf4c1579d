// What a Connection answers to its session's questions, up to DATA: the client, who else has a say, the envelope.
// What becomes of the content is content.cpp's.
#include "daemons/common/submission/lifetime.h"
#include "daemons/smtpd/session/policy_sources.h"
#include "daemons/smtpd/session/connection.h"
#include "libsmtp/text/date.h"
#include <algorithm>

namespace smtpd {

using smtp::Reply;
using smtp::Verb;
using Verdict = proto::recipient_check::Verdict;

static constexpr std::size_t max_announced = 100'000; // durable messages the queue-manager has not taken yet

void Connection::answer(const Reply& reply) { session_.answer(reply, common::Loop::now().monotonic); }

std::string_view Connection::log_id() const {
    return transaction_ && transaction_->client_logged ? std::string_view(transaction_->id_text) : "NOQUEUE";
}

// "from=<…> to=<…> proto=ESMTP helo=<…>"
std::string Connection::envelope_text(std::string_view to) const {
    std::string out;
    if (transaction_) out = fmt::format("from=<{}> ", transaction_->envelope.reverse_path);
    if (!to.empty())
        out += fmt::format("to=<{}> ", to);
    else if (transaction_ && transaction_->envelope.recipients.size() == 1)
        out += fmt::format("to=<{}> ", transaction_->envelope.recipients.front().address);
    return out + fmt::format("proto={} helo=<{}>", session_.protocol(), smtp::printable(session_.helo(), 255));
}

common::LogContext Connection::log_context_of(PolicySource by, Verb command) {
    const bool whole = command == Verb::end_of_message;
    return whole && by != PolicySource::policy ? worker_.log.context("cleanup") : log_context();
}

void Connection::log_reject(Verb command, const Reply& reply, std::string_view to, PolicySource by) {
    count_reject(worker_.metrics, command, reply);
    log_context_of(by, command)
        .info("{}: {}reject: {} from {}: {}; {}", log_id(), by == PolicySource::milter ? "milter-" : "", name_of(command),
              client_.peer(), reply.line(), envelope_text(to));
}

// RFC 5321, 4.2.2 and 4.2.3: not this message was refused, the command was none or came out of turn.
static bool breaks_protocol(const Reply& reply) {
    constexpr smtp::EnhancedStatus invalid_command{5, 5, 1};
    return (reply.code >= 500 && reply.code <= 504) || reply.code == 555 || reply.status == invalid_command;
}

// What a client says wrongly is no "reject": log analysers count those as messages refused.
void Connection::log_rejection(Verb command, const Reply& reply, std::string_view to) {
    if (!breaks_protocol(reply)) return log_reject(command, reply, to);
    count_reject(worker_.metrics, command, reply);
    if (reply == last_rejection_) return;
    last_rejection_ = reply;
    const bool of_message = transaction_ && transaction_->client_logged;
    log_context().warning("{}{}protocol error after {} from {}: {}", of_message ? transaction_->id_text : "",
                    of_message ? ": " : "", name_of(command), client_.peer(), reply.line());
}

void Connection::log_note(Verb command, const LogNote& note) {
    const auto id = transaction_ ? std::string_view(transaction_->id_text) : "NOQUEUE";
    auto log = log_context_of(note.by, command);
    if (note.by == PolicySource::header_check)
        return log.info("{}: {}: {} from {}; {}: {}", id, note.verb, note.subject, client_.peer(),
                        envelope_text({}), note.text);
    log.info("{}: {}{}: {} from {}: {}", id, note.by == PolicySource::milter ? "milter-" : "", note.verb, name_of(command),
             client_.peer(), note.text);
}

// bounce.soft_bounce: whoever is refused may come again.
Reply Connection::with_soft_bounce(Reply reply) const {
    if (!rules_->config->bounce.soft_bounce || reply.code < 500) return reply;
    reply.code -= 100;
    if (reply.status.given()) reply.status.klass = 4;
    return reply;
}

void Connection::reject(Verb command, const Reply& reply, std::string_view to) {
    const bool of_mail = command == Verb::mail || command == Verb::rcpt || command == Verb::end_of_message;
    const Reply said = of_mail ? with_soft_bounce(reply) : reply;
    log_rejection(command, said, to);
    answer(said);
}

// --- connecting

static bool wants_name(const Rules& rules, const common::IpAddress& address) {
    static const auto own = [] { // addresses only their own network could name
        std::vector<common::Network> networks;
        for (auto text : {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
                          "fc00::/7", "fe80::/10"})
            networks.push_back(*common::Network::parse(text));
        return networks;
    }();
    if (!rules.config->smtpd.reverse_names || address.is_loopback() || address == common::IpAddress{})
        return false;
    return !rules.config->dns.servers.empty() || !common::contains(own, address);
}

void Connection::operator()(smtp::event::Connect&) {
    if (named_by_proxy_ || !wants_name(*rules_, client_.address)) return greet();
    resolving_name_ = true;
    deadline_.set(common::Loop::now().monotonic + rules_->config->smtpd.reverse_name_timeout);
    name_lookup_ =
        std::make_unique<dns::ClientName>(*resolver_, client_.address, [this](const std::string& name) {
            if (!resolving_name_) return;
            if (!name.empty()) client_.name = smtp::printable(name, 255);
            greet();
            pump();
        });
}

void Connection::greet() {
    resolving_name_ = false;
    if (session_.proxied())
        log_context().info("XCLIENT from {}: the client is {}", peer_.peer(), client_.peer());
    else
        log_context().info("connect from {}", client_.peer());
    if (admission_ != ClientLimits::Admission::admitted) {
        const auto& reply = rules_->rejection_reply(admission_);
        count_reject(worker_.metrics, Verb::connect, reply);
        log_context().warning("{}", rules_->limit_exceeded_text(admission_, client_.peer()));
        return answer(reply);
    }
    policy_chain_ = make_policy_chain(worker_, *rules_, client_);
    if (policy_chain_ && session_.greeted()) { // by the proxy
        policy_chain_->context.helo = smtp::printable(session_.helo(), 255);
        policy_chain_->context.protocol = session_.protocol();
    }
    if (implicit_tls() && !tls_) return start_tls();
    send_banner();
}

void Connection::send_banner() {
    with_policy_checks(Stage::connect, [this] { answer({220, {}, ""}); });
}

void Connection::operator()(smtp::event::Helo& helo) {
    xforward_.reset();
    session_.apply_settings(settings(), common::Loop::now().monotonic);
    if (policy_chain_) {
        policy_chain_->context.helo = smtp::printable(helo.name, 255);
        policy_chain_->context.protocol = helo.extended ? "ESMTP" : "SMTP";
    }
    with_policy_checks(Stage::helo, [this] { answer({250, {}, dynamic_capabilities()}); });
}

// What EHLO names that depends on the clock.
std::string Connection::dynamic_capabilities() {
    const auto seconds = session_.offered().future_release;
    if (seconds == 0) return "";
    const auto until = common::Loop::now().wall + std::chrono::seconds(seconds);
    return fmt::format("FUTURERELEASE {} {}", seconds, smtp::rfc3339_date(until));
}

// --- who else has a say

void Connection::run_policy_chain(Stage stage, std::function<void()> then) {
    auto& context = policy_chain_->context;
    context.stressed = worker_.stressed;
    context.sasl_method = client_.auth_method;
    context.sasl_user = client_.user;
    context.tls_version = tls_facts_.version;
    context.tls_cipher = tls_facts_.cipher;
    context.tls_peer = tls_facts_.peer_name;
    context.recipient.clear();
    context.postmaster = false;
    if (!transaction_) { // nothing of the one before
        context.queue_id.clear();
        context.instance.clear();
        context.sender.clear();
        context.sasl_sender.clear();
        context.recipients = 0;
        context.size = 0;
    } else {
        const auto& envelope = transaction_->envelope;
        context.helo = envelope.helo;
        context.protocol = envelope.protocol;
        context.queue_id = transaction_->id_text;
        context.instance = fmt::format("{:x}.{}", number_, transaction_->id_text);
        context.sender = envelope.reverse_path;
        context.recipients = static_cast<std::uint32_t>(envelope.recipients.size());
        context.sasl_sender = envelope.sasl_sender;
        if (stage > Stage::rcpt && envelope.recipients.size() == 1)
            context.recipient = envelope.recipients.front().address;
        if (stage == Stage::end_of_data) context.size = session_.content_size();
    }
    if (stage == Stage::rcpt) {
        context.recipient = rcpt_.path.text();
        context.postmaster = smtp::same_ignoring_case(rcpt_.path.mailbox.local_part, "postmaster");
    }
    auto verdict = policy_chain_->ask(stage, [this, stage, then](const PolicyVerdict& late) {
        apply_verdict(stage, late, then);
        pump();
    });
    if (verdict) apply_verdict(stage, *verdict, then);
}

void Connection::apply_verdict(Stage stage, const PolicyVerdict& verdict, const std::function<void()>& then) {
    const auto command = verb_of(stage);
    for (const auto& note : verdict.notes) log_note(command, note);
    if (verdict.kind == PolicyVerdict::Kind::reject) {
        const Reply said = with_soft_bounce(verdict.reply);
        if (verdict.by != PolicySource::header_check) // whose note says it
            log_reject(command, said, stage == Stage::rcpt ? rcpt_.path.text() : std::string(), verdict.by);
        answer(said);
        if (stage == Stage::mail || stage == Stage::end_of_data) end_transaction();
        return;
    }
    if (transaction_) {
        auto& transaction = *transaction_;
        for (const auto& field : verdict.fields) transaction.fields += field + "\r\n";
        transaction.added_recipients.insert(transaction.added_recipients.end(), verdict.added_recipients.begin(),
                                            verdict.added_recipients.end());
        if (transaction.discard.empty()) transaction.discard = verdict.discard;
        if (!verdict.hold.empty() && transaction.envelope.verdict == spool::Verdict::accept) {
            transaction.envelope.verdict = spool::Verdict::hold;
            transaction.envelope.verdict_reason = verdict.hold;
        }
    }
    then();
}

void Connection::end_transaction() {
    transaction_.reset();
    xforward_.reset();
    if (policy_chain_) policy_chain_->transaction_over();
}

// --- envelope

void Connection::operator()(smtp::event::Mail& mail) {
    auto decision = evaluate_sender(*rules_, client_, mail.path);
    const auto refuse = [&](const Reply& reply) { reject(Verb::mail, reply); };
    if (decision.kind == RelayDecision::Kind::reject) return refuse(decision.reply);
    if (worker_.submission_queue.waiting() > max_announced)
        return refuse({451, {4, 3, 2}, "Error: the queue does not keep up, try again later"});
    const auto now = common::Loop::now();
    const std::chrono::seconds longest(session_.offered().future_release);
    if (mail.parameters.hold_until && *mail.parameters.hold_until > now.wall + longest)
        return refuse({501, {5, 5, 4}, "HOLDUNTIL is later than is offered"});
    const auto id = worker_.spool_writer.admit(mail.parameters.size.value_or(0), now);
    if (!id) return refuse(reply_for(id.error()));
    transaction_ = std::make_unique<Transaction>(common::control_fields_of(submitter(), rules_->config->idempotency));
    auto& transaction = *transaction_;
    transaction.id = *id;
    transaction.started = now.monotonic;
    transaction.id_text = id->text();
    last_rejection_ = {};
    fill_envelope(transaction.envelope, mail, std::move(decision.address), now.wall);
    if (policy_chain_) policy_chain_->context.size = mail.parameters.size.value_or(0);
    with_policy_checks(Stage::mail, [this] {
        static const Reply ok{250, {2, 1, 0}, "Ok"};
        answer(ok);
    });
}

void Connection::fill_envelope(spool::Envelope& envelope, const smtp::event::Mail& mail,
                               std::string reverse_path, smtp::WallTime now) {
    envelope.reverse_path = std::move(reverse_path);
    envelope.arrival = now;
    envelope.lifetime = common::lifetime_of(envelope.reverse_path, rules_->config->queue);
    envelope.submitter = "net:" + client_.network;
    if (mail.path.mailbox) envelope.submitter += " " + smtp::lowered(mail.path.mailbox->domain);
    if (!client_.user.empty()) {
        envelope.submitter = "sasl:" + client_.user;
        envelope.sasl_method = client_.auth_method;
        envelope.sasl_user = client_.user;
    }
    envelope.sasl_sender = mail.parameters.auth;
    if (mail.parameters.hold_for) // never early: the queue counts in whole seconds
        envelope.not_before =
            std::chrono::ceil<std::chrono::seconds>(now + std::chrono::seconds(*mail.parameters.hold_for));
    if (mail.parameters.hold_until) envelope.not_before = mail.parameters.hold_until;
    transaction_->schedule = mail.parameters.hold_for     ? fmt::format("for {}", *mail.parameters.hold_for)
                             : mail.parameters.hold_until ? smtp::rfc3339_date(*mail.parameters.hold_until)
                                                          : "";
    envelope.priority = mail.parameters.priority;
    envelope.listener = rules_->listener.name;
    envelope.client_name = client_.name;
    envelope.client_address = client_.address_text;
    envelope.client_port = client_.port;
    envelope.helo = smtp::printable(session_.helo(), 255);
    envelope.protocol = session_.transaction_protocol();
    if (tls_) {
        envelope.tls_version = tls_facts_.version;
        envelope.tls_cipher = tls_facts_.cipher;
        envelope.tls_peer = tls_facts_.peer_name;
    }
    if (mail.parameters.body == smtp::Body::eight_bit_mime) envelope.body = spool::Body::eight_bit;
    envelope.smtputf8 = mail.parameters.smtputf8;
    envelope.require_tls = mail.parameters.require_tls;
    envelope.ret = mail.parameters.ret;
    envelope.envid = mail.parameters.envid;
}

// Long lists go first when memory is short.
bool Connection::room_for_recipient() const {
    using Level = spool::ContentMemory::Level;
    const auto level = worker_.spool_writer.memory().level();
    return level < Level::scarce || (level == Level::scarce && transaction_->memory < spool::ContentMemory::small);
}

void Connection::operator()(smtp::event::Rcpt& rcpt) {
    if (!room_for_recipient()) {
        worker_.spool_writer.check_memory();
        return reject(Verb::rcpt, reply_for(common::Unavailable::memory), rcpt.path.text());
    }
    auto decision = evaluate_recipient(*rules_, client_, rcpt.path);
    if (decision.kind == RelayDecision::Kind::reject) return reject(Verb::rcpt, decision.reply, rcpt.path.text());
    rcpt_ = std::move(rcpt);
    const bool elsewhere = decision.kind == RelayDecision::Kind::accept; // only suppressed ones are refused there
    if (elsewhere && !worker_.checker.any_suppressed()) return take_recipient(std::move(decision.address));
    check_recipient({decision.address, transaction_->envelope.reverse_path},
                    [this, elsewhere, address = decision.address](const auto& checked) {
                        if (checked.verdict == Verdict::known || (elsewhere && checked.verdict != Verdict::unknown))
                            take_recipient(address);
                        else
                            recipient_checked(checked);
                    });
}

void Connection::recipient_checked(const RecipientChecker::Answer& checked) {
    const auto to = rcpt_.path.text();
    const auto text = [&](std::string_view otherwise) {
        return fmt::format("<{}>: Recipient address rejected: {}", to,
                           checked.text.empty() ? otherwise : std::string_view(checked.text));
    };
    switch (checked.verdict) {
    case Verdict::unknown: {
        const auto status = smtp::EnhancedStatus::parse(checked.status);
        return reject(Verb::rcpt, {550, status.value_or(smtp::EnhancedStatus{5, 1, 1}), text("User unknown")}, to);
    }
    case Verdict::not_ours: return reject(Verb::rcpt, {554, {5, 7, 1}, "<" + to + ">: Relay access denied"}, to);
    default: return reject(Verb::rcpt, {450, {4, 3, 0}, text("unverified address, try again later")}, to);
    }
}

void Connection::take_recipient(std::string address) {
    if (!policy_chain_) return add_recipient(std::move(address));
    run_policy_chain(Stage::rcpt, [this, address = std::move(address)] { add_recipient(address); });
}

void Connection::add_recipient(std::string address) {
    static const Reply ok{250, {2, 1, 5}, "Ok"};
    auto& transaction = *transaction_;
    if (!std::exchange(transaction.client_logged, true))
        log_context().info("{}: client={}{}{}{}{}{}", transaction.id_text, client_.peer(),
                     client_.user.empty() ? "" : ", sasl_method=", client_.auth_method,
                     client_.user.empty() ? "" : ", sasl_username=", client_.user, forwarded_text());
    auto& recipient = transaction.envelope.recipients.emplace_back();
    recipient.address = std::move(address);
    if (rcpt_.path.mailbox.bare()) {
        auto original = rcpt_.path.text();
        if (original != recipient.address) recipient.original = std::move(original);
    }
    recipient.orcpt = std::move(rcpt_.parameters.orcpt);
    recipient.notify = Transaction::notify_of(rcpt_.parameters.notify);
    constexpr std::size_t around = 2 * sizeof recipient + 64; // the vector's growth, the heap's own
    transaction.memory += around + recipient.address.size() + recipient.original.size() + recipient.orcpt.size();
    answer(ok);
}

} // namespace smtpd
