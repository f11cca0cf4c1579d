#include "daemons/simulate/model/candidates.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using namespace postrider::simulate;
using decide::Tier;

namespace {

std::vector<decide::Host> hosts(int count, Tier tier = Tier::first) {
    std::vector<decide::Host> out;
    for (int n = 1; n <= count; ++n)
        out.push_back(
            {(tier == Tier::fallback ? "f" : "m") + std::to_string(n), 25, static_cast<std::uint16_t>(n), 0, tier});
    return out;
}

std::uint32_t no_chance(std::uint32_t most) { return most; }

// Whom an attempt tries when nobody answers, and that they failed.
std::string attempt(const std::vector<decide::Host>& of, std::size_t most, RecentFailures& memory, smtp::Duration now) {
    std::string out;
    Candidates candidates(of, most, no_chance);
    while (const auto host = candidates.next(memory, now)) {
        out += (out.empty() ? "" : " ") + host->name;
        memory.add(host->name, now);
    }
    return out;
}

} // namespace

TEST_CASE("so many hosts in one attempt, the rest in the next ones while the first are known to fail") {
    RecentFailures memory;
    CHECK(attempt(hosts(3), 5, memory, 0s) == "m1 m2 m3");
    memory = {};
    CHECK(attempt(hosts(7), 5, memory, 0s) == "m1 m2 m3 m4 m5");
    CHECK(attempt(hosts(7), 5, memory, 1min) == "m3 m4 m5 m6 m7");
    CHECK(attempt(hosts(7), 5, memory, 11min) == "m1 m2 m3 m4 m5");
    CHECK(attempt(hosts(7), 5, memory, 30min) == "m1 m2 m3 m4 m5"); // all that is long ago
    memory.succeeded("m1");
    CHECK(attempt(hosts(7), 5, memory, 31min).starts_with("m1 "));
}

TEST_CASE("those to fall back on have as many tries of their own, unless the destination has spoken") {
    RecentFailures memory;
    auto all = hosts(3);
    const auto spare = hosts(4, Tier::fallback);
    all.insert(all.end(), spare.begin(), spare.end());
    CHECK(attempt(all, 2, memory, 0s) == "m1 m2 f1 f2");
    CHECK(attempt(all, 5, memory, 1h) == "m1 m2 m3 f1 f2 f3 f4");
    Candidates candidates(all, 5, no_chance);
    CHECK(candidates.next(memory, 2h)->name == "m1");
    candidates.drop_fallback();
    CHECK(candidates.next(memory, 2h)->name == "m2");
    CHECK(candidates.next(memory, 2h)->name == "m3");
    CHECK(!candidates.next(memory, 2h));
    CHECK(!Candidates().next(memory, 2h));
}
