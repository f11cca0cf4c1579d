// One request and its answer, which may be given later, at once or as a stream. Kept by its handler; the client may
// have gone meanwhile. Knows no routes.
#pragma once
#include "daemons/common/web/message.h"
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace web {

class Exchange {
public:
    // What a stream may keep for a client that reads slowly: beyond it the connection is cut.
    static constexpr std::size_t most_unread = 1 << 20;

    // What the server does when something is ready to be sent. Empty once the connection has gone.
    struct Wakers {
        std::function<void()> answered, cut;
    };
    Exchange(Request request, Wakers wakers) : request_(std::move(request)), wakers_(std::move(wakers)) {}
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    Request& request() { return request_; }
    bool gone() const { return gone_; }
    // Called once, if the client goes before it has the whole answer, or has not asked for the stream itself (HEAD).
    // Only a handler that sets this before it returns learns at once that the client has gone: one that has ended its
    // sending side has gone, too. Others learn when they answer.
    void on_gone(std::function<void()> callback) { left_ = std::move(callback); }
    // Called each time all that was written to a stream has been taken.
    void on_drained(std::function<void()> callback) { drained_ = std::move(callback); }

    // Once: the whole answer, or the beginning of a stream, to which write() adds until end().
    void respond(Response response);
    void begin_stream(Response head);
    void write(std::string_view text);
    void end();
    // A stream that cannot be continued: the client sees that something is missing.
    void abort();
    std::size_t unread() const { return response_.body.size() - taken_; }

    // ---- for the server ----
    bool answered() const { return answered_; }
    bool streams() const { return streams_; }
    bool ended() const { return ended_; }
    Response& response() { return response_; }
    // Of a stream, what is to be sent next; at most `size` bytes.
    std::size_t take(char* into, std::size_t size);
    void leave(bool complete);
    bool wants_to_know() const { return static_cast<bool>(left_); }
    bool wants_drained() const { return static_cast<bool>(drained_); }
    void drained() const {
        if (!gone_ && !ended_) drained_();
    }

private:
    Request request_;
    Wakers wakers_;
    std::function<void()> left_, drained_;
    Response response_; // of a stream: its body is what is unsent
    std::size_t taken_ = 0;
    bool answered_ = false, streams_ = false, ended_ = false, gone_ = false;
};

} // namespace web
