// From the command line to a running master: everything that can be checked is checked before anything starts.
#include "daemons/common/config/load.h"
#include "daemons/common/logging/log_destination.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/process/programs.h"
#include "daemons/master/master.h"
#include "daemons/master/system/activated_sockets.h"
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace master {

namespace {

constexpr std::uint64_t enough_descriptors = 1024;
constexpr std::string_view more_descriptors = "raise \"ulimit -n\", or LimitNOFILE= of the unit, to 4096 or more";

int refuse(const std::string& why, int status) {
    fmt::print(stderr, "postrider: {}\n", why);
    return status;
}

// sysexits(3). Distinguishes what only an operator can fix from what may pass, after which systemd tries again.
int status_for(const spool::Error& error) {
    switch (error.code) {
    case EALREADY: return 75;
    case EADDRINUSE:
    case EADDRNOTAVAIL: return 69;
    case EACCES:
    case EPERM: return 77;
    case EMFILE:
    case ENFILE: return 71;
    case 0: return 78; // a certificate, a table of passwords: what the configuration names is unusable
    default: return 73;
    }
}

} // namespace

int run(const Options& given) {
    common::keep_standard_descriptors();
    if (given.announce >= 0) fcntl(given.announce, F_SETFD, FD_CLOEXEC);
    auto handed = activated_sockets();
    if (handed.empty())
        common::close_descriptors_except(given.announce);
    else
        common::close_descriptors_except(handed.front().fd.number(), handed.back().fd.number());
    common::keep_memory_small();
    common::keep_memory_private();
    const auto descriptors = common::raise_descriptor_limit();
    umask(0022);
    Options options = given;
    if (auto* whole = realpath(given.file.c_str(), nullptr)) {
        options.file = whole;
        std::free(whole);
    }
    auto text = config::read_text(options.file);
    if (!text) return refuse(text.error().to_string(), 66);
    auto config = config::parse(*text, options.file);
    if (!config) {
        for (const auto& problem : config.error()) refuse(problem.to_string(), 78);
        return 78;
    }
    if (const auto missing = config::missing_files(*config); !missing.empty()) {
        for (const auto& problem : missing) refuse(problem.to_string(), 78);
        return 78;
    }
    if (const auto missing = common::missing_programs(*config); !missing.empty()) {
        for (const auto& each : missing) refuse(each, 69);
        return 69;
    }
    auto listening = by_address(std::move(handed), config->listeners);
    if (!listening) return refuse(listening.error().what, 78);
    auto users = look_up_users(config->mta);
    if (!users) return refuse(users.error().what, users.error().code == EPERM ? 77 : 67);
    auto log_file = RuntimeDirectory::open_log(*config);
    if (!log_file) return refuse(log_file.error().what, 73);
    if (const auto text = common::log_warning(*config); !text.empty())
        fmt::print(stderr, "postrider: warning: {}\n", text);

    common::Loop loop(1);
    common::Log log(loop, "master");
    log.configure(common::log_settings(config->log),
                  *log_file ? common::Fd(fcntl(log_file->number(), F_DUPFD_CLOEXEC, 3)) : common::Fd());
    Master master(loop, log, options, *std::move(text), *std::move(config), *std::move(users));
    if (auto opened = master.open(*std::move(log_file), *std::move(listening)); !opened) {
        if (opened.error().code == EMFILE)
            opened.error().what += fmt::format(" (the limit for a process is {}: {})", descriptors, more_descriptors);
        if (opened.error().code != EALREADY) log.critical("{}", opened.error().what);
        return refuse(opened.error().what, status_for(opened.error()));
    }
    if (descriptors < enough_descriptors)
        log.warning("a process may have only {} files open at a time, including connections: {}", descriptors,
                    more_descriptors);
    loop.run();
    log.flush();
    return master.status();
}

} // namespace master
