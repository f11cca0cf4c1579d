#include "daemons/queue-manager/conversion/categorization.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include "tests/queue-manager/conversion/messages.h"
#include <doctest/doctest.h>
#include <set>

using namespace queue_manager;
using decide::queue::Fate;
using queue_manager::testing::message;
namespace answer = proto::categorize;

TEST_CASE("remote recipients need no record at once: the answer is the envelope's own addresses") {
    auto state = message({"b@Example.NET", "c@example.com"});
    auto subject = CategorizationInput::of(state, 1000);
    auto judgement =
        judge(subject, {1, {{.origin = 0, .fate = spool::Fate::remote}, {.origin = 1, .fate = spool::Fate::remote}}});
    REQUIRE(judgement);
    CHECK(judgement->records.empty());
    CHECK(judgement->unchanged == std::vector<std::uint32_t>{0, 1});
    REQUIRE(state.apply(spool::Categorized{.recipients = judgement->unchanged, .fate = spool::Fate::remote}));
    CHECK(CategorizationInput::of(state, 1000).open.empty()); // once it is written nobody is asked again
    CHECK(CategorizationInput::of(state, 1000).settled[0].destination == "example.net");
    CHECK_FALSE(judgement->expanded);
    REQUIRE(judgement->recipients.size() == 2);
    CHECK(judgement->recipients[0].destination == "example.net");
    CHECK(judgement->recipients[1].number == 1);
}

TEST_CASE("an alias becomes new recipients behind the envelope's, and the old one is replaced") {
    auto subject = CategorizationInput::of(message({"list@example.org", "b@example.net"}), 1000);
    auto judgement = judge(subject, {1,
                                     {{.origin = 0,
                                       .fate = spool::Fate::remote,
                                       .changed = true,
                                       .address = "x@example.com",
                                       .reverse_path = "owner-list@example.org"},
                                      {.origin = 0,
                                       .fate = spool::Fate::local,
                                       .changed = true,
                                       .address = "ann@example.org",
                                       .user = "ann",
                                       .reverse_path = "owner-list@example.org"},
                                      {.origin = 1, .fate = spool::Fate::remote}}});
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
    auto again = CategorizationInput::of(state, 1000);
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
    auto subject = CategorizationInput::of(message({"ann@example.org"}), 1000);
    auto judgement = judge(subject, {1, {{.origin = 0, .fate = spool::Fate::local, .user = "ann"}}});
    REQUIRE(judgement);
    CHECK_FALSE(judgement->expanded);
    REQUIRE(judgement->records.size() == 1);
    CHECK(std::get<spool::Categorized>(judgement->records[0]).user == "ann");
    CHECK(judgement->recipients[0].destination == "local/ann");
}

TEST_CASE("under soft_bounce a list's bad member waits by itself, for as long as it takes") {
    auto state = message({"list@example.org"});
    const auto subject = CategorizationInput::of(state, 1000);
    const spool::ResolvedRecipient good{.origin = 0,
                                        .fate = spool::Fate::remote,
                                        .changed = true,
                                        .list = true,
                                        .address = "x@example.com",
                                        .reverse_path = "owner-list@example.org"};
    const spool::ResolvedRecipient bad{.origin = 0,
                                       .fate = spool::Fate::failed,
                                       .changed = true,
                                       .list = true,
                                       .address = "gone@example.org",
                                       .reverse_path = "owner-list@example.org",
                                       .status = "5.1.1",
                                       .text = "unknown user"};
    auto judgement = judge(subject, softened({1, {good, bad}}));
    REQUIRE(judgement);
    CHECK(judgement->expanded);
    REQUIRE(judgement->recipients.size() == 2);
    CHECK(judgement->recipients[0].destination == "example.com");
    CHECK(judgement->recipients[1].fate == Fate::unknown);
    CHECK(judgement->recipients[1].reason.status == "4.1.1");
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));

    // After a restart as before it, that member alone is asked about; nobody else gets the message again.
    const auto again = CategorizationInput::of(state, 1000);
    REQUIRE(again.open.size() == 1);
    CHECK(again.open[0].number == 2);
    CHECK(again.open[0].address == "gone@example.org");
    judgement = judge(again, softened({1, {{.origin = 2, .fate = spool::Fate::failed, .status = "5.1.1"}}}));
    REQUIRE(judgement);
    CHECK(judgement->records.empty());
    REQUIRE(judgement->recipients.size() == 2);
    CHECK(judgement->recipients[1].number == 2);
    CHECK(judgement->recipients[1].fate == Fate::unknown);
    // It is a member of the list still when it is found.
    judgement =
        judge(again, {1,
                      {{.origin = 2, .fate = spool::Fate::remote, .changed = true, .address = "new@example.net"},
                       {.origin = 2, .fate = spool::Fate::remote, .changed = true, .address = "x@example.com"}}});
    REQUIRE(judgement);
    REQUIRE(judgement->recipients.size() == 2); // x has it
    CHECK(judgement->recipients[1].destination == "example.net");
    CHECK(judgement->recipients[1].reverse_path == "owner-list@example.org");
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    CHECK(state.recipients[3].reverse_path == "owner-list@example.org");
    CHECK(state.recipients[3].list);
    // A lone address, or a list without a single good one, waits as it stands.
    auto whole = message({"list@example.org"});
    judgement = judge(CategorizationInput::of(whole, 1000), softened({1, {bad, bad}}));
    REQUIRE(judgement);
    CHECK(judgement->records.empty());
    CHECK(judgement->recipients[0].fate == Fate::unknown);
}

TEST_CASE("whatever of an expiry a crash has left in the file, its sender is told, and nobody is asked about") {
    const spool::Reply why{.code = 451, .status = "4.2.0", .text = "full"};
    // Nothing: it is queued as before, and expires when it was tried once more.
    auto state = message({"late@example.org"});
    CHECK(CategorizationInput::of(state, 1000).open.size() == 1);
    // Decided and not reported, as of a torn last record: reported, not served.
    REQUIRE(state.apply(spool::StatusChanged{{0}, spool::Status::expired, {}, why, "queue-manager"}));
    const auto subject = CategorizationInput::of(state, 1000);
    CHECK(subject.open.empty());
    REQUIRE(subject.settled.size() == 1);
    CHECK(subject.settled[0].fate == Fate::failed);
    CHECK(subject.settled[0].reason.text == "full");
    // Reported: nothing is owed, and nobody is told again.
    REQUIRE(state.apply(spool::NdrIssued{{0}, spool::Reported::submitted, spool::QueueId{0x200}, {}}));
    CHECK(CategorizationInput::of(state, 1000).open.empty());
    CHECK(CategorizationInput::of(state, 1000).settled.empty());
}

TEST_CASE("what waits of a list is looked up again whole: nobody is served twice, nor told twice") {
    auto state = message({"list@example.org", "ann@example.org"});
    std::uint32_t index = 0;
    const auto of_list = [&](spool::Fate fate, std::string address, std::string status = "") {
        return spool::ResolvedRecipient{
            .origin = index, .fate = fate, .changed = true, .address = std::move(address), .status = std::move(status)};
    };
    // What is categorized again and again; `more` is what the mended list has.
    const auto whole = [&](std::vector<spool::ResolvedRecipient> more) {
        auto out =
            std::vector{of_list(spool::Fate::remote, "x@example.com"), of_list(spool::Fate::remote, "y@example.com"),
                        of_list(spool::Fate::failed, "gone@example.org", "5.1.1"),
                        of_list(spool::Fate::discard, "list@example.org", "2.0.0")};
        out.insert(out.end(), more.begin(), more.end());
        return out;
    };
    const auto step = [&](std::vector<spool::ResolvedRecipient> outcomes) {
        const auto subject = CategorizationInput::of(state, 1000);
        auto judgement = judge(subject, {1, std::move(outcomes)});
        REQUIRE(judgement);
        for (const auto& record : judgement->records) REQUIRE(state.apply(record));
        return *std::move(judgement);
    };
    auto outcomes = whole({of_list(spool::Fate::unknown, "list@example.org", "4.3.5")});
    outcomes.push_back({.origin = 1, .fate = spool::Fate::remote});
    const auto first = step(outcomes);
    CHECK(first.expanded);
    REQUIRE(state.recipients.size() == 7);
    index = 6;
    CHECK(CategorizationInput::of(state, 1000).open.back().number == index);
    CHECK(CategorizationInput::of(state, 1000).open.back().address == "list@example.org");
    // One has it by now, the other has failed, and so has the one nobody knew: while it waits nothing is written.
    REQUIRE(state.apply(spool::StatusChanged{{3}, spool::Status::failed, {}, {}, "test"}));
    REQUIRE(state.apply(spool::StatusChanged{{2}, spool::Status::delivered, {}, {}, "test"}));
    REQUIRE(state.apply(spool::StatusChanged{{5}, spool::Status::discarded, {}, {}, "test"}));
    outcomes = whole({of_list(spool::Fate::unknown, "list@example.org", "4.3.5")});
    if (CategorizationInput::of(state, 1000).open.size() == 2)
        outcomes.push_back({.origin = 1, .fate = spool::Fate::remote});
    CHECK(step(outcomes).records.empty());
    CHECK(state.recipients.size() == 7);
    // Mended: the new one alone gets it.
    outcomes = whole({of_list(spool::Fate::remote, "z@example.com")});
    if (CategorizationInput::of(state, 1000).open.size() == 2)
        outcomes.push_back({.origin = 1, .fate = spool::Fate::remote});
    step(outcomes);
    REQUIRE(state.recipients.size() == 8);
    CHECK(state.recipients[7].address == "z@example.com");
    CHECK(state.recipients[6].status == spool::Status::expanded);
}

TEST_CASE("a command runs for each address that names it, once, however often it is asked about") {
    auto state = message({"a@example.org", "b@example.org"});
    const spool::ResolvedRecipient command{.origin = 0,
                                           .fate = spool::Fate::local,
                                           .changed = true,
                                           .address = "a@example.org",
                                           .user = "ann",
                                           .target = "|sort"};
    const std::uint32_t first[] = {0}, second[] = {1};
    auto judgement = judge(CategorizationInput::of(state, 1000, false, first), {1, {command}});
    REQUIRE(judgement);
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    auto other = command;
    other.origin = 1;
    judgement = judge(CategorizationInput::of(state, 1000, false, second), {1, {other}});
    REQUIRE(judgement);
    CHECK(judgement->recipients.back().fate == Fate::local);
}

TEST_CASE("mail sent on under different names goes separately, and after a restart, too") {
    auto state = message({"ann@example.org", "bob@example.org", "x@example.com"});
    const auto sent_on = [](std::uint32_t index, std::string by, std::string to) {
        return spool::ResolvedRecipient{.origin = index,
                                        .fate = spool::Fate::remote,
                                        .changed = true,
                                        .address = std::move(to),
                                        .delivered_to = std::move(by)};
    };
    const auto judgement = judge(CategorizationInput::of(state, 1000), {1,
                                                                        {sent_on(0, "ann@example.org", "a@example.com"),
                                                                         sent_on(1, "bob@example.org", "b@example.com"),
                                                                         {.origin = 2, .fate = spool::Fate::remote}}});
    REQUIRE(judgement);
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    const auto again = CategorizationInput::of(state, 1000);
    for (const auto* recipients : {&judgement->recipients, &again.settled}) {
        std::set<std::uint32_t> groups;
        for (const auto& each : final_recipients(*recipients))
            if (each.fate == Fate::remote) groups.insert(each.sender_group);
        CHECK(groups ==
              (recipients == &again.settled ? std::set<std::uint32_t>{1, 2} : std::set<std::uint32_t>{0, 1, 2}));
    }
    CHECK(state.recipients[3].delivered_to == "ann@example.org");
}

TEST_CASE("a user's commands have a queue of their own, now and after a restart") {
    auto state =
        message({"ann@example.org", "list@example.org", "bob@example.org", "carl@example.org", "Dora@Boxes.example"});
    const auto judged = [&](Mailboxes mailboxes) {
        const auto subject = CategorizationInput::of(state, 1000, false, {}, mailboxes);
        auto judgement =
            judge(subject, {1,
                            {{.origin = 0, .fate = spool::Fate::local, .user = "ann"},
                             {.origin = 1, .fate = spool::Fate::local, .user = "lists", .target = "|/bin/list"},
                             {.origin = 2, .fate = spool::Fate::local, .user = "bob", .target = "/home/bob/file"},
                             {.origin = 3, .fate = spool::Fate::local},
                             {.origin = 4, .fate = spool::Fate::local, .user = "vmail", .target = "mbox:/v/dora"}}});
        REQUIRE(judgement);
        return *judgement;
    };
    const auto destinations = [](const std::vector<CategorizedRecipient>& all) {
        std::vector<std::string> out;
        for (const auto& each : all) out.push_back(each.destination);
        return out;
    };
    const std::vector<std::string> parts = {"local/ann", "local/lists/|/bin/list", "local/bob/alias", "local/carl",
                                            "local/boxes.example/dora"};
    CHECK(destinations(judged(Mailboxes::files).recipients) == parts);
    const auto judgement = judged(Mailboxes::commands);
    CHECK(destinations(judgement.recipients) == parts);
    for (const auto& record : judgement.records) REQUIRE(state.apply(record));
    CHECK(destinations(CategorizationInput::of(state, 1000, false, {}, Mailboxes::commands).settled) == parts);
}

TEST_CASE("who failed without a try has failed in the file, with the reason, and nobody is asked again") {
    auto state = message({"nosuch@example.org", "b@example.net", "gone@example.org", "closed@example.com"});
    const spool::ResolvedRecipient unknown = {.fate = spool::Fate::failed, .status = "5.1.1", .text = "unknown user"};
    auto second = unknown, third = unknown;
    third.text = "mailbox closed";
    second.origin = 2, third.origin = 3;
    auto judgement = judge(CategorizationInput::of(state, 1000),
                           {1, {unknown, {.origin = 1, .fate = spool::Fate::remote}, second, third}},
                           smtp::WallTime(smtp::Duration(7)));
    REQUIRE(judgement);
    REQUIRE(judgement->records.size() == 2); // one for each reason
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    CHECK(state.recipients[2].status == spool::Status::failed);
    CHECK(state.recipients[2].reply.text == "unknown user");
    CHECK_FALSE(state.recipients[2].accounted_for()); // before it is reported

    const auto again = CategorizationInput::of(state, 1000, true); // though fates are to be found out anew
    CHECK(again.settled.size() == 3);
    CHECK(again.settled[2].fate == Fate::failed);
    CHECK(again.settled[2].reason.text == "mailbox closed");
    REQUIRE(state.apply(spool::NdrIssued{.recipients = {0, 2, 3}}));
    CHECK(CategorizationInput::of(state, 1000).settled.empty());
    CHECK(CategorizationInput::of(state, 1000).open.size() == 1);
}

TEST_CASE("where a recipient goes by the word of a table is in the file, and asked no more") {
    auto state = message({"ann@example.org", "b@example.net", "list@example.org"});
    auto judgement = judge(CategorizationInput::of(state, 1000),
                           {1,
                            {{.origin = 0, .fate = spool::Fate::local, .user = "vmail", .target = "maildir:/mail/ann/"},
                             {.origin = 1, .fate = spool::Fate::remote, .transport = "lmtp:/run/lmtp"},
                             {.origin = 2,
                              .fate = spool::Fate::local,
                              .changed = true,
                              .address = "list@example.org",
                              .user = "ann",
                              .target = "|/usr/bin/vacation"},
                             {.origin = 2,
                              .fate = spool::Fate::remote,
                              .changed = true,
                              .address = "c@example.com",
                              .transport = "[relay.example]:26"}}});
    REQUIRE(judgement);
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    CHECK(state.recipients[0].target == "maildir:/mail/ann/");
    CHECK(state.recipients[1].transport == "lmtp:/run/lmtp");
    CHECK(state.recipients[3].target == "|/usr/bin/vacation");

    const auto again = CategorizationInput::of(state, 1000);
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
    const auto subject = CategorizationInput::of(state, 1000, false, only);
    REQUIRE(subject.open.size() == 1);
    auto judgement =
        judge(subject, {1,
                        {{.origin = 1, .fate = spool::Fate::remote, .changed = true, .address = "bob@far.example"},
                         {.origin = 1, .fate = spool::Fate::remote, .changed = true, .address = "carol@far.example"}}});
    REQUIRE(judgement);
    REQUIRE(judgement->recipients.size() == 1);
    CHECK(std::get<spool::Expanded>(judgement->records.at(0)).added.at(0).address == "carol@far.example");
}

TEST_CASE("why an added recipient failed outlives a restart") {
    auto state = message({"list@example.org"});
    auto judgement = judge(CategorizationInput::of(state, 1000), {1,
                                                                  {{.origin = 0,
                                                                    .fate = spool::Fate::failed,
                                                                    .changed = true,
                                                                    .address = "nobody@example.org",
                                                                    .status = "5.1.1",
                                                                    .text = "no such user"}}});
    REQUIRE(judgement);
    for (auto& record : judgement->records) REQUIRE(state.apply(record));
    auto again = CategorizationInput::of(state, 1000);
    REQUIRE(again.settled.size() == 1);
    CHECK(again.settled[0].fate == Fate::failed);
    CHECK(again.settled[0].reason.text == "no such user");
}

TEST_CASE("that an address is on the suppression list outlives a restart, whatever the words are") {
    auto state = message({"b@example.net", "c@example.net"});
    const auto failed = [](std::uint32_t number, bool suppressed) {
        return spool::ResolvedRecipient{.origin = number,
                                        .fate = Fate::failed,
                                        .status = "5.7.1",
                                        .text = "no mail for that address",
                                        .suppressed = suppressed};
    };
    const auto judgement = judge(CategorizationInput::of(state, 1000), {1, {failed(0, true), failed(1, false)}});
    REQUIRE(judgement);
    CHECK(judgement->recipients[0].reason.suppressed);
    CHECK_FALSE(judgement->recipients[1].reason.suppressed);
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    const auto again = CategorizationInput::of(state, 1000);
    REQUIRE(again.settled.size() == 2);
    CHECK(again.settled[0].reason.suppressed);
    CHECK_FALSE(again.settled[1].reason.suppressed);

    auto former = message({"b@example.net"}); // as files were written before there was the field
    REQUIRE(former.apply(
        spool::StatusChanged{.recipients = {0},
                             .status = spool::Status::failed,
                             .reply = {.status = "5.7.1", .text = "on the suppression list since 2026-11-22"},
                             .who = "categorizer"}));
    CHECK(CategorizationInput::of(former, 1000).settled[0].reason.suppressed);
}

TEST_CASE("an answer that does not fit the question is not believed") {
    auto subject = CategorizationInput::of(message({"b@example.net"}), 1000);
    CHECK_FALSE(judge(subject, {1, {}}));
    CHECK_FALSE(
        judge(subject, {1, {{.origin = 0, .fate = spool::Fate::remote}, {.origin = 7, .fate = spool::Fate::remote}}}));
}

TEST_CASE("an answer that the engine has not heard of is in the file: what became of the recipient is meant") {
    auto state = message({"list@example.org", "other@example.net"});
    REQUIRE(state.apply(
        spool::Expanded{{0},
                        {{.origin = 0, .fate = spool::Fate::remote, .address = "ann@example.net", .user = ""},
                         {.origin = 0, .fate = spool::Fate::remote, .address = "bob@example.net", .user = ""}}}));
    REQUIRE(state.apply(spool::StatusChanged{{2}, spool::Status::delivered, {}, {}, "test"}));
    const auto again = CategorizationInput::of(state, 1000, false, std::vector<std::uint32_t>{0});
    CHECK(again.open.empty());
    REQUIRE(again.settled.size() == 1); // not ann, who has it; not the other, who was not asked about
    CHECK(again.settled[0].number == 3);
}

TEST_CASE("recategorize_on_start: recorded fates are asked about anew, and the origin of what an expansion brought") {
    auto state = message({"ann@example.org", "list@example.org"});
    REQUIRE(state.apply(spool::Categorized{{0}, spool::Fate::local, "ann"}));
    REQUIRE(state.apply(spool::Expanded{
        {1}, {{.origin = 1, .fate = spool::Fate::local, .address = "bob@example.org", .user = "bob"}}}));
    CHECK(CategorizationInput::of(state, 1000).open.empty());
    const auto anew = CategorizationInput::of(state, 1000, true);
    REQUIRE(anew.open.size() == 2);
    CHECK(anew.open[0].number == 0);
    CHECK(anew.open[1].number == 1);
    CHECK(anew.open[1].address == "list@example.org");
    CHECK(anew.settled.empty());
}

TEST_CASE("a rerouted message's remote recipients go where the operator said") {
    auto state = message({"b@example.net", "ann@example.org"});
    REQUIRE(state.apply(spool::Categorized{{1}, spool::Fate::local, "ann"}));
    REQUIRE(state.apply(spool::Rerouted{"[relay.example]:25", {}, "root", ""}));
    auto subject = CategorizationInput::of(state, 1000);
    auto judgement = judge(subject, {1, {{.origin = 0, .fate = spool::Fate::remote}}});
    REQUIRE(judgement);
    for (const auto& final : final_recipients(judgement->recipients, subject.rerouted_to))
        CHECK(final.destination == (final.fate == Fate::local ? "local/ann" : "via:[relay.example]:25"));
}

TEST_CASE("a message that its writer took only to say that it was refused") {
    auto state = message({"b@example.net", "c@example.net"});
    state.envelope.verdict_reason = "5.7.9 no advertisements";
    for (auto& recipient : state.recipients) recipient.fate = spool::Fate::failed;
    for (const bool anew : {false, true}) { // nobody is asked who could make them deliverable
        const auto subject = CategorizationInput::of(state, 1000, anew);
        CHECK(subject.open.empty());
        REQUIRE(subject.settled.size() == 2);
        CHECK(subject.settled[1].fate == Fate::failed);
        CHECK(subject.settled[1].reason.status == "5.7.9");
        CHECK(subject.settled[1].reason.text == "no advertisements");
        CHECK(subject.settled[1].unlogged);
    }
    state.envelope.verdict_reason = "no advertisements";
    CHECK(CategorizationInput::of(state, 1000).settled.at(0).reason.status == "5.0.0");
    CHECK(CategorizationInput::of(state, 1000).settled.at(0).reason.text == "no advertisements");
}

TEST_CASE("who is thrown away is known by name to the log, from the answer and from the file") {
    auto state = message({"b@example.net", "list@example.org", "hole@example.org"});
    const auto subject = CategorizationInput::of(state, 1000);
    auto judgement =
        judge(subject, {1,
                        {{.origin = 0, .fate = spool::Fate::remote},
                         {.origin = 1, .fate = spool::Fate::remote, .changed = true, .address = "x@example.com"},
                         {.origin = 1,
                          .fate = spool::Fate::discard,
                          .changed = true,
                          .address = "null@example.org",
                          .status = "2.0.0",
                          .text = "discarded: alias null: /dev/null"},
                         {.origin = 2, .fate = spool::Fate::discard, .status = "2.0.0", .text = "discarded: x"}}});
    REQUIRE(judgement);
    REQUIRE(judgement->discarded.size() == 2);
    const auto& [number, to, original_to, reason] = judgement->discarded[0];
    CHECK(number == 4);
    CHECK(to == "null@example.org");
    CHECK(original_to == "list@example.org");
    CHECK(reason.status == "2.0.0");
    CHECK(reason.text == "discarded: alias null: /dev/null");
    CHECK(judgement->discarded[1].number == 2);
    CHECK(judgement->discarded[1].original_to == "hole@example.org");

    // A crash between the record of the expansion and that of the end: said again, for want of the first.
    for (const auto& record : judgement->records) REQUIRE(state.apply(record));
    const auto again = CategorizationInput::of(state, 1000);
    REQUIRE(again.discarded.size() == 1);
    CHECK(again.discarded[0].to == "null@example.org");
    CHECK(again.discarded[0].original_to == "list@example.org");
    REQUIRE(state.apply(spool::StatusChanged{.recipients = {4}, .status = spool::Status::discarded}));
    CHECK(CategorizationInput::of(state, 1000).discarded.empty());
}
