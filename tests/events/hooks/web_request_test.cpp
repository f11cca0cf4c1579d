#include "daemons/events/hooks/web_request.h"
#include <doctest/doctest.h>

using namespace events;

namespace {

const std::deque<decide::hooks::HookEvent> waiting = {{7, R"({"seq":7})"}, {9, R"({"seq":9})"}, {12, R"({"seq":12})"}};

webhook::Secrets secrets() { return *webhook::Secrets::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"); }

} // namespace

TEST_CASE("one event is a request of its own") {
    const auto request = web_request("n", waiting, 1, false, secrets(), 1'795'000'000);
    CHECK(request.id == "n.7");
    CHECK(request.body == R"({"seq":7})");
    CHECK(request.fields ==
          std::vector<std::string>{"webhook-id: n.7", "webhook-timestamp: 1795000000",
                                   "webhook-signature: " + secrets().signature("n.7", 1'795'000'000, R"({"seq":7})")});
}

TEST_CASE("a batch has one form, also with one event") {
    CHECK(web_request("n", waiting, 1, true, secrets(), 1).body == R"({"type":"batch","data":[{"seq":7}]})");
    CHECK(web_request("n", waiting, 1, true, secrets(), 1).id == "n.7-7");
    const auto request = web_request("n", waiting, 3, true, secrets(), 1);
    CHECK(request.id == "n.7-12");
    CHECK(request.body == R"({"type":"batch","data":[{"seq":7},{"seq":9},{"seq":12}]})");
}
