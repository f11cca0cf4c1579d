// What ClientSession says next: its transactions in rounds of as many recipients as the server takes at once,
// command by command, and what is refused here because this server cannot be asked to take it.
#include "libsmtp/message/address.h"
#include "libsmtp/session/client_session.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace smtp {
namespace {

// Why the address must not stand in a command, "" if it may: what is none could end the command before its time, or go
// on as its parameters.
std::string not_sendable(std::string_view address) {
    const auto mailbox = Mailbox::parse_bare_allowed(address);
    return mailbox ? "" : mailbox.error().why;
}

// Does the message need the extension of RFC 6531 as it stands? What its sender only said is believed where
// there may be UTF-8 in headers of its parts.
bool needs_smtputf8(const Transaction& message) {
    return message.utf8_header || !is_ascii(message.reverse_path) ||
           (message.parameters.smtputf8 && message.parameters.body == Body::eight_bit_mime) ||
           std::ranges::any_of(message.recipients, [](auto& to) { return !is_ascii(to.address); });
}

Verdict refusal(Stage stage, std::string_view status, std::string_view text) {
    Verdict out;
    out.outcome = Outcome::failed;
    out.stage = stage;
    out.status = status;
    out.text = printable(text);
    return out;
}

} // namespace

void ClientSession::advance() {
    while (!over_ && up_) {
        Active* active = next_to_send();
        if (!active) break;
        send_command(*active);
    }
    if (over_ || !up_) return;
    const bool nothing_begun = transactions_.empty() || !transactions_.front().begun;
    const bool exhausted = nothing_begun && expected_.empty() && mails_ >= max_mails();
    if (exhausted || (quitting_ && transactions_.empty())) disconnect();
}

// So many MAILs the server takes in one conversation (RFC 9422, MAILMAX).
std::size_t ClientSession::max_mails() const {
    return extensions_.transactions != 0 ? extensions_.transactions : SIZE_MAX;
}

std::size_t ClientSession::transactions_left() const {
    if (extensions_.transactions == 0) return SIZE_MAX;
    const auto begun = std::ranges::count_if(transactions_, [](auto& each) { return each.begun; });
    return max_mails() - mails_ + static_cast<std::size_t>(begun);
}

// For those who were too many in this round, in a further one; the server takes no more than this at once.
void ClientSession::restart_round(Active& active) {
    if (active.too_many.empty()) return;
    max_recipients_seen_ = std::min(max_recipients_seen_, active.accepted.size());
    active.pending.insert(active.pending.begin(), active.too_many.begin(), active.too_many.end());
}

// The transaction a command of which may be sent now, if any.
ClientSession::Active* ClientSession::next_to_send() {
    if (transactions_.empty()) return nullptr;
    Active* next = &transactions_.front();
    // Not behind BDAT: refused, it may leave the server in a transaction in which MAIL means nothing.
    if (next->phase == Phase::dot && pipelining_ && !next->chunked && next->pending.empty() &&
        transactions_.size() > 1)
        next = &transactions_.back();
    if (next->phase >= Phase::answer) return nullptr;
    if (next->phase == Phase::waiting && mails_ >= max_mails()) return nullptr;
    if (next->phase == Phase::data && next->transaction.probe && !expected_.empty()) return nullptr;
    return pipelining_ || expected_.empty() ? next : nullptr;
}

void ClientSession::send_command(Active& active) {
    switch (active.phase) {
    case Phase::waiting: return begin_round(active);
    case Phase::mail:
        if (needs_reset_) {
            needs_reset_ = false;
            return send("RSET\r\n", Awaited::rset);
        }
        send_mail(active);
        ++mails_;
        active.phase = Phase::rcpt;
        return;
    case Phase::rcpt:
        send_rcpt(active, active.round[active.asked]);
        if (++active.asked == active.round.size()) active.phase = Phase::data;
        return;
    case Phase::data:
        if (expected_.empty() && (active.accepted.empty() || active.transaction.probe)) { // no need to ask
            if (!active.accepted.empty()) restart_round(active);
            needs_reset_ = true;
            return end_round(active);
        }
        if (uses_chunking(active)) {
            active.chunked = true;
            active.phase = Phase::content;
            codec_ = OutgoingContent(active.transaction.longest_line, OutgoingContent::Framing::counted);
            begin_content(active);
            return;
        }
        send("DATA\r\n", Awaited::data);
        active.phase = Phase::answer;
        return;
    default: return;
    }
}

void ClientSession::begin_round(Active& active) {
    if (!active.begun) reject_unsendable(active);
    active.round = next_round(active, active.pending);
    if (active.round.empty()) return finish(active);
    for (auto recipient : active.round) active.result.of_recipient[recipient] = no_verdict;
    if (!active.begun) active.result.started = now_;
    active.begun = true;
    active.phase = Phase::mail;
}

// Takes them off `pending`: as many as this server takes at once, of as many domains (RFC 9422).
std::vector<std::uint32_t> ClientSession::next_round(const Active& active,
                                                     std::vector<std::uint32_t>& pending) const {
    const auto most = extensions_.recipients != 0
                          ? std::min<std::size_t>(max_recipients_seen_, extensions_.recipients)
                          : max_recipients_seen_;
    std::vector<std::uint32_t> round;
    if (extensions_.domains == 0) {
        const auto end = pending.begin() + static_cast<std::ptrdiff_t>(std::min(pending.size(), most));
        round.assign(pending.begin(), end);
        pending.erase(pending.begin(), end);
        return round;
    }
    std::set<std::string> domains;
    std::erase_if(pending, [&](std::uint32_t recipient) {
        const std::string_view address = active.transaction.recipients[recipient].address;
        auto domain = lowered(address.substr(std::min(address.rfind('@'), address.size())));
        if (round.size() == most || (domains.size() == extensions_.domains && !domains.contains(domain))) return false;
        domains.insert(std::move(domain));
        round.push_back(recipient);
        return true;
    });
    return round;
}

// Together with its commands, as one flight: for the first message of a conversation. Not where it would have to be
// wrapped, nor where much would be sent for nothing.
bool ClientSession::uses_chunking(const Active& active) const {
    const auto size = active.transaction.parameters.size.value_or(UINT64_MAX);
    return options_.chunking == Chunking::if_useful && options_.protocol == Protocol::smtp && extensions_.chunking &&
           pipelining_ && mails_ == 1 && size <= chunk_limit &&
           active.transaction.longest_line <= OutgoingContent::line_limit;
}

// What this server cannot be asked to take is refused here, in its place.
void ClientSession::reject_unsendable(Active& active) const {
    const Transaction& message = active.transaction;
    auto refuse_all = [&](std::string_view status, std::string text) {
        set_verdict(active.result, active.pending, refusal(Stage::mail, status, std::move(text)));
        active.pending.clear();
    };
    const auto size = message.parameters.size.value_or(0);
    if (extensions_.size_limit != 0 && size > extensions_.size_limit)
        return refuse_all("5.3.4", fmt::format("message size {} exceeds size limit {} of server {}", size,
                                               extensions_.size_limit, options_.peer));
    if (message.require_tls && !(verified_ && extensions_.require_tls))
        return refuse_all("5.7.30", fmt::format("message requires TLS on the whole path (REQUIRETLS), and host {} {}",
                                                options_.peer,
                                                !secure_     ? "was reached without"
                                                : !verified_ ? "has no certificate that proves its name"
                                                             : "does not offer REQUIRETLS"));
    if (message.parameters.body == Body::eight_bit_mime && !extensions_.eight_bit_mime)
        return refuse_all(
            "5.6.3",
            message.conversion_error.empty()
                ? fmt::format("message has 8-bit content, and 8BITMIME was not offered by host {}", options_.peer)
                : fmt::format(
                      "message has 8-bit content that cannot be converted ({}), and 8BITMIME was not offered by host {}",
                      message.conversion_error, options_.peer));
    if (const auto why = not_sendable(message.reverse_path); !message.reverse_path.empty() && !why.empty())
        return refuse_all("5.1.7", "sender address cannot be sent: " + why);
    std::erase_if(active.pending, [&](std::uint32_t recipient) {
        const auto why = not_sendable(message.recipients[recipient].address);
        if (why.empty()) return false;
        set_verdict(active.result, {recipient}, refusal(Stage::rcpt, "5.1.3", "recipient address cannot be sent: " + why));
        return true;
    });
    active.utf8 = extensions_.smtputf8 && needs_smtputf8(message);
    if (!extensions_.smtputf8 && needs_smtputf8(message)) convert_to_ascii(active);
}

// For a server without SMTPUTF8: domains become A-labels; what cannot be said in ASCII is refused (RFC 6531,
// 3.2: never sent all the same).
void ClientSession::convert_to_ascii(Active& active) const {
    Transaction& message = active.transaction;
    const auto without = fmt::format("SMTPUTF8 was not offered by host {}", options_.peer);
    const auto refuse_all = [&](std::string_view status, std::string_view what) {
        set_verdict(active.result, active.pending,
               refusal(Stage::mail, status, fmt::format("{}, and {}", what, without)));
        active.pending.clear();
    };
    const auto fit = [&](std::string& address) {
        if (is_ascii(address)) return true;
        auto mailbox = Mailbox::parse(address);
        if (!mailbox || !is_ascii(mailbox->local_part) || !options_.ascii_domain) return false;
        mailbox->domain = options_.ascii_domain(mailbox->domain);
        if (mailbox->domain.empty()) return false;
        address = mailbox->text();
        return true;
    };
    if (message.utf8_header) return refuse_all("5.6.9", "message has header fields that are not ASCII");
    if (!fit(message.reverse_path)) return refuse_all("5.6.7", "sender address is not ASCII");
    std::erase_if(active.pending, [&](std::uint32_t recipient) {
        if (fit(message.recipients[recipient].address)) return false;
        set_verdict(active.result, {recipient},
               refusal(Stage::rcpt, "5.6.7", fmt::format("recipient address is not ASCII, and {}", without)));
        return true;
    });
}

void ClientSession::send_mail(const Active& active) {
    const MailParameters& parameters = active.transaction.parameters;
    put("MAIL FROM:<");
    put(active.transaction.reverse_path);
    put(">");
    if (extensions_.size && parameters.size) put(fmt::format(" SIZE={}", *parameters.size));
    if (parameters.body == Body::eight_bit_mime) put(" BODY=8BITMIME");
    if (active.utf8) put(" SMTPUTF8");
    if (extensions_.dsn && parameters.ret != Ret::unspecified)
        put(parameters.ret == Ret::full ? " RET=FULL" : " RET=HDRS");
    if (extensions_.dsn && !parameters.envid.empty()) put(" ENVID=" + encode_xtext(parameters.envid));
    if (active.transaction.require_tls) put(" REQUIRETLS");
    send("\r\n", Awaited::mail);
}

void ClientSession::send_rcpt(const Active& active, std::uint32_t recipient) {
    const auto& [address, parameters] = active.transaction.recipients[recipient];
    put("RCPT TO:<");
    put(address);
    put(">");
    if (extensions_.dsn && parameters.notify.given()) put(" NOTIFY=" + parameters.notify.text());
    if (extensions_.dsn && !parameters.orcpt.empty())
        put(" ORCPT=" + encode_orcpt(parameters.orcpt, active.utf8 ? WireText::utf8 : WireText::ascii));
    send("\r\n", Awaited::rcpt, recipient);
}

void ClientSession::send_content(Active& active, std::string_view chunk, bool last) {
    scratch_.clear();
    codec_.encode(chunk, scratch_);
    if (last) codec_.finish(scratch_);
    if (active.chunked) {
        std::size_t size = 0;
        for (const auto view : scratch_) size += view.size();
        if (size == 0 && !last) return;
        send(fmt::format("BDAT {}{}\r\n", size, last ? " LAST" : ""), last ? Awaited::dot : Awaited::chunk);
    }
    put_scratch();
    if (!last) return;
    dot_at_ = queued_;
    active.phase = Phase::dot;
    if (active.chunked) return;
    if (options_.protocol == Protocol::smtp) return expected_.push_back({Awaited::dot});
    for (const auto recipient : active.accepted) expected_.push_back({Awaited::dot, recipient});
}

void ClientSession::end_round(Active& active) {
    if (!active.pending.empty() && mails_ >= max_mails()) {
        Verdict later;
        later.stage = Stage::mail;
        later.status = "4.5.3";
        later.text = printable(fmt::format("host {} accepts {} transactions per session; the rest follows in the next",
                                           options_.peer, extensions_.transactions));
        set_verdict(active.result, active.pending, std::move(later));
        active.pending.clear();
    }
    active.round.clear();
    active.accepted.clear();
    active.too_many.clear();
    active.asked = 0;
    active.refused = active.chunked = active.got_421 = false;
    active.phase = Phase::waiting;
    if (active.pending.empty()) finish(active);
}

void ClientSession::finish(Active& active) {
    completed_ += active.begun;
    active.result.finished = now_;
    active.result.dsn_relayed = extensions_.dsn;
    events_.emplace_back(client_event::Finished{std::move(active.result)});
    transactions_.erase(transactions_.begin() + (&active - transactions_.data()));
    if (!transactions_.empty() && transactions_.front().begun) transactions_.front().result.started = now_;
}

} // namespace smtp
