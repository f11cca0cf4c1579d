// What waits because somebody wanted it to says so in every listing, with who and why.
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/control/listing.h"
#include "daemons/queue-manager/control/pause_text.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace decide::queue;
using namespace queue_manager;
using namespace std::chrono_literals;

namespace {

const smtp::WallTime noon{smtp::Duration(1'790'000'000'000'000)}; // 2026-09-21T13:33:20Z
const Pauses pauses = {{Scope::everything, "", "ann", "", noon},
                       {Scope::queue, "d.example", "bob", "their move", noon},
                       {Scope::link, "mx.example", "ann", "", noon},
                       {Scope::pool, "bulk", "bob", "warming up", noon}};

spool::MessageState refused_once() {
    spool::Envelope envelope;
    envelope.recipients.emplace_back().address = "b@d.example";
    spool::MessageState state(envelope);
    spool::Attempt attempt;
    attempt.recipients = {0};
    attempt.time = noon;
    attempt.reply = {450, "4.2.0", "450 Not now", spool::Stage::rcpt};
    attempt.outcome = spool::Outcome::deferred;
    REQUIRE(state.apply(attempt));
    return state;
}

} // namespace

TEST_CASE("a pause is told by what is paused, who did it and why") {
    CHECK(pause_text({}, pauses) == "everything is paused by ann");
    CHECK(pause_text({Scope::queue, "d.example"}, pauses) == "queue d.example is paused by bob: their move");
    CHECK(pause_text({Scope::link, "mx.example"}, pauses) == "link mx.example is paused by ann");
    CHECK(pause_text({Scope::pool, "bulk"}, pauses) == "pool bulk is paused by bob: warming up");
    CHECK(pause_text({}, {}) == "postrider is stopping");
    CHECK(resume_advice(Scope::queue, "d.example") == "\"postrider resume queue d.example\" ends the pause.");
    CHECK(resume_advice(Scope::everything, "") == "\"postrider resume all\" ends the pause.");
}

TEST_CASE("listings say why, by our own doing, before what was met earlier") {
    const auto message = refused_once();
    MessageInfo info;
    auto& delivery = info.deliveries.emplace_back();
    delivery.queue = "d.example";
    std::string expected = "450 Not now";
    SUBCASE("nothing of the kind") { delivery.waiting = Waiting::own_time; }
    SUBCASE("a pause, whatever the link has met") {
        delivery.waiting = Waiting::paused;
        delivery.paused_by = PausedObject{Scope::queue, "d.example"};
        delivery.reason.text = "connect to mx[192.0.2.1]:25: Connection refused";
        expected = "queue d.example is paused by bob: their move";
    }
    SUBCASE("a time the sender chose") {
        delivery.waiting = Waiting::scheduled;
        delivery.next_attempt = noon + 900ms;
        expected = "not before 2026-09-21T14:13:20Z, as its sender requested";
    }
    set_pause_reasons(info, pauses);
    CHECK(entry_of(info, message).recipients.at(0).reason == expected);
    CHECK(json_of(info, message, {}, choose(message, Recipients::unfinished, {}),
                  Detail::line)["recipients"][0]["reason"] == expected);
}
