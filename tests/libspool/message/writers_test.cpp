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
        CHECK(violates_writer_rights(envelope, first_client_slot) != "");
        CHECK(violates_writer_rights(envelope, report_slot) != "");
        CHECK(violates_writer_rights(envelope, submission_slot) == ""); // operators import it
    }
    CHECK(violates_writer_rights(decided[2], 16) == "recipient bob@example.org has a user, which its writer "
                                                    "may not set");
    const Envelope report = of([](auto& e) {
        e.origin = Origin::report;
        e.parent = QueueId{0x1234};
    });
    CHECK(violates_writer_rights(report, first_client_slot) == "it is a report, which its writer may not "
                                                               "create");
    CHECK(violates_writer_rights(report, report_slot) == "");
    const Envelope moved =
        of([](auto& e) { e.transferred = TransferOrigin{.node = "mx1", .id = QueueId{0x1234}, .generation = 1}; });
    CHECK(violates_writer_rights(moved, submission_slot) == "");
    CHECK(violates_writer_rights(moved, first_client_slot) ==
          "it came from another node, which its writer may not say");
    CHECK(violates_writer_rights(moved, report_slot) != "");
    const Envelope spoiled = of([](auto& e) { e.transferred = TransferOrigin{.node = "mx1", .state = "nonsense"}; });
    CHECK(violates_writer_rights(spoiled, submission_slot) == "its state on another node is invalid");
    const Envelope filtered = of([](auto& e) { e.content_filter = "[127.0.0.1]:10024"; });
    CHECK(violates_writer_rights(filtered, first_client_slot) == "");
    CHECK(violates_writer_rights(filtered, report_slot) == "it names a content filter, which its writer may not do");
    const Envelope ordinary = of([](auto& e) {
        e.recipients[0].orcpt = "rfc822;a@example.org";
        e.recipients[0].original = "a@example.org";
        e.pool = "bulk";
        e.verdict = Verdict::hold;
    });
    CHECK(violates_writer_rights(ordinary, 255) == "");
}
