#include "daemons/decide/hooks/hook_delivery.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <functional>
#include <set>
#include <vector>

using namespace decide::hooks;
using namespace std::chrono_literals;
using Change = DeliveryReport::Change;

namespace {

// An endpoint and the time that passes for it.
struct Endpoint {
    HookDelivery hook;
    smtp::Now now{smtp::Monotonic(1h), smtp::WallTime(std::chrono::seconds(1'000'000))};
    std::vector<std::vector<std::uint64_t>> requests; // the numbers in each
    std::vector<std::uint64_t> accepted, given_up;
    std::uint64_t written = 0; // events of the journal

    explicit Endpoint(std::size_t batch = 1, HookProgress progress = {})
        : hook({batch, {5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h}}, std::move(progress)) {}

    void write(std::uint64_t count, std::size_t size = 100) {
        for (; count > 0; --count)
            if (++written >= hook.read_from() && hook.has_room()) hook.add({written, std::string(size, 'x')});
    }
    // As a reader of the journal does after restart_at().
    void read_again(std::size_t size = 100) {
        while (hook.has_room() && hook.read_from() <= written) hook.add({hook.read_from(), std::string(size, 'x')});
        if (hook.has_room()) hook.read_through(written);
    }
    void pass(smtp::Duration time) {
        now.monotonic += time;
        now.wall += time;
    }
    // One request, answered; false: there was nothing to send.
    bool send(const std::function<EndpointAnswer(const std::vector<std::uint64_t>&)>& answer) {
        const auto count = hook.begin(now.monotonic);
        if (count == 0) return false;
        std::vector<std::uint64_t> numbers;
        for (std::size_t i = 0; i < count; ++i) numbers.push_back(hook.events()[i].number);
        requests.push_back(numbers);
        const auto answered = answer(numbers);
        report = hook.finish(answered, now, 0);
        if (answered.status == 200) accepted.insert(accepted.end(), numbers.begin(), numbers.end());
        if (report.given_up) given_up.push_back(report.given_up->number);
        return true;
    }
    bool send(unsigned status, std::string text = {}) {
        return send([&](const auto&) { return EndpointAnswer{status, text}; });
    }
    smtp::Duration wait() const { return *hook.retry_at() - now.monotonic; }
    DeliveryReport report;
};

std::vector<std::uint64_t> numbers(std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint64_t> out;
    for (; from <= to; ++from) out.push_back(from);
    return out;
}

} // namespace

TEST_CASE("events go one by one, in their order") {
    Endpoint endpoint;
    CHECK(!endpoint.send(200));
    endpoint.write(3);
    while (endpoint.send(200)) CHECK(endpoint.report.change == Change::delivered);
    CHECK(endpoint.requests == std::vector<std::vector<std::uint64_t>>{{1}, {2}, {3}});
    CHECK(endpoint.hook.progress().next == 4);
    endpoint.hook.read_through(10); // nothing that was selected
    CHECK(endpoint.hook.progress().next == 11);
}

TEST_CASE("a batch has what is there, up to its size") {
    Endpoint endpoint(3);
    endpoint.write(5);
    while (endpoint.send(204)) {
    }
    CHECK(endpoint.requests == std::vector<std::vector<std::uint64_t>>{{1, 2, 3}, {4, 5}});
}

TEST_CASE("a request that fails is repeated as it was, at the times of the schedule") {
    Endpoint endpoint(10);
    endpoint.write(2);
    REQUIRE(endpoint.send(500));
    CHECK(endpoint.report.change == Change::failing);
    CHECK(endpoint.hook.progress().failing_since == 1'000'000);
    endpoint.write(2);
    const std::vector<smtp::Duration> waits = {5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h, 24h, 24h};
    for (const auto wait : waits) {
        CHECK(endpoint.wait() == wait);
        endpoint.pass(wait - 1us);
        CHECK(!endpoint.send(500));
        endpoint.pass(1us);
        REQUIRE(endpoint.send(0, "no connection"));
        CHECK(endpoint.report.change == Change::none);
        CHECK(endpoint.requests.back() == numbers(1, 2));
    }
    endpoint.pass(24h);
    REQUIRE(endpoint.send(200));
    CHECK(endpoint.report.change == Change::recovered);
    CHECK(endpoint.hook.progress().failing_since == 0);
    REQUIRE(endpoint.send(200));
    CHECK(endpoint.requests.back() == numbers(3, 4));
}

TEST_CASE("waits are longer by up to a tenth, at random") {
    Endpoint endpoint;
    endpoint.write(1);
    REQUIRE(endpoint.hook.begin(endpoint.now.monotonic) == 1);
    endpoint.hook.finish({502}, endpoint.now, 1);
    CHECK(endpoint.wait() == 5500ms);
}

TEST_CASE("after a restart the request is the same, although more events have come") {
    Endpoint endpoint(10);
    endpoint.write(3);
    REQUIRE(endpoint.send(500));
    Endpoint next(10, endpoint.hook.progress());
    CHECK(next.hook.read_from() == 1);
    next.write(2);
    CHECK(!next.send(200)); // the third is not read yet
    next.write(4);
    REQUIRE(next.send(200));
    CHECK(next.requests.back() == numbers(1, 3));
    REQUIRE(next.send(200));
    CHECK(next.requests.back() == numbers(4, 6));
}

TEST_CASE("an endpoint that is away for a day gets everything, in order") {
    Endpoint endpoint;
    endpoint.write(500);
    const auto back = endpoint.now.monotonic + 24h;
    std::size_t attempts = 0;
    while (endpoint.hook.progress().next <= 500) {
        if (endpoint.send([&](const auto&) {
                return endpoint.now.monotonic < back ? EndpointAnswer{0, "no connection"} : EndpointAnswer{200};
            }))
            ++attempts;
        else
            endpoint.pass(endpoint.wait());
    }
    CHECK(endpoint.accepted == numbers(1, 500));
    CHECK(attempts == 507);
    CHECK(endpoint.now.monotonic - back < 14h);
}

TEST_CASE("Retry-After is respected, within bounds") {
    Endpoint endpoint;
    endpoint.write(1);
    for (const auto& [status, asked, wait] : std::vector<std::tuple<unsigned, smtp::Duration, smtp::Duration>>{
             {429, 90s, 90s}, {503, 0s, 1s}, {503, 24h * 30, 24h}}) {
        REQUIRE(endpoint.send([&](const auto&) { return EndpointAnswer{status, "", asked}; }));
        CHECK(endpoint.wait() == wait);
        endpoint.pass(wait);
    }
    REQUIRE(endpoint.send(429)); // without: by the schedule
    CHECK(endpoint.wait() == 2h);
}

TEST_CASE("redirects, timeouts and informational answers are failures") {
    for (const unsigned status : {0U, 100U, 301U, 307U, 408U, 425U, 429U, 500U, 503U, 999U})
        CHECK(verdict_of({status}) == Verdict::failed);
    CHECK(text_of({0, "no connection"}) == "no connection");
    CHECK(text_of({503, "busy"}) == "503: busy");
    CHECK(text_of({503}) == "503");
}

TEST_CASE("410 switches the endpoint off until an operator resumes it") {
    Endpoint endpoint;
    endpoint.write(2);
    REQUIRE(endpoint.send(410));
    CHECK(endpoint.report.change == Change::switched_off);
    CHECK(endpoint.hook.progress().state == HookState::switched_off);
    CHECK(endpoint.hook.progress().reason == "the endpoint answered 410");
    endpoint.pass(48h);
    CHECK(!endpoint.send(200));
    endpoint.hook.resume();
    CHECK(endpoint.send(200));
    CHECK(endpoint.requests.back() == numbers(1, 1));
}

TEST_CASE("401, 403 and 404 pause the hook at once") {
    for (const unsigned status : {401U, 403U, 404U}) {
        Endpoint endpoint;
        endpoint.write(1);
        REQUIRE(endpoint.send(status, "who are you"));
        CHECK(endpoint.report.change == Change::paused);
        CHECK(endpoint.hook.progress().reason == "the endpoint answered " + std::to_string(status) + ": who are you");
        CHECK(endpoint.given_up.empty());
        CHECK(endpoint.hook.progress().next == 1);
    }
}

TEST_CASE("413 halves the batch, and later batches are not larger") {
    Endpoint endpoint(8);
    endpoint.write(24);
    const auto answer = [](const std::vector<std::uint64_t>& events) {
        return EndpointAnswer{events.size() > 3 ? 413U : 200U};
    };
    while (endpoint.send(answer)) {
    }
    CHECK(endpoint.accepted == numbers(1, 24));
    CHECK(endpoint.requests[0] == numbers(1, 8));
    CHECK(endpoint.requests[1] == numbers(1, 4));
    CHECK(endpoint.requests[2] == numbers(1, 2));
    CHECK(endpoint.requests.size() == 14);
}

TEST_CASE("the one event of a batch that is refused is found, tried three times, and given up") {
    for (const std::uint64_t poisoned : {1U, 2U, 57U, 64U, 100U}) {
        Endpoint endpoint(64);
        endpoint.write(200);
        const auto answer = [&](const std::vector<std::uint64_t>& events) {
            return EndpointAnswer{std::ranges::find(events, poisoned) == events.end() ? 200U : 422U};
        };
        while (endpoint.hook.progress().next <= 200)
            if (!endpoint.send(answer)) endpoint.pass(endpoint.wait());
        CHECK(endpoint.given_up == std::vector{poisoned});
        auto rest = numbers(1, 200);
        std::erase(rest, poisoned);
        CHECK(endpoint.accepted == rest);
        CHECK(std::ranges::count(endpoint.requests, std::vector{poisoned}) == 3);
        CHECK(endpoint.hook.progress().set_aside == 0);
    }
}

TEST_CASE("if the event after one that was given up is refused too, the endpoint is at fault") {
    Endpoint endpoint;
    endpoint.write(3);
    for (const smtp::Duration wait : {smtp::Duration(5s), smtp::Duration(5min)}) {
        REQUIRE(endpoint.send(400));
        CHECK(endpoint.wait() == wait);
        endpoint.pass(wait);
    }
    REQUIRE(endpoint.send(400));
    CHECK(endpoint.given_up == numbers(1, 1));
    REQUIRE(endpoint.send(400, "what is this"));
    CHECK(endpoint.report.change == Change::paused);
    CHECK(endpoint.hook.progress().reason == "the endpoint refused events 1 and 2: 400: what is this");
    CHECK(endpoint.hook.progress().next == 1); // nothing is lost by an endpoint's fault
    endpoint.hook.resume();
    endpoint.read_again();
    while (endpoint.send(200)) {
    }
    CHECK(endpoint.accepted == numbers(1, 3));
}

TEST_CASE("a single event that is too large is given up like one that is refused") {
    Endpoint endpoint;
    endpoint.write(2);
    for (int i = 0; i < 3; ++i, endpoint.pass(5min)) REQUIRE(endpoint.send(413));
    CHECK(endpoint.given_up == numbers(1, 1));
    CHECK(endpoint.send(200));
    CHECK(endpoint.accepted == numbers(2, 2));
}

TEST_CASE("what is read ahead is bounded") {
    Endpoint endpoint(1000);
    endpoint.write(2000);
    CHECK(endpoint.hook.events().size() == HookDelivery::most_events);
    Endpoint large;
    large.write(20, 100'000);
    CHECK(large.hook.events().size() == 6);
    Endpoint huge;
    huge.write(2, 10 * HookDelivery::most_bytes);
    CHECK(huge.hook.events().size() == 1);
}

TEST_CASE("events of a command are acknowledged one by one or together") {
    Endpoint endpoint(4);
    endpoint.write(4);
    REQUIRE(endpoint.hook.begin(endpoint.now.monotonic) == 4);
    CHECK(endpoint.hook.acknowledge(1));
    CHECK(!endpoint.hook.acknowledge(1)); // once
    CHECK(!endpoint.hook.acknowledge(5)); // not sent
    CHECK(endpoint.hook.acknowledge(3));
    CHECK(endpoint.hook.in_flight() == 1);
    CHECK(endpoint.hook.progress().next == 4);
    endpoint.hook.finish({0, "it ended"}, endpoint.now, 0);
    CHECK(endpoint.wait() == 5s);
    endpoint.pass(5s);
    REQUIRE(endpoint.hook.begin(endpoint.now.monotonic) == 1);
    CHECK(endpoint.hook.acknowledge(4));
    CHECK(endpoint.hook.in_flight() == 0);
    CHECK(endpoint.hook.progress().failures == 0);
}

TEST_CASE("an operator pauses, resumes, skips and goes back") {
    Endpoint endpoint;
    endpoint.write(5);
    REQUIRE(endpoint.send(200));
    REQUIRE(endpoint.hook.begin(endpoint.now.monotonic) == 1);
    endpoint.hook.pause("by root");
    endpoint.hook.finish({200}, endpoint.now, 0); // what is in flight is not forgotten
    CHECK(endpoint.hook.progress().next == 3);
    CHECK(endpoint.hook.progress().state == HookState::paused);
    CHECK(!endpoint.send(200));
    endpoint.hook.resume();
    CHECK(endpoint.hook.skip()->number == 3);
    REQUIRE(endpoint.send(200));
    CHECK(endpoint.requests.back() == numbers(4, 4));
    endpoint.hook.restart_at(2);
    CHECK(endpoint.hook.read_from() == 2);
    endpoint.read_again();
    while (endpoint.send(200)) {
    }
    CHECK(endpoint.accepted == std::vector<std::uint64_t>{1, 4, 2, 3, 4, 5});
    CHECK(!endpoint.hook.skip());
}

TEST_CASE("resuming a hook that fails tries at once") {
    Endpoint endpoint;
    endpoint.write(1);
    REQUIRE(endpoint.send(500));
    CHECK(!endpoint.send(200));
    endpoint.hook.resume();
    CHECK(endpoint.send(200));
}
