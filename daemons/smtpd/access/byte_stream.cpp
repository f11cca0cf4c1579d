#include "daemons/smtpd/access/byte_stream.h"
#include <algorithm>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace smtpd {

using namespace std::chrono_literals;

// Bytes read at a time, by how much memory there is.
static constexpr std::size_t max_read[] = {64 * 1024, 32 * 1024, 8 * 1024, 8 * 1024};
static constexpr std::size_t max_unsent = 64 * 1024;
static constexpr auto linger_time = 2s; // for the client to read why it was closed

// It may outlive the stream.
struct ByteStream::Write {
    uv_write_t request;
    ByteStream* owner;
    std::string bytes;
};

ByteStream::ByteStream(common::Loop& loop, common::Deadlines& deadlines, spool::ContentMemory& memory, User& user)
    : loop_(loop), memory_(memory), user_(user), deadline_(deadlines, [this] { deadline_passed(); }) {}

ByteStream::~ByteStream() {
    if (write_) write_->owner = nullptr;
}

bool ByteStream::attach(common::Fd socket) {
    tcp_ = common::make_tcp(loop_.uv(), this);
    if (!tcp_ || uv_tcp_open(tcp_.get(), socket.number()) != 0) return false;
    static_cast<void>(socket.release());
    return true;
}

int ByteStream::descriptor() const {
    uv_os_fd_t fd = -1;
    return uv_fileno(reinterpret_cast<uv_handle_t*>(tcp_.get()), &fd) == 0 ? fd : -1;
}

// --- reading

std::string_view ByteStream::received_early() {
    const int fd = descriptor();
    if (fd < 0) return {};
    const auto space = loop_.read_buffer();
    const auto n = ::recv(fd, space.data(), space.size(), MSG_DONTWAIT);
    return n > 0 ? std::string_view(space.data(), static_cast<std::size_t>(n)) : std::string_view();
}

void ByteStream::on_alloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
    auto* self = common::owner_of<ByteStream>(handle);
    if (!self) return void(*buffer = uv_buf_init(nullptr, 0));
    const auto space = self->loop_.read_buffer();
    const auto most = max_read[static_cast<std::size_t>(self->memory_.level())];
    *buffer = uv_buf_init(space.data(), static_cast<unsigned>(std::min(space.size(), most)));
}

void ByteStream::on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buffer) {
    auto* self = common::owner_of<ByteStream>(stream);
    if (!self || n == 0) return;
    if (!self->is_open()) { // only waiting for the client to close
        if (n < 0) self->close();
        return;
    }
    if (n < 0)
        self->read_ended();
    else if (self->tls_)
        self->receive_encrypted({buffer->base, static_cast<std::size_t>(n)});
    else
        self->user_.received({buffer->base, static_cast<std::size_t>(n)});
    self->user_.turn_over();
}

void ByteStream::read_ended() {
    uv_read_stop(common::stream_of(tcp_));
    reading_ = false;
    stop_input();
    if (handshaking_)
        user_.handshake_failed("lost connection");
    else
        user_.disconnected();
}

void ByteStream::update_reading(Reading wanted) {
    const bool want = wanted == Reading::yes && !input_stopped_ && !congested();
    if (want == reading_) return;
    reading_ = want;
    if (want)
        uv_read_start(common::stream_of(tcp_), on_alloc, on_read);
    else
        uv_read_stop(common::stream_of(tcp_));
}

// --- TLS

bool ByteStream::start_tls(const std::shared_ptr<const tls::Context>& context, smtp::Duration within) {
    tls_ = context ? tls::Session::accept(context) : nullptr;
    if (!tls_) return false;
    handshaking_ = true;
    deadline_.set(common::Loop::now().monotonic + within);
    return true;
}

bool ByteStream::continue_handshake() {
    using Progress = tls::Session::Progress;
    switch (tls_->handshake()) {
    case Progress::wants_more: return false;
    case Progress::closed: user_.handshake_failed("lost connection"); return false;
    case Progress::failed: user_.handshake_failed(tls_->error()); return false;
    case Progress::done: break;
    }
    handshaking_ = false;
    deadline_.clear();
    user_.handshake_done();
    return true;
}

void ByteStream::receive_encrypted(std::string_view bytes) {
    tls_->feed(bytes);
    if (handshaking_ && !continue_handshake()) return;
    using Progress = tls::Session::Progress;
    char space[16384]; // a record's size
    while (true) {
        std::size_t taken = 0;
        switch (tls_->read(space, taken)) {
        case Progress::done: user_.received({space, taken}); continue;
        case Progress::wants_more: return;
        case Progress::closed: break;
        case Progress::failed: user_.decryption_failed(tls_->error()); break;
        }
        stop_input();
        return user_.disconnected();
    }
}

// --- writing

bool ByteStream::congested() const { return unsent_.size() >= max_unsent; }

std::size_t ByteStream::held() const { return unsent_.capacity() + (write_ ? write_->bytes.size() : 0); }

bool ByteStream::send(std::string_view bytes, Last last) {
    std::string sealed;
    if (tls_) { // the handshake's own bytes leave as well
        tls_->write(bytes);
        if (last != Last::no) tls_->close();
        sealed = tls_->output();
        bytes = sealed;
    }
    if (bytes.empty()) return true;
    if (write_) {
        unsent_ += bytes;
        return true;
    }
    const int taken = last == Last::close ? write_last(bytes) : write_now(bytes);
    if (taken == static_cast<int>(bytes.size())) return true;
    if (taken < 0 && taken != UV_EAGAIN) return false;
    unsent_.assign(bytes.substr(static_cast<std::size_t>(std::max(taken, 0))));
    return write_rest();
}

int ByteStream::write_now(std::string_view bytes) {
    auto buffer = uv_buf_init(const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
    return uv_try_write(common::stream_of(tcp_), &buffer, 1);
}

// Before closing: the reply and the connection's end then leave in one packet.
int ByteStream::write_last(std::string_view bytes) {
    const int fd = descriptor();
    if (fd < 0) return UV_EBADF;
    const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_MORE | MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return static_cast<int>(n);
    return errno == EWOULDBLOCK ? UV_EAGAIN : uv_translate_sys_error(errno);
}

bool ByteStream::write_rest() {
    write_ = new Write{{}, this, std::exchange(unsent_, {})};
    auto buffer = uv_buf_init(write_->bytes.data(), static_cast<unsigned>(write_->bytes.size()));
    const int failed =
        uv_write(&write_->request, common::stream_of(tcp_), &buffer, 1, [](uv_write_t* request, int status) {
            const std::unique_ptr<Write> done(reinterpret_cast<Write*>(request));
            if (done->owner) done->owner->written(status);
        });
    if (failed == 0) return true;
    delete std::exchange(write_, nullptr);
    return false;
}

void ByteStream::written(int status) {
    write_ = nullptr;
    if (status < 0 || (!unsent_.empty() && !write_rest())) user_.disconnected();
    if (phase_ == Phase::last_write && !write_) return linger();
    user_.turn_over();
}

// --- the end

void ByteStream::end(Last last) {
    last_ = last;
    phase_ = Phase::last_write;
    if (!write_) return linger();
    deadline_.set(common::Loop::now().monotonic + linger_time);
}

// The last bytes are out or on their way: a client that is still sending must be given the chance to read
// them, for closing with unread input would take them back.
void ByteStream::linger() {
    if (last_ != Last::linger) return close();
    phase_ = Phase::lingering;
    if (const int fd = descriptor(); fd >= 0) ::shutdown(fd, SHUT_WR);
    if (!std::exchange(reading_, true)) uv_read_start(common::stream_of(tcp_), on_alloc, on_read);
    deadline_.set(common::Loop::now().monotonic + linger_time);
}

void ByteStream::close() {
    if (std::exchange(phase_, Phase::closed) == Phase::closed) return;
    deadline_.clear();
    tcp_.reset();
    user_.closed();
}

void ByteStream::deadline_passed() {
    if (!is_open()) return close();
    user_.handshake_failed("timeout");
    user_.turn_over();
}

} // namespace smtpd
