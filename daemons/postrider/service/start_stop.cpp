// run, start, stop, reload, logs reopen: the life of the MTA as a whole, by starting master or asking it.
#include "daemons/postrider/service/start_stop.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/config/config.h"
#include "daemons/common/process/programs.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/service/volatile_storage.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

namespace postrider {

using nlohmann::json;

namespace {

// Becomes master; only returns if that fails.
int exec_master(const std::string& file, int announce) {
    const auto program = common::program_path("master");
    const auto number = std::to_string(announce);
    if (announce < 0)
        execl(program.c_str(), program.c_str(), "-c", file.c_str(), nullptr);
    else
        execl(program.c_str(), program.c_str(), "-c", file.c_str(), "--announce", number.c_str(), nullptr);
    print_error(fmt::format("cannot run {}: {}", program, std::strerror(errno)));
    return system_error;
}

struct Running {
    std::int64_t pid = 0; // 0: there is none
    std::string file;     // its configuration
};
Running running_master(const config::Spool& spool) {
    Running out;
    if (auto master = connect_control(spool, "master"))
        (void)master->ask({{"op", "status"}}, [&](const json& line) {
            if (line.value("process", "") == "master")
                out = {line.value("pid", std::int64_t{0}), line.value("file", "")};
        });
    return out;
}

// Waits until master has announced itself or ended.
int wait_for_announcement(int fd, pid_t master) {
    std::string announcement;
    char space[64];
    for (;;) {
        const auto n = read(fd, space, sizeof space);
        if (n > 0)
            announcement.append(space, static_cast<std::size_t>(n));
        else if (n == 0 || errno != EINTR)
            break;
    }
    if (announcement == "ready\n") {
        fmt::print("postrider is running (pid {})\n", master);
        return ok;
    }
    int status = 0;
    waitpid(master, &status, 0);
    print_error("not started; fix the errors above (\"postrider check\" checks only the configuration)");
    return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : software;
}

// Until master's lock is free: then really everything has ended.
bool wait_for_exit(const config::Spool& spool) {
    const common::Fd lock(open((spool.directory + "/run/master.lock").c_str(), O_RDONLY | O_CLOEXEC));
    if (!lock) return true;
    for (int i = 0; i < 500; ++i) {
        if (flock(lock.number(), LOCK_SH | LOCK_NB) == 0) return true;
        poll(nullptr, 0, 20);
    }
    return false;
}

} // namespace

int run(const Arguments& arguments) {
    if (arguments.has("--persistent-spool")) {
        const auto config = parse_config(arguments);
        if (!config) return bad_config;
        const auto& directory = config->spool.directory;
        if (const auto storage = volatile_storage_of(directory); !storage.empty())
            return fail(bad_config,
                        fmt::format("the spool {} is on {}: its mail is lost with the container; mount a volume "
                                    "there, or run without --persistent-spool",
                                    directory, storage));
    }
    return exec_master(common::config_file(arguments.config), -1);
}

int start(const Arguments& arguments) {
    const auto config = load_config(arguments);
    if (!config) return bad_config;
    if (const auto master = running_master(config->spool); master.pid != 0) {
        std::error_code gone;
        if (!std::filesystem::equivalent(master.file, config->file, gone)) {
            print_error(fmt::format(
                "{} is the spool of a running MTA (pid {}) with another configuration, {}: not started with {}",
                config->spool.directory, master.pid, master.file, config->file));
            return unavailable;
        }
        fmt::print("postrider is running already (pid {})\n", master.pid);
        return ok;
    }
    int ends[2];
    if (pipe(ends) != 0) return fail(system_error, std::strerror(errno));
    common::Fd read_end(ends[0]), announce(ends[1]);
    fcntl(read_end.number(), F_SETFD, FD_CLOEXEC);
    const pid_t child = fork();
    if (child < 0) return fail(system_error, std::strerror(errno));
    if (child == 0) {
        setsid();
        const common::Fd null_device(open("/dev/null", O_RDWR | O_CLOEXEC));
        dup2(null_device.number(), 0);
        _exit(exec_master(common::config_file(arguments.config), announce.number()));
    }
    announce.reset();
    return wait_for_announcement(read_end.number(), child);
}

int stop(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    auto master = connect_control(config->spool, "master");
    if (!master && is_not_running(master.error())) {
        print_error("it is not running");
        return ok;
    }
    if (!master) return report_socket_error(master.error(), config->mta);
    const auto timeout_seconds =
        std::chrono::duration_cast<std::chrono::seconds>(config->master.stop_timeout).count() + 30;
    const auto done = master->ask(
        {{"op", "stop"}},
        [](const json& line) {
            if (isatty(1)) fmt::print("stopping {}\n", line.value("stopping", "")), std::fflush(stdout);
        },
        static_cast<int>(timeout_seconds));
    // Master may be gone before its last word is read.
    if (!done && done.error().code != ECONNRESET) return report_socket_error(done.error(), config->mta);
    if (!wait_for_exit(config->spool)) return fail(unavailable, "master acknowledged the stop but is still running");
    fmt::print("postrider has stopped\n");
    return ok;
}

int logs_reopen(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    auto master = connect_control(config->spool, "master");
    if (!master) return report_socket_error(master.error(), config->mta);
    const auto done = master->ask({{"op", "reopen-logs"}}, [](const json&) {});
    if (!done) return report_socket_error(done.error(), config->mta);
    return ok;
}

} // namespace postrider
