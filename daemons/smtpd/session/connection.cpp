#include "daemons/smtpd/session/connection.h"
#include <algorithm>
#include <utility>

namespace smtpd {

using namespace std::chrono_literals;
using Cause = smtp::event::Disconnect::Cause;
using When = smtp::ServerSession::When;

// Bytes read and not yet parsed, by how much memory there is.
static constexpr std::size_t max_buffered[] = {128 * 1024, 32 * 1024, 8 * 1024, 8 * 1024};

std::unique_ptr<Connection> Connection::create(WorkerContext& worker, std::shared_ptr<const Rules> rules,
                                               common::Fd socket, Client client) {
    std::unique_ptr<Connection> connection(new Connection(worker, std::move(rules), std::move(client)));
    return connection->stream_.attach(std::move(socket)) ? std::move(connection) : nullptr;
}

Connection::Connection(WorkerContext& worker, std::shared_ptr<const Rules> rules, Client client)
    : worker_(worker), rules_(std::move(rules)), last_activity_(common::Loop::now().monotonic),
      session_(worker.settings_of(*rules_), last_activity_),
      handler_(worker, *rules_, session_, std::move(client), *this),
      stream_(worker.loop, worker.deadlines, worker.spool_writer.memory(), *this),
      deadline_(worker.deadlines,
                [this] {
                    session_.expired(common::Loop::now().monotonic);
                    pump();
                }),
      share_(worker.spool_writer.memory()) {}

void Connection::begin() {
    // A client that sends before the banner did not wait for it: the session must see that.
    if (!implicit_tls()) {
        const auto early = stream_.received_early();
        if (!early.empty()) session_.feed(early, common::Loop::now().monotonic);
    }
    update_reading();
    pump();
}

void Connection::shut_down(When when) {
    const smtp::Reply reply{421, {4, 3, 2}, rules_->normal.hostname + " Service is shutting down, try again later"};
    session_.shut_down(reply, common::Loop::now().monotonic, when);
    if (when == When::now && stream_.handshaking()) handshake_failed("shutting down");
    handler_.greet_unprepared(); // a client that waits for tests or its name is greeted, to get the 421
    pump();
}

void Connection::stress_changed() {
    session_.apply_settings(worker_.settings_of(*rules_), common::Loop::now().monotonic);
    if (stream_.is_open()) set_deadline();
}

SessionInfo Connection::session_info() const {
    using Activity = SessionInfo::Activity;
    auto activity = Activity::idle;
    if (!stream_.is_open())
        activity = Activity::closing;
    else if (!client().user.empty() || (session_.question_open() && session_.greeted()))
        activity = Activity::awaiting_reply; // a client that waits for us is not idle
    else if (session_.in_transaction())
        activity = Activity::in_transaction;
    return {client().network, last_activity_, activity};
}

std::size_t Connection::idle_memory(smtp::Monotonic now) const {
    constexpr smtp::Duration idle = 10s,
                             long_enough = 1min; // for the envelope of a message, and the commands before it
    const auto activity = session_info().activity;
    if (paused() || (activity != SessionInfo::Activity::in_transaction && activity != SessionInfo::Activity::idle))
        return 0;
    const auto* message = handler_.message();
    const bool slow = message && now - message->started() >= long_enough;
    return slow || now - last_activity_ >= idle ? share_.held() : 0;
}

void Connection::evict() {
    if (!stream_.is_open()) return stream_.close();
    evicted_ = true;
    const smtp::Reply reply{
        421, {4, 3, 2}, rules_->normal.hostname + " Error: session too slow, and other clients are waiting"};
    if (stream_.handshaking()) {
        handshake_failed("closed in favour of other clients");
    } else if (session_.question_open()) {
        handler_.drop_greeting();
        if (implicit_tls() && !stream_.tls()) { // the reply could not be read
            stream_.stop_input();
            session_.disconnected();
        }
        session_.answer(reply, common::Loop::now().monotonic);
    } else {
        session_.shut_down(reply, common::Loop::now().monotonic, When::now);
    }
    pump();
}

// --- the stream

void Connection::received(std::string_view bytes) {
    session_.feed(bytes, common::Loop::now().monotonic);
    handler_.input_received();
}

void Connection::disconnected() {
    session_.disconnected();
    handler_.client_gone();
}

void Connection::handshake_failed(std::string_view why) {
    stream_.stop_input();
    handler_.tls_failed(why);
}

void Connection::decryption_failed(std::string_view why) {
    handler_.log().lines().info("SSL_read error from {}: {}", client().peer(), why);
}

void Connection::start_tls() {
    flush(); // the last replies in plain text
    const auto within = std::min(rules_->config->tls.handshake_timeout, worker_.settings_of(*rules_).command_time);
    if (stream_.start_tls(rules_->tls, within)) return;
    stream_.stop_input();
    handler_.tls_unavailable();
}

// --- the session

void Connection::pump() {
    if (!stream_.is_open() || pumping_) return;
    pumping_ = true; // an answer given at once calls this again, and must not end the connection from within
    do {
        while (session_.ending() || (!paused() && !stream_.congested())) {
            auto event = session_.next();
            if (!event) break;
            last_activity_ = common::Loop::now().monotonic;
            if (const auto* end = std::get_if<smtp::event::Disconnect>(&*event))
                last_ = end->cause != Cause::quit && end->cause != Cause::lost && !evicted_ ? ByteStream::Last::linger
                                                                                            : ByteStream::Last::close;
            handler_.handle(*event);
        }
    } while (!flush());
    pumping_ = false;
    update_memory_share();
    if (session_.closed()) {
        deadline_.clear();
        return stream_.end(last_);
    }
    update_reading();
    set_deadline();
}

bool Connection::flush() {
    if (stream_.send(session_.output(), session_.closed() ? last_ : ByteStream::Last::no)) return true;
    session_.disconnected();
    return false;
}

// Reading continues while a question is open (stopping costs system calls), up to a bound.
void Connection::update_reading() {
    const auto level = static_cast<std::size_t>(worker_.spool_writer.memory().level());
    const bool wanted =
        !paused() && !(handler_.preparing() && implicit_tls()) && session_.unparsed().size() < max_buffered[level];
    stream_.update_reading(wanted ? ByteStream::Reading::yes : ByteStream::Reading::no);
}

// Counts the memory in use; unused memory is given back when memory is short.
void Connection::update_memory_share() {
    auto& memory = worker_.spool_writer.memory();
    if (memory.level() != spool::ContentMemory::Level::plenty) session_.trim();
    share_.set(session_.held() + stream_.held() + (handler_.message() ? handler_.message()->held() : 0));
}

void Connection::set_deadline() {
    const auto due = paused() ? std::nullopt : session_.next_deadline();
    if (!due) return deadline_.clear();
    if (due != deadline_.due()) deadline_.set(*due);
}

} // namespace smtpd
