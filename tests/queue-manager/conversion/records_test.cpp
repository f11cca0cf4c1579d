// What agents say of recipients, in the engine's words: whose failure a reply is.
#include "daemons/queue-manager/conversion/records.h"
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

// The store's answer to the whole message, for each of its recipients.
proto::delivery::Done answered(const Handed& handed, int code, std::string status, proto::delivery::Outcome outcome) {
    proto::delivery::Done done;
    done.connection = handed.connection;
    done.delivery = handed.delivery;
    done.queue_id = handed.id;
    done.final_delivery = true; // LMTP
    done.replies = {{.status = std::move(status),
                     .text = "said so",
                     .remote_reply = "said so",
                     .stage = smtp::Stage::final_dot,
                     .code = static_cast<std::uint16_t>(code)}};
    for (const auto number : handed.numbers) done.results.push_back({number, outcome, 0, false});
    return done;
}

void answer(Bench& b, const Handed& handed, const proto::delivery::Done& done) {
    const queue_manager::Result result(done, queue_manager::AgentKind::smtp);
    std::erase_if(b.handed, [&](const Handed& each) { return each.delivery == handed.delivery; });
    b.engine.done(result.event(), b.now(), b.out);
    b.run();
}

} // namespace

TEST_CASE("three mailboxes that are full do not stop the mail of their store (LMTP, 452 4.2.2 after the dot)") {
    Bench b;
    double last_good = 0, longest = 0;
    for (int n = 0; n < 60; ++n) { // a message a minute; the first three are for users over quota
        const double sent = b.seconds();
        const auto id = b.send({"store.example"});
        const bool full = n < 3;
        while (!b.handed.empty()) {
            const Handed h = b.take();
            const bool over = full || h.id.value < 0x1000 + 4096 * 4;
            answer(b, h,
                   over ? answered(h, 452, "4.2.2", proto::delivery::Outcome::deferred)
                        : answered(h, 250, "2.0.0", proto::delivery::Outcome::delivered));
            if (!over) last_good = b.seconds();
        }
        if (!full && std::ranges::count(b.removed, id) == 0) longest = std::max(longest, b.seconds() - sent + 60);
        b.pass(60s);
    }
    CHECK(b.queue("store.example").health == Health::ready);
    CHECK(b.removed.size() == 57); // everybody else's, each at once
    CHECK(longest == 0);
    CHECK(last_good == 59 * 60);
}

TEST_CASE("what a store says of the conversation, or of a message before its content, is not one recipient's") {
    Bench b;
    b.send({"store.example"});
    const Handed h = b.take();
    auto done = answered(h, 421, "4.3.2", proto::delivery::Outcome::deferred);
    answer(b, h, done);
    CHECK(b.queue("store.example").health == Health::glitch);

    b.send({"other.example"});
    const Handed other = b.take();
    done = answered(other, 451, "4.3.0", proto::delivery::Outcome::deferred);
    done.replies[0].stage = smtp::Stage::data;
    answer(b, other, done);
    CHECK(b.queue("other.example").health == Health::glitch);
}
