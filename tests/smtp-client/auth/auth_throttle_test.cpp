// Who may knock: one until it is known that the account is good, and nobody for a while after a refusal.
#include "daemons/smtp-client/auth/auth_throttle.h"
#include <doctest/doctest.h>
#include <optional>

using namespace smtp_client;
using namespace std::chrono_literals;

namespace {

struct Knocker {
    Knocker(AuthTurns& turns, smtp::Monotonic now, const std::string& account = "ann at relay.example")
        : turn(turns.ask(account, now, [this] { ++woken; })) {}
    int woken = 0;
    std::unique_ptr<AuthTurns::Turn> turn;
};

} // namespace

TEST_CASE("one knocks, the others wait; once it is good, all come in at once") {
    AuthTurns turns;
    const smtp::Monotonic now{1h};
    Knocker first(turns, now), second(turns, now), third(turns, now),
        other(turns, now, "bob at relay.example");
    CHECK(first.turn->has_come());
    CHECK(other.turn->has_come());
    CHECK(!second.turn->has_come());
    CHECK(!third.turn->has_come());
    first.turn->accepted();
    for (auto* each : {&second, &third}) {
        CHECK(each->turn->has_come());
        CHECK(each->woken == 1);
        CHECK(each->turn->refused_before().empty());
    }
    CHECK(Knocker(turns, now).turn->has_come());
    CHECK(turns.refusals().empty());
}

TEST_CASE("who goes away without a word leaves his turn to the next; who waits may go as well") {
    AuthTurns turns;
    const smtp::Monotonic now{1h};
    Knocker first(turns, now), second(turns, now), third(turns, now);
    second.turn.reset();
    first.turn.reset();
    CHECK(third.turn->has_come());
    CHECK(third.woken == 1);
    third.turn.reset();
    CHECK(Knocker(turns, now).turn->has_come());
}

TEST_CASE("a refusal is everybody's, and holds for a while or until the accounts are others") {
    AuthTurns turns;
    const smtp::Monotonic now{1h};
    Knocker first(turns, now), second(turns, now);
    first.turn->refused("535 no", now);
    CHECK(second.woken == 1);
    CHECK(!second.turn->has_come());
    CHECK(second.turn->refused_before() == "535 no");
    CHECK(turns.refusals() == std::vector<std::string>{"ann at relay.example: 535 no"});

    Knocker soon(turns, now + AuthTurns::refusal_holds - 1us);
    CHECK(soon.turn->refused_before() == "535 no");
    CHECK(soon.woken == 0);
    Knocker later(turns, now + AuthTurns::refusal_holds), behind(turns, now + AuthTurns::refusal_holds);
    CHECK(later.turn->has_come());
    CHECK(!behind.turn->has_come());
    later.turn->refused("535 still no", now + AuthTurns::refusal_holds);
    CHECK(behind.turn->refused_before() == "535 still no");

    turns.forget();
    CHECK(turns.refusals().empty());
    Knocker mended(turns, now + AuthTurns::refusal_holds);
    CHECK(mended.turn->has_come());
    mended.turn->accepted();
    CHECK(turns.refusals().empty());
}

TEST_CASE("an account that was good and is no more is tried one by one again") {
    AuthTurns turns;
    const smtp::Monotonic now{1h};
    Knocker(turns, now).turn->accepted();
    Knocker one(turns, now), two(turns, now);
    CHECK(one.turn->has_come());
    CHECK(two.turn->has_come());
    one.turn->refused("535 changed", now);
    CHECK(Knocker(turns, now).turn->refused_before() == "535 changed");
    two.turn->accepted(); // it was faster, and is believed
    CHECK(Knocker(turns, now).turn->has_come());
}
