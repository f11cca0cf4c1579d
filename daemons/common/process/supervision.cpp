#include "daemons/common/process/supervision.h"
#include "daemons/common/ipc/message.h"
#include <cassert>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>

namespace common {

namespace supervision = proto::supervision;

MasterLink::MasterLink(Loop& loop, Fd fd, Callbacks callbacks)
    : loop_(loop), fd_(std::move(fd)), callbacks_(std::move(callbacks)),
      poll_(make_poll(loop.uv(), this, fd_.number())) { // makes it non-blocking
    watch();
}

MasterLink::~MasterLink() {
    if (destroyed_) *destroyed_ = true;
}

void MasterLink::watch() {
    const int events = UV_READABLE | (waiting_.empty() ? 0 : UV_WRITABLE);
    uv_poll_start(poll_.get(), events, [](uv_poll_t* poll, int status, int events) {
        if (auto* self = owner_of<MasterLink>(poll)) self->ready(status < 0 ? UV_READABLE : events);
    });
}

void MasterLink::send_message(const supervision::Message& message, const std::vector<int>& descriptors) {
    if (closed_) return;
    assert(descriptors.size() <= max_descriptors);
    Packet packet;
    std::visit([&](const auto& m) { ipc::encode<supervision::Message>(m, packet.bytes); }, message);
    if (waiting_.empty() && transmit(packet.bytes, descriptors)) return;
    for (int fd : descriptors) packet.descriptors.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 3));
    waiting_.push_back(std::move(packet));
    watch();
}

bool MasterLink::transmit(const std::string& bytes, const std::vector<int>& descriptors) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char space[CMSG_SPACE(max_descriptors * sizeof(int))];
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    if (!descriptors.empty()) {
        packet.msg_control = space;
        packet.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
        cmsghdr* header = CMSG_FIRSTHDR(&packet);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
        std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    if (sendmsg(fd_.number(), &packet, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
    return errno != EAGAIN && errno != ENOBUFS; // a dead peer is noticed when reading
}

void MasterLink::ready(int events) {
    bool destroyed = false;
    destroyed_ = &destroyed;
    if (events & UV_WRITABLE) {
        while (!waiting_.empty()) {
            std::vector<int> descriptors;
            for (const auto& fd : waiting_.front().descriptors) descriptors.push_back(fd.number());
            if (!transmit(waiting_.front().bytes, descriptors)) break;
            waiting_.pop_front();
        }
        watch();
    }
    if (events & UV_READABLE) {
        for (int i = 0; i < 16 && !closed_; ++i) {
            const bool more = receive();
            if (destroyed) return;
            if (!more) break;
        }
    }
    destroyed_ = nullptr;
}

// One packet; false if there was none.
bool MasterLink::receive() {
    const auto room = loop_.read_buffer();
    iovec part{room.data(), max_packet};
    alignas(cmsghdr) char space[CMSG_SPACE(max_descriptors * sizeof(int))];
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = space;
    packet.msg_controllen = sizeof space;
    const auto n = recvmsg(fd_.number(), &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
        close(n == 0 ? "closed" : std::strerror(errno));
        return false;
    }
    std::vector<Fd> descriptors;
    for (cmsghdr* header = CMSG_FIRSTHDR(&packet); header; header = CMSG_NXTHDR(&packet, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
            descriptors.emplace_back(fd);
        }
    }
    if (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        close("message too long");
        return false;
    }
    auto message = ipc::decode<supervision::Message>({room.data(), static_cast<std::size_t>(n)});
    if (!message) {
        close("malformed message: " + message.error().why);
        return false;
    }
    callbacks_.on_message(*std::move(message), std::move(descriptors));
    return true;
}

void MasterLink::close(const std::string& reason) {
    if (closed_) return;
    closed_ = true;
    poll_.reset();
    callbacks_.on_closed(reason);
}

} // namespace common
