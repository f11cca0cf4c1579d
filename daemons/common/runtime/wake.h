// Wakes a loop from another thread: the only thing here that other threads may touch.
#pragma once
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include <functional>

namespace common {

class Wake {
public:
    // `woken` runs on the loop's thread, once or more often after any number of signals.
    // A Wake keeps the loop running unless unref() is called.
    Wake(Loop& loop, std::function<void()> woken) : woken_(std::move(woken)) {
        async_ = make_handle<uv_async_t>(this, [&](uv_async_t* h) {
            return uv_async_init(&loop.uv(), h, [](uv_async_t* a) {
                if (auto* self = owner_of<Wake>(a)) self->woken_();
            });
        });
    }
    Wake(const Wake&) = delete;
    Wake& operator=(const Wake&) = delete;

    // From any thread, as long as this object lives; cheap when a signal is already under way.
    void signal() { uv_async_send(async_.get()); }
    void unref() { uv_unref(reinterpret_cast<uv_handle_t*>(async_.get())); }

private:
    std::function<void()> woken_;
    Handle<uv_async_t> async_;
};

} // namespace common
