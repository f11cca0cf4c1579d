#include "daemons/local/mailbox/files.h"
#include "daemons/local/mailbox/mailbox.h"
#include "tests/temporary_directory.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace local;
using proto::delivery::Outcome;

namespace {

MailboxRequest request(const TemporaryDirectory& place, Format format) {
    MailboxRequest l;
    l.format = format;
    l.path = place.path() / "box";
    l.owner = geteuid();
    l.lock_timeout = 100'000;
    l.name = "1795190098.Q0A1B2C3D4E5F01R0.host";
    l.from_line = "From a@x  Fri Nov 20 15:54:58 2026";
    l.prefix = "Return-Path: <a@x>\n";
    return l;
}

Verdict deliver(const MailboxRequest& l, std::string_view content = "Subject: s\r\n\r\nFrom here\r\n") {
    const auto mailbox = open_mailbox(l);
    if (auto verdict = mailbox->open()) return *verdict;
    if (auto verdict = mailbox->write(content)) return *verdict;
    return mailbox->commit();
}

} // namespace

TEST_CASE("a Maildir is made where there is none, and the message is new in it") {
    TemporaryDirectory place;
    const auto l = request(place, Format::maildir);
    const auto verdict = deliver(l);
    CHECK(verdict.outcome == Outcome::delivered);
    CHECK(verdict.text == "delivered to maildir");
    CHECK(verdict.status == "2.0.0");
    CHECK(place.text("box/new/" + l.name) == "Return-Path: <a@x>\nSubject: s\n\nFrom here\n");
    CHECK(place.names("box/tmp").empty());
    CHECK(place.names("box/cur").empty());
    CHECK((std::filesystem::status(place.path() / "box").permissions() & std::filesystem::perms::all) ==
          std::filesystem::perms::owner_all);
}

TEST_CASE("a Maildir delivery that is repeated is there once") {
    TemporaryDirectory place;
    auto l = request(place, Format::maildir);
    CHECK(deliver(l).outcome == Outcome::delivered);
    CHECK(deliver(l).text == "delivered to maildir before");
    CHECK(place.names("box/new").size() == 1);
    // A reader has taken it meanwhile.
    std::filesystem::rename(place.path() / "box/new" / l.name, place.path() / "box/cur" / (l.name + ":2,S"));
    l.may_be_delivered = true;
    CHECK(deliver(l).text == "delivered to maildir before");
    CHECK(place.names("box/new").empty());
    // A longer name is another message.
    l.name.pop_back();
    CHECK(deliver(l).text == "delivered to maildir");
}

TEST_CASE("a new mbox is its user's alone, unless the group of its directory was granted") {
    const auto before = umask(0007); // that of a delivering process
    for (const bool shared : {false, true}) {
        TemporaryDirectory place;
        auto l = request(place, Format::mbox);
        l.shared = shared;
        l.path = place.path() / "not there yet" / "box";
        CHECK(deliver(l).outcome == Outcome::delivered);
        using std::filesystem::perms;
        const auto group = shared ? perms::group_read | perms::group_write : perms::none;
        CHECK((std::filesystem::status(l.path).permissions() & perms::all) ==
              (perms::owner_read | perms::owner_write | group));
    }
    umask(before);
}

TEST_CASE("what is not committed leaves nothing") {
    TemporaryDirectory place;
    place.write("mbox", "From old\n\n\n");
    for (Format format : {Format::maildir, Format::mbox}) {
        auto l = request(place, format);
        if (format == Format::mbox) l.path = place.path() / "mbox";
        const auto mailbox = open_mailbox(l);
        CHECK_FALSE(mailbox->open());
        CHECK_FALSE(mailbox->write(std::string(300'000, 'x')));
    }
    CHECK(place.names("box/tmp").empty());
    CHECK(place.names("box/new").empty());
    CHECK(place.text("mbox") == "From old\n\n\n");
    CHECK_FALSE(std::filesystem::exists(place.path() / "mbox.lock"));
}

TEST_CASE("an mbox grows by one message, its From lines quoted") {
    TemporaryDirectory place;
    const auto l = request(place, Format::mbox);
    const std::string one = "From a@x  Fri Nov 20 15:54:58 2026\nReturn-Path: <a@x>\nSubject: s\n\n>From here\n\n";
    CHECK(deliver(l).text == "delivered to mailbox");
    CHECK(place.text("box") == one);
    CHECK(deliver(l).outcome == Outcome::delivered);
    CHECK(place.text("box") == one + one);
    place.write("box", "half a line");
    CHECK(deliver(l).outcome == Outcome::delivered);
    CHECK(place.text("box") == "half a line\n" + one);
    CHECK_FALSE(std::filesystem::exists(place.path() / "box.lock"));
}

TEST_CASE("an mbox delivery that is repeated is there once, unless the first was cut short") {
    TemporaryDirectory place;
    auto l = request(place, Format::mbox);
    for (const std::string& content : {std::string("Subject: s\r\n\r\nFrom here\r\n"),
                                       "Subject: large\r\n\r\n" + std::string(700'000, 'x') + "\r\n"}) {
        place.write("box", "From old\n\nof another\n\n");
        l.may_be_delivered = true;
        CHECK(deliver(l, content).text == "delivered to mailbox");
        l.may_be_delivered = false; // and others after it
        CHECK(deliver(l, "Subject: other\r\n\r\n" + std::string(300'000, 'y')).text == "delivered to mailbox");
        const auto before = place.text("box");
        l.may_be_delivered = true;
        l.from_line = "From a@x  Fri Nov 20 15:59:59 2026"; // the time of this try
        CHECK(deliver(l, content).text == "delivered to mailbox before");
        CHECK(place.text("box") == before);
        CHECK_FALSE(std::filesystem::exists(place.path() / "box.lock"));
        // Another message, and the same one after a crash in the middle of it.
        CHECK(deliver(l, content + "more\r\n").text == "delivered to mailbox");
        place.write("box", before.substr(0, before.find("\n\n", 30)));
        CHECK(deliver(l, content).text == "delivered to mailbox");
    }
}

TEST_CASE("an mbox that another holds is left alone") {
    TemporaryDirectory place;
    const auto l = request(place, Format::mbox);
    place.write("box", "");
    place.write("box.lock", "1\n");
    CHECK(deliver(l).status == "4.2.0");
    CHECK(place.text("box") == "");
    std::filesystem::last_write_time(place.path() / "box.lock",
                                     std::filesystem::file_time_type::clock::now() - std::chrono::minutes(10));
    CHECK(deliver(l).outcome == Outcome::delivered); // its maker is long gone

    const int fd = open((place.path() / "box").c_str(), O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    REQUIRE(fcntl(fd, F_OFD_SETLK, &lock) == 0);
    const auto refused = deliver(l);
    CHECK(refused.outcome == Outcome::deferred);
    CHECK(refused.text.find("is locked by another program") != std::string::npos);
    close(fd);
}

TEST_CASE("a dot-lock whose program is dead does not hold mail up") {
    TemporaryDirectory place;
    const auto l = request(place, Format::mbox);
    const pid_t child = fork();
    if (child == 0) _exit(0);
    REQUIRE(waitpid(child, nullptr, 0) == child); // a process id that is nobody's any more
    place.write("box", "");
    place.write("box.lock", std::to_string(child) + "\n");
    CHECK(deliver(l).status == "2.0.0");
    CHECK_FALSE(std::filesystem::exists(place.path() / "box.lock"));
    place.write("box.lock", std::to_string(getpid()) + "\n"); // this one lives
    CHECK(deliver(l).status == "4.2.0");
}

TEST_CASE("deliveries to one mbox side by side do not mix") {
    TemporaryDirectory place;
    auto l = request(place, Format::mbox);
    l.lock_timeout = 30'000'000;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&l, i] {
            for (int n = 0; n < 5; ++n) deliver(l, std::string(100'000, static_cast<char>('a' + i)) + "\r\n");
        });
    for (auto& thread : threads) thread.join();
    const std::string text = place.text("box");
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("From a@x", at)) != text.npos; ++at) ++count;
    CHECK(count == 20);
    CHECK(text.size() == 20 * (l.from_line.size() + 1 + l.prefix.size() + 100'002));
    for (char c : {'a', 'b', 'c', 'd'}) CHECK(text.find("\n" + std::string(100'000, c) + "\n\n") != text.npos);
}

TEST_CASE("links and other people's files are not written to") {
    TemporaryDirectory place;
    place.write("target", "");
    std::filesystem::create_symlink(place.path() / "target", place.path() / "box");
    CHECK(deliver(request(place, Format::mbox)).status == "4.2.0");
    std::filesystem::remove(place.path() / "box");
    std::filesystem::create_hard_link(place.path() / "target", place.path() / "box");
    CHECK(deliver(request(place, Format::mbox)).text.find("not a regular file") != std::string::npos);
    std::filesystem::remove(place.path() / "box");
    std::filesystem::create_directory_symlink(place.path(), place.path() / "box");
    CHECK(deliver(request(place, Format::maildir)).outcome == Outcome::deferred);
    std::filesystem::remove(place.path() / "box");
    for (Format format : {Format::maildir, Format::mbox}) {
        auto l = request(place, format);
        l.path = place.path() / (format == Format::mbox ? "mbox" : "maildir");
        l.owner = geteuid() + 1;
        const auto verdict = deliver(l);
        CHECK(verdict.outcome == Outcome::deferred);
        CHECK(verdict.text.find("belongs to user") != std::string::npos);
    }
    CHECK(place.text("target") == "");
}

TEST_CASE("what goes wrong with a mailbox has its status") {
    CHECK(verdict_of({EDQUOT, "write"}).status == "4.2.2");
    CHECK(verdict_of({ENOSPC, "write"}).status == "4.3.1");
    CHECK(verdict_of({EACCES, "open"}).text == "not permitted: open");
    CHECK(verdict_of({EIO, "sync"}).status == "4.3.0");
    TemporaryDirectory place;
    place.write("file", "");
    auto l = request(place, Format::maildir);
    l.path = place.path() / "file" / "box";
    CHECK(deliver(l).outcome == Outcome::deferred);
}

TEST_CASE("the parent of a path") {
    CHECK(parent_of("/var/mail/user") == "/var/mail");
    CHECK(parent_of("/var/mail/user/") == "/var/mail");
    CHECK(parent_of("/var//mail") == "/var");
    CHECK(parent_of("/var") == "/");
    CHECK(parent_of("/") == "/");
    CHECK(parent_of("box") == ".");
    CHECK(parent_of("a/b") == "a");
}
