#include "libsmtp/session/client_session.h"
#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace smtp {
namespace {

constexpr std::size_t text_limit = 512; // of a Verdict's text
constexpr std::size_t ehlo_text_limit = 16 * 1024;
constexpr std::size_t challenge_limit = ReplyParser::line_limit;

// What was being done, in the words log analysers know.
std::string_view doing(Stage stage) {
    switch (stage) {
    case Stage::banner: return "receiving the initial server greeting";
    case Stage::ehlo: return "performing the EHLO handshake";
    case Stage::tls: return "performing the TLS handshake";
    case Stage::auth: return "authenticating";
    case Stage::mail: return "sending MAIL FROM";
    case Stage::rcpt: return "sending RCPT TO";
    case Stage::data: return "sending DATA command";
    case Stage::content: return "sending message body";
    case Stage::final_dot: return "sending end of data -- message may be sent more than once";
    default: return "waiting for the next message";
    }
}

// Of what proves who we are, nothing but the mechanism.
std::string shown(Stage stage, std::string_view line) {
    if (stage != Stage::auth) return std::string(line);
    return line.starts_with("AUTH ") ? std::string(line.substr(0, line.find(' ', 5))) : "...";
}

Outcome outcome_of(int code) {
    return code >= 500   ? Outcome::failed
           : code >= 400 ? Outcome::deferred
                         : Outcome::delivered;
}

} // namespace

ClientSession::ClientSession(Options options, Monotonic now) : options_(std::move(options)) {
    now_ = now;
    expected_.push_back({Awaited::banner});
    if (options_.tls == StartTls::wrapped) {
        handshaking_ = true;
        events_.emplace_back(client_event::StartTls{});
    }
    update_deadline();
}

void ClientSession::deliver(Transaction transaction, Monotonic now) {
    assert(can_deliver());
    now_ = now;
    Active& active = transactions_.emplace_back();
    active.transaction = std::move(transaction);
    active.result.id = active.transaction.id;
    active.result.of_recipient.assign(active.transaction.recipients.size(), no_verdict);
    active.pending.resize(active.transaction.recipients.size());
    for (std::uint32_t i = 0; i < active.pending.size(); ++i) active.pending[i] = i;
    const bool nothing_awaited = expected_front_ == expected_.size();
    advance();
    if (nothing_awaited) update_deadline();
}

void ClientSession::content(std::string_view chunk, Monotonic now) {
    if (over_) return;
    assert(!transactions_.empty() && transactions_.front().phase == Phase::content);
    now_ = now;
    send_content(transactions_.front(), chunk, false);
    chunk_wanted_ = has_output();
    if (!has_output())
        events_.emplace_back(client_event::ContentRequested{transactions_.front().transaction.id, false});
    update_deadline();
}

void ClientSession::content_end(Monotonic now, std::string_view last_chunk) {
    if (over_) return;
    assert(!transactions_.empty() && transactions_.front().phase == Phase::content);
    now_ = now;
    chunk_wanted_ = false;
    send_content(transactions_.front(), last_chunk, true);
    advance();
    update_deadline();
}

bool ClientSession::withdraw(std::uint64_t id) {
    if (over_ || transactions_.empty()) return false;
    const Active& last = transactions_.back();
    if (last.transaction.id != id || last.begun) return false;
    transactions_.pop_back();
    return true;
}

bool ClientSession::content_sent(std::uint64_t id) const {
    if (over_ || transactions_.empty()) return true;
    if (transactions_.front().transaction.id == id) return message_fully_sent();
    return transactions_.back().transaction.id != id;
}

void ClientSession::content_broken(std::string_view why) {
    if (over_) return;
    Verdict verdict;
    verdict.stage = Stage::content;
    verdict.status = "4.3.0";
    verdict.text = printable(why, text_limit);
    fail(std::move(verdict));
}

void ClientSession::quit(Monotonic now) {
    if (over_ || quitting_) return;
    now_ = now;
    quitting_ = true;
    if (!up_ && transactions_.empty()) return disconnect();
    advance();
}

void ClientSession::feed(std::string_view bytes, Monotonic now) {
    now_ = now;
    if (handshaking_ && !over_ && !bytes.empty()) return mismatch("it sent plain text");
    while (!over_ && !bytes.empty()) {
        const bool awaits = expected_front_ < expected_.size();
        const bool hello = awaits && expected_[expected_front_].what == Awaited::ehlo;
        const bool challenge = awaits && expected_[expected_front_].what == Awaited::auth;
        auto result = parser_.next(bytes, hello       ? ehlo_text_limit
                                          : challenge ? challenge_limit
                                                      : ReplyParser::kept);
        if (auto* reply = std::get_if<Reply>(&result)) {
            take(*reply);
            // Bytes behind that reply came in plain text, and would be believed to have come by TLS.
            if (handshaking_ && !bytes.empty()) mismatch("it continued in plain text");
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
    why.text = printable(fmt::format("{}: {}", why.text, error), text_limit);
    fail(std::move(why));
}

void ClientSession::expired(Monotonic now) {
    if (over_ || !deadline_ || now < *deadline_) return;
    now_ = now;
    Verdict why = connection_lost("conversation with");
    why.details.timed_out = bound_ == Bound::silence;
    why.text = bound_ == Bound::rate
                   ? fmt::format("{} accepts the message too slowly: {} bytes in {} s", options_.peer,
                                 written_ - content_from_,
                                 std::chrono::duration_cast<std::chrono::seconds>(now - content_began_).count())
               : bound_ == Bound::transaction
                   ? fmt::format("{} is too slow: the time limit for one message was reached while {}", options_.peer,
                                 doing(why.stage))
                   : fmt::format("conversation with {} timed out while {}", options_.peer, doing(why.stage));
    why.text = printable(why.text, text_limit);
    fail(std::move(why));
}

void ClientSession::tls_up(Peer peer, Monotonic now) {
    if (over_) return;
    assert(handshaking_);
    now_ = now;
    handshaking_ = false;
    secure_ = true;
    verified_ = peer == Peer::verified;
    extensions_ = {};
    if (options_.tls != StartTls::wrapped) send_ehlo(); // else the greeting comes first
    update_deadline();
}

void ClientSession::tls_failed(std::string_view why, Monotonic now) {
    if (over_) return;
    assert(handshaking_);
    now_ = now;
    Verdict verdict;
    verdict.stage = Stage::tls;
    verdict.status = "4.7.5";
    verdict.text = printable(why, text_limit);
    fail(std::move(verdict));
}

std::optional<ClientEvent> ClientSession::next() {
    if (events_front_ == events_.size()) {
        events_.clear();
        events_front_ = 0;
        return {};
    }
    return std::move(events_[events_front_++]);
}

// --- output
// ---------------------------------------------------------------------------------------------------

void ClientSession::output(std::vector<std::string_view>& views) const {
    for (std::size_t i = piece_; i < pieces_.size(); ++i) {
        const Piece& piece = pieces_[i];
        views.emplace_back((piece.bytes ? piece.bytes : commands_.data()) + piece.offset, piece.size);
    }
}

void ClientSession::wrote(std::size_t bytes, Monotonic now) {
    now_ = now;
    const bool sending_message = stage() == Stage::content;
    written_ += bytes;
    while (bytes > 0) {
        assert(piece_ < pieces_.size());
        Piece& piece = pieces_[piece_];
        const auto part = std::min(bytes, piece.size);
        piece.offset += part;
        piece.size -= part;
        bytes -= part;
        if (piece.size == 0) ++piece_;
    }
    if (piece_ == pieces_.size()) {
        if (std::exchange(secret_in_output_, false)) explicit_bzero(commands_.data(), commands_.size());
        pieces_.clear();
        commands_.clear();
        piece_ = 0;
    }
    if (over_ || transactions_.empty()) return;
    if (sending_message) update_deadline(); // bytes that move are a sign of life
    if (chunk_wanted_ && !has_output()) {
        chunk_wanted_ = false;
        events_.emplace_back(client_event::ContentRequested{transactions_.front().transaction.id, false});
    }
}

void ClientSession::send(std::string_view command, Awaited what, std::uint32_t recipient) {
    put(command);
    expected_.push_back({what, recipient});
    if (!options_.report_dialogue) return;
    const auto line = std::string_view(commands_).substr(0, commands_.size() - 2); // and what was before it
    const auto stage = stage_of(what);
    events_.emplace_back(client_event::CommandSent{stage, shown(stage, line.substr(line.rfind('\n') + 1))});
}

void ClientSession::put(std::string_view text) {
    if (!pieces_.empty() && !pieces_.back().bytes)
        pieces_.back().size += text.size();
    else
        pieces_.push_back({nullptr, commands_.size(), text.size()});
    commands_ += text;
    queued_ += text.size();
}

void ClientSession::put_scratch() {
    for (auto view : scratch_) {
        pieces_.push_back({view.data(), 0, view.size()});
        queued_ += view.size();
    }
}

// --- verdicts
// -------------------------------------------------------------------------------------------------

std::uint32_t ClientSession::add_verdict(TransactionResult& result, Verdict verdict) {
    auto& known = result.verdicts;
    // The same words for many recipients are kept once; looking back at a few is enough to find them.
    const auto from = known.size() > 4 ? known.end() - 4 : known.begin();
    if (auto same = std::find(from, known.end(), verdict); same != known.end())
        return static_cast<std::uint32_t>(same - known.begin());
    known.push_back(std::move(verdict));
    return static_cast<std::uint32_t>(known.size() - 1);
}

void ClientSession::set_verdict(TransactionResult& result, const std::vector<std::uint32_t>& recipients,
                           Verdict verdict) {
    if (recipients.empty()) return;
    const auto index = add_verdict(result, std::move(verdict));
    for (auto recipient : recipients) result.of_recipient[recipient] = index;
}

Verdict ClientSession::verdict_of(Stage stage, const Reply& reply) const {
    Verdict out;
    out.outcome = outcome_of(reply.code);
    out.stage = stage;
    out.code = static_cast<std::uint16_t>(reply.code);
    out.status = reply.status.given() ? reply.status.text() : fmt::format("{}.0.0", reply.code / 100);
    out.remote_reply = printable(reply.line(), text_limit);
    if (sasl_ && sasl_->is_revealed_by(reply.text))
        out.remote_reply = fmt::format("{} (its reply is not shown: it repeats the password)", reply.code);
    const std::string_view line = out.remote_reply;
    if (out.outcome == Outcome::delivered) {
        out.text = line;
    } else if (stage == Stage::banner || stage == Stage::ehlo) {
        out.text =
            printable(fmt::format("host {} refused to talk to me: {}", options_.peer, line), text_limit);
    } else {
        const auto before = fmt::format("host {} said: ", options_.peer);
        const auto after = fmt::format(" (in reply to {})", command_of(stage));
        const auto taken = before.size() + after.size();
        out.text = before + printable(line, text_limit > taken + 64 ? text_limit - taken : 64) + after;
    }
    return out;
}

Verdict ClientSession::connection_lost(std::string_view how) const {
    Verdict out;
    out.in_doubt = message_fully_sent();
    out.stage = out.in_doubt ? Stage::final_dot : stage(); // by BDAT it may be out before MAIL is answered
    out.status = "4.4.2";
    out.text = printable(fmt::format("{} {} while {}", how, options_.peer, doing(out.stage)), text_limit);
    return out;
}

// --- ends
// -----------------------------------------------------------------------------------------------------

Stage ClientSession::stage() const {
    const auto awaited =
        expected_front_ == expected_.size() ? Stage::none : stage_of(expected_[expected_front_].what);
    if (!transactions_.empty() && (awaited == Stage::none || awaited >= Stage::content)) {
        const Phase phase = transactions_.front().phase;
        if (phase == Phase::content || (phase == Phase::dot && !all_sent())) return Stage::content;
    }
    if (handshaking_) return Stage::tls;
    return auth_asked_ ? Stage::auth : awaited;
}

bool ClientSession::message_fully_sent() const {
    if (transactions_.empty()) return false;
    const Active& front = transactions_.front();
    return front.phase == Phase::dot && all_sent() && !front.refused;
}

Stage ClientSession::stage_of(Awaited what) {
    switch (what) {
    case Awaited::banner: return Stage::banner;
    case Awaited::ehlo:
    case Awaited::helo: return Stage::ehlo;
    case Awaited::starttls: return Stage::tls;
    case Awaited::auth: return Stage::auth;
    case Awaited::rset:
    case Awaited::mail: return Stage::mail;
    case Awaited::rcpt: return Stage::rcpt;
    case Awaited::data: return Stage::data;
    case Awaited::chunk: return Stage::content;
    case Awaited::dot: return Stage::final_dot;
    }
    return Stage::none;
}

// Idle; or nothing of the first transaction has been answered, on a connection that has served others before:
// the server tired of it, which says nothing about anybody.
bool ClientSession::safe_to_close() const {
    if (!up_) return false;
    if (transactions_.empty()) return true;
    return completed_ > 0 && !transactions_.front().mail_accepted && stage() == Stage::mail;
}

// Ends with `why` for whatever the first transaction's recipients have not been told yet.
void ClientSession::fail(Verdict why) {
    client_event::Ended ended;
    ended.why = why;
    if (!transactions_.empty() && transactions_.front().begun) {
        Active& front = transactions_.front();
        std::vector<std::uint32_t> left;
        if (why.in_doubt) { // but not for those whose round had not come
            Verdict untouched = why;
            untouched.in_doubt = false;
            set_verdict(front.result, front.pending, std::move(untouched));
        }
        for (std::uint32_t i = 0; i < front.result.of_recipient.size(); ++i)
            if (front.result.of_recipient[i] == no_verdict) left.push_back(i);
        set_verdict(front.result, left, std::move(why));
        ended.mail_accepted = front.mail_accepted;
        ended.distrust_chunking = front.chunked && ended.why.code == 0;
        front.result.dsn_relayed = extensions_.dsn;
        front.result.finished = now_;
        ended.interrupted = std::move(front.result);
    }
    end(std::move(ended));
}

void ClientSession::refused(Stage stage, const Reply& reply) {
    const bool in_chunk = !transactions_.empty() && transactions_.front().chunked &&
                          (transactions_.front().phase == Phase::content || !all_sent());
    fail(verdict_of(stage, reply));
    if (!in_chunk) put("QUIT\r\n"); // which a server might take for the chunk's end
}

void ClientSession::mismatch(std::string_view why) {
    Verdict verdict = connection_lost("protocol error from");
    verdict.status = "4.5.0";
    verdict.text = printable(fmt::format("{}: {}", verdict.text, why), text_limit);
    const bool nothing_lost = up_ && transactions_.empty();
    fail(std::move(verdict));
    auto& ended = std::get<client_event::Ended>(events_.back());
    ended.orderly = nothing_lost;
    ended.distrust_pipelining = pipelining_;
}

// The end in good order: what has not been begun is done elsewhere.
void ClientSession::disconnect() {
    client_event::Ended ended;
    ended.orderly = true;
    end(std::move(ended));
    if (up_) put("QUIT\r\n");
}

void ClientSession::end(client_event::Ended ended) {
    // A message cut short must not be followed by anything that a server could take for its end.
    pieces_.clear();
    commands_.clear();
    piece_ = 0;
    over_ = true;
    deadline_.reset();
    events_.emplace_back(std::move(ended));
}

void ClientSession::update_deadline() {
    deadline_.reset();
    bound_ = Bound::silence;
    if (over_) return;
    const Timeouts& t = options_.timeouts;
    const Stage at = stage();
    if (at == Stage::content)
        deadline_ = now_ + t.block;
    else if (at == Stage::banner)
        deadline_ = now_ + t.banner;
    else if (at == Stage::ehlo || at == Stage::tls || at == Stage::auth)
        deadline_ = now_ + t.ehlo;
    else if (at == Stage::mail)
        deadline_ = now_ + t.mail;
    else if (at == Stage::rcpt)
        deadline_ = now_ + t.rcpt;
    else if (at == Stage::data)
        deadline_ = now_ + t.data;
    else if (at == Stage::final_dot)
        deadline_ = now_ + t.final_dot;
    // What moves, but slowly.
    const auto no_later = [this](Monotonic at, Bound bound) {
        if (!deadline_ || *deadline_ <= at) return;
        deadline_ = at;
        bound_ = bound;
    };
    if (at == Stage::content && t.minimum_rate != 0)
        no_later(content_began_ + t.block + content_time(written_ - content_from_), Bound::rate);
    if (up_ && !transactions_.empty() && transactions_.front().begun && at != Stage::final_dot) {
        const Active& front = transactions_.front();
        no_later(front.result.started + t.transaction + content_time(front.transaction.parameters.size.value_or(0)),
                 Bound::transaction);
    }
}

Duration ClientSession::content_time(std::uint64_t bytes) const {
    const auto rate = options_.timeouts.minimum_rate;
    return rate == 0 ? Duration{} : Duration(std::chrono::seconds(bytes / rate));
}

void ClientSession::begin_content(const Active& active) {
    content_from_ = written_;
    content_began_ = now_;
    events_.emplace_back(client_event::ContentRequested{active.transaction.id, true});
}

} // namespace smtp
