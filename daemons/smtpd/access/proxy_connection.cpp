#include "daemons/smtpd/access/proxy_connection.h"
#include <cerrno>
#include <sys/socket.h>

namespace smtpd {

std::unique_ptr<ProxyConnection> ProxyConnection::create(common::Loop& loop, common::Deadlines& deadlines,
                                                         common::Fd socket, const common::Endpoint& balancer,
                                                         smtp::Duration patience, Done done) {
    std::unique_ptr<ProxyConnection> proxied(
        new ProxyConnection(loop, deadlines, std::move(socket), balancer, std::move(done)));
    if (!proxied->poll_) return nullptr;
    proxied->deadline_.set(common::Loop::now().monotonic + patience);
    uv_poll_start(proxied->poll_.get(), UV_READABLE, [](uv_poll_t* handle, int, int) {
        if (auto* self = common::owner_of<ProxyConnection>(handle)) self->readable();
    });
    return proxied;
}

ProxyConnection::ProxyConnection(common::Loop& loop, common::Deadlines& deadlines, common::Fd socket,
                                 const common::Endpoint& balancer, Done done)
    : socket_(std::move(socket)), balancer_(balancer), done_(std::move(done)),
      deadline_(deadlines, [this] { finish(std::unexpected(smtp::Malformed{"not received in time"})); }),
      poll_(common::make_poll(loop.uv(), this, socket_.number())) {}

// Looks first and takes then: not a byte more than the header has.
void ProxyConnection::readable() {
    char space[common::ProxyHeader::most];
    const auto room = sizeof space - header_.size();
    const auto n = ::recv(socket_.number(), space, room, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (n <= 0) return finish(std::unexpected(smtp::Malformed{"the connection was closed"}));
    const auto before = header_.size();
    header_.append(space, static_cast<std::size_t>(n));
    const auto parsed = common::ProxyHeader::parse(header_);
    if (!parsed) return finish(std::unexpected(parsed.error()));
    const auto taken = *parsed ? (*parsed)->size - before : static_cast<std::size_t>(n);
    if (::recv(socket_.number(), space, taken, MSG_DONTWAIT) != static_cast<ssize_t>(taken))
        return finish(std::unexpected(smtp::Malformed{"the connection was closed"}));
    if (*parsed) finish(**parsed);
}

common::Fd ProxyConnection::take_socket() {
    poll_.reset();
    return std::move(socket_);
}

void ProxyConnection::finish(std::expected<common::ProxyHeader, smtp::Malformed> result) {
    deadline_.clear();
    poll_.reset();
    const auto done = std::move(done_);
    done(std::move(result));
}

} // namespace smtpd
