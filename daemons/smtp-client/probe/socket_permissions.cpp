#include "daemons/smtp-client/probe/socket_permissions.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smtp_client {

namespace {

// The first part of the path that is inaccessible is the reason why the whole path is.
std::string first_obstacle(const std::string& path) {
    for (auto slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
        const auto part = path.substr(0, slash);
        struct stat facts;
        if (::stat(part.c_str(), &facts) != 0) return fmt::format("{}: {}", part, std::strerror(errno));
        if (slash == path.npos) return "it exists now"; // it was made meanwhile
        if (!S_ISDIR(facts.st_mode)) return part + " is not a directory";
        if (::access(part.c_str(), X_OK) != 0)
            return fmt::format("no search permission on the directory {} (mode {:04o}, user {}, group {})", part,
                               facts.st_mode & 07777, facts.st_uid, facts.st_gid);
    }
}

} // namespace

std::string describe_socket(const std::string& path) {
    struct stat facts;
    const auto what = ::stat(path.c_str(), &facts) != 0
                          ? first_obstacle(path)
                          : fmt::format("{} is {} (mode {:04o}, user {}, group {})", path,
                                        S_ISSOCK(facts.st_mode) ? "a socket" : "not a socket", facts.st_mode & 07777,
                                        facts.st_uid, facts.st_gid);
    return fmt::format("{}; this process runs as user {}, group {}", what, ::geteuid(), ::getegid());
}

} // namespace smtp_client
