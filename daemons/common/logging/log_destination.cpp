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
std::string default_file(const config::Config& config) {
    return config.mta.users ? "/var/log/postrider.log" : config.spool.directory + "/log";
}

bool needs_default(const config::Config& config) {
    const auto& log = config.log;
    return log.file.empty() && !(log.syslog && syslog_answers(log.syslog_socket));
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// By the user that starts the daemons: root if they run as a user of their own, regardless of the caller.
bool can_be_written(const config::Config& config, const std::string& file) {
    const auto writable = [&](const std::string& path) {
        const bool for_root = config.mta.users && geteuid() != 0;
        return access(path.c_str(), F_OK) == 0 && (for_root || access(path.c_str(), W_OK) == 0);
    };
    if (access(file.c_str(), F_OK) == 0) return writable(file);
    const auto directory = directory_of(file);
    if (!config.mta.users && access(directory.c_str(), F_OK) != 0)
        return writable(directory_of(directory)); // the spool, which the first start creates
    return writable(directory);
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
    return needs_default(config) ? default_file(config) : config.log.file;
}

std::string log_warning(const config::Config& config) {
    if (!needs_default(config)) return {};
    const auto file = default_file(config);
    const auto where = can_be_written(config, file) ? "go to " + file
                                                    : fmt::format("are lost, because {} is not writable either", file);
    if (!config.log.syslog)
        return fmt::format("log.file is not set and log.syslog is false: log lines {}; set one of them in [log]",
                           where);
    return fmt::format("no syslog daemon listens at {} (log.syslog_socket) and log.file is not set: log lines {}; "
                       "start a syslog daemon, or set log.file and syslog = false in [log]",
                       config.log.syslog_socket, where);
}

} // namespace common
