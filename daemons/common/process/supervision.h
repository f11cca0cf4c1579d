// The wire between master and a daemon: messages of proto/supervision.h as packets of a SOCK_SEQPACKET pair,
// descriptors riding along. Used by both ends; never blocks.
#pragma once
#include "daemons/common/proto/supervision.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace common {

class MasterLink {
public:
    // Each callback may destroy the link, as the last thing it does.
    struct Callbacks {
        std::function<void(proto::supervision::Message&&, std::vector<Fd> descriptors)> on_message;
        std::function<void(const std::string& reason)> on_closed; // once; the other end has exited or sent invalid data
    };

    MasterLink(Loop& loop, Fd fd, Callbacks callbacks);
    ~MasterLink();
    MasterLink(const MasterLink&) = delete;
    MasterLink& operator=(const MasterLink&) = delete;

    // `descriptors` are only borrowed. What the socket does not take now is kept (with copies) and sent later.
    template <class M> void send(const M& message, const std::vector<int>& descriptors = {}) {
        send_message(proto::supervision::Message(message), descriptors);
    }

    static constexpr std::size_t max_packet = 65536, max_descriptors = 250;

private:
    struct Packet {
        std::string bytes;
        std::vector<Fd> descriptors;
    };
    void send_message(const proto::supervision::Message& message, const std::vector<int>& descriptors);
    bool transmit(const std::string& bytes, const std::vector<int>& descriptors); // false: try again later
    void watch();
    void ready(int events);
    bool receive();
    void close(const std::string& reason);

    Loop& loop_;
    Fd fd_;
    Callbacks callbacks_;
    Handle<uv_poll_t> poll_;
    std::deque<Packet> waiting_;
    bool closed_ = false;
    bool* destroyed_ = nullptr;
};

} // namespace common
