#include "daemons/local/as_user/user_process.h"
#include "daemons/local/helper_entry.h"
#include "tests/temporary_directory.h"
#include <csignal>
#include <doctest/doctest.h>
#include <fstream>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

using namespace local;
using proto::delivery::Outcome;

// This program is the delivering process too, as the daemon's is: what is run with the option never returns
// here.
static const int becomes_user = [] {
    char line[256] = {};
    if (FILE* file = std::fopen("/proc/self/cmdline", "r")) {
        const std::size_t n = std::fread(line, 1, sizeof line - 1, file);
        std::fclose(file);
        const std::string_view words(line, n);
        const auto at = words.find(std::string_view("\0--as-user\0", 11));
        if (at != words.npos) _exit(run_as_user(words.substr(at + 11, words.size() - at - 12)));
    }
    return 0;
}();

namespace {

// The process that this one has begun; 0: none.
pid_t only_child() {
    pid_t pid = 0;
    std::ifstream("/proc/self/task/" + std::to_string(getpid()) + "/children") >> pid;
    return pid;
}

struct World {
    World() {
        chmod(place.path().c_str(), 0755);
        home = place.path() / "home";
        std::filesystem::create_directory(home);
        nobody = {65534, 65534, {65534}, "nobody", home};
        request.path = home / "Maildir";
        request.owner = 65534;
        request.lock_timeout = 1'000'000;
        request.name = "1.Q1R0.host";
        request.prefix = "Return-Path: <>\n";
    }
    Verdict deliver(std::string_view content) {
        UserProcess process({as_user::identity_of(nobody), request, {}, false}, std::chrono::seconds(60), unreaped);
        if (auto verdict = process.open()) return *verdict;
        if (auto verdict = process.write(content)) return *verdict;
        return process.commit();
    }
    TemporaryDirectory place;
    std::filesystem::path home;
    common::Identity nobody;
    MailboxRequest request;
    UnreapedProcesses unreaped;
};

} // namespace

TEST_CASE("root delivers by a process that is the recipient" * doctest::skip(geteuid() != 0)) {
    World w;
    SUBCASE("not where the recipient may not write") {
        const auto verdict = w.deliver("x\r\n");
        CHECK(verdict.outcome == Outcome::deferred);
        CHECK(verdict.text.find("not permitted") != std::string::npos);
        CHECK(std::filesystem::is_empty(w.home));
    }
    SUBCASE("in the recipient's own home, as theirs") {
        REQUIRE(chown(w.home.c_str(), 65534, 65534) == 0);
        const std::string content = std::string(2'000'000, 'x') + "\r\n";
        const auto verdict = w.deliver(content);
        CHECK(verdict.text == "delivered to maildir");
        struct stat found;
        REQUIRE(stat((w.home / "Maildir/new/1.Q1R0.host").c_str(), &found) == 0);
        CHECK(found.st_uid == 65534);
        CHECK(static_cast<std::size_t>(found.st_size) == content.size() - 1 + w.request.prefix.size());
    }
    SUBCASE("what is not committed is not kept") {
        REQUIRE(chown(w.home.c_str(), 65534, 65534) == 0);
        {
            UserProcess process({as_user::identity_of(w.nobody), w.request, {}, false}, std::chrono::seconds(60),
                                w.unreaped);
            CHECK_FALSE(process.open());
            CHECK_FALSE(process.write("half\r\n"));
        }
        CHECK(std::filesystem::is_empty(w.home / "Maildir/new"));
        CHECK(std::filesystem::is_empty(w.home / "Maildir/tmp"));
    }
    SUBCASE("whose process does not answer, of a message, or of its end: it is killed") {
        REQUIRE(chown(w.home.c_str(), 65534, 65534) == 0);
        for (const bool whole : {false, true}) {
            UserProcess process({as_user::identity_of(w.nobody), w.request, {}, false}, std::chrono::seconds(1),
                                w.unreaped);
            REQUIRE_FALSE(process.open());
            const auto pid = only_child();
            REQUIRE(kill(pid, SIGSTOP) == 0);
            const auto verdict = whole ? std::optional(process.commit()) : process.write(std::string(4'000'000, 'x'));
            REQUIRE(verdict);
            CHECK(verdict->text == "the process that delivers as user nobody did not answer for 1 s and was killed");
            CHECK(verdict->mailbox);
            CHECK(verdict->in_doubt == whole);
        }
        CHECK(only_child() == 0);
        CHECK(w.unreaped.count() == 0);
    }
    SUBCASE("never as root") {
        w.nobody.uid = 0;
        CHECK(w.deliver("x\r\n").text.find("never delivered as root") != std::string::npos);
    }
}
