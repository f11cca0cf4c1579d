#include "daemons/smtpd/access/session_eviction.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using smtpd::SessionInfo;
using Activity = SessionInfo::Activity;
using namespace std::chrono_literals;

namespace {

constexpr smtp::Monotonic now{1h};

// Whose sessions give way to a newcomer of that network: "a0 a1" are the indices with their networks.
std::string giving_way(const std::vector<SessionInfo>& all, std::string_view newcomer, std::size_t most = 1) {
    std::string out;
    for (const auto i : smtpd::sessions_to_evict(all, newcomer, most, now))
        out += (out.empty() ? "" : " ") + std::string(all[i].network) + std::to_string(i);
    return out;
}

} // namespace

TEST_CASE("the network with most sessions gives up the one least was heard of") {
    const std::vector<SessionInfo> all = {
        {"a", now - 3s}, {"a", now - 9s}, {"a", now - 5s}, {"b", now - 60s}, {"b", now - 70s},
    };
    CHECK(giving_way(all, "c") == "a1");
    CHECK(giving_way(all, "c", 2) == "a1 a2");
    CHECK(giving_way(all, "c", 9) == "a1 a2 b4"); // none goes below what the newcomer will have
    CHECK(giving_way(all, "b") == "b4");          // its own share: of its own
}

TEST_CASE("idle ones before those that send, and nobody who waits for us") {
    const std::vector<SessionInfo> all = {{"a", now, Activity::in_transaction},
                                          {"a", now - 9s, Activity::awaiting_reply},
                                          {"a", now, Activity::idle},
                                          {"a", now - 8s, Activity::in_transaction}};
    CHECK(giving_way(all, "c", 1) == "a2");
    CHECK(giving_way(all, "c", 3) == "a2 a3 a0");
    CHECK(giving_way({{"a", now, Activity::awaiting_reply}, {"a", now, Activity::awaiting_reply}, {"b", now}}, "c") ==
          "");
}

TEST_CASE("who was told to go already goes first") {
    CHECK(giving_way({{"a", now - 9s}, {"a", now - 9s}, {"b", now, Activity::closing}}, "c") == "b2");
}

TEST_CASE("a flood from everywhere displaces those who have nothing to say") {
    std::vector<SessionInfo> all;
    std::vector<std::string> networks;
    for (int i = 0; i < 100; ++i) networks.push_back("n" + std::to_string(i));
    for (int i = 0; i < 100; ++i)
        all.push_back({networks[i], now - 1s * i, i % 2 ? Activity::in_transaction : Activity::idle});
    CHECK(giving_way(all, "new") == "n9898");
    for (auto& each : all) each.last_activity = now - 999ms; // all of them are busy: the newcomer is one too many
    CHECK(giving_way(all, "new") == "");
}

TEST_CASE("a network with more than others cannot displace them") {
    const std::vector<SessionInfo> all = {{"a", now}, {"a", now}, {"a", now - 2s}, {"b", now - 60s}};
    CHECK(giving_way(all, "a") == "a2");
    CHECK(giving_way({{"a", now}, {"a", now}, {"b", now - 60s}}, "a") == "");
}
