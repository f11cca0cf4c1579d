#include "daemons/common/logging/log_destination.h"
#include "daemons/common/config/config.h"
#include "daemons/common/runtime/fd.h"
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace common {

namespace {

// The first is rotated by logrotate; in single-user mode only the spool is writable.
std::string instead_of_syslog(const config::Config& config) {
    return config.mta.users ? "/var/log/postrider.log" : config.spool.directory + "/log";
}

bool missed(const config::Config& config) {
    return config.log.syslog && config.log.file.empty() && !syslog_answers(config.log.syslog_socket);
}

} // namespace

bool syslog_answers(const std::string& socket_path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    const Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return fd && connect(fd.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

std::string log_file(const config::Config& config) {
    return missed(config) ? instead_of_syslog(config) : config.log.file;
}

std::string syslog_warning(const config::Config& config) {
    if (!missed(config)) return {};
    const auto file = instead_of_syslog(config);
    const auto directory = file.substr(0, file.rfind('/'));
    const bool writable =
        access(file.c_str(), F_OK) == 0 ? access(file.c_str(), W_OK) == 0 : access(directory.c_str(), W_OK) == 0;
    return fmt::format(
        "no syslog daemon listens at {} (log.syslog_socket) and log.file is not set: log lines {}; start a syslog "
        "daemon, or "
        "set log.file and syslog = false in [log]",
        config.log.syslog_socket,
        writable ? "go to " + file : fmt::format("are lost, because {} is not writable either", file));
}

} // namespace common
