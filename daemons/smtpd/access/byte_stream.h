// A client's connection as a stream of bytes, plain or under TLS: reads on demand, buffers bytes that the
// kernel does not take at once, closes in order. Knows sockets and TLS; must not know SMTP, and logs nothing.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include "libspool/message/content_memory.h"
#include <memory>
#include <string>
#include <string_view>

namespace smtpd {

class ByteStream {
public:
    // The user of the stream. Called from the loop; closed() also from within close() and end().
    class User {
    public:
        virtual void received(std::string_view bytes) = 0; // without TLS, a view for the call
        virtual void disconnected() = 0;                   // the client is gone; bytes received before remain valid
        virtual void handshake_done() = 0;
        virtual void handshake_failed(std::string_view why) = 0;
        virtual void decryption_failed(std::string_view why) = 0; // disconnected() follows
        virtual void turn_over() = 0; // after one or more of the above, and when more can be sent
        virtual void closed() = 0;    // the last call

    protected:
        ~User() = default;
    };

    // All outlive it. `memory`: the shorter it is, the less is read at a time.
    ByteStream(common::Loop& loop, common::Deadlines& deadlines, spool::ContentMemory& memory, User& user);
    ~ByteStream();
    ByteStream(const ByteStream&) = delete;
    ByteStream& operator=(const ByteStream&) = delete;

    // Once, first. False: the socket cannot be used.
    bool attach(common::Fd socket);
    // Bytes that arrived before anything was sent: a view for the current turn of the loop. Not for TLS.
    std::string_view received_early();

    enum class Reading : bool { no, yes };
    // `wanted`: whether the user takes more. Nothing is read while congested() or after stop_input(),
    // whatever is wanted.
    void update_reading(Reading wanted);
    // Nothing more is read, ever.
    void stop_input() { input_stopped_ = true; }

    enum class Last : std::uint8_t {
        no,
        close,  // the last bytes, and the connection ends with them
        linger, // the last bytes, and the client is given time to read them
    };
    // False: the client is gone.
    [[nodiscard]] bool send(std::string_view bytes, Last last);
    // More bytes wait to be sent than should.
    bool congested() const;
    // After send() with `last`: closes when everything is sent.
    void end(Last last);
    void close();
    bool is_open() const { return phase_ == Phase::open; } // neither ended nor closed

    // From now on every byte is of TLS. False: no context, or no memory.
    [[nodiscard]] bool start_tls(const std::shared_ptr<const tls::Context>& context, smtp::Duration within);
    bool handshaking() const { return handshaking_; }      // also once it has failed
    const tls::Session* tls() const { return tls_.get(); } // null: plain text

    std::size_t held() const; // bytes of memory

private:
    enum class Phase : std::uint8_t { open, last_write, lingering, closed };
    struct Write;

    static void on_alloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer);
    static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buffer);
    void read_ended();
    void receive_encrypted(std::string_view bytes);
    bool continue_handshake();             // true: it is done
    int write_now(std::string_view bytes); // how many were taken, or libuv's error
    int write_last(std::string_view bytes);
    bool write_rest();
    void written(int status);
    void linger();
    void deadline_passed();
    int descriptor() const; // -1: none

    common::Loop& loop_;
    spool::ContentMemory& memory_;
    User& user_;
    common::Handle<uv_tcp_t> tcp_;
    std::unique_ptr<tls::Session> tls_;
    common::Deadline deadline_; // of the handshake, and of the end
    std::string unsent_;        // follows write_
    Write* write_ = nullptr;    // being written by the kernel
    Phase phase_ = Phase::open;
    Last last_ = Last::no;
    bool reading_ = false, input_stopped_ = false, handshaking_ = false;
};

} // namespace smtpd
