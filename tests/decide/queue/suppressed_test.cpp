// Recipients added to the suppression list while their mail waits: what may be concerned is asked about before
// its next try, and leaves with a report.
#include "tests/decide/queue/bench.h"

using namespace decide::queue;
using namespace decide::queue::test;

namespace {

constexpr std::uint32_t ann = 11, bob = 22;
const Reason why{"5.7.1", "suppressed", "", ""};

// Addresses have the keys `keys` gives them.
struct Listed : Bench {
    using Bench::Bench;
    spool::QueueId send_to(std::vector<std::pair<std::string, std::uint32_t>> recipients_and_keys, Accepted how = {}) {
        std::vector<std::string> domains;
        keys.clear();
        for (auto& [domain, key] : recipients_and_keys) {
            domains.push_back(domain);
            keys.push_back(key);
        }
        return send(std::move(domains), how);
    }
    void suppress(std::vector<std::uint32_t> these, std::vector<std::string_view> domains = {}) {
        engine.suppression_changed({these, domains}, now(), out);
        run();
    }
    void know(std::size_t n, std::vector<RecipientNumber> suppressed, bool known = true) {
        std::vector<SuppressionsKnown::Suppressed> found;
        for (auto number : suppressed) found.push_back({number, &why});
        engine.suppressions_known({checks.at(n).delivery, known, found}, now(), out);
        run();
    }
};

} // namespace

TEST_CASE("suppressed while it waits for its own time: asked about at once, reported, gone") {
    Listed b;
    const auto id = b.send_to({{"x.example", ann}});
    const auto other = b.send_to({{"y.example", bob}});
    REQUIRE(b.handed.size() == 2);
    b.answer(b.take(), Outcome::deferred);
    b.answer(b.take(), Outcome::deferred);
    b.suppress({ann});
    REQUIRE(b.checks.size() == 1);
    CHECK(b.checks[0].id == id);
    CHECK(b.engine.counts().free == 1); // nothing is lost from the counts meanwhile
    b.know(0, {0});
    REQUIRE(b.reports.size() == 1);
    CHECK(b.reports[0].id == id);
    CHECK(b.reports[0].recipients[0].reason == why);
    CHECK(b.removed == std::vector{id});
    b.pass(2min);
    CHECK(b.take().id == other);
    CHECK(b.checks.size() == 1);
}

TEST_CASE("another address with the same number: goes on waiting as it did") {
    Listed b;
    b.send_to({{"x.example", ann}});
    b.answer(b.take(), Outcome::deferred);
    b.suppress({ann});
    b.know(0, {});
    CHECK(b.handed.empty());
    b.pass(59s);
    CHECK(b.handed.empty());
    b.pass(2s);
    CHECK(b.handed.size() == 1);
    CHECK(b.reports.empty());
}

TEST_CASE("some of a delivery's recipients: the others travel on together") {
    Listed b;
    b.connects = false;
    const auto id = b.send_to({{"x.example", 1}, {"x.example", ann}, {"x.example", 3}});
    const auto h = b.take();
    b.refuse(h.connection);
    b.suppress({ann});
    REQUIRE(b.checks.size() == 1);
    CHECK(b.checks[0].numbers == std::vector<RecipientNumber>{0, 1, 2});
    b.know(0, {1});
    CHECK(b.reports.empty()); // gathered for a moment: more may fail
    b.connects = true;
    b.pass(61s);
    REQUIRE(b.handed.size() == 1);
    CHECK(b.take().numbers == std::vector<RecipientNumber>{0, 2});
    REQUIRE(b.reports.size() == 1);
    CHECK(b.reports[0].recipients[0].number == 1);
    b.answer(b.take(), Outcome::delivered);
    CHECK(b.removed == std::vector{id});
}

TEST_CASE("in flight: not recalled, but asked about before the next try") {
    Listed b;
    b.send_to({{"x.example", ann}});
    b.suppress({ann});
    CHECK(b.checks.empty());
    b.answer(b.take(), Outcome::deferred);
    b.pass(61s);
    REQUIRE(b.checks.size() == 1);
    CHECK(b.handed.empty());
    b.know(0, {0});
    CHECK(b.reports.size() == 1);
}

TEST_CASE("held mail is asked about when it is released; scheduled mail is categorized in its time only") {
    Listed b;
    const auto held = b.send_to({{"x.example", ann}});
    b.answer(b.take(), Outcome::deferred);
    b.engine.hold(held, b.now(), b.out);
    b.run();
    b.send_to({{"y.example", ann}}, {.not_before = b.now().wall + 1h});
    b.suppress({ann});
    b.pass(30min);
    CHECK(b.checks.empty());
    CHECK(b.reports.empty());
    CHECK(b.asked.size() == 1);
    b.engine.release(held, b.now(), b.out);
    b.run();
    REQUIRE(b.checks.size() == 1);
    CHECK(b.checks[0].id == held);
    CHECK(b.handed.empty());
    b.pass(31min);
    CHECK(b.asked.size() == 2);
}

TEST_CASE("held while it is asked about: asked again when released; the late answer is nobody's") {
    Listed b;
    const auto id = b.send_to({{"x.example", ann}});
    b.answer(b.take(), Outcome::deferred);
    b.suppress({ann});
    b.engine.hold(id, b.now(), b.out);
    b.run();
    b.know(0, {0});
    CHECK(b.reports.empty());
    b.engine.release(id, b.now(), b.out);
    b.run();
    b.pass(61s);
    b.know(1, {0});
    CHECK(b.reports.size() == 1);
}

TEST_CASE("a whole domain") {
    Listed b;
    b.connects = false;
    for (const auto* domain : {"x.example", "y.example", "via:[relay.example]:25", "local"}) b.send_to({{domain, bob}});
    while (!b.handed.empty()) b.refuse(b.take().connection);
    b.suppress({}, {"x.example"});
    CHECK(b.checks.size() == 3); // its own; where mail of any domain may be: rerouted, and the local store
}

TEST_CASE("a restored message, settled before: asked about before its first try") {
    Listed b;
    b.needs_suppression_check = true;
    b.send_to({{"x.example", ann}});
    REQUIRE(b.checks.size() == 1);
    CHECK(b.handed.empty());
    const auto explained = b.engine.explain(b.checks[0].id);
    REQUIRE(!explained.empty());
    bool closed = false;
    for (const auto& gate : explained[0].gates) closed = closed || (gate.gate == Gate::suppression && !gate.open);
    CHECK(closed);
    b.know(0, {});
    CHECK(b.handed.size() == 1);
}

TEST_CASE("the list cannot be read: it waits and asks again, and is not tried meanwhile") {
    Listed b;
    b.needs_suppression_check = true;
    b.send_to({{"x.example", ann}});
    b.know(0, {}, false);
    b.pass(30s);
    CHECK(b.checks.size() == 1);
    b.pass(40s);
    REQUIRE(b.checks.size() == 2);
    CHECK(b.handed.empty());
    CHECK(b.deferrals.empty()); // our own doing: no rung of any ladder
    b.know(1, {});
    CHECK(b.handed.size() == 1);
}

TEST_CASE("the list changes between question and answer: asked again") {
    Listed b;
    b.send_to({{"x.example", ann}});
    b.answer(b.take(), Outcome::deferred);
    b.suppress({ann});
    b.suppress({ann});
    CHECK(b.checks.size() == 1);
    b.know(0, {});
    b.pass(61s);
    REQUIRE(b.checks.size() == 2);
    b.know(1, {0});
    CHECK(b.reports.size() == 1);
}

TEST_CASE("the list changes while the categorizer has the message") {
    Listed b;
    b.sorts = false;
    const auto id = b.send_to({{"x.example", ann}});
    b.suppress({bob});
    const FinalRecipient final{.number = 0, .fate = Fate::remote, .destination = "x.example", .address_key = ann};
    b.engine.categorized({id, std::span(&final, 1)}, b.now(), b.out);
    b.run();
    REQUIRE(b.checks.size() == 1);
    b.know(0, {});
    CHECK(b.handed.size() == 1);
}
