// One connection between two local processes, as frames. Everything sent during a loop turn is written
// at once at its end. A malformed frame, a read error or a peer that reads nothing for too long closes
// this connection with a reason; never the process. Knows no message types (Channel does).
#pragma once
#include "daemons/common/ipc/frame.h"
#include "daemons/common/net/stream_writer.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include <cstddef>
#include <string>
#include <string_view>

namespace ipc {

class Connection {
public:
    // Where it reports to. Each of these may destroy the connection, as the last thing it does.
    class Sink {
    public:
        virtual void on_frame(std::string_view frame) = 0;
        // Once, never from within send() or close(). The connection is dead and may be destroyed.
        virtual void on_closed(const std::string& reason) = 0;
        // unsent() has fallen below `low_water` after having been above `high_water`.
        virtual void on_drained() {}

    protected:
        ~Sink() = default;
    };

    static constexpr std::size_t high_water = 1 << 20, low_water = 1 << 18, max_unsent = 64 << 20;

    // `fd`: a connected stream socket.
    Connection(common::Loop& loop, common::Fd fd, Sink* sink);
    ~Connection(); // sent data that fits into the socket's buffer still goes out
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Frames read from now on (also the rest of those that came together) go to this sink.
    void attach(Sink* sink) { sink_ = sink; }

    // To send: append the content to the buffer that begin() returns, then call end(). Nothing is sent on a dead
    // connection. Content too long for a frame (max_frame) is not sent, and the connection continues as if it had not
    // been tried.
    std::string& begin() {
        begun_ = begin_frame(writer_.pending());
        return writer_.pending();
    }
    enum class Ended : std::uint8_t { framed, too_long };
    [[nodiscard]] Ended end();

    // Bytes not yet taken by the kernel: check this before a write that can wait.
    std::size_t unsent() const { return writer_.unsent(); }
    bool congested() const { return unsent() > high_water; }
    bool open() const { return open_; }
    // Back-pressure towards the peer; frames already read still arrive (64 KiB of them at most).
    void stop_reading();
    void resume_reading();
    // Closes with a reason, which on_closed() reports at the end of the turn.
    void fail(std::string reason);
    // Why a dead connection was closed.
    enum class Closing : std::uint8_t {
        failure,
        peer_gone, // merely that the peer has gone, as processes do
    };
    Closing closing() const { return closing_; }

private:
    static void on_alloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer);
    static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buffer);
    void written(int status);
    void take(std::string_view bytes);
    void close(std::string reason, Closing closing);
    void close(int error); // libuv's
    void end_turn();
    void flush();
    void check_drained();

    common::Loop& loop_;
    Sink* sink_;
    common::Handle<uv_pipe_t> pipe_;
    common::TurnHook hook_;
    FrameReader reader_;
    common::StreamWriter writer_;
    std::size_t begun_ = 0;
    std::string reason_;
    Closing closing_ = Closing::failure;
    bool open_ = true, close_reported_ = false, was_congested_ = false;
    bool* destroyed_ = nullptr; // set while a callback runs
};

} // namespace ipc
