// Servers that move, but so slowly that a connection and its message would be kept for ever.
#include "libsmtp/session/client_session.h"
#include <doctest/doctest.h>

using namespace smtp;
using namespace std::chrono_literals;

namespace {

struct Slow {
    explicit Slow(std::uint64_t minimum_rate) {
        ClientSession::Options options{"client.test", "mx.test[192.0.2.1]"};
        options.timeouts.minimum_rate = minimum_rate;
        session.emplace(std::move(options), now);
        say("220 mx.test\r\n");
        say("250-mx.test\r\n250 SIZE\r\n");
    }
    // Writes what there is and lets the server say this.
    void say(std::string_view text) {
        take_all();
        session->feed(text, now);
        drain();
    }
    std::size_t output() {
        std::vector<std::string_view> views;
        session->output(views);
        std::size_t size = 0;
        for (const auto view : views) size += view.size();
        return size;
    }
    void take_all() {
        if (const auto size = output()) session->wrote(size, now);
        drain();
    }
    void drain() {
        while (auto event = session->next()) {
            if (std::get_if<client_event::ContentRequested>(&*event)) wanted = true;
            if (auto* end = std::get_if<client_event::Ended>(&*event)) ended = std::move(*end);
        }
    }
    // The deadlines that pass in this time; false: the session has ended.
    bool pass(Duration time) {
        now += time;
        if (const auto at = session->next_deadline(); at && *at <= now) session->expired(*at);
        drain();
        return !ended;
    }
    void begin(std::size_t recipients) {
        Transaction mail{.id = 1, .reverse_path = "a@x"};
        mail.parameters.size = content.size();
        for (std::size_t n = 0; n < recipients; ++n) mail.recipients.push_back({"b" + std::to_string(n) + "@y", {}});
        session->deliver(std::move(mail), now);
        drain();
    }

    Monotonic now{1h};
    std::optional<ClientSession> session;
    std::string content = std::string(100'000, 'x') + "\r\n";
    bool wanted = false;
    std::optional<client_event::Ended> ended;
};

} // namespace

TEST_CASE("a server that takes a byte a minute is not written to for ever") {
    Slow s(64);
    s.begin(1);
    for (const auto* reply : {"250 Ok\r\n", "250 Ok\r\n", "354 Go\r\n"}) s.say(reply);
    REQUIRE(s.wanted);
    s.session->content_end(s.now, s.content);
    const auto began = s.now;
    while (s.pass(1min) && s.now - began < 10h) s.session->wrote(1, s.now);
    REQUIRE(s.ended);
    CHECK(s.now - began <= 5min);
    CHECK(s.ended->why.stage == Stage::content);
    CHECK(s.ended->why.code == 0);
    CHECK_FALSE(s.ended->why.in_doubt);
    CHECK(s.ended->why.text.starts_with("mx.test[192.0.2.1] accepts the message too slowly: 2 bytes in 180 s"));
}

TEST_CASE("a slow link that keeps the rate has all the time it needs") {
    for (const std::uint64_t rate : {64, 0}) {
        Slow s(rate);
        s.begin(1);
        for (const auto* reply : {"250 Ok\r\n", "250 Ok\r\n", "354 Go\r\n"}) s.say(reply);
        s.session->content_end(s.now, s.content);
        while (s.output() > 0) {
            s.session->wrote(std::min<std::size_t>(s.output(), rate == 0 ? 500 : 65 * 10), s.now);
            REQUIRE(s.pass(10s));
        }
        s.say("250 2.0.0 Ok: queued\r\n");
        CHECK_FALSE(s.ended);
    }
}

TEST_CASE("a server that lets us wait at every recipient has a bounded time for all") {
    Slow s(64);
    s.begin(100);
    const auto began = s.now;
    for (int n = 0; n < 101 && !s.ended; ++n) {
        if (!s.pass(4min)) break;
        s.say("250 Ok\r\n");
    }
    REQUIRE(s.ended);
    CHECK(s.now - began <= 1h + 26min + 5min); // an hour, and the content's time
    CHECK(s.ended->why.text == "mx.test[192.0.2.1] is too slow: the time limit for one message was reached "
                               "while sending RCPT TO");
}
