#include "daemons/common/ipc/connection.h"
#include <cassert>
#include <utility>

namespace ipc {

struct Connection::Write {
    uv_write_t request;
    std::string bytes;
    Connection* owner; // null once it has let go
};

Connection::Connection(common::Loop& loop, common::Fd fd, Sink* sink)
    : loop_(loop), sink_(sink), pipe_(common::make_pipe(loop.uv(), this)), hook_(loop, [this] { end_turn(); }) {
    if (int failed = uv_pipe_open(pipe_.get(), fd.number())) {
        fail(uv_strerror(failed));
        return;
    }
    (void)fd.release(); // the pipe closes it
    resume_reading();
}

Connection::~Connection() {
    flush();
    if (write_) write_->owner = nullptr;
    if (destroyed_) *destroyed_ = true;
}

void Connection::resume_reading() {
    if (open_) uv_read_start(stream_of(pipe_), on_alloc, on_read);
}

void Connection::stop_reading() {
    if (open_) uv_read_stop(stream_of(pipe_));
}

Connection::Ended Connection::end() {
    if (!open_) {
        out_.clear();
        return Ended::framed;
    }
    if (!end_frame(out_, begun_)) return Ended::too_long;
    if (unsent() > high_water) was_congested_ = true;
    if (unsent() > max_unsent)
        fail("the peer does not read");
    else
        hook_.schedule();
    return Ended::framed;
}

void Connection::fail(std::string reason) { close(std::move(reason), Closing::failure); }

void Connection::close(int error) {
    close(uv_strerror(error), error == UV_EPIPE || error == UV_ECONNRESET ? Closing::peer_gone : Closing::failure);
}

void Connection::close(std::string reason, Closing closing) {
    if (!open_) return;
    open_ = false;
    reason_ = std::move(reason);
    closing_ = closing;
    pipe_.reset();
    hook_.schedule();
}

void Connection::on_alloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
    auto* self = common::owner_of<Connection>(handle);
    const auto space = self ? self->loop_.read_buffer() : std::span<char>{};
    *buffer = uv_buf_init(space.data(), static_cast<unsigned>(space.size()));
}

void Connection::on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buffer) {
    auto* self = common::owner_of<Connection>(stream);
    if (!self || n == 0) return;
    if (n > 0) return self->take({buffer->base, static_cast<std::size_t>(n)});
    if (n != UV_EOF) return self->close(static_cast<int>(n));
    if (self->reader_.left_over()) return self->fail("closed by the peer within a message");
    self->close("closed by the peer", Closing::peer_gone);
}

void Connection::take(std::string_view bytes) {
    bool destroyed = false;
    assert(!destroyed_);
    destroyed_ = &destroyed;
    reader_.feed(bytes);
    while (open_) {
        const auto frame = reader_.next();
        if (!frame) break;
        sink_->on_frame(*frame);
        if (destroyed) return;
    }
    destroyed_ = nullptr;
    reader_.keep();
    if (reader_.broken()) fail("malformed frame");
}

void Connection::end_turn() {
    if (open_) flush();
    if (!open_) {
        if (!std::exchange(close_reported_, true)) sink_->on_closed(reason_);
        return;
    }
    check_drained();
}

void Connection::flush() {
    if (!open_ || write_ || out_.empty()) return;
    auto whole = uv_buf_init(out_.data(), static_cast<unsigned>(out_.size()));
    int n = uv_try_write(stream_of(pipe_), &whole, 1);
    if (n == UV_EAGAIN) n = 0;
    if (n < 0) return close(n);
    if (static_cast<std::size_t>(n) == out_.size()) {
        if (out_.capacity() > high_water) out_ = {};
        else out_.clear();
        return;
    }
    in_flight_ = out_.size() - static_cast<std::size_t>(n);
    write_ = new Write{{}, std::exchange(out_, {}), this};
    auto rest = uv_buf_init(write_->bytes.data() + n, static_cast<unsigned>(in_flight_));
    uv_write(&write_->request, stream_of(pipe_), &rest, 1, on_written);
}

void Connection::on_written(uv_write_t* request, int status) {
    auto* write = reinterpret_cast<Write*>(request);
    auto* self = write->owner;
    delete write;
    if (!self) return;
    self->write_ = nullptr;
    self->in_flight_ = 0;
    if (status < 0) return self->close(status);
    self->flush();
    self->check_drained();
}

void Connection::check_drained() {
    if (!was_congested_ || unsent() > low_water) return;
    was_congested_ = false;
    sink_->on_drained();
}

} // namespace ipc
