#include "daemons/common/submission/submit_client.h"
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <utility>

namespace common {

using proto::submit::Answer;

namespace {

constexpr int patience_ms = 5 * 60 * 1000; // for the next progress

Answer again(std::string text) { return {EX_TEMPFAIL, {}, std::move(text)}; }

} // namespace

std::optional<Answer> hand_over(Fd socket, const std::function<Made(std::string& wire)>& next) {
    ipc::FrameReader reader;
    std::string wire;
    std::size_t sent = 0;
    bool more = true;
    std::array<char, 4096> buffer;
    for (;;) {
        while (more && wire.size() - sent < proto::submit::largest_content) {
            if (sent > 0) wire.erase(0, std::exchange(sent, 0));
            const auto made = next(wire);
            if (made == Made::broken) return {};
            more = made == Made::frame;
        }
        const bool to_send = sent < wire.size();
        const auto lost = [&]() -> std::optional<Answer> {
            if (more || to_send) return {};
            return again("the mail system closed the connection before it answered; the message may have "
                         "been accepted");
        };
        pollfd wait{socket.number(), static_cast<short>(POLLIN | (to_send ? POLLOUT : 0)), 0};
        const int ready = ::poll(&wait, 1, patience_ms);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return again("the mail system does not answer");
        if (wait.revents & (POLLIN | POLLHUP | POLLERR)) {
            const auto n = ::recv(socket.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return lost();
            if (n > 0) {
                reader.feed({buffer.data(), static_cast<std::size_t>(n)});
                if (const auto frame = reader.next()) {
                    auto message = ipc::decode<proto::submit::Message>(*frame);
                    if (message && std::holds_alternative<Answer>(*message)) return std::get<Answer>(*message);
                    return again("the mail system's answer is invalid");
                }
                reader.keep();
            }
        }
        if (to_send && (wait.revents & POLLOUT)) {
            const auto n = ::send(socket.number(), wire.data() + sent, wire.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n > 0) sent += static_cast<std::size_t>(n);
            // An error shows at the next look, behind an answer that may have come before it.
        }
    }
}

} // namespace common
