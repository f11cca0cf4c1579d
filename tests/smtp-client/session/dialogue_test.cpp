// What the record of a failed attempt has of the conversation: its own lines, and no other message's.
#include "daemons/smtp-client/session/dialogue.h"
#include <doctest/doctest.h>

using namespace smtp_client;
using proto::delivery::DialogueLine;
using smtp::Stage;

namespace {

struct Conversation {
    Dialogue kept;
    explicit Conversation(Dialogue::DotReplies dots = Dialogue::DotReplies::one) {
        kept.begin("mx.test[192.0.2.1]:25", dots);
    }
    void sent(Stage stage, std::string text, std::optional<std::uint64_t> transaction = {},
              std::uint32_t recipient = 0) {
        kept.sent({stage, std::move(text), recipient, transaction});
    }
    void received(Stage stage, int code, std::string text, std::optional<std::uint64_t> transaction = {},
                  std::uint32_t recipient = 0) {
        kept.received({stage, recipient, {.code = code, .status = {}, .text = std::move(text)}, transaction});
    }
    void greeting() {
        received(Stage::banner, 220, "mx.test ESMTP");
        sent(Stage::ehlo, "EHLO us.test");
        received(Stage::ehlo, 250, "mx.test\nPIPELINING\nSIZE 1000");
    }
    void transaction(std::uint64_t id, const std::string& sender) {
        sent(Stage::mail, "MAIL FROM:<" + sender + ">", id);
        sent(Stage::rcpt, "RCPT TO:<a@" + sender + ">", id, 0);
        sent(Stage::rcpt, "RCPT TO:<b@" + sender + ">", id, 1);
    }
};

const std::vector<DialogueLine> setup{{0, "-- mx.test[192.0.2.1]:25"},
                                      {0, "S: 220 mx.test ESMTP"},
                                      {0, "C: EHLO us.test"},
                                      {0, "S: 250 mx.test PIPELINING SIZE 1000"}};

std::vector<DialogueLine> after_setup(std::vector<DialogueLine> lines) {
    lines.insert(lines.begin(), setup.begin(), setup.end());
    return lines;
}

} // namespace

TEST_CASE("an attempt has the lines of its connection and its own, with the recipient that each is about") {
    Conversation it;
    it.greeting();
    it.transaction(7, "one.test");
    it.received(Stage::mail, 250, "Ok", 7);
    it.received(Stage::rcpt, 550, "who?", 7, 0);
    it.received(Stage::rcpt, 250, "Ok", 7, 1);
    it.transaction(8, "two.test"); // pipelined: it follows the content of the first one
    CHECK(it.kept.lines(7, {4, 9}) == after_setup({{0, "C: MAIL FROM:<one.test>"},
                                                   {5, "C: RCPT TO:<a@one.test>"},
                                                   {10, "C: RCPT TO:<b@one.test>"},
                                                   {0, "S: 250 Ok"},
                                                   {5, "S: 550 who?"},
                                                   {10, "S: 250 Ok"}}));
    it.kept.transaction_over(7);
    CHECK(it.kept.lines(8, {0, 1}).size() == setup.size() + 3);
    CHECK(it.kept.lines(7, {4, 9}) == setup);
    CHECK(it.kept.setup_lines() == setup);
}

TEST_CASE("the reply to the content is about all recipients, in LMTP about one") {
    Conversation smtp, lmtp(Dialogue::DotReplies::of_each_recipient);
    for (auto* it : {&smtp, &lmtp}) {
        it->received(Stage::final_dot, 452, "full", 7, 0);
        it->received(Stage::final_dot, 250, "kept", 7, 1);
    }
    CHECK(smtp.kept.lines(7, {4, 9}).back() == DialogueLine{0, "S: 250 kept"});
    CHECK(lmtp.kept.lines(7, {4, 9}).back() == DialogueLine{10, "S: 250 kept"});
    CHECK(lmtp.kept.lines(7, {4}).back() == DialogueLine{5, "S: 452 full"}); // of one that it does not know: nothing
}

TEST_CASE("another host: what was said with the one before stays, without its mail") {
    Conversation it;
    it.greeting();
    it.transaction(7, "one.test");
    it.kept.begin("mx2.test[192.0.2.2]:25", Dialogue::DotReplies::one);
    CHECK(it.kept.lines(7, {0, 1}) == after_setup({{0, "-- mx2.test[192.0.2.2]:25"}}));
}

TEST_CASE("hostile lines are bounded and printable, and the oldest make room") {
    Conversation it;
    it.received(Stage::banner, 554, "\x1b[2J\x01" + std::string(5000, 'y'));
    CHECK(it.kept.setup_lines().back().text == "S: 554 ");
    it.received(Stage::banner, 554, "\x1b[2J\x01");
    CHECK(it.kept.setup_lines().back().text == "S: 554 ?[2J?");
    for (std::uint32_t n = 0; n < 3 * Dialogue::most_lines; ++n)
        it.sent(Stage::rcpt, "RCPT " + std::to_string(n), 7, n);
    const auto lines = it.kept.lines(7, std::vector<std::uint32_t>(1000, 3));
    REQUIRE(lines.size() == Dialogue::most_lines);
    CHECK(lines.back().text == "C: RCPT " + std::to_string(3 * Dialogue::most_lines - 1));
}

TEST_CASE("a line is cut between words: half an address would be none that could be hashed") {
    Conversation it;
    const std::string words(Dialogue::longest_line - 20, 'w');
    it.sent(Stage::rcpt, words + " ORCPT=rfc822;somebody.with.a.name@example.org", 7);
    CHECK(it.kept.lines(7, {0}).back().text == "C: " + words + " ");
    it.sent(Stage::rcpt, words + " <\"some body\"@example.org>", 7);
    CHECK(it.kept.lines(7, {0}).back().text == "C: " + words + " <");
    it.sent(Stage::rcpt, std::string(Dialogue::longest_line, 'w'), 7);
    CHECK(it.kept.lines(7, {0}).back().text == "C: " + std::string(Dialogue::longest_line, 'w'));
}
