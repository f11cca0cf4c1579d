// Limits of probes: one for each link, a rate, a number in all, and one check for each address.
#include "daemons/decide/verification/probe_admission.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace std::chrono_literals;
using decide::verification::ProbeAdmission;
using Verdict = ProbeAdmission::Verdict;
using LinkState = ProbeAdmission::LinkState;
using Names = std::vector<std::string>;

namespace {

struct Admission {
    smtp::Monotonic now{smtp::Duration(1h)};
    ProbeAdmission admission;

    explicit Admission(const ProbeAdmission::Limits& limits) : admission(limits) {}
    Verdict begin(const std::string& address, std::string_view link) {
        return admission.begin_check(address) ? admission.admit(address, link, now) : Verdict::refuse;
    }
    Names close(const std::string& address, LinkState link = LinkState::answers) {
        return admission.close(address, link, now);
    }
    Names next() { return admission.next(now); }
};

} // namespace

TEST_CASE("an address is checked once at a time") {
    Admission a({});
    CHECK(a.admission.begin_check("a@x"));
    CHECK_FALSE(a.admission.begin_check("a@x"));
    a.close("a@x");
    CHECK(a.admission.begin_check("a@x"));
}

TEST_CASE("a link has one probe, the others wait for it in their order") {
    Admission a({.waiting_for_link = 2});
    CHECK(a.begin("a@x", "x") == Verdict::begin);
    CHECK(a.begin("b@x", "x") == Verdict::wait);
    CHECK(a.begin("c@x", "x") == Verdict::wait);
    CHECK(a.begin("d@x", "x") == Verdict::refuse);
    CHECK_FALSE(a.admission.is_open("d@x"));
    CHECK(a.begin("a@y", "y") == Verdict::begin); // another link does not wait
    CHECK(a.next().empty());
    a.close("a@x");
    CHECK(a.next() == Names{"b@x"});
    CHECK(a.begin("e@x", "x") == Verdict::wait);
    a.close("c@x"); // gives up waiting
    a.close("b@x");
    CHECK(a.next() == Names{"e@x"});
}

TEST_CASE("those that wait for a link that fails are given up, and it rests") {
    Admission a({.rest = 1min});
    a.begin("a@x", "x");
    a.begin("b@x", "x");
    a.begin("c@x", "x");
    CHECK(a.close("a@x", LinkState::fails) == Names{"b@x", "c@x"});
    CHECK(a.admission.size() == 0);
    CHECK(a.begin("b@x", "x") == Verdict::refuse);
    CHECK(a.begin("b@y", "y") == Verdict::begin);
    a.now += 1min;
    CHECK(a.begin("b@x", "x") == Verdict::begin);
}

TEST_CASE("a link has a rate") {
    Admission a({.per_minute = 60});
    for (int n = 0; n < 10; ++n) {
        CHECK(a.begin(fmt::format("{}@x", n), "x") == Verdict::begin);
        a.close(fmt::format("{}@x", n));
    }
    CHECK(a.begin("a@x", "x") == Verdict::wait);
    CHECK(a.next().empty());
    REQUIRE(a.admission.wake());
    CHECK(*a.admission.wake() == a.now + 1s);
    a.now = *a.admission.wake();
    CHECK(a.next() == Names{"a@x"});
    CHECK_FALSE(a.admission.wake());
    a.close("a@x");
    a.now += 1min;
    for (int n = 0; n < 10; ++n) {
        CHECK(a.begin(fmt::format("{}@x", n), "x") == Verdict::begin);
        a.close(fmt::format("{}@x", n));
    }
    CHECK(a.begin("a@x", "x") == Verdict::wait);
}

TEST_CASE("there is a limit for probes at servers, and one for addresses") {
    Admission a({.addresses = 3, .probes = 1});
    CHECK(a.begin("a@x", "x") == Verdict::begin);
    CHECK(a.begin("a@y", "y") == Verdict::wait);
    CHECK(a.admission.begin_check("b@z"));
    CHECK_FALSE(a.admission.begin_check("one@more"));
    CHECK(a.admission.at_servers() == 1);
    a.close("a@x");
    CHECK(a.next() == Names{"a@y"});
    CHECK(a.admission.begin_check("one@more")); // as many as before
}

TEST_CASE("links take turns: one that always has something waiting keeps no other one from its probe") {
    Admission a({.probes = 1});
    CHECK(a.begin("1@a", "a") == Verdict::begin);
    for (int n = 2; n < 10; ++n) CHECK(a.begin(fmt::format("{}@a", n), "a") == Verdict::wait);
    CHECK(a.begin("1@z", "z") == Verdict::wait);
    CHECK(a.begin("1@b", "b") == Verdict::wait);
    a.close("1@a");
    CHECK(a.begin("1@new", "new") == Verdict::wait); // behind those that came before
    CHECK(a.next() == Names{"1@z"});
    a.close("1@z");
    CHECK(a.next() == Names{"1@b"});
    a.close("1@b");
    CHECK(a.next() == Names{"2@a"});
    a.close("2@a");
    CHECK(a.next() == Names{"1@new"});
    a.close("1@new");
    CHECK(a.next() == Names{"3@a"});
}

TEST_CASE("a link whose turn it is, but not by its rate, delays no other one") {
    Admission a({.probes = 1, .per_minute = 6});
    CHECK(a.begin("1@a", "a") == Verdict::begin);
    CHECK(a.begin("2@a", "a") == Verdict::wait);
    a.close("1@a");
    CHECK(a.next().empty());
    CHECK(a.begin("1@b", "b") == Verdict::begin);
    CHECK(a.begin("1@c", "c") == Verdict::wait);
    a.now += 10s;
    a.close("1@b");
    CHECK(a.next() == Names{"2@a"});
    a.close("2@a", LinkState::fails);
    CHECK(a.next() == Names{"1@c"});
}

TEST_CASE("links are remembered for their rate, as many as the limit says") {
    Admission a({.links = 2, .per_minute = 6});
    for (const auto* link : {"x", "y"}) {
        CHECK(a.begin("a", link) == Verdict::begin);
        a.close("a");
    }
    CHECK(a.begin("a", "z") == Verdict::refuse);
    a.now += 1min;
    CHECK(a.begin("a", "z") == Verdict::begin);
}
