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

static constexpr std::size_t most_announced = 100'000; // durable messages the queue-manager has not taken yet

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

common::Voice Connection::voice_of(Adviser by, Verb command) {
    const bool whole = command == Verb::end_of_message;
    return whole && by != Adviser::policy ? service_.log.as("cleanup") : voice();
}

void Connection::log_reject(Verb command, const Reply& reply, std::string_view to, Adviser by) {
    count_reject(service_.figures, command, reply);
    voice_of(by, command)
        .info("{}: {}reject: {} from {}: {}; {}", log_id(), by == Adviser::milter ? "milter-" : "", word_of(command),
              client_.peer(), reply.line(), envelope_text(to));
}

// RFC 5321, 4.2.2 and 4.2.3: not this message was refused, the command was none or came out of turn.
static bool breaks_protocol(const Reply& reply) {
    constexpr smtp::EnhancedStatus invalid_command{5, 5, 1};
    return (reply.code >= 500 && reply.code <= 504) || reply.code == 555 || reply.status == invalid_command;
}

// What a client says wrongly is no "reject": log analysers count those as messages refused.
void Connection::log_refusal(Verb command, const Reply& reply, std::string_view to) {
    if (!breaks_protocol(reply)) return log_reject(command, reply, to);
    count_reject(service_.figures, command, reply);
    if (reply == last_refused_) return;
    last_refused_ = reply;
    const bool of_message = transaction_ && transaction_->client_logged;
    voice().warning("{}{}protocol error after {} from {}: {}", of_message ? transaction_->id_text : "",
                    of_message ? ": " : "", word_of(command), client_.peer(), reply.line());
}

void Connection::log_note(Verb command, const Note& note) {
    const auto id = transaction_ ? std::string_view(transaction_->id_text) : "NOQUEUE";
    auto log = voice_of(note.by, command);
    if (note.by == Adviser::header_check)
        return log.info("{}: {}: {} from {}; {}: {}", id, note.verb, note.subject, client_.peer(),
                        envelope_text({}), note.text);
    log.info("{}: {}{}: {} from {}: {}", id, note.by == Adviser::milter ? "milter-" : "", note.verb, word_of(command),
             client_.peer(), note.text);
}

// bounce.soft_bounce: whoever is refused may come again.
Reply Connection::softened(Reply reply) const {
    if (!rules_->config->bounce.soft_bounce || reply.code < 500) return reply;
    reply.code -= 100;
    if (reply.status.given()) reply.status.klass = 4;
    return reply;
}

void Connection::reject(Verb command, const Reply& reply, std::string_view to) {
    const bool of_mail = command == Verb::mail || command == Verb::rcpt || command == Verb::end_of_message;
    const Reply said = of_mail ? softened(reply) : reply;
    log_refusal(command, said, to);
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
    if (named_ || !wants_name(*rules_, client_.address)) return greet();
    naming_ = true;
    deadline_.set(common::Loop::now().monotonic + rules_->config->smtpd.reverse_name_timeout);
    name_lookup_ =
        std::make_unique<dns::ClientName>(*resolver_, client_.address, [this](const std::string& name) {
            if (!naming_) return;
            if (!name.empty()) client_.name = smtp::printable(name, 255);
            greet();
            pump();
        });
}

void Connection::greet() {
    naming_ = false;
    if (session_.proxied())
        voice().info("XCLIENT from {}: the client is {}", peer_.peer(), client_.peer());
    else
        voice().info("connect from {}", client_.peer());
    if (entry_ != Visitors::Entry::welcome) {
        const auto& reply = rules_->turned_away(entry_);
        count_reject(service_.figures, Verb::connect, reply);
        voice().warning("{}", rules_->exceeded(entry_, client_.peer()));
        return answer(reply);
    }
    screen_ = make_screen(service_, *rules_, client_);
    if (screen_ && session_.greeted()) { // by the proxy
        screen_->facts.helo = smtp::printable(session_.helo(), 255);
        screen_->facts.protocol = session_.protocol();
    }
    if (implicit_tls() && !tls_) return start_tls();
    let_in();
}

void Connection::let_in() {
    screened(Stage::connect, [this] { answer({220, {}, ""}); });
}

void Connection::operator()(smtp::event::Helo& helo) {
    forwarded_.reset();
    session_.use(settings(), common::Loop::now().monotonic);
    if (screen_) {
        screen_->facts.helo = smtp::printable(helo.name, 255);
        screen_->facts.protocol = helo.extended ? "ESMTP" : "SMTP";
    }
    screened(Stage::helo, [this] { answer({250, {}, more_capabilities()}); });
}

// What EHLO names that depends on the clock.
std::string Connection::more_capabilities() {
    const auto seconds = session_.offered().future_release;
    if (seconds == 0) return "";
    const auto until = common::Loop::now().wall + std::chrono::seconds(seconds);
    return fmt::format("FUTURERELEASE {} {}", seconds, smtp::rfc3339_date(until));
}

// --- who else has a say

void Connection::ask_around(Stage stage, std::function<void()> then) {
    auto& facts = screen_->facts;
    facts.stressed = service_.stressed;
    facts.sasl_method = client_.auth_method;
    facts.sasl_user = client_.user;
    facts.tls_version = tls_facts_.version;
    facts.tls_cipher = tls_facts_.cipher;
    facts.tls_peer = tls_facts_.peer_name;
    facts.recipient.clear();
    facts.postmaster = false;
    if (!transaction_) { // nothing of the one before
        facts.queue_id.clear();
        facts.instance.clear();
        facts.sender.clear();
        facts.sasl_sender.clear();
        facts.recipients = 0;
        facts.size = 0;
    } else {
        const auto& envelope = transaction_->envelope;
        facts.helo = envelope.helo;
        facts.protocol = envelope.protocol;
        facts.queue_id = transaction_->id_text;
        facts.instance = fmt::format("{:x}.{}", number_, transaction_->id_text);
        facts.sender = envelope.reverse_path;
        facts.recipients = static_cast<std::uint32_t>(envelope.recipients.size());
        facts.sasl_sender = envelope.sasl_sender;
        if (stage > Stage::rcpt && envelope.recipients.size() == 1)
            facts.recipient = envelope.recipients.front().address;
        if (stage == Stage::end_of_data) facts.size = session_.content_size();
    }
    if (stage == Stage::rcpt) {
        facts.recipient = rcpt_.path.text();
        facts.postmaster = smtp::same_ignoring_case(rcpt_.path.mailbox.local_part, "postmaster");
    }
    auto opinion = screen_->ask(stage, [this, stage, then](const Opinion& late) {
        heed(stage, late, then);
        pump();
    });
    if (opinion) heed(stage, *opinion, then);
}

void Connection::heed(Stage stage, const Opinion& opinion, const std::function<void()>& then) {
    const auto command = verb_of(stage);
    for (const auto& note : opinion.notes) log_note(command, note);
    if (opinion.kind == Opinion::Kind::refuse) {
        const Reply said = softened(opinion.reply);
        if (opinion.by != Adviser::header_check) // whose note says it
            log_reject(command, said, stage == Stage::rcpt ? rcpt_.path.text() : std::string(), opinion.by);
        answer(said);
        if (stage == Stage::mail || stage == Stage::end_of_data) end_transaction();
        return;
    }
    if (transaction_) {
        auto& transaction = *transaction_;
        for (const auto& field : opinion.fields) transaction.fields += field + "\r\n";
        transaction.copies.insert(transaction.copies.end(), opinion.copies.begin(), opinion.copies.end());
        if (transaction.discard.empty()) transaction.discard = opinion.discard;
        if (!opinion.hold.empty() && transaction.envelope.verdict == spool::Verdict::accept) {
            transaction.envelope.verdict = spool::Verdict::hold;
            transaction.envelope.verdict_reason = opinion.hold;
        }
    }
    then();
}

void Connection::end_transaction() {
    transaction_.reset();
    forwarded_.reset();
    if (screen_) screen_->transaction_over();
}

// --- envelope

void Connection::operator()(smtp::event::Mail& mail) {
    auto judged = judge_sender(*rules_, client_, mail.path);
    const auto refuse = [&](const Reply& reply) { reject(Verb::mail, reply); };
    if (judged.kind == Judgement::Kind::refuse) return refuse(judged.reply);
    if (service_.outbox.waiting() > most_announced)
        return refuse({451, {4, 3, 2}, "Error: the queue does not keep up, try again later"});
    const auto now = common::Loop::now();
    const std::chrono::seconds longest(session_.offered().future_release);
    if (mail.parameters.hold_until && *mail.parameters.hold_until > now.wall + longest)
        return refuse({501, {5, 5, 4}, "HOLDUNTIL is later than is offered"});
    const auto id = service_.intake.admit(mail.parameters.size.value_or(0), now);
    if (!id) return refuse(reply_for(id.error()));
    transaction_ = std::make_unique<Transaction>(common::control_fields_of(submitter(), *rules_->config));
    auto& transaction = *transaction_;
    transaction.id = *id;
    transaction.begun = now.monotonic;
    transaction.id_text = id->text();
    last_refused_ = {};
    fill_envelope(transaction.envelope, mail, std::move(judged.address), now.wall);
    if (screen_) screen_->facts.size = mail.parameters.size.value_or(0);
    screened(Stage::mail, [this] {
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
    const auto level = service_.intake.memory().level();
    return level < Level::scarce || (level == Level::scarce && transaction_->weight < spool::ContentMemory::small);
}

void Connection::operator()(smtp::event::Rcpt& rcpt) {
    if (!room_for_recipient()) {
        service_.intake.look_at_memory();
        return reject(Verb::rcpt, reply_for(common::Shut::memory), rcpt.path.text());
    }
    auto judged = judge_recipient(*rules_, client_, rcpt.path);
    if (judged.kind == Judgement::Kind::refuse) return reject(Verb::rcpt, judged.reply, rcpt.path.text());
    rcpt_ = std::move(rcpt);
    const bool elsewhere = judged.kind == Judgement::Kind::accept; // only suppressed ones are refused there
    if (elsewhere && !service_.checker.any_suppressed()) return take_recipient(std::move(judged.address));
    check_recipient({judged.address, transaction_->envelope.reverse_path}, [this, elsewhere, address = judged.address](const auto& checked) {
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
    if (!screen_) return add_recipient(std::move(address));
    ask_around(Stage::rcpt, [this, address = std::move(address)] { add_recipient(address); });
}

void Connection::add_recipient(std::string address) {
    static const Reply ok{250, {2, 1, 5}, "Ok"};
    auto& transaction = *transaction_;
    if (!std::exchange(transaction.client_logged, true))
        voice().info("{}: client={}{}{}{}{}{}", transaction.id_text, client_.peer(),
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
    transaction.weight += around + recipient.address.size() + recipient.original.size() + recipient.orcpt.size();
    answer(ok);
}

} // namespace smtpd
