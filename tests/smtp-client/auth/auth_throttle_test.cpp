// Who may knock: one until it is known that the account is good, and nobody for a while after a refusal.
#include "daemons/smtp-client/auth/auth_throttle.h"
#include <doctest/doctest.h>
#include <optional>

using namespace smtp_client;
using namespace std::chrono_literals;

namespace {

struct Knocker {
    Knocker(AuthThrottle& throttle, smtp::Monotonic now, const std::string& account = "ann at relay.example")
        : ticket(throttle.request(account, now, [this] { ++woken; })) {}
    int woken = 0;
    std::unique_ptr<AuthThrottle::Ticket> ticket;
};

} // namespace

TEST_CASE("one knocks, the others wait; once it is good, all come in at once") {
    AuthThrottle throttle;
    const smtp::Monotonic now{1h};
    Knocker first(throttle, now), second(throttle, now), third(throttle, now),
        other(throttle, now, "bob at relay.example");
    CHECK(first.ticket->granted());
    CHECK(other.ticket->granted());
    CHECK(!second.ticket->granted());
    CHECK(!third.ticket->granted());
    first.ticket->accepted();
    for (auto* each : {&second, &third}) {
        CHECK(each->ticket->granted());
        CHECK(each->woken == 1);
        CHECK(each->ticket->rejection().empty());
    }
    CHECK(Knocker(throttle, now).ticket->granted());
    CHECK(throttle.rejected_accounts().empty());
}

TEST_CASE("who goes away without a word leaves his turn to the next; who waits may go as well") {
    AuthThrottle throttle;
    const smtp::Monotonic now{1h};
    Knocker first(throttle, now), second(throttle, now), third(throttle, now);
    second.ticket.reset();
    first.ticket.reset();
    CHECK(third.ticket->granted());
    CHECK(third.woken == 1);
    third.ticket.reset();
    CHECK(Knocker(throttle, now).ticket->granted());
}

TEST_CASE("a refusal is everybody's, and holds for a while or until the accounts are others") {
    AuthThrottle throttle;
    const smtp::Monotonic now{1h};
    Knocker first(throttle, now), second(throttle, now);
    first.ticket->rejected("535 no", now);
    CHECK(second.woken == 1);
    CHECK(!second.ticket->granted());
    CHECK(second.ticket->rejection() == "535 no");
    CHECK(throttle.rejected_accounts() == std::vector<std::string>{"ann at relay.example: 535 no"});

    Knocker soon(throttle, now + AuthThrottle::rejection_lifetime - 1us);
    CHECK(soon.ticket->rejection() == "535 no");
    CHECK(soon.woken == 0);
    Knocker later(throttle, now + AuthThrottle::rejection_lifetime),
        behind(throttle, now + AuthThrottle::rejection_lifetime);
    CHECK(later.ticket->granted());
    CHECK(!behind.ticket->granted());
    later.ticket->rejected("535 still no", now + AuthThrottle::rejection_lifetime);
    CHECK(behind.ticket->rejection() == "535 still no");

    throttle.reset();
    CHECK(throttle.rejected_accounts().empty());
    Knocker mended(throttle, now + AuthThrottle::rejection_lifetime);
    CHECK(mended.ticket->granted());
    mended.ticket->accepted();
    CHECK(throttle.rejected_accounts().empty());
}

TEST_CASE("an account that was good and is no more is tried one by one again") {
    AuthThrottle throttle;
    const smtp::Monotonic now{1h};
    Knocker(throttle, now).ticket->accepted();
    Knocker one(throttle, now), two(throttle, now);
    CHECK(one.ticket->granted());
    CHECK(two.ticket->granted());
    one.ticket->rejected("535 changed", now);
    CHECK(Knocker(throttle, now).ticket->rejection() == "535 changed");
    two.ticket->accepted(); // it was faster, and is believed
    CHECK(Knocker(throttle, now).ticket->granted());
}
