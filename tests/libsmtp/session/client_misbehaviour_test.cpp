// A server that misbehaves in every way at every stage, by SMTP (with DATA and with BDAT) and by LMTP, with and
// without TLS before. Whatever it does: the conversation ends or goes on, nobody waits for ever, each recipient is
// told once, and "delivered" only behind a 2xx to the whole message.
#include "tests/libsmtp/session/client_driver.h"

using namespace smtp;
using namespace smtp::testing;

namespace {

enum class Way : std::uint8_t { data, step_by_step, chunks, lmtp, tls };
constexpr Way ways[] = {Way::data, Way::step_by_step, Way::chunks, Way::lmtp, Way::tls};

struct Step {
    Stage stage;
    std::string reply; // that leads on; "" without the server's word
};

std::vector<Step> steps(Way way) {
    const std::string offers = way == Way::step_by_step ? "250 mx.test\r\n"
                               : way == Way::chunks     ? "250-mx.test\r\n250-PIPELINING\r\n250 CHUNKING\r\n"
                                                        : "250-mx.test\r\n250 PIPELINING\r\n";
    std::vector<Step> out = {{Stage::banner, "220 Hi\r\n"}};
    if (way == Way::tls) {
        out.push_back({Stage::ehlo, "250-mx.test\r\n250 STARTTLS\r\n"});
        out.push_back({Stage::tls, "220 Go\r\n"});
    }
    out.push_back({Stage::ehlo, offers});
    out.push_back({Stage::mail, "250 Ok\r\n"});
    out.push_back({Stage::rcpt, "250 Ok\r\n"});
    out.push_back({Stage::rcpt, "250 Ok\r\n"});
    if (way != Way::chunks) out.push_back({Stage::data, "354 Go\r\n"});
    out.push_back({Stage::final_dot, "250 2.0.0 Taken\r\n"});
    if (way == Way::lmtp) out.push_back({Stage::final_dot, "250 2.0.0 Taken\r\n"});
    return out;
}

struct DeliveryFailure {
    std::string_view name, bytes;
    bool ends = false; // always: nothing such a server says can be believed any more
};
constexpr DeliveryFailure mishaps[] = {
    {"drop", "", true},
    {"silence", "", true},
    {"421", "421 4.3.2 Bye\r\n"},
    {"4xx", "451 4.3.0 Later\r\n"},
    {"5xx", "554 5.3.0 Never\r\n"},
    {"misunderstood", "502 5.5.1 What?\r\n"},
    {"too many", "452 4.5.3 Too many\r\n"},
    {"go on", "354 Go on\r\n"},
    {"fine", "250 2.0.0 Fine\r\n"},
    {"1xx", "150 Wait\r\n", true},
    {"9xx", "999 Oh\r\n", true},
    {"garbage", "\x16\x03\x01 hello\r\n", true},
    {"NUL", {"250 O\0k\r\n", 9}, true},
    {"another protocol", "HTTP/1.1 400 Bad Request\r\n", true},
    {"bare LF", "250 Ok\n250 Ok\r\n", true},
    {"codes that change", "250-One\r\n550 Two\r\n", true},
    {"replies ahead", "250 Ok\r\n250 Ok\r\n250 Ok\r\n354 Go\r\n250 Ok\r\n250 Ok\r\n250 Ok\r\n"},
    {"refusals ahead", "554 No\r\n554 No\r\n554 No\r\n554 No\r\n554 No\r\n554 No\r\n554 No\r\n"},
};

// One play: good as far as `place`, then the mishap, then good to the end or silence.
struct Play {
    Play(Way way, std::size_t bytes) : way(way), driver({message()}, bytes, std::size_t{1} << 20, options(way)) {
        driver.write();
    }
    static Mail message() {
        auto out = mail(1, {"b@y", "c@y"});
        out.transaction.parameters.size = out.content.size();
        out.transaction.longest_line = 20;
        return out;
    }
    static ClientSession::Options options(Way way) {
        ClientSession::Options out{"client.test", "mx.test[192.0.2.1]"};
        out.protocol = way == Way::lmtp ? Protocol::lmtp : Protocol::smtp;
        out.tls = way == Way::tls ? ClientSession::StartTls::always : ClientSession::StartTls::never;
        return out;
    }
    void say(std::string_view wire) {
        if (!driver.session.over()) driver.feed(wire);
    }
    void do_wrong(const DeliveryFailure& mishap) {
        if (mishap.name == "drop")
            driver.session.end_of_input(driver.now);
        else if (mishap.name == "silence")
            wait();
        else
            say(mishap.bytes);
        driver.write();
    }
    void wait() {
        const auto at = driver.session.next_deadline();
        REQUIRE(at);
        driver.session.expired(driver.now = *at);
        driver.write();
    }
    // A deadline is always set while something is under way.
    void until_over() {
        for (int turns = 0; !driver.session.over(); ++turns) {
            REQUIRE(turns < 20);
            if (driver.session.next_deadline())
                wait();
            else
                driver.session.quit(driver.now), driver.write();
        }
    }
    std::size_t count(std::string_view what) const {
        std::size_t found = 0;
        for (auto at = driver.log.find(what); at != driver.log.npos; at = driver.log.find(what, at + 1)) ++found;
        return found;
    }
    Way way;
    Driver driver;
};

void judge(const Play& play, bool may_be_delivered) {
    CAPTURE(play.driver.log);
    CAPTURE(play.driver.sent);
    CHECK(play.driver.session.over());
    CHECK(play.count("ended") == 1);
    const auto told = play.count("1: ");
    CHECK((told == 0 || told == 2)); // both recipients once, or the transaction is untouched
    if (!may_be_delivered) CHECK(play.count("1: delivered") == 0);
    CHECK(play.count("1: delivered") == play.count("1: delivered 11 "));
    if (play.count("in doubt") > 0) CHECK(play.driver.sent.find("hi\r\n") != play.driver.sent.npos);
}

} // namespace

TEST_CASE("every way to misbehave at every stage of every conversation") {
    for (const auto way : ways)
        for (std::size_t place = 0; place < steps(way).size(); ++place)
            for (const auto& mishap : mishaps)
                for (const bool goes_on : {false, true})
                    for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{1}}) {
                        CAPTURE(static_cast<int>(way));
                        CAPTURE(place);
                        CAPTURE(mishap.name);
                        CAPTURE(goes_on);
                        Play play(way, bytes);
                        const auto all = steps(way);
                        for (std::size_t i = 0; i < place; ++i) play.say(all[i].reply);
                        REQUIRE(!play.driver.session.over());
                        play.do_wrong(mishap);
                        if (mishap.ends) CHECK(play.driver.session.over());
                        if (goes_on)
                            for (std::size_t i = place + 1; i < all.size(); ++i) play.say(all[i].reply);
                        play.until_over();
                        // Only a whole message that was answered with 2xx behind its end can be delivered.
                        const bool at_end = all[place].stage == Stage::final_dot;
                        const bool taken = mishap.name == "fine" || mishap.name == "replies ahead" ||
                                           (mishap.name == "bare LF" && at_end);
                        judge(play, taken || (goes_on && !mishap.ends) || (at_end && place + 1 == all.size()) ||
                                        (way == Way::lmtp && place + 1 == all.size()));
                    }
}

TEST_CASE("a stage is told as it was, and doubt only behind the whole message") {
    for (const auto way : ways)
        for (std::size_t place = 0; place < steps(way).size(); ++place) {
            CAPTURE(static_cast<int>(way));
            CAPTURE(place);
            for (const std::string_view name : {"drop", "silence"}) {
                Play play(way, 1 << 20);
                const auto all = steps(way);
                for (std::size_t i = 0; i < place; ++i) play.say(all[i].reply);
                play.do_wrong({name, "", true});
                CAPTURE(play.driver.log);
                const auto stage = all[place].stage;
                const bool out = stage == Stage::final_dot || (way == Way::chunks && stage >= Stage::mail);
                CHECK((play.count("in doubt") > 0) == out);
                const auto said = out ? Stage::final_dot : stage;
                CHECK(play.count(fmt::format("ended: temporary {} 4.4.2", static_cast<int>(said))) == 1);
                CHECK(play.count("interrupted") == (stage >= Stage::mail ? 1u : 0u));
            }
        }
}

TEST_CASE("replies without an end, and lines without an end, are cut off") {
    for (const auto way : ways)
        for (std::size_t place = 0; place < steps(way).size(); ++place)
            for (const std::string_view piece :
                 {"250-and another thing\r\n", "250 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}) {
                Play play(way, 1 << 20);
                const auto all = steps(way);
                for (std::size_t i = 0; i < place; ++i) play.say(all[i].reply);
                std::size_t said = 0;
                for (; !play.driver.session.over() && said < 100'000; said += piece.size()) play.say(piece);
                CHECK(said < 100'000);
                judge(play, way == Way::lmtp && place + 1 == all.size()); // the first one's was whole
            }
}

TEST_CASE("a trickle does not hold a conversation for ever") {
    for (const auto way : ways)
        for (std::size_t place = 0; place < steps(way).size(); ++place) {
            Play play(way, 1 << 20);
            const auto all = steps(way);
            for (std::size_t i = 0; i < place; ++i) play.say(all[i].reply);
            const auto deadline = play.driver.session.next_deadline();
            REQUIRE(deadline);
            for (const char c : std::string_view("250-x\r\n250-x\r\n250-x\r\n")) {
                play.driver.now += 1s;
                play.driver.session.feed({&c, 1}, play.driver.now);
                play.driver.write();
            }
            CHECK(play.driver.session.next_deadline() == deadline);
            play.until_over();
            judge(play, way == Way::lmtp && place + 1 == all.size());
        }
}

TEST_CASE("STARTTLS that vanishes, and plain text behind it, get no mail where TLS is required") {
    Play stripped(Way::tls, 1 << 20);
    stripped.say("220 Hi\r\n");
    stripped.say("250-mx.test\r\n250 PIPELINING\r\n");
    judge(stripped, false);
    CHECK(stripped.driver.sent.find("MAIL") == stripped.driver.sent.npos);
    Play injected(Way::tls, 1 << 20);
    injected.say("220 Hi\r\n");
    injected.say("250-mx.test\r\n250 STARTTLS\r\n");
    injected.say("220 Go\r\n250 mx.test\r\n250 Ok\r\n");
    judge(injected, false);
    CHECK(injected.driver.sent.find("MAIL") == injected.driver.sent.npos);
}
