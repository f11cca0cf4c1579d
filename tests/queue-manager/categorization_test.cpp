#include "daemons/queue-manager/categorization.h"
#include <doctest/doctest.h>

using namespace queue_manager;
using decide::queue::Fate;
namespace answer = proto::categorize;

static spool::MessageState message(std::vector<std::string> recipients) {
    spool::Envelope envelope;
    envelope.reverse_path = "ann@example.org";
    for (auto& address : recipients) envelope.recipients.push_back({.address = address});
    return spool::MessageState(std::move(envelope));
}

TEST_CASE("remote recipients need no record at once: the answer is the envelope's own addresses") {
    auto state = message({"b@Example.NET", "c@example.com"});
    auto subject = Subject::of(state, 1000);
    auto judgement = judge(subject, {1, {{.index = 0}, {.index = 1}}});
    REQUIRE(judgement);
    CHECK(judgement->records.empty());
    CHECK(judgement->unchanged == std::vector<std::uint32_t>{0, 1});
    REQUIRE(state.apply(spool::Categorized{.recipients = judgement->unchanged, .fate = spool::Fate::remote}));
    CHECK(Subject::of(state, 1000).open.empty()); // once it is written nobody is asked again
    CHECK(Subject::of(state, 1000).settled[0].destination == "example.net");
    CHECK_FALSE(judgement->expanded);
    REQUIRE(judgement->recipients.size() == 2);
    CHECK(judgement->recipients[0].destination == "example.net");
    CHECK(judgement->recipients[1].number == 1);
}

TEST_CASE("an alias becomes new recipients behind the envelope's, and the old one is replaced") {
    auto subject = Subject::of(message({"list@example.org", "b@example.net"}), 1000);
    auto judgement = judge(
        subject,
        {1,
         {{.index = 0, .changed = true, .address = "x@example.com", .reverse_path = "owner-list@example.org"},
          {.index = 0,
           .fate = answer::Fate::local,
           .changed = true,
           .address = "ann@example.org",
           .user = "ann",
           .reverse_path = "owner-list@example.org"},
          {.index = 1}}});
    REQUIRE(judgement);
    CHECK(judgement->expanded);
    REQUIRE(judgement->records.size() == 1);
    auto& expanded = std::get<spool::Expanded>(judgement->records[0]);
    CHECK(expanded.replaced == std::vector<std::uint32_t>{0});
    REQUIRE(expanded.added.size() == 2);
    CHECK(expanded.added[1].user == "ann");
    auto state = message({"list@example.org", "b@example.net"});
    REQUIRE(state.apply(judgement->records[0]));
    CHECK(state.recipients.size() == 4);
    CHECK(state.recipients[2].address == "x@example.com");

    // What the file says afterwards is what the engine was told: nobody is asked again.
    auto again = Subject::of(state, 1000);
    REQUIRE(again.settled.size() == 2);
    CHECK(again.settled[0].number == 2);
    CHECK(again.settled[0].destination == "example.com");
    CHECK(again.settled[1].fate == Fate::local);
    CHECK(again.open.size() == 1);

    auto final = final_recipients(judgement->recipients);
    REQUIRE(final.size() == 3);
    CHECK(final[0].sender_group == final[1].sender_group); // the owner's
    CHECK(final[2].sender_group == 0);                     // the message's own
}

TEST_CASE("a local user is written down, without a sync") {
    auto subject = Subject::of(message({"ann@example.org"}), 1000);
    auto judgement = judge(subject, {1, {{.index = 0, .fate = answer::Fate::local, .user = "ann"}}});
    REQUIRE(judgement);
    CHECK_FALSE(judgement->expanded);
    REQUIRE(judgement->records.size() == 1);
    CHECK(std::get<spool::Categorized>(judgement->records[0]).user == "ann");
    CHECK(judgement->recipients[0].destination == "local");
}

TEST_CASE("who failed without a try has failed in the file, with the reason, and nobody is asked again") {
    auto state = message({"nosuch@example.org", "b@example.net", "gone@example.org", "closed@example.com"});
    const answer::Outcome unknown = {.fate = answer::Fate::failed, .status = "5.1.1", .text = "unknown user"};
    auto second = unknown, third = unknown;
    third.text = "mailbox closed";
    second.index = 2, third.index = 3;
    auto judgement = judge(Subject::of(state, 1000), {1, {unknown, {.index = 1}, second, third}}, smtp::WallTime(smtp::Duration(7)));
    REQUIRE(judgement);
    REQUIRE(judgement->records.size() == 2); // one for each reason
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    CHECK(state.recipients[2].status == spool::Status::failed);
    CHECK(state.recipients[2].reply.text == "unknown user");
    CHECK_FALSE(state.recipients[2].accounted_for()); // before it is reported

    const auto again = Subject::of(state, 1000, true); // though fates are to be found out anew
    CHECK(again.settled.size() == 3);
    CHECK(again.settled[2].fate == Fate::failed);
    CHECK(again.settled[2].reason.text == "mailbox closed");
    REQUIRE(state.apply(spool::NdrIssued{.recipients = {0, 2, 3}}));
    CHECK(Subject::of(state, 1000).settled.empty());
    CHECK(Subject::of(state, 1000).open.size() == 1);
}

TEST_CASE("where a recipient goes by the word of a table is in the file, and asked no more") {
    auto state = message({"ann@example.org", "b@example.net", "list@example.org"});
    auto judgement = judge(
        Subject::of(state, 1000),
        {1,
         {{.index = 0, .fate = answer::Fate::local, .user = "vmail", .target = "maildir:/mail/ann/"},
          {.index = 1, .transport = "lmtp:/run/lmtp"},
          {.index = 2, .fate = answer::Fate::local, .changed = true, .address = "list@example.org", .user = "ann",
           .target = "|/usr/bin/vacation"},
          {.index = 2, .changed = true, .address = "c@example.com", .transport = "[relay.example]:26"}}});
    REQUIRE(judgement);
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    CHECK(state.recipients[0].target == "maildir:/mail/ann/");
    CHECK(state.recipients[1].transport == "lmtp:/run/lmtp");
    CHECK(state.recipients[3].target == "|/usr/bin/vacation");

    const auto again = Subject::of(state, 1000);
    CHECK(again.open.empty());
    REQUIRE(again.settled.size() == 4);
    for (const auto& told : {judgement->recipients, again.settled}) {
        CHECK(told[1].destination == "via:lmtp:/run/lmtp");
        CHECK(told[3].destination == "via:[relay.example]:26");
    }
}

TEST_CASE("who waits for another answer still counts among who has the message") {
    const auto state = message({"bob@far.example", "team@example.org"});
    const std::vector<std::uint32_t> only = {1}; // bob is in his queue, and nothing is written of him
    const auto subject = Subject::of(state, 1000, false, only);
    REQUIRE(subject.open.size() == 1);
    auto judgement = judge(subject, {1,
                                     {{.index = 1, .changed = true, .address = "bob@far.example"},
                                      {.index = 1, .changed = true, .address = "carol@far.example"}}});
    REQUIRE(judgement);
    REQUIRE(judgement->recipients.size() == 1);
    CHECK(std::get<spool::Expanded>(judgement->records.at(0)).added.at(0).address == "carol@far.example");
}

TEST_CASE("an expansion of which a part could not be read is not made at all") {
    auto subject = Subject::of(message({"list@example.org"}), 1000);
    auto judgement = judge(subject, {1,
                                     {{.index = 0, .changed = true, .address = "x@example.com"},
                                      {.index = 0,
                                       .fate = answer::Fate::deferred,
                                       .changed = true,
                                       .status = "4.3.0",
                                       .text = "alias file unreadable"}}});
    REQUIRE(judgement);
    CHECK(judgement->records.empty());
    REQUIRE(judgement->recipients.size() == 1);
    CHECK(judgement->recipients[0].fate == Fate::deferred);
    CHECK(judgement->recipients[0].number == 0);
    CHECK(judgement->recipients[0].reason.status == "4.3.0");
}

TEST_CASE("why an added recipient failed outlives a restart") {
    auto state = message({"list@example.org"});
    auto judgement = judge(Subject::of(state, 1000), {1,
                                                      {{.index = 0,
                                                        .fate = answer::Fate::failed,
                                                        .changed = true,
                                                        .address = "nobody@example.org",
                                                        .status = "5.1.1",
                                                        .text = "no such user"}}});
    REQUIRE(judgement);
    for (auto& record : judgement->records) REQUIRE(state.apply(record));
    auto again = Subject::of(state, 1000);
    REQUIRE(again.settled.size() == 1);
    CHECK(again.settled[0].fate == Fate::failed);
    CHECK(again.settled[0].reason.text == "no such user");
}

TEST_CASE("an answer that does not fit the question is not believed") {
    auto subject = Subject::of(message({"b@example.net"}), 1000);
    CHECK_FALSE(judge(subject, {1, {}}));
    CHECK_FALSE(judge(subject, {1, {{.index = 0}, {.index = 7}}}));
}

TEST_CASE("recategorize_on_start: recorded fates are asked about anew, but not what an expansion brought") {
    auto state = message({"ann@example.org", "list@example.org"});
    REQUIRE(state.apply(spool::Categorized{{0}, spool::Fate::local, "ann"}));
    REQUIRE(state.apply(spool::Expanded{{1}, {{1, spool::Fate::local, "bob@example.org", "bob", ""}}}));
    CHECK(Subject::of(state, 1000).open.empty());
    const auto anew = Subject::of(state, 1000, true);
    REQUIRE(anew.open.size() == 1);
    CHECK(anew.open[0].index == 0);
    CHECK(anew.settled.size() == 1);
}

TEST_CASE("a rerouted message's remote recipients go where the operator said") {
    auto state = message({"b@example.net", "ann@example.org"});
    REQUIRE(state.apply(spool::Categorized{{1}, spool::Fate::local, "ann"}));
    REQUIRE(state.apply(spool::Rerouted{"[relay.example]:25", {}, "root", ""}));
    auto subject = Subject::of(state, 1000);
    auto judgement = judge(subject, {1, {{.index = 0}}});
    REQUIRE(judgement);
    for (const auto& final : final_recipients(judgement->recipients, subject.rerouted_to))
        CHECK(final.destination == (final.fate == Fate::local ? "local" : "via:[relay.example]:25"));
}

TEST_CASE("a message that its writer took only to say that it was refused") {
    auto state = message({"b@example.net", "c@example.net"});
    state.envelope.verdict_reason = "5.7.9 no advertisements";
    for (auto& recipient : state.recipients) recipient.fate = spool::Fate::failed;
    for (const bool anew : {false, true}) { // nobody is asked who could make them deliverable
        const auto subject = Subject::of(state, 1000, anew);
        CHECK(subject.open.empty());
        REQUIRE(subject.settled.size() == 2);
        CHECK(subject.settled[1].fate == Fate::failed);
        CHECK(subject.settled[1].reason.status == "5.7.9");
        CHECK(subject.settled[1].reason.text == "no advertisements");
    }
    state.envelope.verdict_reason = "no advertisements";
    CHECK(Subject::of(state, 1000).settled.at(0).reason.status == "5.0.0");
    CHECK(Subject::of(state, 1000).settled.at(0).reason.text == "no advertisements");
}
