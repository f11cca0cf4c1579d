#include "libsmtp/session/client/transaction_pipeline.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace smtp {
namespace {

// 452 at RCPT (RFC 5321, 4.5.3.1.10), unless its status means something else, such as a full mailbox.
bool too_many_recipients(const Reply& reply) {
    return reply.code == 452 && (!reply.status.given() || reply.status == EnhancedStatus{4, 5, 3});
}

// The reply to a command that is unknown, or not allowed now. A message is rejected with other codes.
bool is_misunderstanding(const Reply& reply) { return reply.code >= 500 && reply.code <= 504; }

} // namespace

TransactionPipeline::TransactionPipeline(const ClientOptions& options, const ServerExtensions& extensions,
                                         CommandStream& commands, EventQueue& events)
    : options_(options), extensions_(extensions), commands_(commands), events_(events) {}

void TransactionPipeline::start(ChannelSecurity security) {
    security_ = security;
    pipelining_ = extensions_.pipelining && options_.pipelining == ClientOptions::Pipelining::if_offered;
    started_ = true;
}

bool TransactionPipeline::withdraw(std::uint64_t id) {
    if (transactions_.empty()) return false;
    const auto& last = transactions_.back();
    if (last.message().id != id || last.begun()) return false;
    transactions_.pop_back();
    return true;
}

bool TransactionPipeline::content_sent(std::uint64_t id) const {
    if (transactions_.empty()) return true;
    if (transactions_.front().message().id == id) return message_fully_sent();
    return transactions_.back().message().id != id;
}

// Maximum number of MAILs that the server accepts in one session (RFC 9422, MAILMAX).
std::size_t TransactionPipeline::max_mails() const {
    return extensions_.transactions != 0 ? extensions_.transactions : SIZE_MAX;
}

std::size_t TransactionPipeline::transactions_left() const {
    if (extensions_.transactions == 0) return SIZE_MAX;
    const auto begun = std::ranges::count_if(transactions_, &ActiveTransaction::begun);
    return max_mails() - mails_ + static_cast<std::size_t>(begun);
}

bool TransactionPipeline::exhausted() const {
    const bool nothing_begun = transactions_.empty() || !transactions_.front().begun();
    return nothing_begun && !commands_.awaits_reply() && mails_ >= max_mails();
}

// --- what is sent ---

void TransactionPipeline::advance(Monotonic now) {
    while (auto* active = next_to_send()) send_next(*active, now);
}

// The transaction whose next command may be sent now, if any.
ActiveTransaction* TransactionPipeline::next_to_send() {
    if (transactions_.empty()) return nullptr;
    ActiveTransaction* next = &transactions_.front();
    // Not after BDAT: if rejected, it may leave the server in a transaction, in which MAIL is invalid.
    if (next->phase() == Phase::dot && pipelining_ && !next->chunked() && !next->rounds_left() &&
        transactions_.size() > 1)
        next = &transactions_.back();
    if (next->phase() >= Phase::answer) return nullptr;
    if (next->phase() == Phase::waiting && mails_ >= max_mails()) return nullptr;
    if (next->phase() == Phase::data && next->message().probe && commands_.awaits_reply()) return nullptr;
    return pipelining_ || !commands_.awaits_reply() ? next : nullptr;
}

void TransactionPipeline::send_next(ActiveTransaction& active, Monotonic now) {
    commands_.of_transaction(active.message().id);
    switch (active.phase()) {
    case Phase::waiting: return begin_round(active, now);
    case Phase::mail:
        if (std::exchange(needs_reset_, false)) return commands_.send("RSET\r\n", Awaited::rset);
        if (const auto line = active.next_xforward(extensions_); !line.empty())
            return commands_.send(line, Awaited::xforward);
        send_mail(active, now);
        ++mails_;
        active.mail_sent();
        return;
    case Phase::rcpt: return send_recipient(active);
    case Phase::data: return begin_data(active, now);
    default: return;
    }
}

void TransactionPipeline::begin_round(ActiveTransaction& active, Monotonic now) {
    if (!active.begun()) active.drop_unsendable({options_, extensions_, security_}, now);
    RoundLimits limits{.recipients = max_recipients_seen_};
    if (extensions_.recipients != 0)
        limits.recipients = std::min<std::size_t>(max_recipients_seen_, extensions_.recipients);
    if (extensions_.domains != 0) limits.domains = extensions_.domains;
    if (!active.begin_round(limits, now)) finish(active, now);
}

void TransactionPipeline::send_mail(const ActiveTransaction& active, Monotonic now) {
    const MailParameters& parameters = active.message().parameters;
    commands_.put("MAIL FROM:<");
    commands_.put(active.message().reverse_path);
    commands_.put(">");
    if (extensions_.size && parameters.size) commands_.put(fmt::format(" SIZE={}", *parameters.size));
    if (parameters.body == Body::eight_bit_mime) commands_.put(" BODY=8BITMIME");
    if (active.utf8()) commands_.put(" SMTPUTF8");
    if (extensions_.dsn && parameters.ret != Ret::unspecified)
        commands_.put(parameters.ret == Ret::full ? " RET=FULL" : " RET=HDRS");
    if (extensions_.dsn && !parameters.envid.empty()) commands_.put(" ENVID=" + encode_xtext(parameters.envid));
    if (const auto by = active.deliver_by(extensions_, now)) commands_.put(" BY=" + text_of(*by));
    if (active.message().require_tls) commands_.put(" REQUIRETLS");
    commands_.send("\r\n", Awaited::mail);
}

void TransactionPipeline::send_recipient(ActiveTransaction& active) {
    const auto recipient = active.next_recipient();
    const auto& [address, parameters] = active.message().recipients[recipient];
    commands_.put("RCPT TO:<");
    commands_.put(address);
    commands_.put(">");
    if (extensions_.dsn && parameters.notify.given()) commands_.put(" NOTIFY=" + parameters.notify.text());
    if (extensions_.dsn && !parameters.orcpt.empty())
        commands_.put(" ORCPT=" + encode_orcpt(parameters.orcpt, active.utf8() ? WireText::utf8 : WireText::ascii));
    commands_.send("\r\n", Awaited::rcpt, recipient);
}

void TransactionPipeline::begin_data(ActiveTransaction& active, Monotonic now) {
    const bool nobody = active.accepted().empty();
    if (!commands_.awaits_reply() && (nobody || active.message().probe)) { // no need to send DATA
        if (!nobody) requeue_postponed(active);
        needs_reset_ = true;
        return end_round(active, now);
    }
    if (uses_chunking(active)) {
        codec_ = OutgoingContent(active.message().longest_line, OutgoingContent::Framing::counted);
        return begin_content(active, ActiveTransaction::Framing::chunked, now);
    }
    commands_.send("DATA\r\n", Awaited::data);
    active.data_sent();
}

// For the first message of a session, together with its commands, as one flight. Not if its lines would have to be
// wrapped, nor if much might be sent for nothing.
bool TransactionPipeline::uses_chunking(const ActiveTransaction& active) const {
    const auto& message = active.message();
    return options_.chunking == ClientOptions::Chunking::if_useful && options_.protocol == Protocol::smtp &&
           extensions_.chunking && pipelining_ && mails_ == 1 &&
           message.parameters.size.value_or(UINT64_MAX) <= chunk_limit &&
           message.longest_line <= OutgoingContent::line_limit;
}

void TransactionPipeline::begin_content(ActiveTransaction& active, ActiveTransaction::Framing framing, Monotonic now) {
    active.begin_content(framing);
    content_from_ = commands_.written();
    content_began_ = now;
    events_.push(client_event::ContentRequested{active.message().id, true});
}

void TransactionPipeline::content(std::string_view chunk) {
    assert(!transactions_.empty() && transactions_.front().phase() == Phase::content);
    send_content(transactions_.front(), chunk, Last::no);
    chunk_wanted_ = commands_.has_output();
    if (!chunk_wanted_) events_.push(client_event::ContentRequested{transactions_.front().message().id, false});
}

void TransactionPipeline::end_content(std::string_view last_chunk) {
    assert(!transactions_.empty() && transactions_.front().phase() == Phase::content);
    chunk_wanted_ = false;
    send_content(transactions_.front(), last_chunk, Last::yes);
}

void TransactionPipeline::written() {
    if (std::exchange(chunk_wanted_, false))
        events_.push(client_event::ContentRequested{transactions_.front().message().id, false});
}

void TransactionPipeline::send_content(ActiveTransaction& active, std::string_view chunk, Last last) {
    const bool ends = last == Last::yes;
    commands_.of_transaction(active.message().id);
    views_.clear();
    codec_.encode(chunk, views_);
    if (ends) codec_.finish(views_);
    if (active.chunked()) {
        std::size_t size = 0;
        for (const auto view : views_) size += view.size();
        if (size == 0 && !ends) return;
        commands_.send(fmt::format("BDAT {}{}\r\n", size, ends ? " LAST" : ""), ends ? Awaited::dot : Awaited::chunk);
    }
    commands_.put_views(views_);
    if (!ends) return;
    dot_at_ = commands_.queued();
    active.content_sent();
    if (active.chunked()) return;
    if (options_.protocol == Protocol::smtp) return commands_.expect(Awaited::dot);
    for (const auto recipient : active.accepted()) commands_.expect(Awaited::dot, recipient);
}

// --- what the server replies ---

std::optional<Ending> TransactionPipeline::take_mail(const Reply& reply, Monotonic now) {
    auto& front = transactions_.front();
    if (reply.positive()) {
        front.accept_mail();
        return {};
    }
    front.refuse_mail(verdict_of(Stage::mail, reply, options_.peer));
    if (front.phase() == Phase::rcpt) end_round(front, now); // else replies to pipelined commands are still to come
    return {};
}

std::optional<Ending> TransactionPipeline::take_recipient(const Reply& reply, std::uint32_t recipient) {
    auto& front = transactions_.front();
    if (front.refused()) {
        if (reply.positive()) return Ending::mismatch("recipient accepted without a sender");
        return {};
    }
    if (reply.positive()) front.accept_recipient(recipient);
    if (!reply.positive() || front.message().probe)
        front.set_verdict(recipient, verdict_of(Stage::rcpt, reply, options_.peer));
    if (too_many_recipients(reply)) front.postpone_recipient(recipient);
    return {};
}

std::optional<Ending> TransactionPipeline::take_data(const Reply& reply, Monotonic now) {
    auto& front = transactions_.front();
    if (!reply.positive()) {
        needs_reset_ = !front.refused();
        front.refuse_message(verdict_of(Stage::data, reply, options_.peer));
        end_round(front, now);
        return {};
    }
    codec_ = OutgoingContent(front.message().longest_line);
    if (front.accepted().empty()) { // without recipients: RFC 2920, 3.1. In LMTP no reply would follow
        if (options_.protocol == Protocol::lmtp)
            return Ending::mismatch("content requested without an accepted recipient");
        send_content(front, {}, Last::yes);
        return {};
    }
    requeue_postponed(front);
    begin_content(front, ActiveTransaction::Framing::data, now);
    return {};
}

std::optional<Ending> TransactionPipeline::take_dot(const Reply& reply, std::uint32_t recipient, Monotonic now) {
    auto& front = transactions_.front();
    const bool nobody = front.accepted().empty();
    if (reply.code == 421) front.note_421();
    if (options_.protocol == Protocol::lmtp && !nobody) { // each has a reply of its own
        front.set_verdict(recipient, verdict_of(Stage::final_dot, reply, options_.peer));
        if (recipient != front.accepted().back()) return {};
    } else if (front.chunked()) {
        if (!nobody && is_misunderstanding(reply)) return chunk_refused(reply);
        needs_reset_ = !reply.positive() && !front.refused(); // RFC 3030, 2: the state of the transaction is unknown
        front.set_verdict_of_accepted(verdict_of(Stage::final_dot, reply, options_.peer));
        if (!nobody) requeue_postponed(front);
    } else {
        front.set_verdict_of_accepted(verdict_of(Stage::final_dot, reply, options_.peer));
    }
    if (front.got_421()) {
        if (front.rounds_left()) return Ending::refused(verdict_of(Stage::final_dot, reply, options_.peer));
        finish(front, now);
        return Ending{};
    }
    end_round(front, now);
    return {};
}

Ending TransactionPipeline::take_early(const Reply& reply) {
    if (reply.code < 400) return Ending::mismatch(fmt::format("unexpected reply {}", reply.code));
    auto& front = transactions_.front();
    if (front.chunked() && is_misunderstanding(reply)) return chunk_refused(reply);
    auto verdict = verdict_of(Stage::content, reply, options_.peer);
    if (options_.protocol == Protocol::smtp || front.accepted().size() < 2) return Ending::failed(std::move(verdict));
    front.set_verdict(front.accepted().front(), std::move(verdict)); // it applies to that recipient alone
    return {Ending::Kind::lost, {}, "early reply for another recipient from"};
}

// The server does not understand what it offered. How it took the lines of the message is unknown: the session ends.
Ending TransactionPipeline::chunk_refused(const Reply& reply) const {
    Verdict verdict = verdict_of(Stage::final_dot, reply, options_.peer);
    verdict.outcome = Outcome::deferred;
    verdict.status[0] = '4';
    verdict.text = printable(
        fmt::format("host {} offers CHUNKING, but answered to BDAT: {}", options_.peer, verdict.remote_reply));
    return {Ending::Kind::chunking_failure, std::move(verdict)};
}

// The server accepts no more recipients at once than it has accepted now.
void TransactionPipeline::requeue_postponed(ActiveTransaction& active) {
    if (active.requeue_postponed()) max_recipients_seen_ = std::min(max_recipients_seen_, active.accepted().size());
}

void TransactionPipeline::end_round(ActiveTransaction& active, Monotonic now) {
    if (active.rounds_left() && mails_ >= max_mails())
        active.refuse_pending(
            deferral(Stage::mail, "4.5.3",
                     fmt::format("host {} accepts {} transactions per session; the rest follows in the next",
                                 options_.peer, extensions_.transactions)));
    active.end_round();
    if (!active.rounds_left()) finish(active, now);
}

void TransactionPipeline::finish(ActiveTransaction& active, Monotonic now) {
    completed_ += active.begun();
    events_.push(client_event::Finished{active.finish(dsn_relayed(), now)});
    transactions_.erase(transactions_.begin() + (&active - transactions_.data()));
    if (!transactions_.empty() && transactions_.front().begun()) transactions_.front().restart_clock(now);
}

// --- what is under way ---

bool TransactionPipeline::sending_content() const {
    if (transactions_.empty()) return false;
    const auto phase = transactions_.front().phase();
    return phase == Phase::content || (phase == Phase::dot && !all_written());
}

bool TransactionPipeline::message_fully_sent() const {
    if (transactions_.empty()) return false;
    const auto& front = transactions_.front();
    return front.phase() == Phase::dot && all_written() && !front.refused();
}

bool TransactionPipeline::untouched_after_others() const {
    return completed_ > 0 && !transactions_.front().mail_accepted();
}

TransactionPipeline::Progress TransactionPipeline::progress() const {
    Progress out{.content_began = content_began_, .content_bytes = commands_.written() - content_from_};
    if (!started_ || transactions_.empty() || !transactions_.front().begun()) return out;
    out.started = transactions_.front().started();
    out.size = transactions_.front().message().parameters.size.value_or(0);
    return out;
}

std::optional<TransactionPipeline::Interrupted> TransactionPipeline::interrupt(const Verdict& why, Monotonic now) {
    if (transactions_.empty() || !transactions_.front().begun()) return {};
    auto& front = transactions_.front();
    return Interrupted{front.interrupt(why, dsn_relayed(), now), front.mail_accepted(), front.chunked()};
}

ActiveTransaction::DsnRelayed TransactionPipeline::dsn_relayed() const {
    return extensions_.dsn ? ActiveTransaction::DsnRelayed::yes : ActiveTransaction::DsnRelayed::no;
}

} // namespace smtp
