// A stream for a client: what it keeps, and when it is cut.
#include "daemons/common/web/exchange.h"
#include <doctest/doctest.h>

using web::Exchange;

TEST_CASE("a stream keeps only what its client has yet to take, however long it lags") {
    Exchange exchange({}, {});
    exchange.begin_stream({});
    const std::string piece(100'000, 'x');
    std::string into(90'000, '\0');
    std::size_t written = 0, taken = 0;
    for (int i = 0; i < 1000 && written - taken < Exchange::most_unread - piece.size(); ++i) {
        exchange.write(piece);
        written += piece.size();
        taken += exchange.take(into.data(), into.size());
    }
    for (int i = 0; i < 200; ++i) { // always almost too far behind
        taken += exchange.take(into.data(), into.size());
        exchange.write(piece.substr(0, into.size()));
        written += into.size();
    }
    CHECK_FALSE(exchange.ended());
    CHECK(exchange.unread() == written - taken);
    CHECK(exchange.response().body.size() < Exchange::most_unread + (256 << 10) + piece.size());
}

TEST_CASE("a client that is too far behind is cut") {
    bool cut = false;
    Exchange exchange({}, {.answered = {}, .cut = [&] { cut = true; }});
    exchange.begin_stream({});
    exchange.write(std::string(Exchange::most_unread, 'x'));
    CHECK_FALSE(cut);
    exchange.write("x");
    CHECK(cut);
    CHECK(exchange.ended());
}

TEST_CASE("who wrote all of it learns when it has been taken, and may end it as incomplete") {
    bool cut = false;
    int drained = 0, left = 0;
    Exchange exchange({}, {.answered = {}, .cut = [&] { cut = true; }});
    exchange.on_drained([&] { ++drained; });
    exchange.on_gone([&] { ++left; });
    exchange.begin_stream({});
    exchange.write("abc");
    exchange.drained();
    CHECK(drained == 1);
    exchange.abort();
    CHECK(cut);
    exchange.drained();
    exchange.write("d");
    CHECK(drained == 1);
    CHECK(exchange.unread() == 3);
    exchange.leave(false);
    CHECK(left == 1);
    CHECK_FALSE(exchange.wants_drained());
}

TEST_CASE("a stream whose client wants its head only has been left") {
    int left = 0;
    Exchange head({}, {}), whole({}, {});
    for (auto* each : {&head, &whole}) {
        each->on_gone([&] { ++left; });
        each->begin_stream({});
    }
    whole.end();
    whole.leave(true);
    CHECK(left == 0);
    head.leave(true);
    CHECK(left == 1);
}
