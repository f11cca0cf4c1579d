#include "daemons/master/system/runtime_directory.h"
#include "daemons/common/commands/config_warnings.h"
#include "daemons/common/config/config.h"
#include "daemons/common/logging/log_destination.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/process/process_plan.h"
#include "daemons/common/process/programs.h"
#include "daemons/master/system/permission_advice.h"
#include "daemons/master/system/port_owner.h"
#include "libspool/disk/file_system.h"
#include "libspool/disk/real_disk.h"
#include "libspool/format/layout.h"
#include "libspool/store/store.h"
#include <algorithm>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace master {

using spool::Error;
using spool::Result;

namespace {

// Acts as the service user during its lifetime, if there is one.
class AsUser {
public:
    explicit AsUser(const std::optional<common::Identity>& user) : switched_(user.has_value()) {
        if (switched_ && (setegid(user->gid) != 0 || seteuid(user->uid) != 0)) failed_ = errno;
    }
    ~AsUser() {
        if (switched_ && (seteuid(0) != 0 || setegid(0) != 0)) std::abort();
    }
    AsUser(const AsUser&) = delete;
    Result<> well() const {
        if (failed_) return std::unexpected(Error::from_errno("act as the service user", failed_));
        return {};
    }

private:
    bool switched_;
    int failed_ = 0;
};

Result<> make_directory(const std::string& path, mode_t mode) {
    if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
        return std::unexpected(Error::from_errno("make directory " + path));
    common::Fd fd(open(path.c_str(), O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC));
    if (!fd) return std::unexpected(Error::from_errno("open directory " + path));
    if (fchmod(fd.number(), mode) != 0) return std::unexpected(Error::from_errno("chmod " + path));
    return {};
}

// Of the processes that write messages.
std::vector<std::uint8_t> writer_slots(const config::Config& config) {
    std::vector<std::uint8_t> slots;
    for (const auto& each : common::process_plan(config))
        if (each.instance != 0 && each.role != proto::Role::smtp_client)
            slots.push_back(static_cast<std::uint8_t>(each.instance));
    return slots;
}

// Of a pipe or socket that was opened by another user and cannot be opened again by its name.
common::Fd non_blocking_copy(int number) {
    common::Fd copy(fcntl(number, F_DUPFD_CLOEXEC, 3));
    if (copy) fcntl(copy.number(), F_SETFL, fcntl(copy.number(), F_GETFL) | O_NONBLOCK);
    return copy;
}

} // namespace

Result<Users> look_up_users(const config::Mta& mta) {
    Users users;
    if (!mta.users) return users;
    if (geteuid() != 0)
        return std::unexpected(Error{EPERM, "only root can start daemons as the user " + mta.user +
                                                "; to run everything as one user, set multi_user = false in [mta]"});
    users.service = TRY(common::service_user(mta));
    if (auto group = common::look_up_group(mta.drop_group)) users.drop_group = *group;
    if (auto group = common::look_up_group(mta.admin_group)) users.admin_group = *group;
    return users;
}

RuntimeDirectory::~RuntimeDirectory() { release(); }

Result<> RuntimeDirectory::acquire(const config::Config& config) {
    spool_ = config.spool.directory;
    run_ = spool_ + "/run";
    if (const auto other = other_mail_system_of(spool_); !other.empty())
        return std::unexpected(
            Error{0, fmt::format("spool.directory: {} is the queue of {}: Postrider needs a directory of its own",
                                 spool_, other)});
    const auto entered = [&]() -> Result<> {
        TRY(make_directories(config));
        if (users_.service) TRY(give_drop_its_group());
        return lock();
    }();
    if (!entered) return std::unexpected(advise_on_spool(entered.error(), spool_, users_.service));
    return {};
}

Result<> RuntimeDirectory::make_directories(const config::Config& config) {
    // Its parent may be root's alone: made as we are, then chowned.
    if (mkdir(spool_.c_str(), 0755) == 0) {
        if (users_.service && chown(spool_.c_str(), users_.service->uid, users_.service->gid) != 0)
            return std::unexpected(Error::from_errno("chown " + spool_));
    } else if (errno != EEXIST) {
        return std::unexpected(Error::from_errno("make directory " + spool_));
    }
    TRY(make_slots(config));
    AsUser as(users_.service);
    TRY(as.well());
    const auto disk = TRY(spool::RealDisk::open_at(spool_));
    if (auto there = spool::file_system_at(disk->directory()); there && !there->warning.empty()) {
        warning_ = spool_ + ": " + there->warning;
        log_.warning("{}", warning_);
    }
    TRY(make_directory(spool_ + "/drop", users_.service ? 0700 : 01770));
    TRY(make_directory(spool_ + "/state", 0700));
    TRY(make_directory(spool_ + "/state/categorizer", 0700));
    TRY(make_directory(spool_ + "/state/idempotency", 0700));
    TRY(make_directory(config::ClientTests::directory(spool_), 0700));
    TRY(make_directory(config::Verify::directory(spool_), 0700));
    TRY(make_directory(spool_ + "/suppression", 0700));
    TRY(make_directory(config::Http::directory(spool_), 0700));
    TRY(make_directory(run_, 0755));
    TRY(make_directory(run_ + "/private", 0700));
    return check_access(config);
}

// What existed before may belong to another user: reported here once, not by each daemon that encounters it.
Result<> RuntimeDirectory::check_access(const config::Config& config) const {
    std::vector<std::string> paths = {"incoming", "messages", "removed", "bad", "quarantine", "quarantine/incomplete",
                                      "index"};
    for (const auto slot : writer_slots(config))
        paths.push_back(spool::directory_of(spool::QueueId{std::uint64_t{1} << 8 | slot}, spool::Location::incoming));
    for (const auto& each : paths) {
        const auto path = spool_ + '/' + each;
        if (faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0)
            return std::unexpected(Error::from_errno("write to " + path));
    }
    return {};
}

Result<> RuntimeDirectory::make_slots(const config::Config& config) {
    AsUser as(users_.service);
    TRY(as.well());
    auto disk = TRY(spool::RealDisk::open_at(spool_));
    TRY(spool::prepare_spool(*disk, writer_slots(config)));
    if (config.history.enabled) TRY(make_directory(config.history.path(spool_), 0700));
    return {};
}

// Only then may members of the group write there.
Result<> RuntimeDirectory::give_drop_its_group() {
    const auto path = spool_ + "/drop";
    common::Fd fd(open(path.c_str(), O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC));
    if (!fd) return std::unexpected(Error::from_errno("open directory " + path));
    if (users_.drop_group && fchown(fd.number(), users_.service->uid, *users_.drop_group) != 0)
        return std::unexpected(Error::from_errno("chown " + path));
    if (fchmod(fd.number(), users_.drop_group ? 01770 : 0700) != 0)
        return std::unexpected(Error::from_errno("chmod " + path));
    return {};
}

// The file holds the number of the master that has it, and nothing after one that stopped in good order.
Result<> RuntimeDirectory::lock() {
    AsUser as(users_.service);
    TRY(as.well());
    const auto path = run_ + "/master.lock";
    lock_ = common::Fd(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!lock_) return std::unexpected(Error::from_errno("open " + path));
    char text[32] = "";
    const auto n = pread(lock_.number(), text, sizeof text - 1, 0);
    if (flock(lock_.number(), LOCK_EX | LOCK_NB) != 0) {
        const int why = errno;
        lock_.reset();
        if (why != EWOULDBLOCK) return std::unexpected(Error::from_errno("lock " + path, why));
        return std::unexpected(Error{EALREADY, fmt::format("it is running already (pid {})", std::atoi(text))});
    }
    unclean_shutdown_ = n > 0;
    const auto pid = fmt::format("{}\n", getpid());
    if (ftruncate(lock_.number(), 0) != 0 || pwrite(lock_.number(), pid.data(), pid.size(), 0) < 0)
        return std::unexpected(Error::from_errno("write " + path));
    return {};
}

void RuntimeDirectory::release() {
    AsUser as(users_.service);
    for (const auto& socket : common::local_sockets())
        if (local_.contains(socket.name)) unlink((run_ + '/' + std::string(socket.path)).c_str());
    local_.clear();
    listeners_.clear();
    metrics_.clear();
    http_.clear();
    if (lock_ && ftruncate(lock_.number(), 0) == 0) lock_.reset();
}

Result<> RuntimeDirectory::bind_local_sockets(const config::Config& config) {
    const auto plan = common::installed_plan(config);
    const auto is_served = [&](std::string_view name) {
        return std::ranges::any_of(plan, [&](const auto& process) {
            return std::ranges::find(process.local_sockets, name) != process.local_sockets.end();
        });
    };
    for (const auto& socket : common::local_sockets()) {
        const auto path = run_ + '/' + std::string(socket.path);
        if (socket.only_if_served && !is_served(socket.name)) {
            withdraw(socket.name);
            local_.erase(std::string(socket.name));
            continue;
        }
        if (local_.contains(socket.name)) continue;
        {
            AsUser as(users_.service);
            TRY(as.well());
            local_[std::string(socket.name)] = TRY(common::listen_local(path, socket.mode));
        }
        if (socket.for_admins && users_.service) TRY(give_to_operators(path));
    }
    return {};
}

// The service user, who owns the directory, can remove it, but no longer connect to it.
Result<> RuntimeDirectory::give_to_operators(const std::string& path) {
    const common::Fd fd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat there{};
    if (!fd || fstat(fd.number(), &there) != 0) return std::unexpected(Error::from_errno("open " + path));
    if (!S_ISSOCK(there.st_mode) || there.st_uid != users_.service->uid)
        return std::unexpected(Error{EPERM, path + " is not the socket that was created there"});
    if (fchownat(fd.number(), "", 0, users_.admin_group.value_or(0), AT_EMPTY_PATH) != 0)
        return std::unexpected(Error::from_errno("chown " + path));
    return {};
}

void RuntimeDirectory::withdraw(std::string_view name) {
    AsUser as(users_.service);
    for (const auto& socket : common::local_sockets())
        if (socket.name == name) unlink((run_ + '/' + std::string(socket.path)).c_str());
}

int RuntimeDirectory::local_socket(std::string_view name) const {
    const auto found = local_.find(name);
    return found == local_.end() ? -1 : found->second.number();
}

namespace {

Result<common::Fd> bind_once(const common::Endpoint& endpoint) {
    sockaddr_storage storage{};
    socklen_t size;
    if (endpoint.address.is_v4()) {
        auto& address = reinterpret_cast<sockaddr_in&>(storage);
        address.sin_family = AF_INET;
        address.sin_port = htons(endpoint.port);
        std::memcpy(&address.sin_addr, endpoint.address.bytes.data() + 12, 4);
        size = sizeof address;
    } else {
        auto& address = reinterpret_cast<sockaddr_in6&>(storage);
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(endpoint.port);
        std::memcpy(&address.sin6_addr, endpoint.address.bytes.data(), 16);
        size = sizeof address;
    }
    const auto failed = [&](int code) {
        return std::unexpected(Error::from_errno("listen on " + endpoint.to_string(), code));
    };
    common::Fd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return failed(errno);
    const int on = 1;
    setsockopt(fd.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // [::] serves IPv4 too, unless another listener has that (then: EADDRINUSE, clearly reported).
    if (bind(fd.number(), reinterpret_cast<sockaddr*>(&storage), size) != 0) return failed(errno);
    if (listen(fd.number(), SOMAXCONN) != 0) return failed(errno);
    return fd;
}

// A machine without IPv6, or without that address of it: no reason not to serve at the others.
bool no_ipv6(const common::Endpoint& endpoint, const Error& error) {
    return !endpoint.address.is_v4() && (error.code == EAFNOSUPPORT || error.code == EADDRNOTAVAIL);
}

// Sockets that listen at an address that is given up, while a new one that overlaps it is bound: the kernel refuses
// "*:25" as long as "127.0.0.1:25" listens, in whatever process. They listen again unless they are given up indeed.
class ShutDown {
public:
    ~ShutDown() {
        for (const int fd : fds_) listen(fd, SOMAXCONN);
    }
    void add(int fd) {
        if (shutdown(fd, SHUT_RD) == 0) fds_.push_back(fd);
    }
    void give_up() { fds_.clear(); }

private:
    std::vector<int> fds_;
};

bool has_port(std::string_view address, std::uint16_t port) { return address.ends_with(fmt::format(":{}", port)); }

// Adds which process has it, as far as can be determined.
Error taken(const common::Endpoint& endpoint, Error error) {
    if (error.code == EADDRINUSE) {
        const auto who = listening_processes(endpoint);
        error.what += who.empty() ? ": another process uses that port; \"ss -ltnp\" as root shows which one"
                                  : fmt::format(": {} uses that port; stop it, or change listen.<name>.addresses", who);
    }
    if (error.code == EACCES)
        error.what += ": ports below 1024 require root (or CAP_NET_BIND_SERVICE); start as root, let systemd "
                      "pass the socket, or use a higher port in listen.<name>.addresses";
    if (error.code == EADDRNOTAVAIL)
        error.what += ": this host does not have this address (yet); \"ip address\" lists its addresses";
    return error;
}

} // namespace

Result<common::Fd> RuntimeDirectory::open_listener(const common::Endpoint& endpoint) {
    const auto handed = activated_.find(endpoint.to_string());
    if (handed == activated_.end()) return bind_once(endpoint);
    common::Fd fd(fcntl(handed->second.number(), F_DUPFD_CLOEXEC, 3));
    if (!fd) return std::unexpected(Error::from_errno("use the socket passed by systemd"));
    return fd;
}

Result<> RuntimeDirectory::bind_listeners(const std::vector<config::Listener>& wanted) {
    return bind(listeners_, wanted);
}

Result<> RuntimeDirectory::bind_metrics(const config::Metrics& wanted) {
    config::Listener all;
    all.name = "http"; // the name of its local socket is "metrics"
    all.addresses = wanted.listen;
    return bind(metrics_, {all});
}

Result<> RuntimeDirectory::bind_http(const config::Http& wanted) {
    config::Listener all;
    all.name = "api"; // the name of its local socket is "http"
    // Where nothing would answer, clients are refused.
    if (common::missing_package(wanted).empty()) all.addresses = wanted.listen;
    return bind(http_, {all});
}

Result<> RuntimeDirectory::bind(ByAddress& bound, const std::vector<config::Listener>& wanted) {
    ShutDown replaced; // before the new ones: they are closed when these listen again
    ByAddress fresh;
    std::map<std::string, std::string> names; // address → name, of all wanted
    for (const auto& listener : wanted)
        for (const auto& endpoint : listener.addresses) names[endpoint.to_string()] = listener.name;
    // Daemons of a master that was killed close their sockets as soon as they notice.
    int patience = unclean_shutdown_ ? 200 : 0;
    for (const auto& listener : wanted) {
        for (const auto& endpoint : listener.addresses) {
            const auto address = endpoint.to_string();
            if (bound.contains(address)) continue;
            auto fd = open_listener(endpoint);
            if (!fd && fd.error().code == EADDRINUSE) {
                for (const auto& [former, listening] : bound)
                    if (has_port(former, endpoint.port) && !names.contains(former) && !activated_.contains(former))
                        replaced.add(listening.fd.number());
                fd = bind_once(endpoint);
            }
            while (!fd && fd.error().code == EADDRINUSE && patience-- > 0) {
                poll(nullptr, 0, 100);
                fd = bind_once(endpoint);
            }
            if (!fd && no_ipv6(endpoint, fd.error())) {
                if (endpoint.address != common::IpAddress{}) {
                    log_.warning("{}; going on without", fd.error().what);
                    continue;
                }
                fd = bind_once({*common::IpAddress::parse("0.0.0.0"), endpoint.port});
            }
            if (!fd) return std::unexpected(taken(endpoint, fd.error()));
            fresh[address] = {listener.name, *std::move(fd)};
        }
    }
    replaced.give_up();
    std::erase_if(bound, [&](const auto& each) { return !names.contains(each.first); });
    bound.merge(fresh);
    for (auto& [address, listening] : bound) listening.name = names[address];
    return {};
}

std::vector<RuntimeDirectory::Bound> RuntimeDirectory::listed(const ByAddress& bound) {
    std::vector<Bound> out;
    for (const auto& [address, listening] : bound) out.push_back({listening.name, address, listening.fd.number()});
    return out;
}

Result<common::Fd> RuntimeDirectory::open_errors() {
    AsUser as(users_.service);
    TRY(as.well());
    const auto path = run_ + "/errors";
    common::Fd fd(
        open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640));
    if (!fd) return std::unexpected(Error::from_errno("open " + path));
    return fd;
}

Result<common::Fd> RuntimeDirectory::open_log(const config::Config& config) {
    const auto path = common::log_file(config);
    if (path.empty()) return common::Fd();
    if (config.log.file.empty() && !config.mta.users) // the default file is in the spool: this may be the first start
        mkdir(config.spool.directory.c_str(), 0755);
    common::Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0640));
    if (!fd && path == "/dev/stdout") fd = non_blocking_copy(STDOUT_FILENO);
    if (!fd && config.log.file.empty()) return common::Fd(); // log_warning() reports it
    if (!fd) return std::unexpected(advise_on_log(Error::from_errno("open the log file " + path), path));
    return fd;
}

} // namespace master
