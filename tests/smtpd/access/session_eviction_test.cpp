#include "daemons/smtpd/access/session_eviction.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <string>

using smtpd::Occupant;
using Doing = Occupant::Doing;
using namespace std::chrono_literals;

namespace {

constexpr smtp::Monotonic now{1h};

// Whose sessions give way to a newcomer of that network: "a0 a1" are the indices with their networks.
std::string giving_way(const std::vector<Occupant>& all, std::string_view newcomer, std::size_t most = 1) {
    std::string out;
    for (const auto i : smtpd::who_gives_way(all, newcomer, most, now))
        out += (out.empty() ? "" : " ") + std::string(all[i].network) + std::to_string(i);
    return out;
}

} // namespace

TEST_CASE("the network with most sessions gives up the one least was heard of") {
    const std::vector<Occupant> all = {
        {"a", now - 3s}, {"a", now - 9s}, {"a", now - 5s}, {"b", now - 60s}, {"b", now - 70s},
    };
    CHECK(giving_way(all, "c") == "a1");
    CHECK(giving_way(all, "c", 2) == "a1 a2");
    CHECK(giving_way(all, "c", 9) == "a1 a2 b4"); // none goes below what the newcomer will have
    CHECK(giving_way(all, "b") == "b4");          // its own share: of its own
}

TEST_CASE("idle ones before those that send, and nobody who waits for us") {
    const std::vector<Occupant> all = {
        {"a", now, Doing::sending}, {"a", now - 9s, Doing::asking}, {"a", now, Doing::waiting},
        {"a", now - 8s, Doing::sending}};
    CHECK(giving_way(all, "c", 1) == "a2");
    CHECK(giving_way(all, "c", 3) == "a2 a3 a0");
    CHECK(giving_way({{"a", now, Doing::asking}, {"a", now, Doing::asking}, {"b", now}}, "c") == "");
}

TEST_CASE("who was told to go already goes first") {
    CHECK(giving_way({{"a", now - 9s}, {"a", now - 9s}, {"b", now, Doing::leaving}}, "c") == "b2");
}

TEST_CASE("a flood from everywhere displaces those who have nothing to say") {
    std::vector<Occupant> all;
    std::vector<std::string> networks;
    for (int i = 0; i < 100; ++i) networks.push_back("n" + std::to_string(i));
    for (int i = 0; i < 100; ++i) all.push_back({networks[i], now - 1s * i, i % 2 ? Doing::sending : Doing::waiting});
    CHECK(giving_way(all, "new") == "n9898");
    for (auto& each : all) each.heard = now - 999ms; // all of them are busy: the newcomer is one too many
    CHECK(giving_way(all, "new") == "");
}

TEST_CASE("a network with more than others cannot displace them") {
    const std::vector<Occupant> all = {{"a", now}, {"a", now}, {"a", now - 2s}, {"b", now - 60s}};
    CHECK(giving_way(all, "a") == "a2");
    CHECK(giving_way({{"a", now}, {"a", now}, {"b", now - 60s}}, "a") == "");
}
