// How a server session finds the ends of lines and of contents: CRLF alone, bare ones, lines that are too long.
#include "tests/libsmtp/session/server_conversation.h"
#include <doctest/doctest.h>

using namespace smtp;
using namespace smtp::testing;
using namespace std::chrono_literals;
using namespace std::string_literals;
using Cause = event::Disconnect::Cause;

TEST_CASE("smuggling: refused after the true end, split at every byte, and the session goes on") {
    struct {
        std::string sequence;
        bool refused;
    } const table[] = {
        {"\n.\n", true},         {"\n.\r\n", true},       {"\r\n.\n", true},       {"\r.\r", true},
        {"\r.\r\n", true},       {"\r\n.\r", true},       {"\r.\n", true},         {"\r\n.\r\r\n", true},
        {"\r\r\n.\r\r\n", true}, {"\r\n\0.\r\n"s, false}, {"\r\n.\0\r\n"s, false}, {"\r\n. \r\n", false},
    };
    const auto settings = test_settings();
    for (auto& row : table) {
        const auto content =
            "first" + row.sequence + "MAIL FROM:<evil@x>\r\nRCPT TO:<b@x>\r\nDATA\r\nsmuggled\r\n.\r\nNOOP\r\n";
        for (auto& way : pieces::every_way(content)) {
            ServerPeer peer(settings);
            peer.feed("EHLO c\r\n");
            peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
            peer.sent.clear();
            for (auto piece : way) peer.feed(piece);
            CHECK(peer.log.find("mail <evil@x>") == peer.log.npos);
            CHECK(peer.messages == (row.refused ? 0 : 1));
            CHECK(peer.sent == (row.refused
                                    ? "550 5.5.2 Message rejected: a line ends in a bare CR or LF\r\n250 2.0.0 Ok\r\n"
                                    : "250 2.0.0 Ok: queued as 0A1B2C3D4E5F01\r\n250 2.0.0 Ok\r\n"));
        }
    }
}

TEST_CASE("bare line ends in content: normalised, or refused by configuration") {
    auto settings = test_settings();
    const std::vector<std::string> groups = {"EHLO c\r\n", "MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n",
                                             "a\nb\rc\r\n.\r\n"};
    CHECK(converse(groups, 1, settings).log.ends_with("message a\r\nb\r\nc\r\n\n"));
    settings.content_lines = ServerSettings::ContentLines::reject;
    for (std::size_t length : {1, 7, 1000})
        CHECK(converse(groups, length, settings)
                  .sent.ends_with("550 5.5.2 Message rejected: a line ends in a bare CR or LF\r\n"));
}

TEST_CASE("bare line ends in commands") {
    auto settings = test_settings();
    for (std::size_t length : {1, 7, 1000}) {
        const auto spoken = converse({"NOOP\nNO\rOP\r\nNOOP\r\n", "NOOP\n", "NOOP\r\n"}, length, settings);
        const auto refusal = "500 5.5.2 Error: lines must end in CR LF; bare CR or LF is not allowed\r\n"s;
        CHECK(spoken.sent == greeting(settings) + refusal + refusal + "250 2.0.0 Ok\r\n" + refusal);
        CHECK(spoken.log.ends_with("disconnect 4\n"));
    }
}

TEST_CASE("the last of too many bare lines is reported although its memory was given back") {
    const auto settings = test_settings();
    ServerPeer peer(settings);
    std::string lines;
    for (int i = 0; i < 3; ++i) lines += "NOOP " + std::string(1900, 'a') + "\n";
    peer.feed(lines);
    CHECK(peer.cause == Cause::not_smtp);
    CHECK(peer.session.unexpected_input().starts_with("NOOP aaa"));
}

TEST_CASE("a session that has used all input holds none of its memory") {
    const auto settings = test_settings();
    ServerPeer peer(settings);
    std::string lines;
    for (int i = 0; i < 3; ++i) lines += "NOOP " + std::string(1900, 'a') + "\r\n";
    peer.feed(lines);
    CHECK(peer.sent.ends_with("250 2.0.0 Ok\r\n250 2.0.0 Ok\r\n250 2.0.0 Ok\r\n"));
    CHECK(peer.session.held() < 1000);
}

TEST_CASE("a client that may do so ends commands and messages with a bare LF") {
    auto settings = test_settings();
    for (const auto lines : {ServerSettings::ContentLines::normalise, ServerSettings::ContentLines::reject})
        for (std::size_t length : {1, 7, 1000}) {
            settings.content_lines = lines;
            const auto spoken =
                converse({"EHLO c\n", "MAIL FROM:<a@x>\nRCPT TO:<b@x>\nDATA\n", "Subject: hi\n\n..dot\n.\nNOOP\n"},
                         length, settings, {.bare_newlines = true});
            CHECK(spoken.sent.ends_with("250 2.0.0 Ok: queued as 0A1B2C3D4E5F01\r\n250 2.0.0 Ok\r\n"));
            CHECK(spoken.log.contains("Subject: hi\r\n\r\n.dot\r\n"));
            CHECK(converse({"NO\rOP\n"}, length, settings, {.bare_newlines = true}).sent.contains("500 5.5.2 Error"));
        }
}

TEST_CASE("a line over the limit is skipped to its end") {
    auto settings = test_settings();
    settings.line = 20;
    for (std::size_t length : {1, 7, 100000}) {
        const auto spoken =
            converse({std::string(5000, 'x') + "\r\nNOOP\r\n12345678901234567890\r\n"}, length, settings);
        const auto refusal = "500 5.5.2 Error: line too long\r\n"s;
        CHECK(spoken.sent == greeting(settings) + refusal + "250 2.0.0 Ok\r\n" + refusal);
    }
}
