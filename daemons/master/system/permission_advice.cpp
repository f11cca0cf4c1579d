#include "daemons/master/system/permission_advice.h"
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace master {

namespace {

std::string name_of(uid_t uid) {
    const auto* entry = getpwuid(uid); // about to end: no service waits for it
    return entry != nullptr ? entry->pw_name : fmt::format("user {}", uid);
}

std::string about_rights(const std::string& directory, const std::optional<common::Identity>& service) {
    const uid_t ours = service ? service->uid : geteuid();
    const auto who =
        service ? fmt::format("the daemons run as {}", service->name) : fmt::format("running as {}", name_of(ours));
    const auto owner = service ? service->name : std::to_string(ours);
    struct stat facts;
    if (stat(directory.c_str(), &facts) != 0)
        return fmt::format(" ({}, which needs search permission on its parent directories; or set "
                           "spool.directory to another directory)",
                           who);
    if (facts.st_uid != ours)
        return fmt::format(
            " ({0} belongs to {1}, mode {2:04o}, and {3}: \"chown -R {4}: {0}\" changes the owner; or set "
            "spool.directory to another directory)",
            directory, name_of(facts.st_uid), facts.st_mode & 07777, who, owner);
    return fmt::format(" ({1}, and some files in {0} belong to another user: \"chown -R {2}: {0}\" fixes this)",
                       directory, who, owner);
}

} // namespace

spool::Error advise_on_spool(spool::Error error, const std::string& directory,
                             const std::optional<common::Identity>& service) {
    if (error.code == EALREADY) return error;
    if (error.what.find(directory) == error.what.npos) error.what = fmt::format("spool {}: {}", directory, error.what);
    switch (error.code) {
    case EACCES:
    case EPERM: error.what += about_rights(directory, service); break;
    case EROFS:
        error.what += " (if \"dmesg\" shows no disk errors, \"mount -o remount,rw\" makes it writable; or set "
                      "spool.directory to another directory)";
        break;
    case ENOSPC:
    case EDQUOT:
        error.what += fmt::format(" (free some space: \"df -h {0}; df -i {0}\" shows what is full)", directory);
        break;
    case ENOTDIR: error.what += fmt::format(" (spool.directory must be a directory, but {} is not)", directory); break;
    default: break;
    }
    return error;
}

spool::Error advise_on_log(spool::Error error, const std::string& file) {
    const auto directory = file.substr(0, file.rfind('/'));
    switch (error.code) {
    case ENOENT:
        error.what +=
            fmt::format(" (\"mkdir -p {}\" creates its directory; or set log.file to another file)", directory);
        break;
    case EACCES:
    case EPERM:
        error.what +=
            fmt::format(" (running as {}, which needs write permission on the file and search permission on {}; or set "
                        "log.file to another file)",
                        name_of(geteuid()), directory);
        break;
    case ENOTDIR: error.what += fmt::format(" ({} is not a directory: set log.file to another file)", directory); break;
    case EISDIR: error.what += " (log.file must be a file, or \"\" to use only syslog)"; break;
    case EROFS:
    case ENOSPC:
    case EDQUOT:
        error.what +=
            fmt::format(" (\"df -h {0}; df -i {0}\" shows the disk usage; or set log.file to another file)", directory);
        break;
    case ENXIO: error.what += " (it is a pipe that no process reads)"; break;
    default: break;
    }
    return error;
}

std::string other_mail_system_of(const std::string& directory) {
    constexpr struct {
        std::string_view name, first, second; // directories that only its queue has
    } systems[] = {{"Postfix", "maildrop", "active"}, {"Exim", "input", "msglog"}, {"qmail", "mess", "intd"}};
    const auto has = [&](std::string_view name) {
        struct stat facts;
        return stat(fmt::format("{}/{}", directory, name).c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
    };
    for (const auto& [name, first, second] : systems)
        if (has(first) && has(second)) return std::string(name);
    return {};
}

} // namespace master
