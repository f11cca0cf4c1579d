#include "libspool/message/writers.h"
#include <doctest/doctest.h>

using namespace spool;

TEST_CASE("a writer has no say in who serves its recipients") {
    const auto of = [](auto change) {
        Envelope envelope;
        envelope.recipients.resize(2);
        envelope.recipients[1].address = "bob@example.org";
        change(envelope);
        return envelope;
    };
    const Envelope decided[] = {
        of([](auto& e) { e.recipients[1].fate = Fate::local; }),
        of([](auto& e) { e.recipients[1].fate = Fate::failed; }),
        of([](auto& e) { e.recipients[1].user = "games"; }),
        of([](auto& e) { e.recipients[1].target = "|command"; }),
        of([](auto& e) { e.recipients[1].transport = "relay.example"; }),
        of([](auto& e) { e.recipients[1].policy = "slow"; }),
        of([](auto& e) { e.recipients[1].reverse_path = "<>"; }),
        of([](auto& e) { e.rerouted_to = "relay.example"; }),
    };
    for (const auto& envelope : decided) {
        CHECK(beyond_its_writer(envelope, first_slot_of_clients) != "");
        CHECK(beyond_its_writer(envelope, slot_of_reports) != "");
        CHECK(beyond_its_writer(envelope, slot_of_submissions) == ""); // operators import it
    }
    CHECK(beyond_its_writer(decided[2], 16) == "recipient bob@example.org has a user, which its writer has no say in");
    const Envelope report = of([](auto& e) {
        e.origin = Origin::report;
        e.parent = QueueId{0x1234};
    });
    CHECK(beyond_its_writer(report, first_slot_of_clients) == "it is a report, which its writer does not make");
    CHECK(beyond_its_writer(report, slot_of_reports) == "");
    const Envelope ordinary = of([](auto& e) {
        e.recipients[0].orcpt = "rfc822;a@example.org";
        e.recipients[0].original = "a@example.org";
        e.pool = "bulk";
        e.verdict = Verdict::hold;
    });
    CHECK(beyond_its_writer(ordinary, 255) == "");
}
