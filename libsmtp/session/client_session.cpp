#include "libsmtp/session/client_session.h"
#include "libsmtp/text/text.h"
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace smtp {
namespace {

constexpr std::size_t ehlo_text_limit = 16 * 1024;
constexpr std::size_t challenge_limit = ReplyParser::line_limit;

} // namespace

ClientSession::ClientSession(Options options, Monotonic now)
    : options_(std::move(options)), now_(now),
      commands_(events_, options_.report_dialogue ? CommandStream::Report::commands : CommandStream::Report::nothing),
      opening_(options_, commands_, events_), transactions_(options_, opening_.extensions(), commands_, events_),
      deadline_(options_.timeouts) {
    update_deadline();
}

void ClientSession::deliver(Transaction transaction, Monotonic now) {
    assert(can_deliver());
    now_ = now;
    transactions_.add(std::move(transaction));
    const bool nothing_awaited = !commands_.awaits_reply();
    advance();
    if (nothing_awaited) update_deadline();
}

void ClientSession::content(std::string_view chunk, Monotonic now) {
    if (over_) return;
    now_ = now;
    transactions_.content(chunk);
    update_deadline();
}

void ClientSession::content_end(Monotonic now, std::string_view last_chunk) {
    if (over_) return;
    now_ = now;
    transactions_.end_content(last_chunk);
    advance();
    update_deadline();
}

void ClientSession::content_broken(std::string_view why) {
    if (over_) return;
    fail(deferral(Stage::content, "4.3.0", why));
}

void ClientSession::quit(Monotonic now) {
    if (over_ || quitting_) return;
    now_ = now;
    quitting_ = true;
    if (!transactions_.is_started() && transactions_.empty()) return disconnect();
    advance();
}

void ClientSession::tls_up(Peer peer, Monotonic now) {
    if (over_) return;
    now_ = now;
    opening_.tls_up(peer == Peer::verified ? ChannelSecurity::verified : ChannelSecurity::encrypted);
    update_deadline();
}

void ClientSession::tls_failed(std::string_view why, Monotonic now) {
    if (over_) return;
    assert(opening_.handshaking());
    now_ = now;
    fail(deferral(Stage::tls, "4.7.5", why));
}

void ClientSession::authenticate(SaslClient client, Monotonic now) {
    if (over_) return;
    now_ = now;
    opening_.authenticate(std::move(client));
    update_deadline();
}

void ClientSession::auth_failed(std::string_view status, std::string_view why, Monotonic now) {
    if (over_) return;
    now_ = now;
    refuse(opening_.auth_failed(status, why));
}

// --- the connection ---

void ClientSession::feed(std::string_view bytes, Monotonic now) {
    now_ = now;
    if (opening_.handshaking() && !over_ && !bytes.empty()) return mismatch("it sent plain text");
    while (!over_ && !bytes.empty()) {
        auto result = parser_.next(bytes, commands_.awaits(Awaited::ehlo)   ? ehlo_text_limit
                                          : commands_.awaits(Awaited::auth) ? challenge_limit
                                                                            : ReplyParser::kept);
        if (auto* reply = std::get_if<Reply>(&result)) {
            take(*reply);
            // Bytes after that reply came in plain text, and would be taken for bytes received over TLS.
            if (opening_.handshaking() && !bytes.empty()) mismatch("it continued in plain text");
        } else if (auto* malformed = std::get_if<Malformed>(&result))
            mismatch(malformed->why);
    }
}

void ClientSession::end_of_input(Monotonic now) {
    if (over_) return;
    now_ = now;
    if (safe_to_close()) return disconnect();
    fail(connection_lost("lost connection with"));
}

void ClientSession::broken(std::string_view error, Monotonic now) {
    if (over_) return;
    now_ = now;
    if (safe_to_close()) return disconnect();
    Verdict why = connection_lost("lost connection with");
    why.text = printable(fmt::format("{}: {}", why.text, error));
    fail(std::move(why));
}

void ClientSession::wrote(std::size_t bytes, Monotonic now) {
    now_ = now;
    const bool sending_message = stage() == Stage::content;
    commands_.wrote(bytes);
    if (over_ || transactions_.empty()) return;
    if (sending_message) update_deadline(); // bytes that move are a sign of life
    if (!commands_.has_output()) transactions_.written();
}

void ClientSession::expired(Monotonic now) {
    if (over_ || !deadline_.at() || now < *deadline_.at()) return;
    now_ = now;
    Verdict why = connection_lost("conversation with");
    why.details.timed_out = deadline_.by_silence();
    why.text = printable(deadline_.text(options_.peer, why.stage, transactions_.progress(), now));
    fail(std::move(why));
}

// --- replies ---

void ClientSession::take(const Reply& reply) {
    if (options_.report_dialogue) report_reply(reply);
    const bool asked = commands_.awaits_reply();
    if (stage() == Stage::content && !(commands_.awaits(Awaited::chunk) && reply.positive()))
        return end_by(transactions_.take_early(reply));
    if (!asked) return take_unsolicited(reply);
    const auto expected = commands_.front();
    const bool go_on = reply.code >= 300 && reply.code < 400;
    const bool may_go_on = expected.what == Awaited::data || (expected.what == Awaited::auth && reply.code == 334);
    if (go_on ? !may_go_on : expected.what == Awaited::data && reply.positive())
        return mismatch(fmt::format("unexpected reply {}", reply.code));
    if (reply.code == 421 && expected.what != Awaited::dot) return take_421(reply);
    take_expected(commands_.take_front(), reply);
    advance();
    update_deadline();
}

void ClientSession::take_expected(const CommandStream::Expected& expected, const Reply& reply) {
    std::optional<Ending> ending;
    switch (expected.what) {
    case Awaited::banner:
    case Awaited::ehlo:
    case Awaited::helo:
    case Awaited::starttls:
    case Awaited::auth: return take_opening(expected.what, reply);
    case Awaited::rset:
        if (!reply.positive()) ending.emplace();
        break;
    case Awaited::xforward: break; // whatever it says to that, it may take the message
    case Awaited::mail: ending = transactions_.take_mail(reply, now_); break;
    case Awaited::rcpt: ending = transactions_.take_recipient(reply, expected.recipient); break;
    case Awaited::data: ending = transactions_.take_data(reply, now_); break;
    case Awaited::chunk: break;
    case Awaited::dot: ending = transactions_.take_dot(reply, expected.recipient, now_); break;
    }
    if (ending) end_by(*ending);
}

void ClientSession::take_opening(Awaited what, const Reply& reply) {
    auto step = opening_.take(what, reply);
    if (!step) return refuse(std::move(step.error()));
    if (*step == SessionOpening::Progress::continues) return;
    transactions_.start(opening_.security());
    events_.push(client_event::Ready{});
}

// The server wants to end the connection.
void ClientSession::take_421(const Reply& reply) {
    const bool push_back = reply.status.klass == 4 && reply.status.subject == 7;
    if (safe_to_close() && !push_back) return disconnect();
    refuse(opening_.verdict_of(stage(), reply));
}

void ClientSession::take_unsolicited(const Reply& reply) {
    if (safe_to_close() && reply.code >= 400) return disconnect();
    mismatch(fmt::format("unexpected reply {}", reply.code));
}

void ClientSession::report_reply(const Reply& reply) {
    client_event::ReplyReceived received{
        stage(), commands_.awaits_reply() ? commands_.front().recipient : 0, reply, {}};
    if (received.stage >= Stage::mail) received.transaction = transactions_.first();
    if (received.stage == Stage::auth) received.reply.text.clear(); // a challenge, or a reply repeating our own words
    events_.push(std::move(received));
}

void ClientSession::advance() {
    if (over_ || !transactions_.is_started()) return;
    transactions_.advance(now_);
    if (transactions_.exhausted() || (quitting_ && transactions_.empty())) disconnect();
}

void ClientSession::update_deadline() {
    if (over_) return deadline_.clear();
    deadline_.set(stage(), transactions_.progress(), now_);
}

Stage ClientSession::stage() const {
    const auto awaited = commands_.awaits_reply() ? stage_of(commands_.front().what) : Stage::none;
    if ((awaited == Stage::none || awaited >= Stage::content) && transactions_.sending_content()) return Stage::content;
    if (opening_.handshaking()) return Stage::tls;
    return opening_.auth_requested() ? Stage::auth : awaited;
}

// --- ends ---

// Idle; or nothing of the first transaction has been answered, on a connection that has served others before: the
// server closed an old connection, which is no statement about the mail.
bool ClientSession::safe_to_close() const {
    if (!transactions_.is_started()) return false;
    if (transactions_.empty()) return true;
    return transactions_.untouched_after_others() && stage() == Stage::mail;
}

Verdict ClientSession::connection_lost(std::string_view how) const {
    const auto doubt = transactions_.message_fully_sent() ? Doubt::fully_sent : Doubt::none;
    return smtp::connection_lost(how, options_.peer, stage(), doubt);
}

void ClientSession::end_by(const Ending& ending) {
    switch (ending.kind) {
    case Ending::Kind::orderly: return disconnect();
    case Ending::Kind::failure: return fail(ending.why);
    case Ending::Kind::refusal: return refuse(ending.why);
    case Ending::Kind::lost: return fail(connection_lost(ending.text));
    case Ending::Kind::protocol_error: return mismatch(ending.text);
    case Ending::Kind::chunking_failure: break;
    }
    auto ended = ended_by(ending.why);
    ended.distrust_chunking = true;
    end(std::move(ended));
}

// The event that reports the end; `why` is the verdict for the first transaction's recipients that have none yet.
client_event::Ended ClientSession::ended_by(Verdict why) {
    client_event::Ended ended;
    if (auto interrupted = transactions_.interrupt(why, now_)) {
        ended.interrupted = std::move(interrupted->result);
        ended.mail_accepted = interrupted->mail_accepted;
        ended.distrust_chunking = interrupted->chunked && why.code == 0;
    }
    ended.why = std::move(why);
    return ended;
}

// For a reply of the server, or a lack in what it offers; the server gets QUIT.
void ClientSession::refuse(Verdict why) {
    const bool in_chunk = transactions_.sending_chunk();
    fail(std::move(why));
    if (!in_chunk) commands_.put("QUIT\r\n"); // which a server might take for the chunk's end
}

void ClientSession::mismatch(std::string_view why) {
    Verdict verdict = connection_lost("protocol error from");
    verdict.status = "4.5.0";
    verdict.text = printable(fmt::format("{}: {}", verdict.text, why));
    auto ended = ended_by(std::move(verdict));
    ended.orderly = idle(); // nothing is lost
    ended.distrust_pipelining = transactions_.pipelining();
    end(std::move(ended));
}

// An orderly end: what has not been started is done elsewhere.
void ClientSession::disconnect() {
    client_event::Ended ended;
    ended.orderly = true;
    end(std::move(ended));
    if (transactions_.is_started()) commands_.put("QUIT\r\n");
}

void ClientSession::end(client_event::Ended ended) {
    // A message cut short must not be followed by anything that a server could take for its end.
    commands_.discard();
    over_ = true;
    deadline_.clear();
    events_.push(std::move(ended));
}

} // namespace smtp
