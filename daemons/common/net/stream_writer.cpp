#include "daemons/common/net/stream_writer.h"
#include <memory>
#include <utility>

namespace common {

namespace {

constexpr std::size_t kept_capacity = 1 << 20; // of an empty buffer

} // namespace

struct StreamWriter::Write {
    uv_write_t request;
    StreamWriter* owner; // null once its owner has gone
    std::string bytes;
};

StreamWriter::~StreamWriter() {
    if (write_) write_->owner = nullptr;
}

int StreamWriter::start(uv_stream_t* stream) {
    if (write_ || pending_.empty()) return 0;
    return start(stream, 0);
}

int StreamWriter::try_then_start(uv_stream_t* stream) {
    if (write_ || pending_.empty()) return 0;
    const auto whole = uv_buf_init(pending_.data(), static_cast<unsigned>(pending_.size()));
    int taken = uv_try_write(stream, &whole, 1);
    if (taken == UV_EAGAIN) taken = 0;
    if (taken < 0) return taken;
    if (static_cast<std::size_t>(taken) < pending_.size()) return start(stream, static_cast<std::size_t>(taken));
    if (pending_.capacity() > kept_capacity)
        pending_ = {};
    else
        pending_.clear();
    return 0;
}

int StreamWriter::start(uv_stream_t* stream, std::size_t from) {
    in_flight_ = pending_.size() - from;
    write_ = new Write{{}, this, std::exchange(pending_, {})};
    const auto rest = uv_buf_init(write_->bytes.data() + from, static_cast<unsigned>(in_flight_));
    const int status = uv_write(&write_->request, stream, &rest, 1, [](uv_write_t* request, int result) {
        const std::unique_ptr<Write> done(reinterpret_cast<Write*>(request));
        auto* self = done->owner;
        if (!self) return;
        self->write_ = nullptr;
        self->in_flight_ = 0;
        self->written_(result);
    });
    if (status == 0) return 0;
    delete std::exchange(write_, nullptr);
    in_flight_ = 0;
    return status;
}

} // namespace common
