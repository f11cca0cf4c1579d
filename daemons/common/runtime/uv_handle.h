// Ownership of libuv handles. libuv may use a handle until its close callback has run, so the owner releases it
// at once and the memory is freed later; callbacks that arrive in between find `data` null and must do nothing.
#pragma once
#include <memory>
#include <utility>
#include <uv.h>

namespace common {

template <class H> struct CloseHandle {
    void operator()(H* handle) const {
        handle->data = nullptr;
        uv_close(reinterpret_cast<uv_handle_t*>(handle),
                 [](uv_handle_t* closed) { delete reinterpret_cast<H*>(closed); });
    }
};
template <class H> using Handle = std::unique_ptr<H, CloseHandle<H>>;

// make_handle<uv_timer_t>(owner, [&](uv_timer_t* h) { return uv_timer_init(&loop, h); }); null if init fails.
template <class H, class Init> Handle<H> make_handle(void* owner, Init init) {
    auto* handle = new H;
    if (init(handle) != 0) {
        delete handle;
        return nullptr;
    }
    handle->data = owner;
    return Handle<H>(handle);
}

inline Handle<uv_tcp_t> make_tcp(uv_loop_t& loop, void* owner) {
    return make_handle<uv_tcp_t>(owner, [&](uv_tcp_t* h) { return uv_tcp_init(&loop, h); });
}
inline Handle<uv_pipe_t> make_pipe(uv_loop_t& loop, void* owner) {
    return make_handle<uv_pipe_t>(owner, [&](uv_pipe_t* h) { return uv_pipe_init(&loop, h, 0); });
}
inline Handle<uv_timer_t> make_timer(uv_loop_t& loop, void* owner) {
    return make_handle<uv_timer_t>(owner, [&](uv_timer_t* h) { return uv_timer_init(&loop, h); });
}
inline Handle<uv_signal_t> make_signal(uv_loop_t& loop, void* owner) {
    return make_handle<uv_signal_t>(owner, [&](uv_signal_t* h) { return uv_signal_init(&loop, h); });
}
inline Handle<uv_poll_t> make_poll(uv_loop_t& loop, void* owner, int fd) {
    return make_handle<uv_poll_t>(owner, [&](uv_poll_t* h) { return uv_poll_init(&loop, h, fd); });
}

template <class H> uv_stream_t* stream_of(const Handle<H>& handle) {
    return reinterpret_cast<uv_stream_t*>(handle.get());
}
// In a callback: the object the handle belongs to, or null if it has let go.
template <class Owner, class H> Owner* owner_of(H* handle) { return static_cast<Owner*>(handle->data); }

} // namespace common
