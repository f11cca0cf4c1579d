// What systemd hears, and when: on a socket that stands for its own.
#include "daemons/master/system/notify.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

using master::Notifier;

namespace {

struct Systemd {
    explicit Systemd(const std::string& path)
        : socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        path.copy(at.sun_path, sizeof at.sun_path - 1);
        REQUIRE(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    }
    // What has come since, a word each.
    std::vector<std::string> heard() {
        std::vector<std::string> words;
        char text[4096];
        for (ssize_t n; (n = ::recv(socket.number(), text, sizeof text, 0)) >= 0;) words.emplace_back(text, n);
        return words;
    }
    common::Fd socket;
};

} // namespace

TEST_CASE("systemd hears what it is told") {
    const TemporaryDirectory directory;
    const auto path = (directory.path() / "notify").string();
    Systemd systemd(path);
    Notifier notifier(path);
    notifier.send("STATUS=starting");
    notifier.send("READY=1");
    notifier.reloading();
    notifier.stopping(std::chrono::seconds(7));
    const auto words = systemd.heard();
    REQUIRE(words.size() == 4);
    CHECK(words[0] == "STATUS=starting");
    CHECK(words[1] == "READY=1");
    CHECK(words[2].starts_with("RELOADING=1\nMONOTONIC_USEC="));
    CHECK(words[3] == "STOPPING=1\nEXTEND_TIMEOUT_USEC=7000000");
}

TEST_CASE("while systemd does not listen nobody waits; afterwards it hears the last word of each kind, in order") {
    const TemporaryDirectory directory;
    const auto path = (directory.path() / "notify").string();
    Systemd systemd(path);
    Notifier notifier(path);
    for (int n = 0; n < 10'000; ++n) notifier.send("WATCHDOG=1"); // more than a socket keeps
    notifier.send("STATUS=starting");
    notifier.send("READY=1");
    notifier.send("STATUS=running");
    const auto before = systemd.heard();
    CHECK(before.size() > 0);
    CHECK(before.size() < 10'000);
    notifier.send_pending();
    CHECK(systemd.heard() == std::vector<std::string>{"WATCHDOG=1", "READY=1", "STATUS=running"});
    notifier.send_pending();
    CHECK(systemd.heard().empty());
}

TEST_CASE("where nobody listens, nothing is said") {
    for (const char* nowhere : {"", "/", "relative", "/nonexistent/notify"}) {
        Notifier notifier(nowhere);
        notifier.send("READY=1");
        notifier.send_pending();
    }
}
