#include "daemons/local/command/command.h"
#include "daemons/local/command/exit_status.h"
#include "tests/temporary_directory.h"
#include <csignal>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace local;
using namespace std::chrono_literals;
using proto::delivery::Outcome;

namespace {

// Not dead, whether or not somebody has noticed.
bool runs(const std::string& pid) {
    std::ifstream stat("/proc/" + std::string(pid, 0, pid.find('\n')) + "/stat");
    std::string text;
    std::getline(stat, text);
    const auto name_ends = text.rfind(") ");
    return name_ends != text.npos && text[name_ends + 2] != 'Z';
}

// "deferred 4.3.0 text"
std::string text_of(const Verdict& verdict) {
    constexpr std::string_view outcomes[] = {"delivered", "deferred", "failed"};
    return fmt::format("{} {} {}", outcomes[static_cast<int>(verdict.outcome)], verdict.status, verdict.text);
}

struct World {
    World() {
        std::signal(SIGPIPE, SIG_IGN); // as in every daemon
        chmod(place.path().c_str(), 0777);
        run.person.name = "ann";
        run.person.home = place.path();
        run.person.change = false;
    }
    Verdict deliver(std::string text, std::string_view content = "Subject: x\r\n\r\nbody\r\n.\r\n",
                    smtp::Duration limit = 60s) {
        run.command = std::move(text);
        Command command(run, "Delivered-To: ann@here\n", 60s, limit, unreaped);
        if (auto verdict = command.open()) return *verdict;
        for (std::size_t at = 0; at < content.size(); at += 100'000)
            if (auto verdict = command.write(content.substr(at, 100'000))) return *verdict;
        return command.commit();
    }
    std::string said(std::string text) { return text_of(deliver(std::move(text))); }
    TemporaryDirectory place;
    command::Run run;
    UnreapedProcesses unreaped;
};

} // namespace

TEST_CASE("a command reads the message, where its user is at home") {
    World w;
    CHECK(w.said("cat > message") == "delivered 2.0.0 delivered to command: cat > message");
    CHECK(w.place.text("message") == "Delivered-To: ann@here\nSubject: x\n\nbody\n.\n");
    CHECK(w.said("exec cat >/dev/null") == "delivered 2.0.0 delivered to command: exec cat >/dev/null");
    CHECK(w.said("/bin/echo done") == "delivered 2.0.0 delivered to command: /bin/echo done (done)");
    CHECK(w.said("echo two; echo lines >&2") ==
          "delivered 2.0.0 delivered to command: echo two; echo lines >&2 (two lines)");
    const std::string large(3'000'000, 'x');
    CHECK(w.deliver("wc -c", large).text == "delivered to command: wc -c (3000024)");
}

TEST_CASE("what a command finds around it") {
    World w;
    w.run.environment = command::environment(
        {"ann", w.run.person.home, "o'neil$(x)@far.example", "ann+lists@here.example", "team@here.example", '+'});
    CHECK(w.said("env > environment; exec 3<&0; ls /proc/self/fd > open; umask > mask; ulimit -c > core")
              .starts_with("delivered"));
    const auto environment = w.place.text("environment");
    for (const auto* line :
         {"HOME=/tmp/", "USER=ann\n", "LOGNAME=ann\n", "SHELL=/bin/sh\n", "SENDER=o_neil__x_@far.example\n",
          "RECIPIENT=ann+lists@here.example\n", "ORIGINAL_RECIPIENT=team@here.example\n", "LOCAL=ann+lists\n",
          "EXTENSION=lists\n", "DOMAIN=here.example\n", "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"}) {
        CAPTURE(line);
        CHECK(environment.find(line) != environment.npos);
    }
    CHECK(w.place.text("open") == "0\n1\n2\n3\n4\n"); // 3 the test's own, 4 the directory that ls reads
    CHECK(w.place.text("mask") == "0077\n");
    CHECK(w.place.text("core") == "0\n");
    CHECK(command::environment({"ann", "/", "", "ann", "ann", 0})[4] == "SENDER=MAILER-DAEMON");
    // Signals mean what they mean elsewhere.
    CHECK(w.said("kill -PIPE $$").find("died with signal 13") != std::string::npos);
}

TEST_CASE("exit statuses are those of sysexits.h") {
    World w;
    const std::pair<int, std::string_view> rows[] = {
        {64, "failed 5.3.0 command line usage error"}, {65, "failed 5.6.0 data format error"},
        {66, "failed 5.3.0 cannot open input"},        {67, "failed 5.1.1 user unknown"},
        {68, "failed 5.1.2 host name unknown"},        {69, "failed 5.3.0 service unavailable"},
        {70, "failed 5.3.0 internal software error"},  {71, "deferred 4.3.0 system resource problem"},
        {72, "failed 5.3.0 critical OS file missing"}, {73, "failed 5.2.0 can't create user output file"},
        {74, "deferred 4.3.0 input/output error"},     {75, "deferred 4.3.0 temporary failure"},
        {76, "failed 5.5.0 remote error in protocol"}, {77, "failed 5.7.0 permission denied"},
        {78, "failed 5.3.5 local configuration error"}};
    for (const auto& [exit, said] : rows) {
        CHECK(text_of(verdict_of_exit(exit << 8, "x", "")) == said);
        CHECK(text_of(verdict_of_exit(exit << 8, "x", "why")) == fmt::format("{}. Command output: why", said));
    }
    CHECK(w.said("exit 75") == "deferred 4.3.0 temporary failure");
    CHECK(w.said("echo no such box; exit 67") == "failed 5.1.1 user unknown. Command output: no such box");
    CHECK(w.said("exit 1") == "failed 5.3.0 Command died with status 1: \"exit 1\"");
    CHECK(w.said("false") == "failed 5.3.0 Command died with status 1: \"false\"");
    CHECK(w.said("kill -9 $$") == "deferred 4.3.0 Command died with signal 9: \"kill -9 $$\"");
    const auto missing = w.said("/no/such/program x");
    CHECK(missing.starts_with("deferred 4.3.5 Command died with status 127: \"/no/such/program x\". Command output: "));
    CHECK(w.said("/etc/passwd").starts_with("deferred 4.3.5 Command died with status 126"));
    // A status of the command's own.
    CHECK(w.said("echo 4.2.2 mailbox full; exit 1") == "deferred 4.2.2 mailbox full");
    CHECK(w.said("echo 5.2.2 mailbox full; exit 75") == "failed 5.2.2 mailbox full");
    CHECK(w.said("echo 5.2.2; exit 75") == "failed 5.2.2 \"echo 5.2.2; exit 75\" says so");
    for (const auto* no : {"2.0.0 fine", "5.2 x", "5..2 x", "5.2.2222 x", "6.1.1 x", "5.a.1 x", "15.1.1 x"})
        CHECK(text_of(verdict_of_exit(1 << 8, "x", no)).starts_with("failed 5.3.0 Command died with status 1"));
}

TEST_CASE("a command that does not read, floods or stays behind keeps nobody") {
    World w;
    const std::string large(1'000'000, 'x');
    CHECK(w.deliver("exec <&-; exit 0", large).outcome == Outcome::delivered);
    CHECK(w.deliver("head -c 10 >/dev/null; exit 75", large).status == "4.3.0");
    CHECK(w.deliver("exec true", large).outcome == Outcome::delivered);
    const auto flooded = w.deliver("head -c 50000000 /dev/zero | tr '\\0' x; exit 1", large);
    CHECK(flooded.text.size() > 1000);
    CHECK(flooded.text.size() < 1200);
    CHECK(w.said("printf 'a\\001\\377b\\0'; exit 1").ends_with("Command output: a__b_"));
    // What it leaves behind holds its output open, is not waited for, and lives.
    CHECK(w.deliver("(sleep 1000 & echo $! > pid; yes) & until [ -s pid ]; do :; done; exit 0", "x", 50s).outcome ==
          Outcome::delivered);
    CHECK(runs(w.place.text("pid")));
    if (const int group = getpgid(std::stoi(w.place.text("pid"))); group > 1) kill(-group, SIGKILL);
}

TEST_CASE("a command that takes too long is killed, and all it has started") {
    World w;
    const std::string large(1'000'000, 'x');
    for (const auto* text : {"sleep 1000 & echo $! > pid; echo still at it; wait",
                             "sleep 1000 & echo $! > pid; echo still at it; exec sleep 1000 <&-"}) {
        const auto verdict = w.deliver(text, large, 1s);
        CHECK(text_of(verdict) ==
              fmt::format("deferred 4.3.0 Command time limit exceeded: \"{}\". Command output: still at it", text));
        while (runs(w.place.text("pid"))) std::this_thread::yield(); // killed with its group, not waited for
    }
}

TEST_CASE("half a message is none: the command is killed before its input ends") {
    World w;
    w.run.command = "echo $$ > pid; cat > message; echo whole > end";
    {
        Command command(w.run, "", 60s, 60s, w.unreaped);
        REQUIRE_FALSE(command.open());
        REQUIRE_FALSE(command.write(std::string(200'000, 'x')));
    }
    CHECK_FALSE(std::filesystem::exists(w.place.path() / "end"));
    CHECK_FALSE(runs(w.place.text("pid")));
}

TEST_CASE("root runs commands as their users, who may not come back") {
    if (geteuid() != 0) return;
    World w;
    w.run.person = {"nobody", w.place.path(), 65534, 65534, {65534}, true};
    CHECK(w.said("id -u; id -G") == "delivered 2.0.0 delivered to command: id -u; id -G (65534 65534)");
    CHECK(w.said("grep NoNewPrivs /proc/self/status").find("NoNewPrivs: 0") != std::string::npos);
    w.run.person.uid = 0;
    CHECK(w.said("id -u").find("never delivered as root") != std::string::npos);
    w.run.person.uid = 65534;
    w.run.person.home = "/no/such/home";
    CHECK(w.said("pwd").ends_with("(/)"));
}

TEST_CASE("words are passed as they are, without a shell") {
    World w;
    w.run.words = {"/bin/sh", "-c", "printf '%s\\n' \"$@\" > words; cat > message", "x", "a b", "$(touch evil)",
                   "';\"",    ""};
    CHECK(w.said("words") == "delivered 2.0.0 delivered to command: words");
    CHECK(w.place.text("words") == "a b\n$(touch evil)\n';\"\n\n");
    w.run.words = {"/nowhere/prog", "x"};
    CHECK(w.said("words").find("run \"/nowhere/prog\": No such file or directory") != std::string::npos);
}
