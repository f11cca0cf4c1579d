// The file of our accounts at next hops: what is read from it, who is found, what is refused and how that is
// told.
#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/common/runtime/read_file.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using auth::Credentials;

TEST_CASE("accounts at next hops") {
    const auto read = Credentials::parse("\xEF\xBB\xBF# ours\n"
                                         "\n"
                                         "Relay.Example.NET alice:secret\n"
                                         "relay.example.net:587\tbob@example.net:pass:word with blanks \r\n"
                                         "  [other.example]:465   carl doe:x|y\n"
                                         "b\xc3\xbc"
                                         "cher.example u:p\xc3\xa4ss\n"
                                         "[192.0.2.1]:25 v4:1\n"
                                         "[2001:DB8:0::1] v6:2\n"
                                         "tokens.example:587 dora@example | /usr/bin/token --for dora:x\n"
                                         "last.example l:|p");
    REQUIRE(read);
    struct Row {
        std::string host;
        std::uint16_t port;
        std::string name, password, command; // name "": nobody
    };
    const Row rows[] = {
        {"relay.example.net", 25, "alice at relay.example.net", "secret", ""},
        {"RELAY.example.net", 587, "bob@example.net at relay.example.net:587", "pass:word with blanks", ""},
        {"other.example", 465, "carl doe at other.example:465", "x|y", ""},
        {"other.example", 587, "", "", ""},
        {"xn--bcher-kva.example", 25, "u at xn--bcher-kva.example", "p\xc3\xa4ss", ""},
        {"192.0.2.1", 25, "v4 at 192.0.2.1:25", "1", ""},
        {"192.0.2.1", 26, "", "", ""},
        {"2001:db8::1", 25, "v6 at [2001:db8::1]", "2", ""},
        {"tokens.example", 587, "dora@example at tokens.example:587", "", "/usr/bin/token --for dora:x"},
        {"last.example", 1, "l at last.example", "|p", ""},
        {"sub.relay.example.net", 25, "", "", ""},
        {"example.net", 25, "", "", ""},
    };
    for (const auto& row : rows) {
        const auto* account = read->find(row.host, row.port);
        CAPTURE(row.host);
        REQUIRE((account != nullptr) == !row.name.empty());
        if (!account) continue;
        CHECK(account->name() == row.name);
        CHECK(account->password.reveal() == row.password);
        CHECK(account->command == row.command);
        CHECK(read->named(row.name) == account);
    }
    CHECK(read->named("nobody at relay.example.net") == nullptr);
}

TEST_CASE("several accounts at one host are told apart by their users") {
    const auto read = Credentials::parse("smtp.example ann:1\nsmtp.example ben:2\nsmtp.example:587 ben:3\n");
    REQUIRE(read);
    const auto at = [&](std::uint16_t port, std::string_view user) {
        const auto* found = read->find("smtp.example", port, user);
        return found ? std::string(found->password.reveal()) : std::string();
    };
    CHECK(at(25, "") == "1"); // the first of them
    CHECK(at(25, "ann") == "1");
    CHECK(at(25, "ben") == "2");
    CHECK(at(587, "ben") == "3"); // with the port before that for any
    CHECK(at(587, "ann") == "1");
    CHECK(at(587, "") == "3");
    CHECK(at(25, "carl") == "");
    CHECK(read->named("ben at smtp.example:587")->password.reveal() == "3");
}

TEST_CASE("what cannot be an account is refused by its line, and never repeated") {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"relay.example.net", "line 1: no user"},
        {"# good\nrelay.example.net topsecret", "line 2: neither USER:PASSWORD nor USER |COMMAND"},
        {"relay.example.net user:", "line 1: no password"},
        {"relay.example.net :topsecret", "line 1: no user, or one longer than 255 bytes"},
        {"relay.example.net user |", "line 1: no command after \"|\""},
        {"relay.example.net |topsecret", "line 1: neither USER:PASSWORD nor USER |COMMAND"},
        {"relay.example.net:0 u:topsecret", "line 1: does not begin with HOST or HOST:PORT"},
        {"relay.example.net:65536 u:topsecret", "line 1: does not begin with HOST or HOST:PORT"},
        {"[relay.example.net u:topsecret", "line 1: does not begin with HOST or HOST:PORT"},
        {"[]:25 u:topsecret", "line 1: does not begin with HOST or HOST:PORT"},
        {"user@relay.example.net u:topsecret", "line 1: does not begin with HOST or HOST:PORT"},
        {"relay.example.net u:top\001secret", "line 1: control characters"},
        {"relay.example.net u:a\nRELAY.example.net u:b",
         "line 2: this user already has an account at this host and port"},
    };
    for (const auto& [text, why] : rows) {
        const auto read = Credentials::parse(text);
        CAPTURE(text);
        REQUIRE(!read);
        CHECK(read.error().why == why);
        CHECK(read.error().why.find("topsecret") == std::string::npos);
    }
    CHECK(Credentials::parse("relay.example.net u:" + std::string(9000, 'x')).error().why == "line 1: too long");
    std::string many;
    for (std::size_t i = 0; i <= Credentials::max_accounts; ++i) many += "h" + std::to_string(i) + ".example u:p\n";
    CHECK(Credentials::parse(many).error().why == "line 10001: more than 10000 accounts");
}

TEST_CASE("a file with passwords that others can read is refused") {
    TemporaryDirectory folder;
    const auto path = folder.path().string() + "/credentials";
    std::ofstream(path) << "relay.example.net user:topsecret\n";
    struct Row {
        mode_t mode;
        bool good;
    };
    for (const auto& [mode, good] :
         {Row{0600, true}, Row{0400, true}, Row{0640, false}, Row{0604, false}, Row{0602, false}}) {
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        const auto text = common::read_private_file(path, ::geteuid());
        CAPTURE(mode);
        REQUIRE(text.has_value() == good);
        if (good)
            CHECK(*text == "relay.example.net user:topsecret\n");
        else
            CHECK(text.error().what.find("\"chmod 600 " + path + "\" fixes this") != std::string::npos);
    }
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    if (::geteuid() == 0) { // else nobody's file can be made
        REQUIRE(::chown(path.c_str(), 12345, 0) == 0);
        CHECK(common::read_private_file(path, 12345));
        CHECK(common::read_private_file(path, 12346).error().what.find("belongs to user 12345") != std::string::npos);
    }
    CHECK(common::read_private_file(folder.path().string(), ::geteuid()).error().what ==
          folder.path().string() + " is not a regular file");
    CHECK(!common::read_private_file(path + ".none", ::geteuid()));
}

TEST_CASE("the mark that some editors put in front is passed over") {
    const auto read = Credentials::parse("\xef\xbb\xbfrelay.example ann:secret\n");
    REQUIRE(read);
    CHECK(read->accounts.at(0).host == "relay.example");
}
