// Commands that print tokens: run once for all who ask, what they printed kept until it is old or refused,
// what goes wrong told without what they printed.
#include "daemons/master/secrets/tokens.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <sys/wait.h>

using namespace master;
using namespace std::chrono_literals;

TEST_CASE("what a command prints") {
    struct Row {
        std::string output, token, why; // why "": good
        smtp::Duration good_for = PrintedToken::usual;
    };
    const Row rows[] = {
        {"ya29.token\n", "ya29.token", ""},
        {"token", "token", ""},
        {"token\r\n3600\r\n", "token", "", 3600s},
        {"token\n99999999999\n", "token", "", PrintedToken::most},
        {"token\n0\n", "token", "", 0s},
        {"token\n60\nand more\n", "token", "", 60s},
        {"", "", "it printed nothing"},
        {"\ntoken\n", "", "it printed nothing"},
        {"no token\n", "", "its first line is not a token"},
        {"tok\001en\n", "", "its first line is not a token"},
        {"token\nsoon\n", "", "its second line is not a number of seconds"},
        {std::string(PrintedToken::longest + 1, 'x'), "", "its token is longer than 8192 bytes"},
    };
    for (const auto& row : rows) {
        const auto read = PrintedToken::parse(row.output);
        CAPTURE(row.output);
        REQUIRE(read.has_value() == row.why.empty());
        if (!read) {
            CHECK(read.error().why == row.why);
            continue;
        }
        CHECK(read->text.reveal() == row.token);
        CHECK(read->good_for == row.good_for);
    }
}

namespace {

struct Rig {
    common::Loop loop;
    common::Log log{loop, "master"};
    TemporaryDirectory folder;
    Tokens tokens{loop, log, nullptr};
    smtp::Monotonic now = common::Loop::now().monotonic;
    std::vector<std::string> answered;
    std::uint64_t number = 0;

    std::string runs() const { return (folder.path() / "runs").string(); }
    void use(std::string_view command) {
        const auto read = "relay.example ann |echo run >> " + runs() + "; " + std::string(command) + "\n";
        tokens.use(*auth::Credentials::parse(read));
    }
    void ask(std::uint64_t refused = 0, std::string account = "ann at relay.example") {
        tokens.ask(account, refused, now, [this](const Tokens::Answer& answer) {
            if (answer.number != 0) number = answer.number;
            answered.push_back(answer.problem.empty() ? std::string(answer.text) + (answer.fresh ? " fresh" : "")
                                                      : answer.problem);
        });
    }
    // Until so many have been told.
    void wait(std::size_t count) {
        while (answered.size() < count || !tokens.running().empty()) {
            common::Timer tick(loop, [this] { loop.stop(); });
            tick.start(5ms);
            loop.run();
            for (const auto pid : tokens.running())
                if (int status = 0; ::waitpid(pid, &status, WNOHANG) == pid) tokens.has_ended(pid, status);
        }
    }
    std::size_t times_run() const {
        std::ifstream file(runs());
        return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
    }
};

} // namespace

TEST_CASE_FIXTURE(Rig, "one run for all who ask, kept for those who ask later, made anew when refused or old") {
    use("echo token; echo 100");
    ask();
    ask();
    wait(2);
    CHECK(answered == std::vector<std::string>{"token fresh", "token fresh"});
    ask();
    CHECK(answered.back() == "token");
    CHECK(times_run() == 1);
    ask(number + 1000); // of one nobody has any more
    CHECK(times_run() == 1);
    ask(number);
    wait(5);
    CHECK(answered.back() == "token fresh");
    CHECK(times_run() == 2);
    now += 101s;
    ask();
    wait(6);
    CHECK(times_run() == 3);
}

TEST_CASE_FIXTURE(Rig, "what goes wrong is told, and not repeated at once") {
    use("echo secret; exit 3");
    ask();
    wait(1);
    CHECK(answered.back() == "it ended with status 3");
    ask();
    CHECK(answered.size() == 2);
    CHECK(times_run() == 1);
    use("kill -9 $$"); // mended by the operator: tried at once
    ask();
    wait(3);
    CHECK(answered.back() == "it was ended by signal 9");
    use("exec yes");
    ask();
    wait(4);
    CHECK(answered.back() == "it printed more than 16384 bytes");
    ask(0, "nobody at relay.example");
    CHECK(answered.back() == "there is no command for that account");
}

TEST_CASE_FIXTURE(Rig, "a command that is no longer wanted is killed") {
    use("exec sleep 1000");
    ask();
    REQUIRE(tokens.running().size() == 1);
    tokens.use({});
    CHECK(answered == std::vector<std::string>{"its account has changed"});
    wait(1);
    CHECK(tokens.running().empty());
}

TEST_CASE_FIXTURE(Rig, "a command has no more of our environment than it needs") {
    ::setenv("POSTRIDER_SECRET", "x", 1);
    use("echo ${POSTRIDER_SECRET:-none}:$(pwd)");
    ask();
    wait(1);
    ::unsetenv("POSTRIDER_SECRET");
    CHECK(answered.back() == "none:/ fresh");
}
