#include "daemons/master/spool_advice.h"
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
    const auto who = service ? fmt::format("the daemons run as {}", service->name) : fmt::format("this runs as {}", name_of(ours));
    const auto owner = service ? service->name : std::to_string(ours);
    struct stat facts;
    if (stat(directory.c_str(), &facts) != 0)
        return fmt::format(" ({}: let it pass the directories above, or choose another place with spool.directory)", who);
    if (facts.st_uid != ours)
        return fmt::format(" ({0} belongs to {1}, mode {2:04o}, and {3}: \"chown -R {4}: {0}\" gives it to them, or choose another "
                           "place with spool.directory)",
                           directory, name_of(facts.st_uid), facts.st_mode & 07777, who, owner);
    return fmt::format(" ({1}, and something in {0} belongs to somebody else: \"chown -R {2}: {0}\" mends that)", directory, who, owner);
}

} // namespace

spool::Error advise(spool::Error error, const std::string& directory, const std::optional<common::Identity>& service) {
    switch (error.code) {
    case EACCES:
    case EPERM: error.what += about_rights(directory, service); break;
    case EROFS:
        error.what += fmt::format(" (\"mount -o remount,rw\" makes it writable if the disk is well, which \"dmesg\" tells; or choose "
                                  "another place with spool.directory)");
        break;
    case ENOSPC:
    case EDQUOT: error.what += fmt::format(" (make room: \"df -h {0}; df -i {0}\" shows what is full)", directory); break;
    case ENOTDIR: error.what += fmt::format(" (spool.directory must name a directory, and {} is none)", directory); break;
    default: break;
    }
    return error;
}

} // namespace master
