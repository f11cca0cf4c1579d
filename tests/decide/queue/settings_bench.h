// What the tests of settings share: the engine with one setting changed, and what is measured of it.
#pragma once
#include "tests/decide/queue/bench.h"
#include <functional>
#include <string>
#include <vector>

namespace decide::queue::test {

using Times = std::vector<double>; // seconds
using Change = std::function<void(Settings&)>;

inline Settings with(const Change& change) {
    Settings s = Bench::exact();
    change(s);
    return s;
}

// Of the first tries of a link that refuses every connection.
inline Times tries_of_a_dead_link(const Settings& s, std::size_t count, const std::string& rule = "") {
    Bench b(s);
    b.rule = rule;
    b.connects = false;
    b.send({"x.example"});
    while (b.tries.size() < count) {
        while (!b.opened.empty()) b.refuse(b.opened.front());
        b.pass(1s);
    }
    b.tries.resize(count);
    return b.tries;
}

// Failures of a message until it is a problem; 0: five were not enough.
inline int failures_until_problem(const Settings& s, const std::string& rule = "") {
    Bench b(s);
    b.rule = rule;
    const auto id = b.send({"x.example"});
    for (int failures = 1; failures <= 5; ++failures) {
        b.answer(b.take(), Outcome::deferred, FailureKind::message);
        if (b.engine.message(id, b.now())->deliveries.front().problem) return failures;
        while (b.handed.empty()) b.pass(1s);
    }
    return 0;
}

// Seconds until it happens, up to a week.
inline double until(Bench& b, const std::function<bool()>& happens, smtp::Duration step = 1s) {
    const double since = b.seconds();
    while (!happens() && b.seconds() - since < 7 * 86400) b.pass(step);
    return b.seconds() - since;
}

} // namespace decide::queue::test
