// What became of attempts with idempotency keys, for the other nodes of a fleet.
#include "daemons/common/submission/idempotency/attempts.h"
#include "daemons/common/submission/idempotency/fingerprint.h"
#include "tests/common/store/memory_store.h"
#include <doctest/doctest.h>
#include <map>

using namespace common::idempotency;
using namespace std::chrono_literals;
using decide::idempotency::Owner;
using decide::idempotency::State;
using decide::idempotency::Trace;
using Fate = AttemptResult::Fate;

namespace {

constexpr smtp::WallTime now{1'000'000s};

Request claim(std::uint64_t id, std::string key = "key", std::string submitter = "sasl:ann") {
    return {Request::Kind::claim,
            {State::reserved, spool::QueueId{id << 8 | 0x10}, "digest", "owner", std::move(submitter), std::move(key)},
            now + 24h};
}

struct World {
    MemoryStore store;
    Owner owner = Owner::alive;
    Trace trace = Trace::nowhere;
    KeyStore::OwnerProbe probe{[this](std::string_view) { return owner; }, [this](spool::QueueId) { return trace; }};
    World() { REQUIRE(set_complete(store, "boot", now)); }
    void make(Request request) {
        KeyStore keys(store, "boot", probe);
        CHECK(keys.execute(std::span(&request, 1), now).front().kind == Answer::Kind::proceed);
    }
    AttemptResult result(std::uint64_t id, std::string_view boot = "boot", smtp::WallTime at = now) {
        const Attempt attempt{name_in_store("sasl:ann", "key"), spool::QueueId{id << 8 | 0x10}};
        const auto found = results_of(store, boot, probe, std::span(&attempt, 1), at);
        REQUIRE(found);
        return found->front();
    }
    Fate fate(std::uint64_t id, std::string_view boot = "boot") { return result(id, boot).fate; }
};

} // namespace

TEST_CASE("an attempt whose process lives is open, however long it takes") {
    World world;
    world.make(claim(1));
    for (const auto trace : {Trace::nowhere, Trace::incoming, Trace::messages}) {
        world.trace = trace;
        CHECK(world.fate(1) == Fate::open);
    }
}

TEST_CASE("an attempt whose process died is decided by its file") {
    World world;
    world.make(claim(1));
    world.owner = Owner::dead;
    CHECK(world.fate(1) == Fate::gone);
    world.trace = Trace::incoming;
    CHECK(world.fate(1) == Fate::open); // the queue-manager finds out whether it is whole
    world.trace = Trace::messages;
    CHECK(world.fate(1) == Fate::accepted);
    CHECK(world.result(1).expires == now + 24h);
}

TEST_CASE("a message that is confirmed, delivered and gone while its process ends is not gone") {
    World world;
    auto request = claim(1);
    world.make(request);
    const auto plain = world.probe;
    world.probe.state_of = [&](std::string_view) { // it confirms, its file is removed, it exits
        request.kind = Request::Kind::confirm;
        KeyStore keys(world.store, "boot", plain);
        CHECK(keys.execute(std::span(&request, 1), now).front().kind == Answer::Kind::proceed);
        return Owner::dead;
    };
    CHECK(world.fate(1) == Fate::open);
    CHECK(world.fate(1) == Fate::accepted);
}

TEST_CASE("an accepted one, a released one, one of which nothing is known, and one of an earlier message") {
    World world;
    CHECK(world.fate(1) == Fate::gone);
    auto request = claim(1);
    world.make(request);
    request.kind = Request::Kind::confirm;
    world.make(request);
    CHECK(world.fate(1) == Fate::accepted);
    CHECK(world.fate(2) == Fate::gone);
    CHECK(world.result(1, "boot", now + 24h).fate == Fate::gone); // its life is over
}

TEST_CASE("nothing is gone before the spool has been read for keys") {
    World world;
    CHECK(world.fate(1, "another boot") == Fate::open);
    REQUIRE(world.store.apply(store::Change::put(name_in_store("sasl:ann", "key"), {"not a claim", {}}), now));
    CHECK(world.fate(1) == Fate::open);
}

TEST_CASE("no keys are shown before the spool has been read for them") {
    World world;
    std::string after;
    CHECK_FALSE(accepted_keys(world.store, "another boot", after, 7, now));
    CHECK(accepted_keys(world.store, "boot", after, 7, now));
}

TEST_CASE("accepted keys in parts, without those that are only this node's") {
    World world;
    for (std::uint64_t id = 1; id <= 30; ++id) {
        auto request = claim(id, "key " + std::to_string(id));
        if (id % 10 == 0) request.what.submitter = "node:mx2";
        if (id % 10 == 1) request.what.key = std::string(decide::idempotency::own_key_prefix) + std::to_string(id);
        world.make(request);
        request.kind = Request::Kind::confirm;
        if (id % 10 != 2) world.make(request); // the others are being accepted
    }
    std::map<std::string, std::uint64_t> found;
    std::string after, before;
    do {
        before = after;
        const auto some = accepted_keys(world.store, "boot", after, 7, now);
        REQUIRE(some);
        for (const auto& each : *some) {
            CHECK(each.name == name_in_store(each.what.submitter, each.what.key));
            found[each.what.key] = each.what.id.tick();
        }
    } while (after != before);
    CHECK(found.size() == 30 - 9);
    CHECK(found["key 5"] == 5);
}
