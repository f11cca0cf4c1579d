#include "daemons/common/confinement.h"
#include "daemons/common/idempotency/ledger.h"
#include "daemons/common/tables/specification.h"
#include "libspool/layout.h"
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace common {

using proto::Role;

// Of the lookup tables that are asked over the network.
static std::vector<std::uint16_t> ports_of_tables(const config::Config& config) {
    std::vector<std::uint16_t> ports;
    const auto add = [&](const ServiceAddress& address) {
        if (address.endpoint.port != 0) ports.push_back(address.endpoint.port);
    };
    for (const auto& section : config.tables) add(section.address);
    for (const auto& named : config.tables_named)
        if (const auto what = tables::Specification::parse(named.table)) add(what->address);
    return ports;
}

Allowance allowance_of(Role role, std::uint32_t instance, const config::Config& config) {
    const auto& spool = config.spool.directory;
    const auto own = [&] {
        return spool + "/" + directory_of(spool::QueueId{0x100u | instance}, spool::Location::incoming);
    };
    Allowance a;
    // What libraries look at: time zones, name services, certificates of authorities, devices.
    a.read = {"/etc", "/usr", "/lib", "/lib64", "/proc", "/sys/devices/system/cpu", "/run/nscd",
              // where /etc/resolv.conf may lead
              "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"};
    a.write = {"/dev/null", "/dev/urandom"};
    a.look = {spool};
    switch (role) {
    case Role::smtpd:
        a.write.push_back(own());
        a.write.push_back(idempotency::directory_in(spool));
        break;
    case Role::pickup:
        a.write.push_back(own());
        a.write.push_back(spool + "/drop");
        a.write.push_back(idempotency::directory_in(spool));
        break;
    case Role::bounce:
        a.read.push_back(spool + "/incoming");
        a.read.push_back(spool + "/messages");
        if (!config.bounce.templates.empty()) a.read.push_back(config.bounce.templates);
        a.write.push_back(own());
        a.write.push_back(spool + "/bad");
        a.network = false;
        break;
    case Role::smtp_client:
        if (!config.smtp_client.tls_authorities.empty())
            a.read.push_back(config.smtp_client.tls_authorities);
        a.read.push_back(spool + "/incoming");
        a.read.push_back(spool + "/messages");
        break;
    case Role::router: // of the spool it has its own state only
        a.look.clear();
        if (!config.smtp_client.tls_authorities.empty())
            a.read.push_back(config.smtp_client.tls_authorities);
        a.write.push_back(spool + "/state");
        break;
    case Role::categorizer: // aliases and what they include lie anywhere
        a.read = {"/"};
        a.write.push_back(spool + "/state/categorizer");
        a.write.push_back(spool + "/suppression"); // readers of the list mark the place they read at
        a.network = false;
        a.tcp_ports = ports_of_tables(config);
        break;
    case Role::metrics: // what time it is where we are, and itself
        a.read = {"/etc/localtime", "/usr/share/zoneinfo", "/proc/self"};
        a.look.clear();
        a.write.clear();
        a.network = false;
        break;
    case Role::queue_manager:
        a.write.push_back(spool);
        a.network = false;
        break;
    case Role::local: // becomes the recipient, and is then kept by the recipient's rights
    case Role::master: a.files_confined = false, a.programs = true; break;
    }
#ifdef POSTRIDER_KILL_POINTS
    if (const char* record = std::getenv("POSTRIDER_KILL_RECORD")) { // tests count where they killed
        const std::string path = record;
        a.write.push_back(path.substr(0, path.rfind('/')));
    }
#endif
    return a;
}

std::vector<std::string> beyond(const Allowance& held, const Allowance& wanted) {
    std::vector<std::string> out;
    if (!held.files_confined) return out;
    const auto look_for = [&](const std::vector<std::string>& paths,
                              std::initializer_list<const std::vector<std::string>*> allowed) {
        for (const auto& path : paths) {
            const bool reached = std::ranges::any_of(allowed, [&](const auto* places) {
                return std::ranges::any_of(*places, [&](const auto& place) {
                    return path == place || path.starts_with(place.ends_with('/') ? place : place + "/");
                });
            });
            if (!reached) out.push_back(path);
        }
    };
    look_for(wanted.read, {&held.read, &held.write});
    look_for(wanted.look, {&held.look, &held.read, &held.write});
    look_for(wanted.write, {&held.write});
    if (held.network) return out;
    for (const auto port : wanted.tcp_ports)
        if (std::ranges::find(held.tcp_ports, port) == held.tcp_ports.end()) out.push_back(fmt::format("TCP port {}", port));
    return out;
}

namespace {

constexpr std::uint64_t read_file = LANDLOCK_ACCESS_FS_READ_FILE, read_names = LANDLOCK_ACCESS_FS_READ_DIR,
                        write_file = LANDLOCK_ACCESS_FS_WRITE_FILE;
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
constexpr std::uint64_t all_of_files =
    LANDLOCK_ACCESS_FS_EXECUTE | write_file | read_file | read_names | LANDLOCK_ACCESS_FS_REMOVE_DIR |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
    LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;
constexpr std::uint64_t written = write_file | read_file | read_names | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_REFER;
// As the kernel has them since Linux 6.7; the system's header may be older.
struct RulesetAttributes {
    std::uint64_t files = 0, network = 0;
};
struct PortRule {
    std::uint64_t access, port;
};
constexpr int rule_of_a_port = 2;
constexpr std::uint64_t bind_tcp = 1, connect_tcp = 2;

constexpr std::uint64_t of_a_file = write_file | read_file; // rights that make sense for what is no directory

bool allow(int rules, const std::string& path, std::uint64_t access) {
    const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT; // it does not exist: nothing to allow
    struct stat facts{};
    if (::fstat(fd, &facts) == 0 && !S_ISDIR(facts.st_mode)) access &= of_a_file;
    landlock_path_beneath_attr rule{access, fd};
    const bool good = ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    ::close(fd);
    return good;
}

// "" or why not.
std::string confine_files(const Allowance& allowance) {
    const auto version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 2) return "the kernel has no Landlock";
    const bool knows_ports = version >= 4;
    const RulesetAttributes attributes{all_of_files, knows_ports && !allowance.network ? bind_tcp | connect_tcp : 0};
    const auto rules =
        static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    if (rules < 0) return std::strerror(errno);
    bool good = true;
    for (const auto& path : allowance.read) good = allow(rules, path, read_file | read_names) && good;
    for (const auto& path : allowance.look) good = allow(rules, path, read_names) && good;
    for (const auto& path : allowance.write) good = allow(rules, path, written) && good;
    for (const auto port : allowance.tcp_ports) {
        const PortRule rule{connect_tcp, port};
        good = (!knows_ports || ::syscall(SYS_landlock_add_rule, rules, rule_of_a_port, &rule, 0) == 0) && good;
    }
    good = good && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    const auto why = good ? std::string() : std::string(std::strerror(errno));
    ::close(rules);
    return why;
}

#if defined(__x86_64__)
constexpr std::uint32_t this_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t this_architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t this_architecture = 0;
#endif

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

std::string confine_calls(const Allowance& allowance) {
    if (this_architecture == 0) return "not known on this processor";
    if (sanitized) return "left out of sanitizer builds";
    std::vector<long> refused = {SYS_ptrace,
                                 SYS_process_vm_readv,
                                 SYS_process_vm_writev,
                                 SYS_mount,
                                 SYS_umount2,
                                 SYS_pivot_root,
                                 SYS_chroot,
                                 SYS_init_module,
                                 SYS_finit_module,
                                 SYS_delete_module,
                                 SYS_kexec_load,
                                 SYS_bpf,
                                 SYS_perf_event_open,
                                 SYS_userfaultfd,
                                 SYS_keyctl,
                                 SYS_add_key,
                                 SYS_request_key,
                                 SYS_setns,
                                 SYS_unshare,
                                 SYS_reboot,
                                 SYS_swapon,
                                 SYS_swapoff,
                                 SYS_open_by_handle_at,
                                 SYS_io_uring_setup,
                                 SYS_acct,
                                 SYS_quotactl,
                                 SYS_settimeofday,
                                 SYS_clock_settime,
                                 SYS_sethostname,
                                 SYS_personality};
    if (!allowance.programs) refused.insert(refused.end(), {SYS_execve, SYS_execveat});
    std::vector<sock_filter> program;
    const auto add = [&](std::uint16_t code, std::uint32_t k, std::uint8_t yes = 0, std::uint8_t no = 0) {
        program.push_back({code, yes, no, k});
    };
    constexpr std::uint16_t load = BPF_LD | BPF_W | BPF_ABS, equal = BPF_JMP | BPF_JEQ | BPF_K,
                            give = BPF_RET | BPF_K;
    constexpr std::uint32_t no = SECCOMP_RET_ERRNO | EPERM;
    add(load, offsetof(seccomp_data, arch));
    add(equal, this_architecture, 1, 0);
    add(give, no);
    add(load, offsetof(seccomp_data, nr));
#if defined(__x86_64__)
    add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); // the x32 numbers
    add(give, no);
#endif
    for (const long number : refused) {
        add(equal, static_cast<std::uint32_t>(number), 0, 1);
        add(give, no);
    }
    if (!allowance.network) {
        std::vector<sock_filter> sockets; // what is looked at of socket(2)
        std::swap(program, sockets);
        const bool tcp = !allowance.tcp_ports.empty();
        add(load, offsetof(seccomp_data, args[0]));
        for (const std::uint32_t family : {AF_INET, AF_INET6}) {
            if (!tcp) {
                add(equal, family, 0, 1);
                add(give, no);
                continue;
            }
            add(equal, family, 0, 5);
            add(load, offsetof(seccomp_data, args[1]));
            add(BPF_ALU | BPF_AND | BPF_K, 0xf); // without SOCK_CLOEXEC and SOCK_NONBLOCK
            add(equal, SOCK_STREAM, 1, 0);
            add(give, no);
            add(give, SECCOMP_RET_ALLOW);
        }
        add(equal, AF_PACKET, 0, 1);
        add(give, no);
        std::swap(program, sockets);
        add(equal, SYS_socket, 0, static_cast<std::uint8_t>(sockets.size()));
        program.insert(program.end(), sockets.begin(), sockets.end());
    }
    add(give, SECCOMP_RET_ALLOW);
    const sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0)
        return "";
    return std::strerror(errno);
}

} // namespace

std::string confine(const Allowance& allowance) {
    if (!allowance.files_confined) return "no: becomes the recipients";
    const auto files = confine_files(allowance), calls = confine_calls(allowance);
    if (files.empty() && calls.empty())
        return allowance.network ? "files, system calls" : "files, system calls, network";
    if (files.empty()) return fmt::format("files; not system calls: {}", calls);
    if (calls.empty()) return fmt::format("system calls; not files: {}", files);
    return fmt::format("no: files: {}; system calls: {}", files, calls);
}

} // namespace common
