#include "daemons/common/config/config.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/process/supervision.h"
#include "daemons/common/runtime/timer.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

using namespace common;
using namespace std::chrono_literals;
namespace supervision = proto::supervision;

namespace {

// A daemon that tells what happens to it as trouble.
class Parrot final : public Daemon {
public:
    static spool::Result<std::unique_ptr<Parrot>> create(DaemonContext& context, DaemonConfig daemon_config) {
        if (daemon_config.config.mta.hostname == "bad.example")
            return std::unexpected(spool::Error{0, "I cannot work like this"});
        auto self = std::make_unique<Parrot>();
        self->context_ = &context;
        self->tell("created", daemon_config);
        return self;
    }
    void reconfigure(DaemonConfig daemon_config) override { tell("reconfigured", daemon_config); }
    void stop(smtp::Duration within, std::function<void()> done) override {
        context_->report_problem(fmt::format("stop within {} ms", within / 1ms));
        if (within < 100ms) return; // too late on purpose
        done();
    }

private:
    void tell(std::string_view what, DaemonConfig& daemon_config) {
        const auto none = daemon_config.take("none");
        const auto submit = daemon_config.take("submit");
        context_->report_problem(fmt::format(
            "{} {} {} instance={} run={} token={} submit={} none={} expected={}", what, daemon_config.generation,
            daemon_config.config.mta.hostname, context_->instance(), context_->run_directory,
            context_->identity.token_for("/queue-manager"), static_cast<bool>(submit), static_cast<bool>(none),
            daemon_config.operators.includes({.uid = 7, .gid = 4321}) ? daemon_config.expected.roles.size() : 99));
    }
    DaemonContext* context_ = nullptr;
};

Fd text_file(std::string_view text) {
    Fd fd(memfd_create("test", MFD_CLOEXEC));
    REQUIRE(write(fd.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    return fd;
}

std::string configuration(std::string_view hostname) {
    return fmt::format(
        "[mta]\nhostname = \"{}\"\nmulti_user = false\n[spool]\ndirectory = \"/nowhere\"\n[log]\nsyslog = false\n"
        "[local]\nusers = [\"me\"]\n",
        hostname);
}

// The daemon in a process of its own, and master's end of its link.
struct Birth {
    Loop loop;
    std::unique_ptr<MasterLink> link;
    pid_t pid = 0;
    std::vector<std::string> heard;
    std::function<void()> next; // after every message

    Birth() {
        int ends[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        pid = fork();
        if (pid == 0) {
            dup2(ends[1], 3);
            const int nowhere = open("/dev/null", O_WRONLY);
            dup2(nowhere, 1);
            setenv("BE_THE_DAEMON", "yes", 1);
            execl("/proc/self/exe", "common_test", "--test-case=being the daemon", nullptr);
            _exit(127);
        }
        close(ends[1]);
        link = std::make_unique<MasterLink>(
            loop, Fd(ends[0]),
            MasterLink::Callbacks{[this](supervision::Message&& message, std::vector<Fd>) {
                                      if (auto* m = std::get_if<supervision::Problem>(&message))
                                          heard.push_back(m->text);
                                      if (auto* m = std::get_if<supervision::Pong>(&message))
                                          heard.push_back(fmt::format("pong {}", m->number));
                                      if (auto* m = std::get_if<supervision::Ready>(&message))
                                          heard.push_back(fmt::format("ready {}", m->generation));
                                      if (next) next();
                                  },
                                  [this](const std::string&) { loop.stop(); }});
    }
    void configure(std::uint64_t generation, std::string_view text) {
        const auto config = text_file(text), listener = text_file("");
        supervision::Configure daemon_config;
        daemon_config.generation = generation;
        daemon_config.file = "test.toml";
        daemon_config.instance = 2;
        daemon_config.tokens = {{"queue-manager", "secret"}};
        daemon_config.key = "other secret";
        daemon_config.expected = {"smtpd"};
        daemon_config.single_user = false;
        daemon_config.has_operators = true;
        daemon_config.operators = 4321;
        daemon_config.listeners = {{"submit", "/nowhere/run/submit"}};
        link->send(daemon_config, {config.number(), listener.number()});
    }
    // Until it has ended; its exit status.
    int wait() {
        loop.run();
        int status = 0;
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
};

} // namespace

// What the processes that are started below run: this program, and only this.
TEST_CASE("being the daemon") {
    if (std::getenv("BE_THE_DAEMON")) _exit(run_daemon<Parrot>(proto::Role::pickup, "pickup"));
}

TEST_CASE("a daemon is configured, answers, is reconfigured and stops") {
    Birth birth;
    birth.configure(1, configuration("one.example"));
    birth.link->send(supervision::Ping{77});
    birth.configure(2, configuration("two.example"));
    birth.configure(3, "[mta\n"); // master would never; the daemon keeps what it has
    birth.link->send(supervision::Stop{5'000'000});
    CHECK(birth.wait() == 0);
    REQUIRE(birth.heard.size() == 7);
    const std::string rest = " instance=2 run=/nowhere/run token=secret submit=true none=false expected=1";
    CHECK(birth.heard[0] == "created 1 one.example" + rest);
    CHECK(birth.heard[1] == "ready 1");
    CHECK(birth.heard[2] == "pong 77");
    CHECK(birth.heard[3] == "reconfigured 2 two.example" + rest);
    CHECK(birth.heard[4] == "ready 2");
    CHECK(birth.heard[5].starts_with("test.toml:1:"));
    CHECK(birth.heard[6] == "stop within 5000 ms");
}

TEST_CASE("a daemon that cannot work says why and ends") {
    Birth birth;
    birth.configure(1, configuration("bad.example"));
    CHECK(birth.wait() == 75);
    CHECK(birth.heard == std::vector<std::string>{"I cannot work like this"});
}

TEST_CASE("a daemon ends in good order when master has gone, and in time when it cannot finish") {
    Birth orphan;
    orphan.configure(1, configuration("one.example"));
    orphan.next = [&] {
        if (orphan.heard.back() != "ready 1") return;
        orphan.loop.defer([&] {
            orphan.link.reset();
            orphan.loop.stop();
        });
    };
    CHECK(orphan.wait() == 0);

    Birth slow;
    slow.configure(1, configuration("one.example"));
    slow.link->send(supervision::Stop{50'000});
    CHECK(slow.wait() == 0);
    CHECK(slow.heard.back() == "stop within 50 ms");
}
