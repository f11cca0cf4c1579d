#include "daemons/common/filters/milter/session.h"
#include "tests/common/filters/milter/fake_milter.h"

using namespace milter;
using namespace milter::testing;
using What = Response::What;

namespace {

// Fed in pieces, the words it makes of them; the last one "!why" if it is not believed.
std::vector<std::string> words(Session& session, std::string_view bytes, std::size_t piece, Response* last = nullptr) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        session.feed(bytes.substr(at, piece));
        for (;;) {
            auto word = session.next();
            if (!word) {
                out.push_back("!");
                return out;
            }
            if (!*word) break;
            constexpr const char* names[] = {"go_on", "accept", "discard", "refuse", "skip", "progress"};
            out.push_back(names[static_cast<int>((*word)->what)]);
            if (last) *last = **word;
        }
    }
    return out;
}

void negotiated(Session& session, std::uint32_t actions = 0x1ff, std::uint32_t steps = 0) {
    session.negotiate();
    REQUIRE(words(session, packet('O', numbers({6, actions, steps})), 100) == std::vector<std::string>{"go_on"});
    session.output();
}

} // namespace

TEST_CASE("packets, whole and in pieces") {
    const auto bytes = packet('c') + packet('y', text("550 5.7.1 no")) + packet('B', std::string(65'535, 'x'));
    for (const std::size_t piece : {bytes.size(), std::size_t{7}, std::size_t{1}}) {
        PacketReader reader;
        std::vector<Packet> all;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            reader.feed(std::string_view(bytes).substr(at, piece));
            for (;;) {
                auto next = reader.next();
                REQUIRE(next);
                if (!*next) break;
                all.push_back(**next);
            }
        }
        REQUIRE(all.size() == 3);
        CHECK(all[0] == Packet{'c', ""});
        CHECK(all[1] == Packet{'y', text("550 5.7.1 no")});
        CHECK(all[2].data.size() == 65'535);
    }
    for (const auto length : {0u, 0xffffffffu, static_cast<std::uint32_t>(largest_packet) + 1}) {
        PacketReader reader;
        reader.feed(numbers({length}));
        CHECK_FALSE(reader.next());
    }
}

TEST_CASE("negotiation: what was not offered is not believed") {
    for (const auto& [answer, good] : std::vector<std::pair<std::string, bool>>{
             {packet('O', numbers({6, 0x1ff, 0})), true},
             {packet('O', numbers({2, 1, 0x7f})), true},
             {packet('O', numbers({6, 0x1ff, 0}) + numbers({0}) + text("i {auth_type}")), true},
             {packet('O', numbers({7, 1, 0})), false},
             {packet('O', numbers({1, 1, 0})), false},
             {packet('O', numbers({6, 0x200, 0})), false},
             {packet('O', numbers({6, 1, 0x800})), false},
             {packet('O', numbers({6, 1})), false},
             {packet('c'), false}}) {
        for (const std::size_t piece : {std::size_t{100}, std::size_t{7}, std::size_t{1}}) {
            Session session;
            CHECK(session.negotiate());
            CHECK(words(session, answer, piece) == std::vector<std::string>{good ? "go_on" : "!"});
        }
    }
}

TEST_CASE("what is told, with macros; steps that are not wanted are not") {
    Session session;
    negotiated(session, 0x1ff, 0x2 | 0x4000);
    CHECK(session.connect("mail.client.example", "192.0.2.1", 1025, {{"j", "mx.test"}}));
    CHECK(session.output() == packet('D', "C" + text("j") + text("mx.test")) +
                                  packet('C', text("mail.client.example") + "4\x04\x01" + text("192.0.2.1")));
    CHECK(words(session, packet('c'), 1) == std::vector<std::string>{"go_on"});
    CHECK_FALSE(session.helo("client.example", {}));
    CHECK(session.output() == "");
    CHECK_FALSE(session.mail("<a@b>", {})); // told, without an answer
    CHECK(session.output() == packet('M', text("<a@b>")));
    CHECK(session.header("Subject", " folded\r\n\there"));
    CHECK(session.output() == packet('L', text("Subject") + text("folded\n\there")));
}

TEST_CASE("modifications come with the last word, all or none") {
    const auto changes =
        packet('h', text("X-A") + text("b")) + packet('p') + packet('i', numbers({1}) + text("X-I") + text("c")) +
        packet('m', numbers({2}) + text("Subject") + text("")) + packet('b', "new ") + packet('b', "body") +
        packet('+', text("<c@d>")) + packet('2', text("<i@j>") + text("NOTIFY=NEVER")) + packet('-', text("<e@f>")) +
        packet('e', text("<g@h>")) + packet('q', text("odd"));
    for (const std::size_t piece : {changes.size(), std::size_t{7}, std::size_t{1}}) {
        Session session;
        negotiated(session);
        session.end_of_message({});
        Response word;
        CHECK(words(session, changes, piece, &word) == std::vector<std::string>{"progress"});
        CHECK(word.changes.headers.empty());
        CHECK(words(session, packet('c'), piece, &word) == std::vector<std::string>{"go_on"});
        const auto& all = word.changes;
        REQUIRE(all.headers.size() == 3);
        CHECK(all.headers[0].value == " b");
        CHECK(all.headers[1].index == 1);
        CHECK(all.headers[2].value == "");
        CHECK(all.body == "new body");
        CHECK(all.added == std::vector<AddedRecipient>{{"<c@d>", ""}, {"<i@j>", "NOTIFY=NEVER"}});
        CHECK(all.removed == std::vector<std::string>{"<e@f>"});
        CHECK(all.sender == "<g@h>");
        CHECK(all.quarantine == "odd");
    }
    Session session;
    negotiated(session);
    session.end_of_message({});
    Response word;
    words(session, changes + packet('r'), 100'000, &word);
    CHECK(word.what == What::refuse);
    CHECK(word.changes.headers.empty());
}

TEST_CASE("what a filter must not say") {
    const auto after_rcpt = [](const std::string& said, std::uint32_t steps = 0) {
        Session session;
        negotiated(session, 0x1ff, steps);
        session.rcpt("<a@b>", {});
        return words(session, said, 7).back();
    };
    CHECK(after_rcpt(packet('h', text("X") + text("y"))) == "!");
    CHECK(after_rcpt(packet('Z')) == "!");
    CHECK(after_rcpt(packet('c', "more")) == "!");
    for (const std::size_t piece : {std::size_t{100}, std::size_t{10}}) { // with the answer, or while nothing is asked
        Session session;
        negotiated(session);
        session.rcpt("<a@b>", {});
        CHECK(words(session, packet('c') + packet('c'), piece).back() == "!");
    }
    CHECK(after_rcpt(packet('p') + packet('c')) == "go_on");
    CHECK(after_rcpt(packet('s')) == "!");
    CHECK(after_rcpt(packet('s'), 0x400) == "skip");
    for (auto odd : {"250 ok", "999 no", "5", "", "abc"}) CHECK(after_rcpt(packet('y', text(odd))) == "!");
    CHECK(after_rcpt(packet('y', "550 no end")) == "!");
    const auto at_end = [](const std::string& said, std::uint32_t actions) {
        Session session(1000);
        negotiated(session, actions);
        session.end_of_message({});
        return words(session, said, 7).back();
    };
    CHECK(at_end(packet('b', "x"), 0x1fd) == "!");
    CHECK(at_end(packet('m', numbers({1}) + text("A") + text("b")), 0x1) == "!");
    CHECK(at_end(packet('h', text("A") + "no end"), 0x1ff) == "!");
    CHECK(at_end(packet('i', "\0\0"), 0x1ff) == "!");
    CHECK(at_end(packet('b', std::string(2000, 'x')), 0x1ff) == "!"); // too much
}

TEST_CASE("replies as the filter words them") {
    const auto reply = [](const std::string& said) {
        Session session;
        negotiated(session);
        session.data({});
        Response word;
        words(session, packet('y', text(said)), 100, &word);
        return word.reply.line();
    };
    CHECK(reply("550 5.7.9 not today") == "550 5.7.9 not today");
    CHECK(reply("451 later") == "451 4.7.1 later");
    CHECK(reply("550-5.7.9 first\r\n550 5.7.9 second") == "550 5.7.9 first second");
    CHECK(reply("550 4.7.9 odd") == "550 5.7.1 4.7.9 odd");
}
