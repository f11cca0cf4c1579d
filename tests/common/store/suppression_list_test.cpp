#include "daemons/common/store/suppression_list.h"
#include "tests/common/store/memory_store.h"
#include <algorithm>
#include <doctest/doctest.h>

using common::SuppressionList;
using decide::Suppression;
using namespace std::chrono_literals;

namespace {

const smtp::WallTime now{1'795'305'600s};

Suppression entry(std::string recipient, std::string sender = "", smtp::WallTime expires = {}) {
    return {std::move(recipient), {std::move(sender), "", ""}, "why", "550 5.1.1 No", "root", true, now, expires};
}

struct Listed {
    MemoryStore* memory = new MemoryStore;
    SuppressionList list{std::unique_ptr<store::Store>(memory)};
    std::string covering(std::string_view address, std::string from, smtp::WallTime at = now) {
        const auto found = list.find(address, {std::move(from), "", ""}, at);
        REQUIRE(found);
        return *found ? (*found)->recipient + "|" + (*found)->scope.sender : "";
    }
    void put(std::vector<Suppression> entries) { REQUIRE(list.put(entries, now)); }
};

} // namespace

TEST_CASE("an entry comes back as it was put there") {
    Listed l;
    CHECK(l.list.empty(now).value());
    const auto one = entry("ann@example.org", "news.example", now + 24h);
    CHECK(l.list.put(std::span(&one, 1), now).value() == std::vector{true});
    CHECK(l.list.put(std::span(&one, 1), now).value() == std::vector{false});
    CHECK_FALSE(l.list.empty(now).value());
    CHECK(l.list.entry("ann@example.org", {"news.example", "", ""}, now).value() == one);
    CHECK(l.list.erase(std::span(&one, 1), now).value() == std::vector{true});
    CHECK(l.list.erase(std::span(&one, 1), now).value() == std::vector{false});
    CHECK(l.list.empty(now).value());
}

TEST_CASE("which entry covers a recipient") {
    Listed l;
    l.put({entry("ann@example.org"), entry("bob@example.org", "news.example"), entry("@whole.example"),
           entry("j\xc3\xb6rg@xn--bcher-kva.example")});
    CHECK(l.covering("ANN@Example.org", "x@y.example") == "ann@example.org|");
    CHECK(l.covering("ann@example.org", "") == "ann@example.org|");
    CHECK(l.covering("ann+x@example.org", "x@y.example") == "");
    CHECK(l.covering("bob@example.org", "x@news.example") == "bob@example.org|news.example");
    CHECK(l.covering("bob@example.org", "x@NEWS.example") == "bob@example.org|news.example");
    CHECK(l.covering("bob@example.org", "x@y.example") == "");
    CHECK(l.covering("bob@example.org", "") == "");
    CHECK(l.covering("anybody@whole.example", "x@y.example") == "@whole.example|");
    CHECK(l.covering("anybody@below.whole.example", "x@y.example") == "");
    CHECK(l.covering("J\xc3\x96RG@b\xc3\xbc"
                     "cher.example",
                     "x@y.example") == "j\xc3\xb6rg@xn--bcher-kva.example|");
    CHECK(l.covering("postmaster", "x@y.example") == "");
}

TEST_CASE("an entry for mail of a pool or in a lane") {
    Listed l;
    auto of_pool = entry("ann@example.org"), in_lane = entry("@whole.example");
    of_pool.scope.pool = "vip";
    in_lane.scope.lane = "bulk";
    l.put({of_pool, in_lane});
    const auto covered = [&](std::string_view address, const decide::SuppressionSubject& message) {
        return l.list.find(address, message, now).value().has_value();
    };
    CHECK(covered("ann@example.org", {"x@y.example", "vip", "normal"}));
    CHECK_FALSE(covered("ann@example.org", {"x@y.example", "", "bulk"}));
    CHECK(covered("bob@whole.example", {"x@y.example", "vip", "bulk"}));
    CHECK_FALSE(covered("bob@whole.example", {"x@y.example", "vip", ""}));
    CHECK(l.list.entry("ann@example.org", {"", "vip", ""}, now).value() == of_pool);
}

TEST_CASE("an entry ends") {
    Listed l;
    l.put({entry("ann@example.org", "", now + 24h)});
    CHECK(l.covering("ann@example.org", "x@y.example", now + 23h) == "ann@example.org|");
    CHECK(l.covering("ann@example.org", "x@y.example", now + 24h) == "");
}

TEST_CASE("walked in parts, in order") {
    Listed l;
    for (int n = 0; n < 25; ++n) l.put({entry("u" + std::to_string(10 + n) + "@example.org")});
    std::string after;
    std::vector<std::string> seen;
    while (true) {
        const auto some = l.list.walk(after, 10, now);
        REQUIRE(some);
        for (const auto& each : *some) seen.push_back(each.recipient);
        if (some->size() < 10) break;
    }
    CHECK(seen.size() == 25);
    CHECK(seen.front() == "u10@example.org");
    CHECK(std::ranges::is_sorted(seen));
}

TEST_CASE("long texts are cut; a store that cannot be read says so") {
    Listed l;
    auto one = entry("ann@example.org");
    one.reply = std::string(5000, 'x');
    l.put({one});
    CHECK((*l.list.find("ann@example.org", {}, now))->reply.size() == SuppressionList::longest_text);
    l.memory->broken = spool::Error{EUCLEAN, "damaged"};
    CHECK(l.list.find("ann@example.org", {}, now).error().what == "damaged");
    CHECK_FALSE(l.list.empty(now));
}

TEST_CASE("our own postmaster") {
    const std::vector<std::string> local = {"example.org", "xn--bcher-kva.example"};
    CHECK(common::is_own_postmaster("postmaster", local));
    CHECK(common::is_own_postmaster("PostMaster@Example.org", local));
    CHECK(common::is_own_postmaster("postmaster@b\xc3\xbc"
                                    "cher.example",
                                    local));
    CHECK_FALSE(common::is_own_postmaster("postmaster@elsewhere.example", local));
    CHECK_FALSE(common::is_own_postmaster("ann@example.org", local));
}
