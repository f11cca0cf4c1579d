#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/local/as_user/user_files.h"
#include "tests/common/ipc/fake_queue_manager.h"
#include <csignal>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace local;
using proto::Role;
using proto::user_files::Answer;
using proto::user_files::Read;
using proto::user_files::Status;
namespace uf = proto::user_files;

namespace {

// The daemon's end; this test is the categorizer. Run by root the readers are `nobody`, whose home is lent.
struct World {
    explicit World(std::string_view more = "") {
        chmod(premises.directory.c_str(), 0755);
        auto read = config::parse(fmt::format("[local]\nforward = [\"{}/{{user}}\"]\n{}", premises.directory, more),
                                  premises.directory + "/postrider.toml", {"here.example", "ann", 1});
        REQUIRE(read);
        config = std::move(*read);
        common::DaemonConfig daemon_config{config, 1, {}, {"key", {Role::categorizer}}};
        daemon_config.listeners.push_back({"local", "", premises.listen("local")});
        files.configure(config.local, config.mta, daemon_config);
        while (!categorizer.up()) uv_run(&premises.loop.uv(), UV_RUN_ONCE);
    }
    std::map<std::uint64_t, Answer> answers_to(std::initializer_list<Read> questions) {
        for (const auto& question : questions) static_cast<void>(categorizer.send(question));
        return await(questions.size());
    }
    std::map<std::uint64_t, Answer> await(std::size_t count) {
        while (heard.size() < count) uv_run(&premises.loop.uv(), UV_RUN_ONCE);
        return std::exchange(heard, {});
    }
    fake::Premises premises{Role::local};
    config::Config config;
    common::DaemonContext context = premises.context();
    UnreapedProcesses unreaped;
    UserFiles files{context, unreaped, std::chrono::seconds(4)};
    std::map<std::uint64_t, Answer> heard;
    ipc::Connector<uf::Message> categorizer{
        premises.loop,
        premises.log,
        premises.directory + "/run/private/local",
        uf::conversation,
        {Role::categorizer, 0, {{"local", ipc::token_of("key", Role::categorizer, 0)}}},
        {[this](uf::Message&& message) {
            auto& answer = std::get<Answer>(message);
            heard.emplace(answer.request, std::move(answer));
        }}};
};

} // namespace

TEST_CASE("files are read by a process that is the user") {
    if (geteuid() != 0) return;
    World w;
    w.premises.temporary.write("nobody", "somebody@far.example\n");
    w.premises.temporary.write("secret", "x");
    chmod((w.premises.directory + "/secret").c_str(), 0600); // root's
    w.premises.temporary.write("root", "never read");
    auto said = w.answers_to({{1, "nobody", "", ""},
                              {2, "nobody", w.premises.directory + "/secret", ""},
                              {3, "root", "", ""},
                              {4, "no-such-user-here", "", ""},
                              {5, "nobody", w.premises.directory + "/nowhere", ""}});
    CHECK(said[1].status == Status::found);
    CHECK(said[1].text == "somebody@far.example\n");
    CHECK(said[2].why == w.premises.directory + "/secret cannot be read by its own user");
    for (const std::uint64_t none : {3, 4, 5}) CHECK(said[none].status == Status::none);
}

TEST_CASE("users below the least uid have no files") {
    if (geteuid() != 0) return;
    World w("minimum_uid = 65535\n");
    w.premises.temporary.write("nobody", "somebody@far.example\n");
    CHECK(w.answers_to({{1, "nobody", "", ""}})[1].status == Status::none);
}

TEST_CASE("many questions are answered, each once; a categorizer that has gone is not answered") {
    World w("[mta]\nmulti_user = false\n");
    for (int n = 0; n < 40; ++n) w.premises.temporary.write(fmt::format("user{}", n), fmt::format("text {}", n));
    for (std::uint64_t n = 0; n < 40; ++n)
        static_cast<void>(w.categorizer.send(Read{n, fmt::format("user{}", n), "", ""}));
    const auto said = w.await(40);
    for (const auto& [n, answer] : said) CHECK(answer.text == fmt::format("text {}", n));

    for (std::uint64_t n = 0; n < 40; ++n)
        static_cast<void>(w.categorizer.send(Read{n, fmt::format("user{}", n), "", ""}));
    w.categorizer.fail("test");
    while (!w.categorizer.up()) uv_run(&w.premises.loop.uv(), UV_RUN_ONCE);
    CHECK(w.answers_to({{100, "user1", "", ""}})[100].text == "text 1");
}

// Stops a process that reads a file. False: it had answered by then; it goes on, and its answer is waited for.
static bool stopped_in_time(World& w, pid_t pid) {
    REQUIRE(kill(pid, SIGSTOP) == 0);
    siginfo_t state{};
    REQUIRE(waitid(P_PID, static_cast<id_t>(pid), &state, WSTOPPED | WEXITED | WNOWAIT) == 0);
    for (int n = 0; n < 5; ++n) uv_run(&w.premises.loop.uv(), UV_RUN_NOWAIT); // what it has written arrives
    if (state.si_code == CLD_STOPPED && w.heard.empty()) return true;
    kill(pid, SIGCONT);
    while (w.heard.empty()) uv_run(&w.premises.loop.uv(), UV_RUN_ONCE);
    return false;
}

TEST_CASE("who stops the process that reads their files keeps nobody else waiting, and is not waited for again") {
    World w("[mta]\nmulti_user = false\n");
    for (int n = 0; n < 3; ++n) w.premises.temporary.write(fmt::format("user{}", n), fmt::format("text {}", n));
    pid_t pid = 0;
    while (pid == 0) { // until one is stopped before it has answered
        w.heard.clear();
        static_cast<void>(w.categorizer.send(Read{1, "user1", "", ""}));
        while (pid == 0 && w.heard.empty()) {
            uv_run(&w.premises.loop.uv(), UV_RUN_NOWAIT);
            std::ifstream("/proc/self/task/" + std::to_string(getpid()) + "/children") >> pid;
        }
        if (pid != 0 && !stopped_in_time(w, pid)) pid = 0;
    }
    REQUIRE(w.heard.empty());
    static_cast<void>(w.categorizer.send(Read{2, "user1", "", "x"}));
    for (std::uint64_t n = 10; n < 13; ++n) static_cast<void>(w.categorizer.send(Read{n, "user2", "", ""}));
    auto said = w.await(3); // others, though one has not been answered
    for (const auto& [n, answer] : said) CHECK(answer.text == "text 2");
    CHECK_FALSE(said.contains(1));

    said = w.await(2); // killed; what waited behind it is answered with it
    for (const auto& [n, answer] : said) {
        CHECK(answer.status == Status::unreadable);
        CHECK(answer.why == "files of user user1 cannot be read: the process that reads them does not answer");
    }
    said = w.answers_to({{3, "user1", "", ""}, {4, "user0", "", ""}}); // for a while
    CHECK(said[3].status == Status::unreadable);
    CHECK(said[4].text == "text 0");
    CHECK(w.unreaped.count() == 0);
}
