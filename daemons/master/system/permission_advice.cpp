#include "daemons/master/system/permission_advice.h"
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace master {

namespace {

std::string name_of(uid_t uid) {
    const auto* entry = getpwuid(uid); // about to end: nobody waits for it
    return entry != nullptr ? entry->pw_name : fmt::format("user {}", uid);
}

std::string about_rights(const std::string& directory, const std::optional<common::Identity>& service) {
    const uid_t ours = service ? service->uid : geteuid();
    const auto who =
        service ? fmt::format("the daemons run as {}", service->name) : fmt::format("this runs as {}", name_of(ours));
    const auto owner = service ? service->name : std::to_string(ours);
    struct stat facts;
    if (stat(directory.c_str(), &facts) != 0)
        return fmt::format(" ({}: let it pass the directories above, or choose another place with spool.directory)", who);
    if (facts.st_uid != ours)
        return fmt::format(
            " ({0} belongs to {1}, mode {2:04o}, and {3}: \"chown -R {4}: {0}\" gives it to them, or choose another "
            "place with spool.directory)",
            directory, name_of(facts.st_uid), facts.st_mode & 07777, who, owner);
    return fmt::format(" ({1}, and something in {0} belongs to somebody else: \"chown -R {2}: {0}\" mends that)",
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
        error.what +=
            " (\"mount -o remount,rw\" makes it writable if the disk is well, which \"dmesg\" tells; or choose another "
            "place with spool.directory)";
        break;
    case ENOSPC:
    case EDQUOT: error.what += fmt::format(" (make room: \"df -h {0}; df -i {0}\" shows what is full)", directory); break;
    case ENOTDIR: error.what += fmt::format(" (spool.directory must name a directory, and {} is none)", directory); break;
    default: break;
    }
    return error;
}

spool::Error advise_on_log(spool::Error error, const std::string& file) {
    const auto directory = file.substr(0, file.rfind('/'));
    switch (error.code) {
    case ENOENT:
        error.what +=
            fmt::format(" (\"mkdir -p {}\" makes its directory, or choose another place with log.file)", directory);
        break;
    case EACCES:
    case EPERM:
        error.what += fmt::format(
            " (this runs as {}, who must be let write it and pass {}; or choose another place with log.file)",
            name_of(geteuid()), directory);
        break;
    case ENOTDIR: error.what += fmt::format(" ({} is none: choose another place with log.file)", directory); break;
    case EISDIR: error.what += " (log.file must name a file; \"\" is none, and syslog is used)"; break;
    case EROFS:
    case ENOSPC:
    case EDQUOT:
        error.what += fmt::format(
            " (\"df -h {0}; df -i {0}\" shows that disk; or choose another place with log.file)", directory);
        break;
    case ENXIO: error.what += " (it is a pipe that nobody reads from)"; break;
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
