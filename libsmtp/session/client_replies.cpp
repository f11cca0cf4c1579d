// The turns of ClientSession: what a reply means where it comes. What is said next: client_rounds.cpp.
#include "libsmtp/message/address.h"
#include "libsmtp/session/client_session.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp {
namespace {


// 452 at RCPT (RFC 5321, 4.5.3.1.10), unless its status speaks of something else, such as a full mailbox.
bool too_many_recipients(const Reply& reply) {
    return reply.code == 452 && (!reply.status.given() || reply.status == EnhancedStatus{4, 5, 3});
}

// The reply to a command that is not known, or not now. A message is refused with other codes.
bool is_misunderstanding(const Reply& reply) { return reply.code >= 500 && reply.code <= 504; }

// " RCPTMAX=100 MAILMAX=5" (RFC 9422, 3). What is not understood limits nothing; each number has 1 to 6 digits.
void read_limits(std::string_view words, ClientSession::Extensions& out) {
    while (!words.empty()) {
        const auto word = words.substr(0, words.find(' '));
        words.remove_prefix(std::min(word.size() + 1, words.size()));
        const auto equals = std::min(word.find('='), word.size());
        const auto name = word.substr(0, equals);
        const auto most = parse_number(word.substr(std::min(equals + 1, word.size())), 999'999).value_or(0);
        const auto number = static_cast<std::uint32_t>(most);
        if (same_ignoring_case(name, "RCPTMAX")) out.recipients = number;
        if (same_ignoring_case(name, "RCPTDOMAINMAX")) out.domains = number;
        if (same_ignoring_case(name, "MAILMAX")) out.transactions = number;
    }
}

ClientSession::Extensions read_offers(std::string_view text) {
    ClientSession::Extensions out;
    out.esmtp = true;
    for (bool first = true; !text.empty(); first = false) { // the first line is the server's name
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto keyword = line.substr(0, line.find(' '));
        if (first) continue;
        if (same_ignoring_case(keyword, "PIPELINING")) out.pipelining = true;
        if (same_ignoring_case(keyword, "8BITMIME")) out.eight_bit_mime = true;
        if (same_ignoring_case(keyword, "DSN")) out.dsn = true;
        if (same_ignoring_case(keyword, "STARTTLS")) out.starttls = true;
        if (same_ignoring_case(keyword, "REQUIRETLS")) out.require_tls = true;
        if (same_ignoring_case(keyword, "SMTPUTF8")) out.smtputf8 = true;
        // "AUTH=…" is what servers said before RFC 2554; some say both.
        if (same_ignoring_case(keyword, "AUTH") || starts_with_ignoring_case(keyword, "AUTH="))
            out.auth.append(out.auth.empty() ? "" : " ").append(line.substr(std::min<std::size_t>(5, line.size())));
        if (same_ignoring_case(keyword, "CHUNKING")) out.chunking = true;
        if (same_ignoring_case(keyword, "LIMITS")) read_limits(line.substr(keyword.size()), out);
        if (same_ignoring_case(keyword, "SIZE")) {
            out.size = true;
            out.size_limit = parse_number(line.substr(std::min(line.size(), keyword.size() + 1))).value_or(0);
        }
    }
    return out;
}

} // namespace

// --- replies
// --------------------------------------------------------------------------------------------------

void ClientSession::take(const Reply& reply) {
    if (options_.report_dialogue) report_reply(reply);
    const bool asked = expected_front_ < expected_.size();
    const bool to_chunk = asked && expected_[expected_front_].what == Awaited::chunk;
    if (stage() == Stage::content && !(to_chunk && reply.positive())) return take_early(reply);
    if (!asked) return take_unsolicited(reply);
    const Expected expected = expected_[expected_front_];
    const bool go_on = reply.code >= 300 && reply.code < 400;
    const bool may_go_on = expected.what == Awaited::data || (expected.what == Awaited::auth && reply.code == 334);
    if (go_on ? !may_go_on : expected.what == Awaited::data && reply.positive())
        return mismatch(fmt::format("unexpected reply {}", reply.code));
    if (reply.code == 421 && expected.what != Awaited::dot) return take_421(reply);

    if (++expected_front_ == expected_.size()) {
        expected_.clear();
        expected_front_ = 0;
    }
    switch (expected.what) {
    case Awaited::banner: take_banner(reply); break;
    case Awaited::ehlo:
    case Awaited::helo: take_hello(reply, expected.what); break;
    case Awaited::starttls: take_starttls(reply); break;
    case Awaited::auth: take_auth(reply); break;
    case Awaited::rset:
        if (!reply.positive()) disconnect();
        break;
    case Awaited::mail: take_mail(reply); break;
    case Awaited::rcpt: take_rcpt(reply, expected.recipient); break;
    case Awaited::data: take_data(reply); break;
    case Awaited::chunk: break;
    case Awaited::dot: take_dot(reply, expected.recipient); break;
    }
    advance();
    update_deadline();
}

void ClientSession::report_reply(const Reply& reply) {
    const bool asked = expected_front_ < expected_.size();
    client_event::ReplyReceived heard{stage(), asked ? expected_[expected_front_].recipient : 0, reply};
    if (heard.stage == Stage::auth) heard.reply.text.clear(); // a challenge, or what repeats our own words
    events_.emplace_back(std::move(heard));
}

void ClientSession::take_banner(const Reply& reply) {
    if (!reply.positive()) return refused(Stage::banner, reply);
    const auto name = std::string_view(reply.text).substr(0, reply.text.find_first_of(" \n"));
    if (name.size() <= 255 && std::ranges::all_of(name, is_printable)) server_name_ = name;
    send_ehlo();
}

void ClientSession::send_ehlo() {
    put(options_.protocol == Protocol::lmtp ? "LHLO " : "EHLO ");
    put(options_.name);
    send("\r\n", Awaited::ehlo);
}

void ClientSession::take_hello(const Reply& reply, Awaited which) {
    if (which == Awaited::ehlo && reply.permanent() && !secure_ && options_.protocol == Protocol::smtp) {
        put("HELO ");
        put(options_.name);
        return send("\r\n", Awaited::helo);
    }
    if (!reply.positive()) return refused(Stage::ehlo, reply);
    if (which == Awaited::ehlo) extensions_ = read_offers(reply.text);
    if (secure_ || options_.tls == StartTls::never) return greeted();
    if (extensions_.starttls) return send("STARTTLS\r\n", Awaited::starttls);
    if (options_.tls == StartTls::if_offered) return greeted();
    end_without_tls("4.7.4", fmt::format("TLS is required, but was not offered by host {}", options_.peer));
}

void ClientSession::take_starttls(const Reply& reply) {
    if (reply.positive()) {
        handshaking_ = true;
        events_.emplace_back(client_event::StartTls{});
    } else if (options_.tls == StartTls::if_offered) {
        greeted();
    } else {
        end_without_tls("4.7.5", verdict_of(Stage::tls, reply).text);
    }
}

void ClientSession::greeted() {
    if (options_.auth.mechanisms.empty()) return ready();
    begin_auth();
}

void ClientSession::ready() {
    pipelining_ = extensions_.pipelining && options_.pipelining == Pipelining::if_offered;
    up_ = true;
    events_.emplace_back(client_event::Ready{});
}

void ClientSession::end_without_tls(std::string_view status, std::string text) {
    Verdict verdict;
    verdict.stage = Stage::tls;
    verdict.status = status;
    verdict.text = printable(text);
    fail(std::move(verdict));
    put("QUIT\r\n");
}

void ClientSession::take_mail(const Reply& reply) {
    Active& front = transactions_.front();
    if (reply.positive()) {
        front.mail_accepted = true;
        return;
    }
    front.refused = true;
    front.round.insert(front.round.end(), front.pending.begin(), front.pending.end());
    front.pending.clear();
    set_verdict(front.result, front.round, verdict_of(Stage::mail, reply));
    if (front.phase == Phase::rcpt)
        end_round(front); // else the replies to what was sent with it are still to come
}

void ClientSession::take_rcpt(const Reply& reply, std::uint32_t recipient) {
    Active& front = transactions_.front();
    if (front.refused) {
        if (reply.positive()) mismatch("recipient accepted without a sender");
        return;
    }
    if (reply.positive()) {
        front.accepted.push_back(recipient);
        if (front.transaction.probe) set_verdict(front.result, {recipient}, verdict_of(Stage::rcpt, reply));
        return;
    }
    set_verdict(front.result, {recipient}, verdict_of(Stage::rcpt, reply));
    if (too_many_recipients(reply)) front.too_many.push_back(recipient);
}

void ClientSession::take_data(const Reply& reply) {
    Active& front = transactions_.front();
    if (!reply.positive()) {
        needs_reset_ = !front.refused;
        if (!front.accepted.empty()) { // a verdict on the message: those of further rounds share it
            front.accepted.insert(front.accepted.end(), front.pending.begin(), front.pending.end());
            front.pending.clear();
            set_verdict(front.result, front.accepted, verdict_of(Stage::data, reply));
        }
        return end_round(front);
    }
    codec_ = OutgoingContent(front.transaction.longest_line);
    if (front.accepted.empty()) { // for nobody: RFC 2920, 3.1. In LMTP nobody would answer
        if (options_.protocol == Protocol::lmtp) return mismatch("content requested without an accepted recipient");
        return send_content(front, {}, true);
    }
    restart_round(front);
    front.phase = Phase::content;
    begin_content(front);
}

void ClientSession::take_dot(const Reply& reply, std::uint32_t recipient) {
    Active& front = transactions_.front();
    front.got_421 = front.got_421 || reply.code == 421;
    if (options_.protocol == Protocol::lmtp && !front.accepted.empty()) { // each has an answer of its own
        set_verdict(front.result, {recipient}, verdict_of(Stage::final_dot, reply));
        if (recipient != front.accepted.back()) return;
    } else if (front.chunked) {
        if (!front.accepted.empty() && is_misunderstanding(reply)) return chunk_refused(reply);
        needs_reset_ = !reply.positive() && !front.refused; // RFC 3030, 2: what became of the transaction is open
        set_verdict(front.result, front.accepted, verdict_of(Stage::final_dot, reply));
        if (!front.accepted.empty()) restart_round(front);
    } else {
        set_verdict(front.result, front.accepted, verdict_of(Stage::final_dot, reply));
    }
    if (front.got_421) {
        if (!front.pending.empty()) return refused(Stage::final_dot, reply);
        finish(front);
        return disconnect();
    }
    end_round(front);
}

// An answer to a message that has not all been sent.
void ClientSession::take_early(const Reply& reply) {
    if (reply.code < 400) return mismatch(fmt::format("unexpected reply {}", reply.code));
    Active& front = transactions_.front();
    if (front.chunked && is_misunderstanding(reply)) return chunk_refused(reply);
    if (options_.protocol == Protocol::smtp || front.accepted.size() < 2)
        return fail(verdict_of(Stage::content, reply));
    set_verdict(front.result, {front.accepted.front()}, verdict_of(Stage::content, reply)); // it is that one's alone
    fail(connection_lost("early reply for another recipient from"));
}

// What was offered is not understood. What it has made of the message's lines nobody knows: the conversation ends.
void ClientSession::chunk_refused(const Reply& reply) {
    Verdict verdict = verdict_of(Stage::final_dot, reply);
    verdict.outcome = Outcome::deferred;
    verdict.status[0] = '4';
    verdict.text =
        printable(fmt::format("host {} offers CHUNKING, but answered to BDAT: {}", options_.peer, verdict.remote_reply));
    fail(std::move(verdict));
    std::get<client_event::Ended>(events_.back()).distrust_chunking = true;
}

// The server wants to be rid of us.
void ClientSession::take_421(const Reply& reply) {
    const bool push_back = reply.status.klass == 4 && reply.status.subject == 7;
    if (safe_to_close() && !push_back) return disconnect();
    refused(stage(), reply);
}

void ClientSession::take_unsolicited(const Reply& reply) {
    if (safe_to_close() && reply.code >= 400) return disconnect();
    mismatch(fmt::format("unexpected reply {}", reply.code));
}

} // namespace smtp
