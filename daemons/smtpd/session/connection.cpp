#include "daemons/smtpd/session/connection.h"
#include "daemons/common/runtime/crash_point.h"
#include <algorithm>
#include <cerrno>
#include <sys/socket.h>

namespace smtpd {

using namespace std::chrono_literals;
using Cause = smtp::event::Disconnect::Cause;

// Bytes read and not yet parsed, and bytes read at a time; by how much memory there is.
static constexpr std::size_t max_buffered[] = {128 * 1024, 32 * 1024, 8 * 1024, 8 * 1024};
static constexpr std::size_t max_read[] = {64 * 1024, 32 * 1024, 8 * 1024, 8 * 1024};
static constexpr std::size_t max_unsent =
    64 * 1024;                          // replies not yet taken: then no more commands are obeyed
static constexpr auto linger_time = 2s; // for the client to read why it was closed

// A write the kernel did not take at once. It may outlive the connection.
struct Connection::Write {
    uv_write_t request;
    Connection* owner;
    std::string bytes;
};

std::unique_ptr<Connection> Connection::create(WorkerContext& worker, std::shared_ptr<const Rules> rules,
                                               common::Fd socket, Client client) {
    std::unique_ptr<Connection> connection(new Connection(worker, std::move(rules), std::move(client)));
    connection->tcp_ = common::make_tcp(worker.loop.uv(), connection.get());
    if (!connection->tcp_ || uv_tcp_open(connection->tcp_.get(), socket.number()) != 0) return nullptr;
    static_cast<void>(socket.release());
    return connection;
}

Connection::Connection(WorkerContext& worker, std::shared_ptr<const Rules> rules, Client client)
    : worker_(worker), rules_(std::move(rules)), client_(std::move(client)), peer_(client_),
      counted_network_(client_.network), last_activity_(common::Loop::now().monotonic),
      number_(worker.next_session()), session_(settings(), common::Loop::now().monotonic),
      auth_delay_(worker.deadlines, [this] { reject_auth(); }), resolver_(worker.resolver),
      deadline_(worker.deadlines, [this] { deadline_passed(); }), share_(worker.spool_writer.memory()) {}

Connection::~Connection() {
    if (recipient_check_ != 0) worker_.checker.cancel(recipient_check_);
    if (flush_request_ != 0) worker_.submission_queue.cancel(flush_request_);
    if (write_) write_->owner = nullptr;
}

void Connection::begin() {
    grant_rights();
    if (!implicit_tls()) feed_early_bytes();
    update_reading();
    pump();
}

// Who has spoken before the banner did not wait for it: the session must see that.
void Connection::feed_early_bytes() {
    uv_os_fd_t fd = -1;
    if (uv_fileno(reinterpret_cast<uv_handle_t*>(tcp_.get()), &fd) != 0) return;
    const auto space = worker_.loop.read_buffer();
    const auto n = ::recv(fd, space.data(), space.size(), MSG_DONTWAIT);
    if (n > 0) session_.feed({space.data(), static_cast<std::size_t>(n)}, common::Loop::now().monotonic);
}

void Connection::shut_down(smtp::ServerSession::When when) {
    const smtp::Reply reply{
        421, {4, 3, 2}, rules_->normal.hostname + " Service is shutting down, try again later"};
    session_.shut_down(reply, common::Loop::now().monotonic, when);
    if (when == smtp::ServerSession::When::now) paused_ = false;
    if (when == smtp::ServerSession::When::now && handshaking()) handshake_failed("shutting down");
    if (resolving_name_) greet(); // it was not even let in: now it is, to be told
    pump();
}

void Connection::stress_changed() {
    session_.apply_settings(settings(), common::Loop::now().monotonic);
    if (phase_ == Phase::talking && !resolving_name_ && !handshaking()) set_deadline();
}

SessionInfo Connection::session_info() const {
    using Activity = SessionInfo::Activity;
    auto activity = Activity::idle;
    if (phase_ != Phase::talking)
        activity = Activity::closing;
    else if (!client_.user.empty() || (session_.question_open() && session_.greeted()))
        activity = Activity::awaiting_reply; // whom we keep waiting is not idle
    else if (session_.in_transaction())
        activity = Activity::in_transaction;
    return {client_.network, last_activity_, activity};
}

std::size_t Connection::idle_memory(smtp::Monotonic now) const {
    constexpr smtp::Duration idle = 10s, long_enough = 1min; // for a message's envelope, and whatever is sent ahead of it
    const auto activity = session_info().activity;
    if (paused_ || (activity != SessionInfo::Activity::in_transaction && activity != SessionInfo::Activity::idle)) return 0;
    const bool slow = transaction_ && now - transaction_->started >= long_enough;
    return slow || now - last_activity_ >= idle ? share_.held() : 0;
}

void Connection::evict() {
    if (phase_ != Phase::talking) return finish();
    evicted_ = true;
    const smtp::Reply reply{
        421, {4, 3, 2}, rules_->normal.hostname + " Error: session too slow, and other clients are waiting"};
    if (handshaking()) {
        handshake_failed("closed in favour of other clients");
    } else if (session_.question_open()) { // not greeted yet: whoever is asked about it need not answer any more
        if (std::exchange(resolving_name_, false)) log_context().info("connect from {}", client_.peer());
        name_lookup_.reset();
        policy_chain_.reset();
        if (implicit_tls() && !tls_) hung_up_ = true, session_.disconnected(); // nobody could read it
        answer(reply);
    } else {
        session_.shut_down(reply, common::Loop::now().monotonic, smtp::ServerSession::When::now);
    }
    pump();
}

// --- bytes

void Connection::on_alloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
    auto* self = common::owner_of<Connection>(handle);
    if (!self) return void(*buffer = uv_buf_init(nullptr, 0));
    const auto space = self->worker_.loop.read_buffer();
    const auto most = max_read[static_cast<std::size_t>(self->worker_.spool_writer.memory().level())];
    *buffer = uv_buf_init(space.data(), static_cast<unsigned>(std::min(space.size(), most)));
}

void Connection::on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buffer) {
    auto* self = common::owner_of<Connection>(stream);
    if (!self || n == 0) return;
    if (self->phase_ != Phase::talking) { // only waiting for the client to close
        if (n < 0) self->finish();
        return;
    }
    if (n < 0) {
        uv_read_stop(stream);
        self->reading_ = false;
        self->hung_up_ = true;
        if (self->handshaking())
            self->handshake_failed("lost connection");
        else
            self->session_.disconnected();
    } else if (self->tls_) {
        self->on_encrypted_data({buffer->base, static_cast<std::size_t>(n)});
    } else {
        self->session_.feed({buffer->base, static_cast<std::size_t>(n)}, common::Loop::now().monotonic);
    }
    self->pump();
}

void Connection::pump() {
    if (phase_ != Phase::talking || pumping_) return;
    pumping_ = true; // who answers at once calls again, and must not end the connection from within
    do {
        while (session_.ending() || (!paused_ && unsent_.size() < max_unsent)) {
            auto event = session_.next();
            if (!event) break;
            last_activity_ = common::Loop::now().monotonic;
            std::visit(*this, *event);
        }
    } while (!flush());
    pumping_ = false;
    update_memory_share();
    if (session_.closed()) return linger();
    update_reading();
    if (!resolving_name_ && !handshaking()) set_deadline();
}

bool Connection::flush() {
    auto bytes = session_.output();
    if (tls_) bytes = encrypt(bytes);
    if (bytes.empty()) return true;
    if (write_) {
        unsent_ += bytes;
        return true;
    }
    const int taken = session_.closed() && !linger_after_close_ ? write_last(bytes) : write_now(bytes);
    if (taken == static_cast<int>(bytes.size())) return true;
    if (taken < 0 && taken != UV_EAGAIN) {
        session_.disconnected();
        return false;
    }
    unsent_.assign(bytes, static_cast<std::size_t>(std::max(taken, 0)));
    write_rest();
    return true;
}

int Connection::write_now(std::string_view bytes) {
    auto buffer = uv_buf_init(const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
    return uv_try_write(common::stream_of(tcp_), &buffer, 1);
}

// Before closing: the reply and the connection's end then leave in one packet.
int Connection::write_last(std::string_view bytes) {
    uv_os_fd_t fd = -1;
    if (uv_fileno(reinterpret_cast<uv_handle_t*>(tcp_.get()), &fd) != 0) return UV_EBADF;
    const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_MORE | MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return static_cast<int>(n);
    return errno == EWOULDBLOCK ? UV_EAGAIN : uv_translate_sys_error(errno);
}

void Connection::write_rest() {
    write_ = new Write{{}, this, std::exchange(unsent_, {})};
    auto buffer = uv_buf_init(write_->bytes.data(), static_cast<unsigned>(write_->bytes.size()));
    const int failed =
        uv_write(&write_->request, common::stream_of(tcp_), &buffer, 1, [](uv_write_t* request, int status) {
            std::unique_ptr<Write> done(reinterpret_cast<Write*>(request));
            auto* self = done->owner;
            if (!self) return;
            self->write_ = nullptr;
            if (status < 0)
                self->session_.disconnected();
            else if (!self->unsent_.empty())
                self->write_rest();
            if (self->phase_ == Phase::final_reply && !self->write_) return self->linger();
            self->pump();
        });
    if (failed == 0) return;
    delete std::exchange(write_, nullptr);
    session_.disconnected();
}

// Reading goes on while a question is open (it costs system calls to stop), up to a bound.
void Connection::update_reading() {
    const bool want = !hung_up_ && !paused_ && !(resolving_name_ && implicit_tls()) &&
                      session_.buffered() < max_buffered[static_cast<std::size_t>(worker_.spool_writer.memory().level())] &&
                      unsent_.size() < max_unsent;
    if (want == reading_) return;
    reading_ = want;
    if (want)
        uv_read_start(common::stream_of(tcp_), on_alloc, on_read);
    else
        uv_read_stop(common::stream_of(tcp_));
}

// Counts what it holds; what it need not hold goes when memory is short.
void Connection::update_memory_share() {
    auto& memory = worker_.spool_writer.memory();
    if (memory.level() != spool::ContentMemory::Level::plenty) session_.trim();
    auto held = session_.held() + unsent_.capacity();
    if (write_) held += write_->bytes.size();
    if (transaction_) held += transaction_->memory + (transaction_->fixup ? transaction_->fixup->held() : 0);
    share_.set(held);
}

void Connection::set_deadline() {
    const auto due = paused_ ? std::nullopt : session_.next_deadline();
    if (!due) return deadline_.clear();
    if (due != deadline_.due()) deadline_.set(*due);
}

void Connection::deadline_passed() {
    if (phase_ != Phase::talking) return finish();
    if (resolving_name_)
        greet(); // the name did not come in time
    else if (handshaking())
        handshake_failed("timeout");
    else
        session_.expired(common::Loop::now().monotonic);
    pump();
}

// The last reply is out or on its way: a client that is still talking must be given the chance to read it,
// for closing with unread input would take it back.
void Connection::linger() {
    phase_ = Phase::final_reply;
    if (write_) {
        deadline_.set(common::Loop::now().monotonic + linger_time);
        return;
    }
    if (!linger_after_close_) return finish();
    phase_ = Phase::lingering;
    uv_os_fd_t fd = -1;
    if (uv_fileno(reinterpret_cast<uv_handle_t*>(tcp_.get()), &fd) == 0) ::shutdown(fd, SHUT_WR);
    if (!std::exchange(reading_, true)) uv_read_start(common::stream_of(tcp_), on_alloc, on_read);
    deadline_.set(common::Loop::now().monotonic + linger_time);
}

void Connection::finish() {
    if (std::exchange(phase_, Phase::over) == Phase::over) return;
    deadline_.clear();
    tcp_.reset();
    worker_.gone(*this);
}

// --- the session's end, and what the log says of it

// Once for a run of the same, such as recipients beyond the limit.
void Connection::operator()(smtp::event::Refused& refused) {
    if (refused.reply == last_rejection_) return;
    log_rejection(refused.command, refused.reply, {});
    last_rejection_ = std::move(refused.reply);
}

void Connection::operator()(smtp::event::Reset&) { end_transaction(); }

void Connection::operator()(smtp::event::Disconnect& disconnect) {
    count_end(worker_.metrics, disconnect.cause);
    const auto peer = client_.peer();
    const auto after = session_.last_command();
    switch (disconnect.cause) {
    case Cause::lost: log_context().info("lost connection after {} from {}", after, peer); break;
    case Cause::timed_out: log_context().info("timeout after {} from {}", after, peer); break;
    case Cause::too_many_errors: log_context().info("too many errors after {} from {}", after, peer); break;
    case Cause::not_smtp: log_context().warning("non-SMTP command from {}: {}", peer, session_.unexpected_input()); break;
    case Cause::too_early:
        log_context().info("improper command pipelining after {} from {}: {}", after, peer, session_.unexpected_input());
        break;
    case Cause::quit:
    case Cause::turned_away:
    case Cause::shut_down: break;
    }
    linger_after_close_ = disconnect.cause != Cause::quit && disconnect.cause != Cause::lost && !evicted_;
    log_context().info("disconnect from {} {}", peer, session_.statistics());
}

} // namespace smtpd
