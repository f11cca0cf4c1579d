// What is asked of the categorizer and the bounce daemon: large questions do not keep small ones waiting, are
// bounded, and one that such a daemon does not survive is found among the others and waits by itself.
#include "tests/decide/queue/bench.h"
#include <algorithm>
#include <set>

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

std::vector<std::string> many(std::size_t count) { return std::vector<std::string>(count, "x.example"); }

void up_again(Bench& b, Service which) {
    b.engine.service(which, Presence::down, b.now(), b.out);
    b.run();
    b.engine.service(which, Presence::up, b.now(), b.out);
    b.run();
}

void sort_out(Bench& b, spool::QueueId id) {
    std::vector<FinalRecipient> finals;
    for (RecipientNumber n = 0; n < b.recipients[id.value].size(); ++n)
        finals.push_back({.number = n, .fate = Fate::remote, .destination = "x.example"});
    b.engine.categorized({id, finals}, b.now(), b.out);
    b.run();
}

std::string gate_of(Bench& b, spool::QueueId id, Gate wanted) {
    for (const auto& each : b.engine.explain(id))
        for (const auto& gate : each.gates)
            if (gate.gate == wanted && !gate.open) return gate.text + " " + gate.reason.text;
    return {};
}

} // namespace

TEST_CASE("messages with very many recipients are asked about a few at a time, and the others pass them by") {
    Bench b;
    b.sorts = false;
    std::vector<spool::QueueId> large;
    for (int i = 0; i < 20; ++i) large.push_back(b.send(many(10'000)));
    CHECK(b.asked == std::vector{large[0], large[1]});
    const auto small = b.send({"x.example"});
    CHECK(b.asked.back() == small);
    sort_out(b, large[0]);
    CHECK(b.asked.back() == large[2]);
    CHECK(b.engine.counts().uncategorized == 20);
    // One beyond the bound is asked about alone.
    const auto huge = b.send(many(100'000));
    for (std::size_t i = 1; i < large.size(); ++i) sort_out(b, large[i]);
    CHECK(b.asked.back() == huge);
    sort_out(b, huge);
    sort_out(b, small);
    CHECK(b.engine.counts().uncategorized == 0);
}

TEST_CASE("a removed one makes room for the next") {
    Bench b;
    b.sorts = false;
    std::vector<spool::QueueId> large;
    for (int i = 0; i < 4; ++i) large.push_back(b.send(many(20'000)));
    CHECK(b.asked == std::vector{large[0]});
    b.engine.forget(large[1], b.now(), b.out);
    b.engine.forget(large[0], b.now(), b.out);
    b.run();
    CHECK(b.asked == std::vector{large[0], large[2]});
}

TEST_CASE("the message that the categorizer does not survive waits by itself, with the reason; all others go on") {
    Bench b;
    b.sorts = false;
    std::set<std::uint64_t> open;
    spool::QueueId poison;
    for (int i = 0; i < 300; ++i) {
        const auto id = b.send({"x.example"});
        if (i == 137) poison = id;
        open.insert(id.value);
    }
    int ends = 0;
    // It answers in order, and ends when it comes to that one: what came behind it is lost each time.
    while (open.size() > 1 && ends < 100) {
        const auto asked = std::exchange(b.asked, {});
        REQUIRE_FALSE(asked.empty());
        const bool ended = (std::ranges::find(asked, poison) != asked.end());
        for (const auto id : asked) {
            if (ended) break;
            if (open.erase(id.value) > 0) sort_out(b, id);
        }
        if (!ended) continue;
        ++ends;
        up_again(b, Service::categorizer);
    }
    CHECK(open == std::set{poison.value});
    CHECK(ends < 20);
    CHECK(gate_of(b, poison, Gate::categorizer)
              .contains("the categorizer crashed twice in a row while working on this message alone"));
    // It is asked about again when its time comes.
    b.asked.clear();
    b.pass(Bench::exact().categorize_retry * 2);
    CHECK(b.asked == std::vector{poison});
    sort_out(b, poison);
    CHECK(b.engine.counts().uncategorized == 0);
}

TEST_CASE("a categorizer that is only restarted loses no time for anybody") {
    Bench b;
    b.sorts = false;
    const auto id = b.send({"x.example"});
    up_again(b, Service::categorizer);
    CHECK(b.asked == std::vector{id, id});
    sort_out(b, id);
    const auto next = b.send({"x.example"});
    up_again(b, Service::categorizer);
    CHECK(b.asked == std::vector{id, id, next, next});
}

namespace {

// A message that failed for all of its recipients, each with a text of that length.
spool::QueueId failed(Bench& b, std::size_t recipients, std::size_t length) {
    b.reason = {"5.1.1", std::string(length, 't'), "", ""};
    b.sorts = false;
    const auto id = b.send(many(recipients));
    std::vector<FinalRecipient> finals;
    for (RecipientNumber n = 0; n < recipients; ++n)
        finals.push_back({.number = n, .fate = Fate::failed, .reason = &b.reason});
    b.engine.categorized({id, finals}, b.now(), b.out);
    b.run();
    return id;
}

void done(Bench& b, const MakeReport& report) {
    b.engine.reported({report.request, ReportOutcome::done, spool::QueueId{9}, {}}, b.now(), b.out);
    b.run();
}

} // namespace

TEST_CASE(
    "a sender hears of every recipient, in one report or in a few; each is bounded, and so is what is under way") {
    struct Row {
        std::size_t recipients, length, reports;
    };
    for (const auto& [recipients, length, reports] :
         {Row{1, 100, 1}, Row{2'500, 1'000, 1}, Row{9'999, 100, 1}, Row{30'000, 100, 3}, Row{10'000, 2'000, 6}}) {
        Bench b;
        b.reports_answered = false;
        const auto id = failed(b, recipients, length);
        b.pass(1min);
        std::set<RecipientNumber> told;
        std::size_t answered = 0;
        const auto size_of = [](const MakeReport& report) {
            std::size_t size = 0;
            for (const auto& each : report.recipients) size += sizeof each + each.reason.text.size();
            return size;
        };
        while (answered < b.reports.size()) {
            std::size_t under_way = 0;
            for (std::size_t i = answered; i < b.reports.size(); ++i) under_way += size_of(b.reports[i]);
            CHECK(under_way < std::size_t{12} << 20);
            const auto report = b.reports[answered++];
            CHECK(report.id == id);
            CHECK(report.recipients.size() <= 10'000);
            CHECK(size_of(report) <= (std::size_t{4} << 20) + (64 << 10));
            for (const auto& each : report.recipients) CHECK(told.insert(each.number).second);
            done(b, report);
        }
        CHECK(told.size() == recipients);
        CHECK(b.reports.size() == reports);
        CHECK(b.removed == std::vector{id});
    }
}

TEST_CASE("another sender's report is made while a very large one is") {
    Bench b;
    b.reports_answered = false;
    failed(b, 100'000, 1'000);
    const auto other = failed(b, 1, 100);
    b.pass(1min);
    const auto asked = [&] { return std::ranges::find(b.reports, other, &MakeReport::id) != b.reports.end(); };
    std::size_t answered = 0;
    while (!asked() && answered < 6) done(b, MakeReport(b.reports[answered++]));
    CHECK(asked());
}

TEST_CASE("the report that the bounce daemon does not survive waits by itself, with the reason; all others are made") {
    Bench b;
    b.reports_answered = false;
    std::vector<spool::QueueId> all;
    for (int i = 0; i < 60; ++i) all.push_back(failed(b, 1, 100));
    const auto poison = all[23];
    b.pass(1min);
    int ends = 0;
    while (b.removed.size() < all.size() - 1 && ends < 100) {
        const auto asked = std::exchange(b.reports, {});
        REQUIRE_FALSE(asked.empty());
        const bool ended = (std::ranges::find(asked, poison, &MakeReport::id) != asked.end());
        if (!ended)
            for (const auto& report : asked) done(b, report);
        if (!ended) continue;
        ++ends;
        up_again(b, Service::bounce);
    }
    CHECK(b.removed.size() == all.size() - 1);
    CHECK(ends < 16);
    CHECK(gate_of(b, poison, Gate::report)
              .contains("the bounce daemon crashed twice in a row while writing this report alone"));
    b.reports_answered = true;
    b.pass(Bench::exact().submit_retry * 2);
    CHECK(b.removed.size() == all.size());
}
