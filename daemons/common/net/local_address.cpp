#include "daemons/common/net/local_address.h"
#include "daemons/common/runtime/fd.h"
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <optional>
#include <sys/socket.h>

namespace common {

std::optional<std::string> local_address_error(const IpAddress& address) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(address.to_string().c_str(), nullptr, &hints, &found); error != 0)
        return ::gai_strerror(error);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
    const Fd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || ::bind(fd.number(), found->ai_addr, found->ai_addrlen) != 0) return std::strerror(errno);
    return std::nullopt;
}

} // namespace common
