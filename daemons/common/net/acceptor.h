// One listening socket: accepts connections from it, in batches, so that others have their turn. When descriptors or
// memory run out, accepting pauses instead of spinning. Knows nothing of the data on a connection.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include <functional>

namespace common {

class Acceptor {
public:
    using Accepted = std::function<void(Fd socket)>;   // non-blocking
    using OnShortage = std::function<void(int error)>; // before each pause: the error of accept(2)

    // `fd`: bound and listening.
    Acceptor(Loop& loop, Fd fd, Accepted accepted, OnShortage on_shortage = {});
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    // Accepts all connections that are pending now, without waiting for the loop.
    void drain() {
        while (accept()) {
        }
    }

private:
    void listen();
    bool accept(); // one batch; true: there may be more

    Fd fd_;
    Accepted accepted_;
    OnShortage on_shortage_;
    Handle<uv_poll_t> poll_;
    Timer pause_;
};

} // namespace common
