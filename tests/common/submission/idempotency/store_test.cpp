#include "daemons/common/submission/idempotency/fingerprint.h"
#include "daemons/common/submission/idempotency/owner_lock.h"
#include "daemons/common/submission/idempotency/store.h"
#include "tests/common/store/memory_store.h"
#include "tests/temporary_directory.h"
#include <algorithm>
#include <csignal>
#include <doctest/doctest.h>
#include <map>
#include <random>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace common::idempotency;
using namespace std::chrono_literals;
using decide::idempotency::Owner;
using decide::idempotency::State;
using decide::idempotency::Trace;
using Kind = Answer::Kind;

namespace {

constexpr smtp::WallTime now{1'000'000s};

Request request(Request::Kind kind, std::uint64_t id, std::string owner = "alive", std::string digest = "content",
                std::string key = "key") {
    Request out;
    out.kind = kind;
    out.what = {State::reserved, spool::QueueId{id << 8 | 0x10}, std::move(digest), std::move(owner), "sasl:ann",
                std::move(key)};
    out.expires = now + 24h;
    return out;
}

struct World {
    MemoryStore store;
    std::set<std::string> dead;
    std::map<std::uint64_t, Trace> traces;
    KeyStore keys{
        store,
        "boot",
        {[this](std::string_view owner) { return dead.contains(std::string(owner)) ? Owner::dead : Owner::alive; },
         [this](spool::QueueId id) { return traces[id.value >> 8]; }}};
    World() { REQUIRE(set_complete(store, "boot", now)); }
    Answer ask(const Request& one, smtp::WallTime at = now) { return keys.execute(std::span(&one, 1), at).front(); }
    Kind claim(std::uint64_t id, std::string owner = "alive", std::string digest = "content", std::string key = "key") {
        return ask(request(Request::Kind::claim, id, std::move(owner), std::move(digest), std::move(key))).kind;
    }
};

std::string fingerprint(std::string_view content, std::string_view request = "", std::size_t step = 1000) {
    Fingerprint print;
    for (; !content.empty(); content.remove_prefix(std::min(step, content.size()))) print.feed(content.substr(0, step));
    return print.finish(request);
}

} // namespace

TEST_CASE("the first one goes on, those that follow hear of it") {
    World world;
    CHECK(world.claim(1) == Kind::proceed);
    CHECK(world.claim(2) == Kind::busy);
    CHECK(world.claim(2, "alive", "other content") == Kind::busy); // the first may still come to nothing
    CHECK(world.claim(2, "alive", "content", "other key") == Kind::proceed);
    CHECK(world.ask(request(Request::Kind::confirm, 1)).kind == Kind::proceed);
    const auto again = world.ask(request(Request::Kind::claim, 3));
    CHECK(again.kind == Kind::duplicate);
    CHECK((again.first.value >> 8) == 1);
    CHECK(world.claim(3, "alive", "other content") == Kind::other_content);
    CHECK(world.ask(request(Request::Kind::claim, 4), now + 24h).kind == Kind::proceed); // its life is over
}

TEST_CASE("of several at once one goes on") {
    World world;
    std::vector<Request> requests;
    for (std::uint64_t id = 1; id < 5; ++id) requests.push_back(request(Request::Kind::claim, id));
    const auto answers = world.keys.execute(requests, now);
    CHECK(answers[0].kind == Kind::proceed);
    for (std::size_t n = 1; n < 4; ++n) CHECK(answers[n].kind == Kind::busy);
}

TEST_CASE("a key whose message came to nothing is free again, for others than its owner, too") {
    World world;
    CHECK(world.claim(1) == Kind::proceed);
    CHECK(world.ask(request(Request::Kind::release, 2)).kind == Kind::proceed); // not its own: nothing happens
    CHECK(world.claim(3) == Kind::busy);
    CHECK(world.ask(request(Request::Kind::release, 1)).kind == Kind::proceed);
    CHECK(world.claim(3) == Kind::proceed);
}

TEST_CASE("what a dead owner left is decided by its file") {
    World world;
    CHECK(world.claim(1, "dies") == Kind::proceed);
    world.dead.insert("dies");
    world.traces[1] = Trace::incoming;
    CHECK(world.claim(2) == Kind::busy);
    world.traces[1] = Trace::messages;
    CHECK(world.claim(2) == Kind::duplicate);
    CHECK(world.claim(2, "alive", "other content") == Kind::other_content);
    world.traces[1] = Trace::nowhere;
    CHECK(world.claim(2) == Kind::proceed);
    CHECK(world.claim(3) == Kind::busy); // of the new owner
}

TEST_CASE("the queue-manager's word stands, and brings back what was lost") {
    World world;
    const auto kept = [](std::uint64_t id) {
        return AcceptedKey{request(Request::Kind::claim, id).what.accepted(), now + 24h};
    };
    SUBCASE("its writer died before it could say so") {
        CHECK(world.claim(1, "dies") == Kind::proceed);
        world.dead.insert("dies");
    }
    SUBCASE("its writer has said so") {
        CHECK(world.claim(1) == Kind::proceed);
        CHECK(world.ask(request(Request::Kind::confirm, 1)).kind == Kind::proceed);
    }
    SUBCASE("the store was lost") {}
    CHECK(record_accepted(world.store, std::vector{kept(1), kept(1)}, now));
    CHECK(world.claim(2) == Kind::duplicate);
    CHECK(record_accepted(world.store, std::vector{kept(9)}, now)); // the first one stays the first
    CHECK((world.ask(request(Request::Kind::claim, 2)).first.value >> 8) == 1);
}

TEST_CASE("nobody goes on where nothing can be known") {
    World world;
    REQUIRE(set_complete(world.store, "an earlier boot", now)); // a power cut may have taken claims away
    CHECK(world.claim(1) == Kind::unavailable);
    REQUIRE(set_complete(world.store, "boot", now));
    world.store.broken = spool::Error{EIO, "read store: Input/output error"};
    const auto answer = world.ask(request(Request::Kind::claim, 1));
    CHECK(answer.kind == Kind::unavailable);
    CHECK(answer.why.find("Input/output error") != std::string::npos);
    CHECK_FALSE(record_accepted(world.store, std::vector{AcceptedKey{}}, now));
    world.store.broken.reset();
    CHECK(world.claim(1) == Kind::proceed);
    CHECK(world.store.apply(store::Change::put(name_in_store("sasl:ann", "odd"), {"not a claim", {}}), now));
    CHECK(world.claim(2, "alive", "content", "odd") == Kind::unavailable);
}

// A spool with several writers that come and go, a queue-manager and clients that repeat what they are not
// sure of. Whatever happens in whichever order, each key has become one message at most, and in the end
// exactly one.
namespace {

struct Simulation {
    static constexpr unsigned writers = 3, keys = 2;
    enum class File { none, writing, sealed, taken, removed };
    struct Message {
        Request held;
        File file = File::none;
    };
    struct Writer {
        unsigned life = 0;
        std::vector<std::uint64_t> at_work;
    };

    explicit Simulation(unsigned seed) : random(seed) { REQUIRE(set_complete(store, "boot", now)); }
    std::mt19937 random;
    MemoryStore store;
    Writer writer[writers];
    std::map<std::uint64_t, Message> messages;
    std::uint64_t last_id = 0;
    bool inside = false;

    unsigned pick(unsigned n) { return static_cast<unsigned>(random() % n); }
    std::string owner(unsigned n) const { return std::to_string(n) + ":" + std::to_string(writer[n].life); }
    KeyStore key_store() {
        return {store,
                "boot",
                {[this](std::string_view name) {
                     other_things();
                     for (unsigned n = 0; n < writers; ++n)
                         if (owner(n) == name) return Owner::alive;
                     return Owner::dead;
                 },
                 [this](spool::QueueId id) {
                     other_things();
                     const auto found = messages.find(id.value >> 8);
                     switch (found == messages.end() ? File::none : found->second.file) {
                     case File::writing:
                     case File::sealed: return Trace::incoming;
                     case File::taken: return Trace::messages;
                     default: return Trace::nowhere;
                     }
                 }}};
    }
    // The world does not stand still while a key store looks around.
    void other_things() {
        if (std::exchange(inside, true)) return;
        for (unsigned n = pick(3); n > 0; --n) step();
        inside = false;
    }
    Answer say(Request::Kind kind, Request one) {
        one.kind = kind;
        return key_store().execute(std::span(&one, 1), now).front();
    }
    void submit(unsigned n) {
        const auto id = ++last_id;
        auto one = request(Request::Kind::claim, id, owner(n), "content", "key" + std::to_string(pick(keys)));
        const auto life = writer[n].life;
        const auto answer = say(Request::Kind::claim, one);
        if (writer[n].life != life) return; // died over it
        if (answer.kind == Kind::duplicate) {
            const auto& first = messages[answer.first.value >> 8];
            REQUIRE(static_cast<int>(first.file) >= static_cast<int>(File::sealed));
            REQUIRE(first.held.what.key == one.what.key);
        }
        if (answer.kind != Kind::proceed) return;
        messages[id].held = one;
        writer[n].at_work.push_back(id);
    }
    void work(unsigned n) {
        auto& at_work = writer[n].at_work;
        if (at_work.empty()) return;
        const auto id = at_work.front();
        auto& message = messages[id];
        const auto finish = [&](Request::Kind kind) {
            at_work.erase(at_work.begin());
            say(kind, message.held);
        };
        if (message.file == File::none && pick(4) == 0) return finish(Request::Kind::release); // a filter refused it
        if (message.file == File::none)
            message.file = File::writing;
        else if (message.file == File::writing)
            message.file = File::sealed;
        else
            finish(Request::Kind::confirm);
    }
    void die(unsigned n) {
        ++writer[n].life;
        for (const auto id : std::exchange(writer[n].at_work, {})) // the disk may have it, or not
            if (messages[id].file == File::writing && pick(2)) messages[id].file = File::sealed;
    }
    bool at_work_on(std::uint64_t id) const {
        return std::ranges::any_of(writer, [&](const auto& w) { return std::ranges::count(w.at_work, id) > 0; });
    }
    // Takes over what is whole, puts aside what never will be; removes only what is kept.
    void queue_manager() {
        for (auto& [id, message] : messages) {
            if (message.file == File::writing && !at_work_on(id)) message.file = File::none;
            if (message.file == File::sealed && pick(2)) {
                message.file = File::taken;
            } else if (message.file == File::taken && pick(2)) {
                REQUIRE(record_accepted(store, std::vector{AcceptedKey{message.held.what.accepted(), now + 24h}}, now));
                message.file = File::removed;
            }
        }
    }
    void step() {
        const auto n = pick(writers);
        switch (pick(8)) {
        case 0:
        case 1: return submit(n);
        case 2:
        case 3:
        case 4: return work(n);
        case 5: return die(n);
        default: return queue_manager();
        }
    }
    std::map<std::string, int> accepted() const {
        std::map<std::string, int> out;
        for (const auto& [id, message] : messages) out[message.held.what.key] += message.file >= File::sealed;
        return out;
    }
};

} // namespace

TEST_CASE("random interleavings of submitters, deaths and the queue-manager give one message for each key") {
    for (unsigned seed = 0; seed < 500; ++seed) {
        CAPTURE(seed);
        Simulation world(seed);
        for (int n = 0; n < 60; ++n) {
            world.step();
            for (const auto& [key, count] : world.accepted()) REQUIRE(count <= 1);
        }
        world.inside = true; // from here on in order: clients repeat until each key is settled
        for (int n = 0; n < 100; ++n) {
            for (unsigned w = 0; w < Simulation::writers; ++w) world.submit(w), world.work(w);
            world.queue_manager();
        }
        for (const auto& [key, count] : world.accepted()) REQUIRE(count == 1);
        REQUIRE(world.accepted().size() == Simulation::keys);
    }
}

TEST_CASE("a fingerprint is of what counts") {
    const std::string head = "Received: by a\r\n folded\r\nDate: today\r\nFrom: ann\r\nMessage-ID:\r\n "
                             "<1@a>\r\nSubject: x\r\n\r\n";
    const auto print = fingerprint(head + "body\r\n");
    CHECK(print.size() == 32);
    for (const std::size_t step : {1, 7, 64}) CHECK(fingerprint(head + "body\r\n", "", step) == print);
    CHECK(fingerprint("From: ann\r\nSubject: x\r\n\r\nbody\r\n") == print);
    CHECK(fingerprint("date: other\r\nFrom: ann\r\nReceived: by b\r\nRECEIVED: by c\r\nmessage-id: "
                      "<2@b>\r\nSubject: x\r\n\r\nbody\r\n") == print);
    CHECK(fingerprint("From: ann\r\nSubject: y\r\n\r\nbody\r\n") != print);
    CHECK(fingerprint("From: ann\r\nSubject: x\r\n\r\nDate: body\r\nbody\r\n") != print);
    CHECK(fingerprint("From: ann\r\nSubject: x\r\n\r\nbody\r\n", "to b") != print);
    CHECK(fingerprint("ab", "c") != fingerprint("a", "bc"));
    CHECK(name_in_store("sasl:ann", "k") != name_in_store("sasl:an", "nk"));
}

TEST_CASE("an owner lives as long as its process") {
    TemporaryDirectory directory;
    const std::string place = directory.path();
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const auto child = ::fork();
    if (child == 0) {
        const auto mark = OwnerLock::take(place, 0x11);
        if (!mark || ::write(ready[1], mark->name().data(), mark->name().size()) < 0) ::_exit(1);
        ::pause();
    }
    char buffer[100];
    const auto n = ::read(ready[0], buffer, sizeof buffer);
    REQUIRE(n > 0);
    const std::string name(buffer, static_cast<std::size_t>(n));
    CHECK(OwnerLock::state_of(place, name) == Owner::alive);
    CHECK(OwnerLock::state_of(place, "11:another life...") == Owner::dead);
    CHECK(OwnerLock::take(place, 0x11).error().code == EAGAIN);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    CHECK(OwnerLock::state_of(place, name) == Owner::dead);
    const auto next = OwnerLock::take(place, 0x11);
    REQUIRE(next);
    CHECK(OwnerLock::state_of(place, name) == Owner::dead);
    for (const auto* odd : {"", "1", "xx:y", "12:nobody", ":::"}) CHECK(OwnerLock::state_of(place, odd) == Owner::dead);
}
