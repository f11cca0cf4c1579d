#include "daemons/common/process/call_confinement.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <memory>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace common {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true; // a sanitizer's runtime traces and starts programs itself
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

// A call by its name; where libseccomp is too old to know the name, by the number it has on every processor.
struct Call {
    const char* name;
    int number = __NR_SCMP_ERROR;
};

// No daemon needs these, and each has been, or is designed as, a way around the confinement of a process.
// clang-format off
constexpr Call never[] = {
    // other processes: their memory, descriptors, scheduling
    {"ptrace"}, {"process_vm_readv"}, {"process_vm_writev"}, {"process_madvise", 440}, {"process_mrelease", 448}, {"kcmp"},
    {"pidfd_open", 434}, {"pidfd_getfd", 438}, {"pidfd_send_signal", 424}, {"migrate_pages"}, {"move_pages"}, {"ioprio_set"},
    {"tkill"},
    // the kernel's programmable parts
    {"bpf"}, {"perf_event_open"}, {"userfaultfd"}, {"io_uring_setup", 425}, {"io_uring_enter", 426},
    {"io_uring_register", 427}, {"keyctl"}, {"add_key"}, {"request_key"}, {"fanotify_init"}, {"lookup_dcookie"},
    {"modify_ldt"},
    // the machine
    {"kexec_load"}, {"kexec_file_load"}, {"init_module"}, {"finit_module"}, {"delete_module"}, {"reboot"}, {"acct"},
    {"quotactl"}, {"quotactl_fd", 443}, {"swapon"}, {"swapoff"}, {"settimeofday"}, {"clock_settime"}, {"clock_adjtime"},
    {"adjtimex"}, {"sethostname"}, {"setdomainname"}, {"syslog"}, {"iopl"}, {"ioperm"}, {"vhangup"}, {"personality"},
    // mounts and namespaces
    {"mount"}, {"umount2"}, {"pivot_root"}, {"chroot"}, {"open_tree", 428}, {"move_mount", 429}, {"fsopen", 430},
    {"fsconfig", 431}, {"fsmount", 432}, {"fspick", 433}, {"mount_setattr", 442}, {"open_tree_attr", 467},
    {"statmount", 457}, {"listmount", 458}, {"unshare"}, {"setns"},
    // changes to files that Landlock does not check: by handle, and of owners, modes and attributes
    {"open_by_handle_at"}, {"name_to_handle_at"}, {"chmod"}, {"fchmodat"}, {"fchmodat2", 452}, {"chown"}, {"lchown"},
    {"fchown"}, {"fchownat"}, {"setxattr"}, {"lsetxattr"}, {"fsetxattr"}, {"removexattr"}, {"lremovexattr"},
    {"fremovexattr"}, {"setxattrat", 463}, {"removexattrat", 466}, {"file_setattr", 469}, {"mknod"}, {"mknodat"},
    {"truncate"}, // Landlock checks it from Linux 6.2 on
    // another user
    {"setuid"}, {"setgid"}, {"setreuid"}, {"setregid"}, {"setresuid"}, {"setresgid"}, {"setgroups"}, {"setfsuid"},
    {"setfsgid"}, {"capset"},
    // memory and queues that processes of one user share
    {"shmget"}, {"shmat"}, {"shmctl"}, {"semget"}, {"semop"}, {"semtimedop"}, {"semctl"}, {"msgget"}, {"msgsnd"},
    {"msgrcv"}, {"msgctl"}, {"mq_open"}, {"mq_unlink"},
};
// clang-format on
// The C library uses other calls where these do not exist; their arguments are in memory, which no filter can examine.
constexpr Call absent[] = {{"clone3", 435}, {"openat2", 437}};
constexpr Call programs[] = {{"execve"}, {"execveat"}, {"fork"}, {"vfork"}};

class Filter {
public:
    Filter() : context_(seccomp_init(SCMP_ACT_ALLOW), seccomp_release) {
        keep(context_ ? 0 : -ENOMEM);
        if (!context_) return;
        keep(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)));
        keep(seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_NNP, 0)); // set already
    }
    template <class Calls> void refuse(const Calls& calls, std::uint16_t error) {
        for (const Call& each : calls) refuse(each, {}, error);
    }
    // If all of the arguments match.
    void refuse(const Call& call, std::initializer_list<scmp_arg_cmp> arguments, std::uint16_t error = EPERM) {
        if (failed_ != 0) return;
        int number = seccomp_syscall_resolve_name(call.name);
        if (number == __NR_SCMP_ERROR) number = call.number;
        if (number == __NR_SCMP_ERROR) return; // this processor's Linux has no such call
        const int done = seccomp_rule_add_array(context_.get(), SCMP_ACT_ERRNO(error), number,
                                                static_cast<unsigned>(arguments.size()), arguments.begin());
        if (done != -EDOM) keep(done); // EDOM: Linux implements it with another call on this processor
    }
    std::string load() {
        // The kernel caches its decision for most calls; for these it examines the arguments each time.
        for (const int often : {SCMP_SYS(openat), SCMP_SYS(fcntl), SCMP_SYS(ioctl)})
            if (failed_ == 0) keep(seccomp_syscall_priority(context_.get(), often, 255));
        if (failed_ == 0) keep(seccomp_load(context_.get()));
        return failed_ == 0 ? std::string() : std::string(std::strerror(-failed_));
    }

private:
    void keep(int outcome) {
        if (outcome < 0 && failed_ == 0) failed_ = outcome;
    }
    std::unique_ptr<void, decltype(&seccomp_release)> context_;
    int failed_ = 0;
};

scmp_arg_cmp argument(unsigned number, scmp_compare how, scmp_datum_t value, scmp_datum_t second = 0) {
    return {number, how, value, second};
}
// A 32-bit argument, as the kernel uses it: higher bits are ignored.
scmp_arg_cmp is(unsigned number, std::uint32_t value) {
    return argument(number, SCMP_CMP_MASKED_EQ, 0xffffffff, value);
}
scmp_arg_cmp has_none(unsigned number, scmp_datum_t bits) { return argument(number, SCMP_CMP_MASKED_EQ, bits, 0); }
scmp_arg_cmp has_all(unsigned number, scmp_datum_t bits) { return argument(number, SCMP_CMP_MASKED_EQ, bits, bits); }

// Threads are allowed; processes and namespaces are not.
void confine_clone(Filter& filter, bool programs) {
    if (!programs) filter.refuse({"clone"}, {has_none(0, CLONE_THREAD)});
    for (const scmp_datum_t space :
         {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET})
        filter.refuse({"clone"}, {has_all(0, space)});
}

// All daemons but two run as one user, and the kernel lets each of them kill the others. Apart from kill(2), a process
// can signal others as the owner that it sets for a descriptor.
void confine_signals(Filter& filter) {
    const auto self = static_cast<std::uint32_t>(::getpid());
    const auto other = argument(0, SCMP_CMP_NE, self);
    for (const char* call : {"kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"}) filter.refuse({call}, {other});
    for (const int command : {F_SETOWN, F_SETSIG, 15 /* F_SETOWN_EX */})
        filter.refuse({"fcntl"}, {is(1, static_cast<std::uint32_t>(command))});
    for (const unsigned request :
         {0x8901U /* FIOSETOWN */, 0x8902U /* SIOCSPGRP */, 0x5412U /* TIOCSTI */, 0x541cU /* TIOCLINUX */})
        filter.refuse({"ioctl"}, {is(1, request)});
    // Limits of other processes, and their priority.
    filter.refuse({"prlimit64"}, {argument(0, SCMP_CMP_NE, 0)});
    filter.refuse({"setpriority"}, {argument(1, SCMP_CMP_NE, 0)});
}

// UNIX sockets between daemons; TCP and UDP where IP is allowed; the C library's queries about interfaces.
void confine_sockets(Filter& filter, const AccessRights& rights) {
    const bool tcp = rights.network || !rights.tcp_ports.empty();
    const auto known = [&](std::uint32_t family) {
        return family == AF_UNIX || family == AF_NETLINK || (tcp && (family == AF_INET || family == AF_INET6));
    };
    constexpr std::uint32_t last_family = 64; // the existing ones, and some to come
    for (std::uint32_t family = 0; family < last_family; ++family)
        if (!known(family)) filter.refuse({"socket"}, {is(0, family)});
    filter.refuse({"socket"}, {argument(0, SCMP_CMP_GE, last_family)});
    filter.refuse({"socket"}, {is(0, AF_NETLINK), argument(2, SCMP_CMP_NE, NETLINK_ROUTE)});
    if (!tcp) return;
    constexpr scmp_datum_t type = 0xf; // without SOCK_CLOEXEC and SOCK_NONBLOCK
    for (const std::uint32_t family : {AF_INET, AF_INET6}) {
        for (const scmp_datum_t kind : {2, 3, 4, 5, 6, 10}) // all but SOCK_STREAM
            if (kind != SOCK_DGRAM || !rights.network)
                filter.refuse({"socket"}, {is(0, family), argument(1, SCMP_CMP_MASKED_EQ, type, kind)});
        for (const std::uint32_t protocol : {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}) // all but TCP and UDP
            filter.refuse({"socket"}, {is(0, family), is(2, protocol)});
        filter.refuse({"socket"},
                      {is(0, family), argument(2, SCMP_CMP_GT, IPPROTO_UDP)}); // MPTCP, which Landlock does not check
    }
    if (rights.network) return;
    // Landlock does not check the port of a connection that is begun by sending, either.
    filter.refuse({"sendto"}, {has_all(3, MSG_FASTOPEN)});
    filter.refuse({"sendmsg"}, {has_all(2, MSG_FASTOPEN)});
    filter.refuse({"sendmmsg"}, {has_all(3, MSG_FASTOPEN)});
}

} // namespace

std::string confine_calls(const AccessRights& rights) {
    if (sanitized) return "left out of sanitizer builds";
    Filter filter;
    filter.refuse(never, EPERM);
    filter.refuse(absent, ENOSYS);
    if (!rights.programs) filter.refuse(programs, EPERM);
    if (!rights.modes) filter.refuse({"fchmod"}, {});
    confine_clone(filter, rights.programs);
    confine_signals(filter);
    confine_sockets(filter, rights);
    // Up to Linux 6.1, Landlock checks only the right to read for this, although it empties the file.
    constexpr scmp_datum_t access = O_ACCMODE | O_TRUNC;
    filter.refuse({"open"}, {argument(1, SCMP_CMP_MASKED_EQ, access, O_TRUNC)});
    filter.refuse({"openat"}, {argument(2, SCMP_CMP_MASKED_EQ, access, O_TRUNC)});
    return filter.load();
}

} // namespace common
