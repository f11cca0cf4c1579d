#include "daemons/common/process/privileges.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace common {

spool::Result<Identity> look_up_user(const std::string& name) {
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> space(16384);
    int failed;
    while ((failed = getpwnam_r(name.c_str(), &entry, space.data(), space.size(), &found)) == ERANGE)
        space.resize(space.size() * 2);
    if (!found)
        return std::unexpected(failed ? spool::Error::from_errno("look up user " + name, failed)
                                      : spool::Error{ENOENT, "there is no user " + name});
    Identity user{entry.pw_uid, entry.pw_gid, {}, name, entry.pw_dir};
    int count = 64;
    user.groups.resize(static_cast<std::size_t>(count));
    while (getgrouplist(name.c_str(), entry.pw_gid, user.groups.data(), &count) < 0)
        user.groups.resize(static_cast<std::size_t>(count));
    user.groups.resize(static_cast<std::size_t>(count));
    return user;
}

spool::Result<gid_t> look_up_group(const std::string& name) {
    group entry{};
    group* found = nullptr;
    std::vector<char> space(16384);
    int failed;
    while ((failed = getgrnam_r(name.c_str(), &entry, space.data(), space.size(), &found)) == ERANGE)
        space.resize(space.size() * 2);
    if (!found)
        return std::unexpected(failed ? spool::Error::from_errno("look up group " + name, failed)
                                      : spool::Error{ENOENT, "there is no group " + name});
    return entry.gr_gid;
}

spool::Result<> become(const Identity& user) {
    if (setgroups(user.groups.size(), user.groups.data()) != 0)
        return std::unexpected(spool::Error::from_errno("set the groups of " + user.name));
    if (setresgid(user.gid, user.gid, user.gid) != 0)
        return std::unexpected(spool::Error::from_errno("set the group of " + user.name));
    if (setresuid(user.uid, user.uid, user.uid) != 0)
        return std::unexpected(spool::Error::from_errno("become " + user.name));
    if (user.uid != 0 && setuid(0) == 0)
        return std::unexpected(spool::Error{EPERM, "become " + user.name +
                                                       ": root privileges could be "
                                                       "regained"});
    return {};
}

spool::Result<> no_new_privileges() {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return std::unexpected(spool::Error::from_errno("disable gaining privileges"));
    return {};
}

void keep_standard_descriptors() {
    for (;;) {
        const int fd = open("/dev/null", O_RDWR);
        if (fd > 2) close(fd);
        if (fd < 0 || fd > 2) return;
    }
}

void close_descriptors_except(int keep, int last) {
    if (keep > 3 && close_range(3, static_cast<unsigned>(keep) - 1, 0) != 0) return;
    close_range(static_cast<unsigned>(keep < 3 ? 3 : std::max(keep, last) + 1), ~0U, 0);
}

std::vector<std::string> minimal_environment() {
    std::vector<std::string> kept = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
    if (const char* zone = std::getenv("TZ")) kept.push_back(std::string("TZ=") + zone);
    return kept;
}

std::uint64_t raise_descriptor_limit() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    const auto before = std::exchange(files.rlim_cur, files.rlim_max);
    return setrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_max : before;
}

void keep_memory_small() {
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void keep_memory_private() {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return; // their runtime inspects the process
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return;
#else
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

void give_memory_back() { malloc_trim(0); }

} // namespace common
