// Bytes on their way into a libuv stream: one write at a time, and what has been appended meanwhile. The write's buffer
// outlives the writer where it has to. When to write and how much may wait is its owner's business.
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <uv.h>

namespace common {

class StreamWriter {
public:
    // After each write that the kernel did not take at once; 0 or libuv's error. May destroy the writer.
    using Written = std::function<void(int status)>;
    explicit StreamWriter(Written written) : written_(std::move(written)) {}
    ~StreamWriter();
    StreamWriter(const StreamWriter&) = delete;
    StreamWriter& operator=(const StreamWriter&) = delete;

    // To be appended to.
    std::string& pending() { return pending_; }
    // Not yet taken by the kernel.
    std::size_t unsent() const { return pending_.size() + in_flight_; }
    bool writing() const { return write_ != nullptr; }

    // Begins to write what is pending, unless a write is under way; 0 or libuv's error. Then `written` is called.
    int start(uv_stream_t* stream);
    // The same, but what the kernel takes at once has gone without a call of `written`.
    int try_then_start(uv_stream_t* stream);

private:
    struct Write;
    int start(uv_stream_t* stream, std::size_t from);

    Written written_;
    std::string pending_;
    std::size_t in_flight_ = 0;
    Write* write_ = nullptr;
};

} // namespace common
