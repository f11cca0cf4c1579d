// Tries to break out from inside: each daemon's rights in a process of its own.
#include "daemons/common/config/config.h"
#include "daemons/common/process/confinement.h"
#include "daemons/common/runtime/fd.h"
#include "tests/temporary_directory.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <linux/landlock.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
using proto::Role;

namespace {

struct Place {
    TemporaryDirectory directory;
    const fs::path path = directory.path();
    config::Config config;
    Place() {
        for (auto part : {"incoming/10", "incoming/11", "incoming/01", "messages/a0", "drop", "bad", "run",
                          "state/categorizer", "state/idempotency", "state/mta-sts", "suppression", "history"})
            fs::create_directories(path / "spool" / part);
        for (auto part : {"messages/a0/MESSAGE", "incoming/11/OTHER", "incoming/10/writer"})
            std::ofstream(path / "spool" / part) << "secret";
        std::ofstream(path / "elsewhere") << "secret";
        config.spool.directory = path / "spool";
    }

    // What a daemon of that role gets done, by name: "read messages/a0/MESSAGE" … "" for errno 0.
    int tries(Role role, const std::function<int(Place&)>& attempt) {
        const auto child = ::fork();
        if (child == 0) {
            common::confine(common::access_rights_of(role, 0x10, config));
            ::_exit(attempt(*this));
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    }
};

int opening(const fs::path& path, int how) {
    const int fd = ::open(path.c_str(), how | O_CLOEXEC, 0600);
    return fd >= 0 ? 0 : errno;
}
auto read_of(std::string part) {
    return [part](Place& place) { return opening(place.path / part, O_RDONLY); };
}
auto creation_of(std::string part) {
    return [part](Place& place) { return opening(place.path / part, O_RDWR | O_CREAT | O_EXCL); };
}
auto write_of(std::string part) {
    return [part](Place& place) { return opening(place.path / part, O_WRONLY); };
}
int inet(Place&) { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 0 : errno; }
int local(Place&) { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 0 : errno; }
int shell(Place&) {
    ::execl("/bin/true", "true", nullptr);
    return errno;
}
int tracing(Place&) { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : errno; }

bool kernel_has_landlock() {
    return ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 2;
}
bool has_seccomp(Place& place) {
    return place.tries(Role::smtpd, [](Place& p) {
        return common::confine(common::access_rights_of(Role::smtpd, 0x10, p.config)).system_calls ? 0 : 1;
    }) == 0;
}

} // namespace

TEST_CASE("files: each daemon its row of the table, and nothing else") {
    if (!kernel_has_landlock()) return;
    Place place;
    const auto message = "spool/messages/a0/MESSAGE";
    struct Row {
        Role role;
        bool read_message, write_message, create_own, create_other, read_elsewhere;
    };
    for (const auto& row :
         {Row{Role::smtpd, false, false, true, false, false}, Row{Role::pickup, false, false, true, false, false},
          Row{Role::smtp_client, true, false, false, false, false},
          Row{Role::router, false, false, false, false, false}, Row{Role::categorizer, true, false, false, false, true},
          Row{Role::bounce, true, false, true, false, false},
          Row{Role::queue_manager, true, true, true, true, false}}) {
        CAPTURE(proto::name_of(row.role));
        fs::remove(place.path / "spool/incoming/10/NEW");
        fs::remove(place.path / "spool/incoming/11/NEW");
        CHECK(place.tries(row.role, read_of(message)) == (row.read_message ? 0 : EACCES));
        CHECK(place.tries(row.role, write_of(message)) == (row.write_message ? 0 : EACCES));
        CHECK(place.tries(row.role, creation_of("spool/incoming/10/NEW")) == (row.create_own ? 0 : EACCES));
        CHECK(place.tries(row.role, creation_of("spool/incoming/11/NEW")) == (row.create_other ? 0 : EACCES));
        const bool keys = row.role == Role::smtpd || row.role == Role::pickup ||
                          row.role == Role::router || // all of state/
                          row.role == Role::queue_manager;
        fs::remove(place.path / "spool/state/idempotency/NEW");
        CHECK(place.tries(row.role, creation_of("spool/state/idempotency/NEW")) == (keys ? 0 : EACCES));
        const bool notes = row.role == Role::categorizer || row.role == Role::router || row.role == Role::queue_manager;
        fs::remove(place.path / "spool/state/categorizer/NEW");
        CHECK(place.tries(row.role, creation_of("spool/state/categorizer/NEW")) == (notes ? 0 : EACCES));
        CHECK(place.tries(row.role, read_of("elsewhere")) == (row.read_elsewhere ? 0 : EACCES));
        CHECK(place.tries(row.role, write_of("elsewhere")) == EACCES);
        CHECK(place.tries(row.role, creation_of("new")) == EACCES);
        CHECK(place.tries(row.role, [](Place&) { return opening("/etc/hosts", O_RDONLY); }) == 0);
        CHECK(place.tries(row.role, [](Place&) { return opening("/etc/postrider-was-here", O_WRONLY | O_CREAT); }) ==
              EACCES);
    }
    CHECK(place.tries(Role::metrics, read_of(message)) == EACCES);
    CHECK(place.tries(Role::metrics, read_of("elsewhere")) == EACCES);
    CHECK(place.tries(Role::metrics, creation_of("new")) == EACCES);
    CHECK(place.tries(Role::metrics, [](Place&) { return opening("/etc/hosts", O_RDONLY); }) == EACCES);
    CHECK(place.tries(Role::metrics, [](Place&) { return opening("/proc/self/statm", O_RDONLY); }) == 0);
    CHECK(place.tries(Role::events, read_of(message)) == EACCES);
    CHECK(place.tries(Role::events, creation_of("spool/incoming/11/ITS")) == EACCES);
    CHECK(place.tries(Role::events, creation_of("spool/history/NEW")) == 0);
    CHECK(place.tries(Role::events, read_of("elsewhere")) == EACCES);
    CHECK(place.tries(Role::http, read_of(message)) == EACCES);
    CHECK(place.tries(Role::http, read_of("elsewhere")) == EACCES);
    CHECK(place.tries(Role::http, read_of("spool/history/NEW")) == 0);
    CHECK(place.tries(Role::http, creation_of("spool/history/ITS")) == EACCES);
    CHECK(place.tries(Role::http, creation_of("spool/http/tokens")) != 0);
    CHECK(place.tries(Role::bounce, creation_of("spool/history/NEWER")) == EACCES);
    CHECK(place.tries(Role::smtpd, read_of("spool/incoming/11/OTHER")) == EACCES);
    CHECK(place.tries(Role::smtpd, creation_of("spool/state/mta-sts/NEW")) == EACCES);
    CHECK(place.tries(Role::smtpd, [](Place& p) {
        return ::rename((p.path / "spool/incoming/10/writer").c_str(), (p.path / "spool/messages/a0/X").c_str()) == 0
                   ? 0
                   : errno;
    }) != 0);
    CHECK(place.tries(Role::smtpd, [](Place& p) {
        return ::unlink((p.path / "spool/messages/a0/MESSAGE").c_str()) == 0 ? 0 : errno;
    }) == EACCES);
}

TEST_CASE("name servers can be read wherever /etc/resolv.conf leads") {
    for (const auto role : {Role::smtpd, Role::router})
        for (const std::string place : {"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"}) {
            const auto allowed = common::access_rights_of(role, 0x10, Place().config).read;
            CHECK(std::ranges::find(allowed, place) != allowed.end());
        }
}

TEST_CASE("what a process can never reach once it is confined") {
    config::Config before, after;
    before.bounce.templates = "/srv/texts";
    const auto beyond = [&](Role role) {
        return common::missing_rights(common::access_rights_of(role, 0x10, before),
                                      common::access_rights_of(role, 0x10, after));
    };
    for (const std::string reachable : {"/srv/texts", "/srv/texts/german", "/etc/postrider/texts", ""}) {
        after.bounce.templates = reachable;
        CHECK(beyond(Role::bounce).empty());
    }
    for (const std::string elsewhere : {"/srv", "/srv/texts2", "/home/texts"}) {
        after.bounce.templates = elsewhere;
        CHECK(beyond(Role::bounce) == std::vector{elsewhere});
        CHECK(beyond(Role::smtpd).empty());
        CHECK(beyond(Role::local).empty());
    }
}

// Files of tables are replaced as they change: it is their directory that is read.
TEST_CASE("smtpd reads the tables of access rules, wherever they are, and nothing beside them") {
    config::Config config;
    config.spool.directory = "/spool";
    config.table_references = {{"text:/srv/tables/clients", "access.a.client"},
                               {"regexp:/srv/patterns/senders", "access_class.b.rules"},
                               {"table:sql", "access.a.sender"},
                               {"socketmap:unix:/run/x:y", "access.a.sender"},
                               {"lmdb:/srv/domains/relayed", "relay.domain_tables"},
                               {"text:/home/aliases", "virtual_alias.tables"}};
    config::LookupTable table;
    table.name = "sql";
    table.database = "/var/lib/users/base";
    config.tables = {table};
    const auto rights = common::access_rights_of(Role::smtpd, 0x10, config);
    for (const std::string place : {"/srv/tables", "/srv/patterns", "/var/lib/users", "/srv/domains"})
        CHECK_MESSAGE(std::ranges::find(rights.read, place) != rights.read.end(), place);
    for (const std::string place : {"/home", "/run", "/srv", "/var/lib"})
        CHECK_MESSAGE(std::ranges::find(rights.read, place) == rights.read.end(), place);
    CHECK(common::missing_rights(common::access_rights_of(Role::smtpd, 0x10, {}), rights).size() >= 4);
}

TEST_CASE("smtp-client reads tables of local domains only where it rewrites addresses") {
    config::Config config;
    config.table_references = {{"text:/srv/domains/local", "local.domain_tables"},
                               {"text:/srv/others/relayed", "relay.domain_tables"}};
    const auto reads = [&](const std::string& place) {
        const auto rights = common::access_rights_of(Role::smtp_client, 0, config);
        return std::ranges::find(rights.read, place) != rights.read.end();
    };
    CHECK_FALSE(reads("/srv/domains"));
    config.table_references.push_back({"text:/srv/generic/map", "route.\"x\".generic_tables"});
    CHECK(reads("/srv/domains"));
    CHECK(reads("/srv/generic"));
    CHECK_FALSE(reads("/srv/others"));
}

TEST_CASE("system calls: no programs, no tracing; no network where there is nothing to talk to") {
    Place place;
    if (!has_seccomp(place)) return;
    for (const auto role : {Role::smtpd, Role::pickup, Role::smtp_client, Role::router, Role::categorizer, Role::bounce,
                            Role::queue_manager, Role::metrics, Role::events, Role::http}) {
        CAPTURE(proto::name_of(role));
        CHECK(place.tries(role, shell) == EPERM);
        CHECK(place.tries(role, tracing) == EPERM);
        const bool talks = role == Role::smtpd || role == Role::pickup || role == Role::smtp_client ||
                           role == Role::router || role == Role::events;
        CHECK(place.tries(role, inet) == (talks ? 0 : EPERM));
        CHECK(place.tries(role, local) == 0);
    }
}

TEST_CASE("system calls: nothing that gives a confined process more than it has") {
    Place place;
    if (!has_seccomp(place)) return;
    const auto result = [](long done) { return done >= 0 ? 0 : errno; };
    const auto call = [&](long number) {
        return [number](Place&) { return ::syscall(number, 0, 0, 0, 0, 0, 0) >= 0 ? 0 : errno; };
    };
    const pid_t other = ::getpid();
    for (const auto role : {Role::smtpd, Role::pickup, Role::smtp_client, Role::router, Role::categorizer, Role::bounce,
                            Role::queue_manager, Role::metrics, Role::events, Role::http}) {
        CAPTURE(proto::name_of(role));
        const auto gets = [&](const std::function<long()>& act) {
            return place.tries(role, [&](Place&) { return result(act()); });
        };
        // Other processes, of the same user.
        CHECK(gets([&] { return ::kill(other, 0); }) == EPERM);
        CHECK(gets([&] { return ::kill(0, 0); }) == EPERM);
        CHECK(gets([&] { return ::kill(-1, 0); }) == EPERM);
        CHECK(gets([&] { return ::kill(::getpid(), 0); }) == 0);
        CHECK(gets([&] { return ::syscall(SYS_tgkill, other, other, 0); }) == EPERM);
        CHECK(gets([&] { return ::fcntl(::socket(AF_UNIX, SOCK_STREAM, 0), F_SETOWN, other); }) == EPERM);
        CHECK(gets([&] { return ::fcntl(::socket(AF_UNIX, SOCK_STREAM, 0), F_SETSIG, SIGKILL); }) == EPERM);
        CHECK(gets([&] { return ::prlimit(other, RLIMIT_NOFILE, nullptr, nullptr); }) == EPERM);
        CHECK(gets([] { return ::fork(); }) == EPERM);
        // Threads are made all the same.
        CHECK(place.tries(role, [](Place&) {
            std::thread([] {}).join();
            return 0;
        }) == 0);
        // Namespaces, by every way.
        CHECK(gets([] { return ::unshare(CLONE_NEWUSER); }) == EPERM);
        CHECK(gets([] { return ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0); }) == EPERM);
        CHECK(gets([] {
                  return ::syscall(SYS_clone, CLONE_NEWUSER | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, 0, 0, 0, 0);
              }) == EPERM);
        CHECK(place.tries(role, call(SYS_clone3)) == ENOSYS);
        CHECK(place.tries(role, call(SYS_setns)) == EPERM);
        for (const long number :
             {SYS_bpf, SYS_io_uring_setup, SYS_keyctl, SYS_userfaultfd, SYS_perf_event_open, SYS_mount, SYS_fsopen,
              SYS_process_vm_readv, SYS_process_vm_writev, SYS_kexec_load, SYS_pidfd_open, SYS_open_by_handle_at})
            CHECK(place.tries(role, call(number)) == EPERM);
        CHECK(gets([] { return ::socket(AF_PACKET, SOCK_RAW, 0); }) == EPERM);
        CHECK(gets([] { return ::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }) == EPERM);
        CHECK(gets([] {
                  return ::socket(AF_INET, SOCK_STREAM, 262 /* MPTCP, which Landlock's ports do not bind */);
              }) == EPERM);
        CHECK(gets([] { return ::socket(AF_NETLINK, SOCK_RAW, 9); }) == EPERM);
    }
}

TEST_CASE("files: neither emptied nor given another mode without being opened to be written") {
    Place place;
    if (!has_seccomp(place)) return;
    const auto message = place.path / "spool/messages/a0/MESSAGE";
    for (const auto role : {Role::smtpd, Role::smtp_client, Role::categorizer}) {
        CAPTURE(proto::name_of(role));
        CHECK(place.tries(role, [&](Place&) { return ::truncate(message.c_str(), 0) == 0 ? 0 : errno; }) == EPERM);
        CHECK(place.tries(role, [&](Place&) { return opening(message, O_RDONLY | O_TRUNC); }) != 0);
        CHECK(place.tries(role, [&](Place&) { return ::chmod(message.c_str(), 0666) == 0 ? 0 : errno; }) == EPERM);
        CHECK(fs::file_size(message) == 6);
    }
}

TEST_CASE("files: nothing of /proc but a process's own") {
    if (!kernel_has_landlock()) return;
    Place place;
    const auto of = fmt::format("/proc/{}/", ::getpid());
    for (const auto role : {Role::smtpd, Role::pickup, Role::smtp_client, Role::router, Role::bounce,
                            Role::queue_manager, Role::metrics, Role::events, Role::http}) {
        CAPTURE(proto::name_of(role));
        for (const std::string name : {"mem", "environ", "cmdline", "maps"})
            CHECK(place.tries(role, [&](Place&) { return opening(of + name, O_RDONLY); }) == EACCES);
        CHECK(place.tries(role, [](Place&) { return opening("/proc/self/status", O_RDONLY); }) == 0);
    }
    // It reads wherever its user may, but no memory.
    CHECK(place.tries(Role::categorizer, [&](Place&) { return opening(of + "mem", O_RDONLY); }) == EACCES);
}

TEST_CASE("the categorizer reaches the ports of the tables that are named, and no others") {
    Place place;
    if (!has_seccomp(place)) return;
    const auto listening = [](std::uint16_t& port) {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof here;
        REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&here), size) == 0);
        REQUIRE(::listen(fd, 5) == 0);
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size);
        port = ntohs(here.sin_port);
        return common::Fd(fd);
    };
    std::uint16_t named = 0, other = 0;
    const auto first = listening(named), second = listening(other);
    const auto connecting = [](std::uint16_t port) {
        return [port](Place&) {
            const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
            if (fd < 0) return errno;
            sockaddr_in there{};
            there.sin_family = AF_INET;
            there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            there.sin_port = htons(port);
            return ::connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0 ? 0 : errno;
        };
    };
    const auto datagrams = [](Place&) { return ::socket(AF_INET, SOCK_DGRAM, 0) >= 0 ? 0 : errno; };
    const bool knows_ports = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 4;
    CHECK(place.tries(Role::categorizer, connecting(named)) == EPERM);
    place.config.table_references = {{fmt::format("tcp:127.0.0.1:{}", named), "x", 1, 1}};
    CHECK(place.tries(Role::categorizer, connecting(named)) == 0);
    if (knows_ports) CHECK(place.tries(Role::categorizer, connecting(other)) == EACCES);
    CHECK(place.tries(Role::categorizer, datagrams) == EPERM);
    CHECK(place.tries(Role::categorizer, local) == 0);
    CHECK(place.tries(Role::bounce, inet) == EPERM);
    // A table that is named later is beyond its reach.
    auto later = place.config;
    later.table_references.push_back({"socketmap:inet:127.0.0.1:7:x", "x", 1, 1});
    CHECK(common::missing_rights(common::access_rights_of(Role::categorizer, 0, place.config),
                                 common::access_rights_of(Role::categorizer, 0, later)) ==
          std::vector<std::string>{"TCP port 7"});
}

TEST_CASE("files: the suppression list is for its keeper, and for whoever asks it") {
    if (!kernel_has_landlock()) return;
    Place place;
    std::ofstream(place.path / "spool/suppression/lock.mdb") << "readers";
    for (const auto role : {Role::smtpd, Role::pickup, Role::smtp_client, Role::router, Role::categorizer, Role::bounce,
                            Role::queue_manager}) {
        CAPTURE(proto::name_of(role));
        const bool may = role == Role::categorizer || role == Role::queue_manager;
        CHECK(place.tries(role, write_of("spool/suppression/lock.mdb")) == (may ? 0 : EACCES));
    }
}

TEST_CASE("who becomes the recipient is kept by the recipient's rights") {
    Place place;
    CHECK(place.tries(Role::local, read_of("elsewhere")) == 0);
    CHECK(place.tries(Role::local, shell) == 0);
}
