// What "postrider message requeue" does to the recipients that an alias brought: the alias is resolved again.
#include "daemons/queue-manager/conversion/categorization.h"
#include "tests/queue-manager/conversion/messages.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using decide::queue::Fate;
using queue_manager::testing::message;

namespace {

// "list" led to bob, who has it, to carl, who has failed, to dora and to the mistyped "eve@exmaple.net".
spool::MessageState of_mistyped_alias() {
    auto state = message({"list@example.org", "ann@example.org"});
    const auto to = [](const char* address) {
        return spool::ResolvedRecipient{.origin = 0, .fate = spool::Fate::remote, .address = address};
    };
    REQUIRE(state.apply(spool::Categorized{{1}, spool::Fate::local, "ann"}));
    REQUIRE(state.apply(spool::Expanded{
        {0}, {to("bob@example.net"), to("carl@example.net"), to("dora@example.net"), to("eve@exmaple.net")}}));
    REQUIRE(state.apply(spool::Attempt{.recipients = {2}, .outcome = spool::Outcome::delivered}));
    REQUIRE(state.apply(spool::Attempt{.recipients = {3}, .outcome = spool::Outcome::failed}));
    REQUIRE(state.apply(spool::NdrIssued{.recipients = {3}}));
    return state;
}

spool::ResolvedRecipient leads_to(const char* address) {
    return {.origin = 0, .fate = spool::Fate::remote, .changed = true, .address = address};
}

} // namespace

TEST_CASE("requeue redoes an alias: who has it or has failed does not get it again, and what was left gives way") {
    auto state = of_mistyped_alias();
    REQUIRE(state.apply(spool::Requeued{.recipients = {1, 4, 5}, .redo = true}));
    const std::vector<std::uint32_t> numbers = {1, 4, 5};
    const auto subject = CategorizationInput::of(state, 1000, false, numbers);
    REQUIRE(subject.open.size() == 2);
    CHECK(subject.open[0].address == "list@example.org");
    auto judgement = judge(subject, {1,
                                     {leads_to("bob@example.net"),
                                      leads_to("carl@example.net"),
                                      leads_to("dora@example.net"),
                                      leads_to("eve@example.net"),
                                      {.origin = 1, .fate = spool::Fate::local, .user = "ann"}}});
    REQUIRE(judgement);
    CHECK(judgement->expanded); // durable before its first attempt
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    std::vector<std::string> pending;
    for (const auto& each : state.recipients)
        if (!each.accounted_for()) pending.push_back(each.address);
    CHECK(pending == std::vector<std::string>{"ann@example.org", "dora@example.net", "eve@example.net"});
    CHECK(judgement->recipients.size() == 3);
    CHECK(judgement->told.empty());
    CHECK(CategorizationInput::of(state, 1000).open.empty()); // once
}

TEST_CASE("requeue redoes an alias: what is in flight stays, and does not get it twice") {
    auto state = of_mistyped_alias();
    REQUIRE(state.apply(spool::Requeued{.recipients = {4, 5}, .redo = true}));
    const std::vector<std::uint32_t> numbers = {5}; // 4 is with an agent
    const auto subject = CategorizationInput::of(state, 1000, false, numbers);
    auto judgement = judge(subject, {1, {leads_to("dora@example.net"), leads_to("eve@example.net")}});
    REQUIRE(judgement);
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    CHECK(state.recipients[4].status == spool::Status::pending);
    REQUIRE(judgement->recipients.size() == 1);
    CHECK(state.recipients.back().address == "eve@example.net");
}

TEST_CASE("requeue redoes an alias: it is none any more, cannot be read, or is unknown now") {
    auto state = of_mistyped_alias();
    REQUIRE(state.apply(spool::Requeued{.recipients = {4, 5}, .redo = true}));
    const std::vector<std::uint32_t> numbers = {4, 5};
    const auto subject = CategorizationInput::of(state, 1000, false, numbers);
    SUBCASE("it is a user's address now") {
        auto judgement = judge(subject, {1, {{.origin = 0, .fate = spool::Fate::local, .user = "list"}}});
        REQUIRE(judgement);
        for (const auto& record : judgement->records) REQUIRE(state.apply(record));
        REQUIRE(judgement->recipients.size() == 1);
        CHECK(judgement->recipients[0].number == 6);
        CHECK(state.recipients[6].address == "list@example.org");
        CHECK(state.recipients[6].user == "list");
    }
    SUBCASE("the table does not answer: what was found before waits, and is asked about again") {
        auto judgement =
            judge(subject, {1, {{.origin = 0, .fate = spool::Fate::unknown, .status = "4.3.0", .text = "no answer"}}});
        REQUIRE(judgement);
        CHECK(judgement->records.empty());
        REQUIRE(judgement->recipients.size() == 2);
        CHECK(judgement->recipients[0].number == 4);
        CHECK(judgement->recipients[0].fate == Fate::unknown);
    }
    SUBCASE("unknown") {
        auto judgement = judge(
            subject, {1, {{.origin = 0, .fate = spool::Fate::failed, .status = "5.1.1", .text = "unknown user"}}});
        REQUIRE(judgement);
        for (const auto& record : judgement->records) REQUIRE(state.apply(record));
        CHECK(state.recipients[4].status == spool::Status::expanded);
        CHECK(state.recipients[6].status == spool::Status::failed);
        CHECK(state.recipients[6].reply.text == "unknown user");
    }
}
