#include "daemons/common/ipc/connection.h"
#include <cassert>
#include <utility>

namespace ipc {

Connection::Connection(common::Loop& loop, common::Fd fd, Sink* sink)
    : loop_(loop), sink_(sink), pipe_(common::make_pipe(loop.uv(), this)), hook_(loop, [this] { end_turn(); }),
      writer_([this](int status) { written(status); }) {
    if (int failed = uv_pipe_open(pipe_.get(), fd.number())) {
        fail(uv_strerror(failed));
        return;
    }
    (void)fd.release(); // the pipe closes it
    resume_reading();
}

Connection::~Connection() {
    flush();
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
        writer_.pending().clear();
        return Ended::framed;
    }
    if (!end_frame(writer_.pending(), begun_)) return Ended::too_long;
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
    if (!open_) return;
    if (const int error = writer_.try_then_start(stream_of(pipe_)); error != 0) close(error);
}

void Connection::written(int status) {
    if (status < 0) return close(status);
    flush();
    check_drained();
}

void Connection::check_drained() {
    if (!was_congested_ || unsent() > low_water) return;
    was_congested_ = false;
    sink_->on_drained();
}

} // namespace ipc
