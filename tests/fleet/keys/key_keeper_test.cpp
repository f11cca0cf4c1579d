// The keeper of the fleet's idempotency keys, with a store and a queue-manager that are played here.
#include "daemons/common/runtime/timer.h"
#include "daemons/fleet/keys/key_keeper.h"
#include "daemons/fleet/keys/key_scripts.h"
#include <algorithm>
#include <doctest/doctest.h>

using namespace fleet;
using namespace std::chrono_literals;
namespace records = proto::key_records;
using redis::Reply;

namespace {

Reply number(std::int64_t number) {
    return {.kind = Reply::Kind::integer, .number = number, .text = {}, .elements = {}};
}
Reply text(std::string text) { return {.kind = Reply::Kind::text, .text = std::move(text), .elements = {}}; }
Reply list(std::vector<Reply> elements) {
    return {.kind = Reply::Kind::list, .text = {}, .elements = std::move(elements)};
}

struct Call {
    std::string digest; // of the script
    redis::Command keys, arguments;
};

struct World {
    common::Loop loop;
    common::Log log{loop, "fleet"};
    std::function<bool()> awaited;
    std::vector<Call> calls;
    std::vector<records::AskAccepted> asked;
    std::vector<records::AskAttempts> attempts;
    bool has_all = true;        // the store has, or is being given, the keys of this node
    std::vector<Reply> pledges; // names and tails
    std::string cursor = "0";   // behind them
    std::function<std::optional<redis::Result>(const Call&)> instead = [](const Call&) {
        return std::optional<redis::Result>();
    };
    redis::Result answer(const Call& call) {
        if (auto other = instead(call)) return *other;
        if (call.digest == pledges_script().digest()) return list({text(cursor), list(pledges), number(has_all)});
        if (call.digest == offer_script().digest()) return list({number(1), number(0)});
        return number(std::exchange(has_all, true));
    }
    KeyKeeper keeper{{.loop = loop,
                      .log = log,
                      .store = {.run =
                                    [this](const redis::Script& script, const redis::Command& keys,
                                           const redis::Command& arguments, redis::Session::Done done) {
                                        calls.push_back({script.digest(), keys, arguments});
                                        loop.defer([this, done = std::move(done), call = calls.back()] {
                                            done(answer(call));
                                            look();
                                        });
                                    },
                                .key = [](std::string_view name) { return "postrider:" + std::string(name); }},
                      .send = [this](const records::Message& message) {
                          if (const auto* question = std::get_if<records::AskAccepted>(&message))
                              asked.push_back(*question);
                          if (const auto* question = std::get_if<records::AskAttempts>(&message))
                              attempts.push_back(*question);
                          look();
                          return true;
                      }}};

    void until(const std::function<bool()>& reached) {
        bool late = false;
        common::Timer limit(loop, [&] {
            late = true;
            loop.stop();
        });
        limit.start(20s);
        awaited = reached;
        if (!reached()) loop.run();
        awaited = nullptr;
        REQUIRE_FALSE(late);
    }
    void look() {
        if (awaited && awaited()) loop.stop();
    }
    // The queue-manager's answer to the last question: the key of that number.
    void have(std::uint8_t n, bool last) {
        records::Accepted out{.number = asked.back().number, .error = {}, .keys = {}, .after = name(n), .last = last};
        out.keys.push_back({name(n), std::string(32, 'd'), spool::QueueId{n * 256U + 16}, expires()});
        keeper.received(out);
    }
    static std::string name(std::uint8_t n) { return std::string(32, static_cast<char>(n)); }
    static std::int64_t expires() { return (common::Loop::now().wall + 1h).time_since_epoch().count(); }
    std::size_t offers() const { return count(offer_script()); }
    std::size_t count(const redis::Script& script) const {
        return static_cast<std::size_t>(std::ranges::count(calls, script.digest(), &Call::digest));
    }
    void begin() {
        keeper.use(true, "mx1");
        keeper.connected();
        until([&] { return asked.size() == 1; });
    }
    static redis::Result failed() {
        return std::unexpected(redis::CallError{redis::CallError::Kind::failed, "no answer", {}});
    }
};

} // namespace

TEST_CASE("keys that are offered when the queue-manager ends are offered when it is back") {
    World world;
    world.keeper.use(true, "mx1");
    world.keeper.connected();
    world.until([&] { return world.asked.size() == 1; });
    world.have(1, false);
    world.until([&] { return world.asked.size() == 2; });
    world.keeper.disconnected();
    world.keeper.connected();
    world.until([&] { return world.asked.size() == 3; });
    world.have(2, true);
    world.until([&] { return world.offers() >= 2; });
}

TEST_CASE("a part that fails is tried again, and those before it are not") {
    World world;
    bool fails = true;
    world.begin();
    world.have(1, false);
    world.until([&] { return world.asked.size() == 2; });
    world.instead = [&](const Call& call) -> std::optional<redis::Result> {
        if (call.digest != offer_script().digest() || !std::exchange(fails, false)) return {};
        return World::failed();
    };
    world.have(2, false);
    world.until([&] { return world.asked.size() == 3; });
    CHECK(world.asked.back().after == World::name(1));
    world.have(2, true);
    world.until([&] { return world.count(end_offer_script()) == 1; });
    CHECK(world.offers() == 3);
}

TEST_CASE("keys that the queue-manager cannot say yet are asked for again") {
    World world;
    world.begin();
    world.keeper.received(
        records::Accepted{.number = world.asked.back().number, .error = "still being read", .keys = {}, .after = {}});
    world.until([&] { return world.asked.size() == 2; });
    CHECK(world.count(end_offer_script()) == 0);
}

TEST_CASE("a store that is emptied gets everything: during a pass, and after one") {
    World world;
    world.begin();
    world.have(1, false);
    world.until([&] { return world.asked.size() == 2; });
    world.has_all = false;
    world.have(2, true); // its end is refused, and so is the next beginning
    world.instead = [&](const Call& call) -> std::optional<redis::Result> {
        if (call.digest == begin_offer_script().digest()) return number(0);
        return {};
    };
    world.until([&] { return world.asked.size() == 3; });
    CHECK(world.asked.back().after.empty());
    world.instead = [](const Call&) { return std::optional<redis::Result>(); };
    world.have(2, true);
    world.until([&] { return world.count(end_offer_script()) == 2; });
    world.has_all = false; // nothing tells us but a look at it
    world.until([&] { return world.asked.size() == 4; });
    CHECK(world.asked.back().after.empty());
}

TEST_CASE(
    "of pledges, only those with a name and a tail of ours are asked about, and cursors that are none end the pass") {
    World world;
    const auto tail =
        KeyEntry{.state = {}, .digest = std::string(32, 'd'), .id = spool::QueueId{272}, .node = "mx1"}.tail();
    const auto other =
        KeyEntry{.state = {}, .digest = std::string(32, 'd'), .id = spool::QueueId{272}, .node = "mx2"}.tail();
    const auto add = [&](std::string field, std::string value) {
        world.pledges.push_back(text(std::move(field)));
        world.pledges.push_back(text(std::move(value)));
    };
    const auto key = "postrider:" + entry_key(World::name(1), "example.org");
    add("postrider:key:", tail);
    add("postrider:key:0102030405", tail);
    add("postrider:key:" + std::string(1200, '0'), tail);
    add("", "");
    add("postrider:" + entry_key(World::name(2), ""), other);
    add(key, tail);
    world.cursor = "x";
    world.begin();
    world.have(1, true);
    world.until([&] { return !world.attempts.empty(); });
    REQUIRE(world.attempts.front().attempts.size() == 1);
    CHECK(world.attempts.front().attempts.front().name == World::name(1));
    CHECK(world.calls.back().arguments.front() == "0");
    // It is released under the key that it has in the store.
    world.keeper.received(
        records::Attempts{.number = world.attempts.front().number, .found = {{records::Fate::gone, 0}}});
    world.until([&] { return world.count(release_script()) == 1; });
    const auto release = std::ranges::find(world.calls, release_script().digest(), &Call::digest);
    CHECK(release->keys == redis::Command{entry_key(World::name(1), "example.org"), pledges_key("mx1")});
}

TEST_CASE("the keys of programs have the origin that completes their addresses") {
    CHECK(entry_key(World::name(1), "a.example") != entry_key(World::name(1), "b.example"));
    CHECK(name_in(entry_key(World::name(1), "a.example")) == World::name(1));
    CHECK(name_in(entry_key(World::name(1), "")) == World::name(1));
    World world;
    world.keeper.set_origin("a.example");
    world.begin();
    records::Accepted answer{
        .number = world.asked.back().number, .error = {}, .keys = {}, .after = World::name(2), .last = true};
    answer.keys.push_back({World::name(1), std::string(32, 'd'), spool::QueueId{272}, World::expires(), true});
    answer.keys.push_back({World::name(2), std::string(32, 'd'), spool::QueueId{528}, World::expires(), false});
    world.keeper.received(answer);
    world.until([&] { return world.offers() == 1; });
    const auto offer = std::ranges::find(world.calls, offer_script().digest(), &Call::digest);
    CHECK(offer->keys == redis::Command{entry_key(World::name(1), "a.example"), entry_key(World::name(2), "")});
}
