// Smuggling: bytes that one system takes for the end of a message and another does not. Every known sequence,
// on every way in, cut at every place; and what a client of ours makes of content that holds them.
#include "libsmtp/protocol/outgoing_content.h"
#include "tests/libsmtp/session/server_peer.h"
#include "tests/libsmtp/text/pieces.h"
#include <doctest/doctest.h>
#include <string>

using namespace smtp;
using namespace smtp::testing;
using namespace std::literals;

namespace {

const std::string sequences[] = {
    "\n.\n",    "\n.\r\n",      "\r\n.\n",       "\r.\r",          "\r.\r\n",      "\r\n.\r",    "\r.\n",
    "\n.\r",    "\r\n.\r\r\n",  "\r\r\n.\r\r\n", "\n\n.\n\n",      "\r\r.\r\r",    "\n\r.\n\r",  "\r\n\0.\r\n"s,
    "\n\0.\n"s, "\r\n.\0\r\n"s, "\0\r\n.\n"s,    "\r\0\n.\r\0\n"s, "\r\n.\r\0\n"s, "\r\n. \r\n", "\r\n.\t\n",
};
constexpr std::string_view evil = "MAIL FROM:<evil@x>\r\nRCPT TO:<bob@x>\r\nDATA\r\nsmuggled\r\n";

ServerSettings settings() {
    auto out = test_settings();
    out.capabilities.chunking = out.capabilities.starttls = out.tls_capabilities.chunking = true;
    return out;
}

bool nothing_bare(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) return false;
        if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) return false;
    }
    return true;
}

// One message at most, nothing of the evil one, and what follows it is understood again.
void check(ServerPeer& peer, const std::vector<std::string_view>& way) {
    for (auto piece : way) peer.feed(piece);
    CHECK(peer.log.find("mail <evil") == peer.log.npos);
    CHECK(peer.messages <= 1);
    CHECK(nothing_bare(peer.content));
    CHECK_MESSAGE(peer.sent.ends_with("250 2.0.0 Ok\r\n"), peer.sent);
    CHECK_FALSE(peer.session.closed());
}

} // namespace

TEST_CASE("by DATA, in plain text and under TLS") {
    const auto rules = settings();
    for (const auto& sequence : sequences) {
        const auto content = "first" + sequence + std::string(evil) + ".\r\nNOOP\r\n";
        for (const bool tls : {false, true})
            for (auto& way : pieces::every_way(content)) {
                INFO(sequence);
                ServerPeer peer(rules);
                if (tls) {
                    peer.feed("EHLO c\r\n");
                    peer.feed("STARTTLS\r\n");
                }
                peer.feed("EHLO c\r\n");
                peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
                CHECK(peer.session.tls_active() == tls);
                check(peer, way);
            }
    }
}

TEST_CASE("by BDAT: in one chunk, and cut by chunks at every place") {
    const auto rules = settings();
    const auto chunk = [](std::string_view bytes, std::string_view last) {
        return "BDAT " + std::to_string(bytes.size()) + std::string(last) + "\r\n" + std::string(bytes);
    };
    for (const auto& sequence : sequences) {
        const auto content = "first" + sequence + std::string(evil) + ".\r\n";
        const auto start = "MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\n"s;
        const auto at_once = start + chunk(content, " LAST") + "NOOP\r\n";
        for (auto& way : pieces::every_way(at_once)) {
            INFO(sequence);
            ServerPeer peer(rules);
            peer.feed("EHLO c\r\n");
            check(peer, way);
        }
        for (std::size_t at = 0; at <= 5 + sequence.size(); ++at) {
            const std::string_view whole = content;
            const auto wire = start + chunk(whole.substr(0, at), "") + chunk(whole.substr(at), " LAST") + "NOOP\r\n";
            for (std::size_t length : {std::size_t{1000}, std::size_t{1}}) {
                INFO(sequence << " cut at " << at);
                ServerPeer peer(rules);
                peer.feed("EHLO c\r\n");
                check(peer, pieces::of(wire, length));
            }
        }
    }
}

// A dot-stuffed line that stands in a chunk is content as it is: BDAT has no dots to undo.
TEST_CASE("what BDAT carries is not taken for DATA's end") {
    const auto rules = settings();
    ServerPeer peer(rules);
    peer.feed("EHLO c\r\n");
    peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nBDAT 11 LAST\r\na\r\n.\r\n..b\r\nNOOP\r\n");
    CHECK(peer.content == "a\r\n.\r\n..b\r\n");
    CHECK(peer.messages == 1);
}

TEST_CASE("what was said in plain text behind STARTTLS is not heard under TLS") {
    const auto rules = settings();
    for (auto& way : pieces::every_way("STARTTLS\r\nMAIL FROM:<evil@x>\r\n")) {
        if (way.size() > 1 && way[0].ends_with("\n")) continue; // the client waited: those bytes are TLS' then
        ServerPeer peer(rules);
        peer.feed("EHLO c\r\n");
        for (auto piece : way) {
            if (peer.session.tls_active()) break;
            peer.feed(piece);
        }
        CHECK(peer.log.find("mail <evil") == peer.log.npos);
    }
}

// The way out: our client's wire, read by our server as strictly as any.
TEST_CASE("content with every sequence leaves as one message without anything bare") {
    const auto rules = settings();
    for (const auto& sequence : sequences) {
        const auto content = "first" + sequence + std::string(evil) + ".\r\n";
        for (auto& way : pieces::every_way(content)) {
            OutgoingContent codec;
            std::vector<std::string_view> views;
            for (auto piece : way) codec.encode(piece, views);
            codec.finish(views);
            std::string wire;
            for (auto view : views) wire += view;
            CHECK(nothing_bare(wire));
            CHECK(wire.find("\r\n.\r\n") == wire.size() - 5);
            ServerPeer peer(rules);
            peer.feed("EHLO c\r\n");
            peer.feed("MAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\n");
            peer.feed(wire);
            CHECK(peer.messages == 1);
            CHECK(peer.log.find("mail <evil") == peer.log.npos);
        }
    }
}
