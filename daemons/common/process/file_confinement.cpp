#include "daemons/common/process/file_confinement.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace common {

namespace {

constexpr std::uint64_t read_file = LANDLOCK_ACCESS_FS_READ_FILE, read_names = LANDLOCK_ACCESS_FS_READ_DIR,
                        write_file = LANDLOCK_ACCESS_FS_WRITE_FILE;
// As defined by the kernel; the system's header may be older.
constexpr std::uint64_t move = 1ULL << 13, truncate = 1ULL << 14, control_device = 1ULL << 15;
constexpr std::uint64_t all_of_files =
    LANDLOCK_ACCESS_FS_EXECUTE | write_file | read_file | read_names | LANDLOCK_ACCESS_FS_REMOVE_DIR |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
    LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | move | truncate | control_device;
constexpr std::uint64_t written = write_file | read_file | read_names | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | move | truncate;
struct RulesetAttributes {
    std::uint64_t files = 0, network = 0, scoped = 0;
};
struct PortRule {
    std::uint64_t access, port;
};
constexpr int rule_of_a_port = 2;
constexpr std::uint64_t bind_tcp = 1, connect_tcp = 2;
constexpr std::uint64_t abstract_sockets = 1, signals = 2; // only those of the process itself

constexpr std::uint64_t of_a_file =
    write_file | read_file | truncate; // rights that apply to files other than directories

// The rights that each version of the kernel's interface knows; it cannot deny others.
std::uint64_t known_to(long version) {
    return all_of_files & ~(version < 3 ? truncate : 0) & ~(version < 5 ? control_device : 0);
}

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

} // namespace

std::string confine_files(const AccessRights& rights) {
    const auto version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 2) return "the kernel has no Landlock";
    const bool knows_ports = version >= 4;
    const auto known = known_to(version);
    const RulesetAttributes attributes{known, knows_ports && !rights.network ? bind_tcp | connect_tcp : 0,
                                       version >= 6 ? abstract_sockets | signals : 0};
    const auto rules = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    if (rules < 0) return std::strerror(errno);
    bool good = true;
    for (const auto& path : rights.read) good = allow(rules, path, read_file | read_names) && good;
    for (const auto& path : rights.look) good = allow(rules, path, read_names) && good;
    for (const auto& path : rights.write) good = allow(rules, path, written & known) && good;
    for (const auto port : rights.tcp_ports) {
        const PortRule rule{connect_tcp, port};
        good = (!knows_ports || ::syscall(SYS_landlock_add_rule, rules, rule_of_a_port, &rule, 0) == 0) && good;
    }
    good = good && ::syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    const auto why = good ? std::string() : std::string(std::strerror(errno));
    ::close(rules);
    return why;
}

} // namespace common
