// How a process ended, and whose fault that was: what makes the mail it had in flight suspect.
#include "daemons/common/config/sections/system/master.h"
#include "daemons/master/children/child.h"
#include "daemons/master/children/oom_kills.h"
#include "tests/temporary_directory.h"
#include <csignal>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>

using master::Child;
using master::OomKills;

namespace {

struct Office : Child::Supervisor {
    master::Program program_of(const Child&) override {
        master::Program program;
        program.path = "/bin/sleep"; // answers no heartbeat
        program.arguments = {"600"};
        return program;
    }
    void send_orders(const Child&, common::MasterLink&) override {}
    const config::Master& rules() override { return settings; }
    void ready(Child&) override {}
    void problem_changed(Child&) override {}
    void answered(Child&) override {}
    void token_wanted(Child&, const proto::supervision::AccessTokenWanted&) override {}
    void sink_wanted(Child&, const proto::supervision::SinkWanted&) override {}
    bool other_roles_answer(const Child&) override { return others; }
    bool out_of_memory() override { return memory_ran_out; }
    void ended(Child&, bool how) override { crashed = how; }

    config::Master settings;
    bool others = true, memory_ran_out = false;
    std::optional<bool> crashed;
};

struct Sleeper {
    Sleeper() { child.start(); }
    ~Sleeper() {
        child.stop({});
        if (child.alive()) ::kill(child.pid(), SIGKILL), waitpid(child.pid(), nullptr, 0);
    }
    // Until /proc says so.
    void wait_for_state(char wanted) {
        for (char state = '?'; state != wanted; std::this_thread::yield()) {
            std::ifstream file("/proc/" + std::to_string(child.pid()) + "/stat");
            std::string text((std::istreambuf_iterator<char>(file)), {});
            if (const auto at = text.rfind(") "); at != text.npos) state = text[at + 2];
        }
    }
    void hang() {
        while (office.settings.heartbeat_interval * child.unanswered() < office.settings.heartbeat_timeout)
            child.heartbeat();
        child.heartbeat();
        end();
    }
    void end() {
        int status = 0;
        REQUIRE(waitpid(child.pid(), &status, 0) == child.pid());
        child.has_ended(status);
    }

    common::Loop loop;
    common::Log log{loop, "test"};
    Office office;
    Child child{loop, log, office, {.role = proto::Role::smtp_client, .name = "smtp-client/0"}};
};

} // namespace

TEST_CASE("a process that hangs while others answer is to blame") {
    Sleeper s;
    s.wait_for_state('S');
    s.hang();
    REQUIRE(s.office.crashed);
    CHECK(*s.office.crashed);
}

TEST_CASE("… not one that somebody has stopped, nor where nobody answers") {
    Sleeper stopped;
    ::kill(stopped.child.pid(), SIGSTOP);
    stopped.wait_for_state('T');
    stopped.hang();
    CHECK(stopped.office.crashed == false);

    Sleeper slow;
    slow.wait_for_state('S');
    slow.office.others = false;
    slow.hang();
    CHECK(slow.office.crashed == false);
}

TEST_CASE("SIGKILL: the kernel's, for want of memory, or an administrator's") {
    for (const bool memory_ran_out : {true, false}) {
        Sleeper s;
        s.office.memory_ran_out = memory_ran_out;
        ::kill(s.child.pid(), SIGKILL);
        s.end();
        CHECK(s.office.crashed == memory_ran_out);
    }
}

TEST_CASE("a process that is stopped, or killed because it does not stop, is not to blame") {
    Sleeper s;
    s.child.stop({});
    s.child.kill();
    s.end();
    CHECK(s.office.crashed == false);
}

TEST_CASE("kills for want of memory are counted once, in our cgroup or in the machine") {
    TemporaryDirectory place;
    const auto write = [&](const std::string& path, const std::string& text) {
        const std::filesystem::path at = place.path().string() + path;
        std::filesystem::create_directories(at.parent_path());
        std::ofstream(at) << text;
    };
    write("/proc/self/cgroup", "12:cpuset:/\n0::/system.slice/postrider.service\n");
    write("/proc/vmstat", "pgfault 1\noom_kill 4\n");
    {
        OomKills machine(place.path().string()); // without a cgroup of our own
        CHECK_FALSE(machine.one_more());
        write("/proc/vmstat", "pgfault 1\noom_kill 6\n");
        CHECK(machine.one_more());
        CHECK(machine.one_more());
        CHECK_FALSE(machine.one_more());
    }
    const std::string events = "/sys/fs/cgroup/system.slice/postrider.service/memory.events";
    write(events, "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
    OomKills ours(place.path().string());
    write("/proc/vmstat", "oom_kill 9\n");
    CHECK_FALSE(ours.one_more());
    write(events, "low 0\noom 4\noom_kill 3\n");
    ours.forget_earlier(); // the process that was killed may still be dying
    CHECK(ours.one_more());
    write(events, "low 0\noom 5\noom_kill 4\n");
    ours.forget_earlier();
    ours.forget_earlier(); // it was another's
    CHECK_FALSE(ours.one_more());
}
