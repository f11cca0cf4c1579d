// Tests of clients, by a clock that is moved by hand: which are due, what results mean, what is remembered.
#include "daemons/decide/screening/screening.h"
#include <doctest/doctest.h>

using namespace decide::screening;
using namespace std::chrono_literals;

namespace {

const smtp::WallTime noon{1'800'000'000s};

Settings settings_with(std::initializer_list<std::pair<Test, Action>> actions) {
    Settings out;
    for (const auto& [test, action] : actions) out.actions[index_of(test)] = action;
    out.lifetimes = {24h, 1h, 720h, 720h, 720h};
    out.shortest_of_dns_lists = 1min;
    out.threshold = 3;
    return out;
}

const auto usual = settings_with({{Test::early_talk, Action::drop}, {Test::dns_lists, Action::enforce}});

} // namespace

TEST_CASE("an unknown address is tested, one that passed is not until its pass ends") {
    Screening first(usual, {}, noon);
    CHECK(first.due(Test::early_talk));
    CHECK(first.due(Test::dns_lists));
    CHECK(!first.any_due_in_session());
    CHECK(!first.known_before());
    CHECK(!first.changed());
    first.passed(Test::early_talk, noon);
    CHECK(!first.all_passed());
    CHECK(first.scored(2, 10min, noon) == Action::off);
    CHECK(first.all_passed());
    const auto passes = first.changed();
    REQUIRE(passes);
    CHECK(!first.changed()); // once
    CHECK(passes->until[index_of(Test::early_talk)] == noon + 24h);
    CHECK(passes->until[index_of(Test::dns_lists)] == noon + 10min);
    CHECK(passes->last() == noon + 24h);

    const Screening at_once(usual, passes, noon + 9min);
    CHECK(!at_once.any_made());
    CHECK(at_once.known_before());
    const Screening later(usual, passes, noon + 10min);
    CHECK(!later.due(Test::early_talk));
    CHECK(later.due(Test::dns_lists));
    const Screening next_day(usual, passes, noon + 24h);
    CHECK(next_day.due(Test::early_talk));
}

TEST_CASE("how long a pass of the lists is valid") {
    const std::pair<smtp::Duration, smtp::Duration> cases[] = {
        {0s, 1min}, {59s, 1min}, {5min, 5min}, {1h, 1h}, {24h, 1h}};
    for (const auto& [ttl, valid] : cases) {
        Screening tests(usual, {}, noon);
        tests.scored(-5, ttl, noon);
        CHECK(tests.changed()->until[index_of(Test::dns_lists)] == noon + valid);
    }
}

TEST_CASE("what a failure does") {
    Screening dropped(usual, {}, noon);
    CHECK(dropped.failed(Test::early_talk) == Action::drop);
    CHECK(!dropped.enforced());
    CHECK(dropped.any_failed());

    Screening enforced(usual, {}, noon);
    enforced.passed(Test::early_talk, noon);
    CHECK(enforced.scored(3, 1h, noon) == Action::enforce);
    CHECK(enforced.enforced() == Test::dns_lists);
    CHECK(!enforced.all_passed());
    CHECK(!enforced.changed()); // of one that fails nothing is remembered

    const auto lenient = settings_with({{Test::early_talk, Action::ignore}, {Test::dns_lists, Action::ignore}});
    Screening ignored(lenient, {}, noon);
    CHECK(ignored.failed(Test::early_talk) == Action::ignore);
    CHECK(ignored.scored(0, 1h, noon) == Action::off);
    CHECK(!ignored.enforced());
    CHECK(!ignored.all_passed()); // tested again the next time
    CHECK(!ignored.changed());
}

TEST_CASE("lists that vouch for a client spare it the other tests") {
    auto settings = settings_with(
        {{Test::early_talk, Action::drop}, {Test::dns_lists, Action::enforce}, {Test::pipelining, Action::drop}});
    {
        Screening without(settings, {}, noon);
        without.scored(-100, 10min, noon);
        CHECK(without.due(Test::early_talk)); // 0: off
    }
    settings.allow_threshold = 2;
    Screening too_few(settings, {}, noon);
    too_few.scored(-1, 10min, noon);
    CHECK(too_few.due(Test::early_talk));
    Screening enough(settings, {}, noon);
    enough.scored(-2, 10min, noon);
    CHECK(!enough.any_due_before_greeting());
    CHECK(!enough.any_due_in_session());
    CHECK(enough.all_passed());
    CHECK(enough.changed()->until[index_of(Test::pipelining)] == noon + 10min); // as long as they do
}

TEST_CASE("tests during the session are due after the greeting, and each is remembered by itself") {
    const auto deep = settings_with(
        {{Test::early_talk, Action::drop}, {Test::pipelining, Action::enforce}, {Test::bare_newline, Action::ignore}});
    Screening tests(deep, {}, noon);
    tests.passed(Test::early_talk, noon);
    const auto early = tests.changed();
    REQUIRE(early);
    CHECK(tests.any_due_in_session());
    CHECK(!tests.due(Test::non_smtp)); // off
    CHECK(!tests.all_passed());

    Screening again(deep, early, noon + 1h); // it went before its first recipient
    CHECK(!again.any_due_before_greeting());
    CHECK(again.any_due_in_session());
    CHECK(again.failed(Test::pipelining) == Action::enforce);
    again.passed(Test::bare_newline, noon + 1h);
    CHECK(again.enforced() == Test::pipelining);
    CHECK(!again.changed());
}

TEST_CASE("a pass beyond what the settings allow dates from others, or from a clock that was wrong") {
    Passes passes;
    passes.until.fill(noon + 9000h);
    const Screening tests(usual, passes, noon);
    CHECK(!tests.any_made());
    auto shorter = usual;
    shorter.lifetimes[index_of(Test::early_talk)] = 0s;
    CHECK(Screening(shorter, passes, noon).due(Test::early_talk));
}

TEST_CASE("what is stored") {
    Passes passes;
    passes.until[index_of(Test::early_talk)] = noon + 24h;
    passes.until[index_of(Test::bare_newline)] = noon + 1s;
    CHECK(decode(encode(passes)) == passes);
    CHECK(decode(encode(Passes())) == Passes());
    auto bytes = encode(passes);
    CHECK(!decode(""));
    CHECK(!decode(bytes + "x"));
    CHECK(!decode(bytes.substr(1)));
    bytes[0] = '\2'; // a later version
    CHECK(!decode(bytes));
    bytes = encode(passes);
    bytes[1] = '\xff'; // no time
    CHECK(!decode(bytes));
}
