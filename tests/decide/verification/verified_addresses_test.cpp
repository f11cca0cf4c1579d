// Verified addresses: how long an answer holds, when it is checked again, and what a full memory gives up.
#include "daemons/decide/verification/verified_addresses.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace std::chrono_literals;
using decide::verification::Deliverability;
using decide::verification::Entry;
using decide::verification::VerifiedAddresses;
using enum Deliverability;

namespace {

constexpr VerifiedAddresses::Settings usual{.positive_lifetime = 31 * 24h,
                                            .positive_refresh = 7 * 24h,
                                            .negative_lifetime = 3 * 24h,
                                            .negative_refresh = 3h,
                                            .temporary_lifetime = 15min,
                                            .most = 100};

struct Memory {
    VerifiedAddresses addresses{usual};
    smtp::WallTime now{smtp::Duration(1'700'000'000'000'000)};

    void learn(Deliverability what, const std::string& text = "x", const std::string& key = "a@b.example") {
        addresses.checked(key, {what, text, "mx.b.example[192.0.2.1]:25"}, now);
    }
    Deliverability what(const std::string& key = "a@b.example") {
        const auto answer = addresses.find(key, now);
        return answer.entry ? answer.entry->result.what : unknown;
    }
    bool due(const std::string& key = "a@b.example") { return addresses.find(key, now).check; }
};

} // namespace

TEST_CASE("an address that is not known is to be checked") {
    Memory m;
    CHECK(m.what() == unknown);
    CHECK(m.due());
    CHECK(m.addresses.take_changes().empty());
}

TEST_CASE("a deliverable address is checked again after a week, and known for 31 days") {
    Memory m;
    m.learn(deliverable);
    CHECK(m.what() == deliverable);
    CHECK_FALSE(m.due());
    const auto stored = m.addresses.take_changes();
    REQUIRE(stored.size() == 1);
    CHECK(stored[0].expires == m.now + 31 * 24h);
    m.now += 7 * 24h - 1s;
    CHECK_FALSE(m.due());
    m.now += 1s;
    CHECK(m.what() == deliverable);
    CHECK(m.due());
    m.now += 24 * 24h - 1s;
    CHECK(m.what() == deliverable);
    m.now += 1s;
    CHECK(m.what() == unknown);
    CHECK(m.due());
    const auto gone = m.addresses.take_changes();
    REQUIRE(gone.size() == 1);
    CHECK_FALSE(gone[0].entry);
}

TEST_CASE("an undeliverable address is checked again after three hours, and known for three days") {
    Memory m;
    m.learn(undeliverable, "no such user");
    m.now += 3h - 1s;
    CHECK(m.what() == undeliverable);
    CHECK_FALSE(m.due());
    m.now += 1s;
    CHECK(m.due());
    m.now += 3 * 24h - 3h;
    CHECK(m.what() == unknown);
    m.learn(deliverable);
    CHECK(m.what() == deliverable);
}

TEST_CASE("an address whose server cannot be asked is known for a short time, and not stored") {
    Memory m;
    m.learn(unreachable, "connection refused");
    CHECK(m.what() == unreachable);
    CHECK_FALSE(m.due());
    CHECK(m.addresses.take_changes().empty());
    m.now += 15min;
    CHECK(m.what() == unknown);
    CHECK(m.due());
}

TEST_CASE("a server that cannot be asked changes nothing about what is known") {
    Memory m;
    for (const auto known : {deliverable, undeliverable}) {
        m.learn(known, "first");
        m.learn(known, "first"); // of a good one the first rejection is not the end
        m.now += 8 * 24h;
        if (known == undeliverable) m.now -= 7 * 24h;
        CHECK(m.due());
        m.learn(unreachable, "timeout");
        CHECK(m.what() == known);
        CHECK_FALSE(m.due()); // for a while
        m.now += 15min;
        CHECK(m.due());
        m.learn(unknown);
        CHECK(m.what() == known);
        CHECK_FALSE(m.due());
        m.addresses.forget("a@b.example");
    }
}

TEST_CASE("one rejection is not the end of a good address, the second is") {
    Memory m;
    m.learn(deliverable);
    m.now += 8 * 24h;
    m.learn(undeliverable, "no such user");
    CHECK(m.what() == deliverable);
    CHECK_FALSE(m.due());
    m.now += 15min;
    CHECK(m.due());
    SUBCASE("rejected again") {
        m.learn(undeliverable, "no such user");
        CHECK(m.what() == undeliverable);
        CHECK(m.addresses.find("a@b.example", m.now).entry->result.text == "no such user");
    }
    SUBCASE("accepted again") {
        m.learn(deliverable);
        m.now += 1h;
        CHECK_FALSE(m.due());
        m.learn(undeliverable);
        CHECK(m.what() == deliverable);
    }
    SUBCASE("the doubt outlives a restart") {
        const auto stored = m.addresses.take_changes();
        const auto entry = decide::verification::decode(decide::verification::encode(*stored.back().entry));
        REQUIRE(entry);
        VerifiedAddresses again(usual);
        CHECK(again.restore("a@b.example", *entry, m.now));
        CHECK(again.find("a@b.example", m.now).check);
        again.checked("a@b.example", {undeliverable, "", ""}, m.now);
        CHECK(again.find("a@b.example", m.now).entry->result.what == undeliverable);
    }
}

TEST_CASE("a full memory gives up the oldest that is not deliverable, then the oldest") {
    Memory m;
    const auto name = [](int n) { return fmt::format("{}@b.example", n); };
    for (int n = 0; n < 60; ++n) m.learn(n < 40 ? deliverable : undeliverable, "x", name(n));
    for (int n = 100; n < 160; ++n) m.learn(deliverable, "x", name(n));
    CHECK(m.addresses.size() == 100);
    CHECK(m.what(name(0)) == deliverable);
    for (int n = 40; n < 60; ++n) CHECK(m.what(name(n)) == unknown);
    CHECK(m.what(name(159)) == deliverable);
    m.addresses.take_changes();
    m.learn(undeliverable, "x", name(200)); // still remembers new ones
    CHECK(m.what(name(200)) == undeliverable);
    CHECK(m.what(name(0)) == unknown);
    const auto changes = m.addresses.take_changes();
    REQUIRE(changes.size() == 2);
    CHECK(changes[1].key == name(0));
    CHECK_FALSE(changes[1].entry);
    auto fewer = usual;
    fewer.most = 1;
    m.addresses.configure(fewer);
    CHECK(m.addresses.size() == 1);
    m.learn(undeliverable, "x", name(300));
    CHECK(m.what(name(300)) == undeliverable);
    CHECK(m.addresses.size() == 1);
}

TEST_CASE("a memory of one entry changes its kind") {
    Memory m;
    auto one = usual;
    one.most = 1;
    m.addresses.configure(one);
    m.learn(undeliverable);
    m.learn(deliverable);
    CHECK(m.what() == deliverable);
    CHECK(m.addresses.size() == 1);
}

TEST_CASE("an address can be forgotten") {
    Memory m;
    m.learn(undeliverable);
    CHECK(m.addresses.forget("a@b.example"));
    CHECK_FALSE(m.addresses.forget("a@b.example"));
    CHECK(m.what() == unknown);
    CHECK_FALSE(m.addresses.take_changes().back().entry);
}

TEST_CASE("what is stored is read again, and nothing else") {
    const Entry entry{{undeliverable, "host mx said: 550", "mx[192.0.2.1]:25"}, smtp::WallTime(1s), false};
    const auto bytes = decide::verification::encode(entry);
    CHECK(decide::verification::decode(bytes) == entry);
    for (std::size_t length = 0; length < 28; ++length)
        CHECK_FALSE(decide::verification::decode(std::string_view(bytes).substr(0, length)));
    auto wrong = bytes;
    wrong[0] = 9;
    CHECK_FALSE(decide::verification::decode(wrong));
    wrong = bytes;
    wrong[1] = 9;
    CHECK_FALSE(decide::verification::decode(wrong));

    Memory m;
    CHECK_FALSE(m.addresses.restore("old@b.example", {entry.result, m.now - 3 * 24h}, m.now));
    CHECK_FALSE(m.addresses.restore("future@b.example", {entry.result, m.now + 1h}, m.now));
    m.learn(deliverable);
    CHECK_FALSE(m.addresses.restore("a@b.example", {entry.result, m.now}, m.now)); // something newer is known
    CHECK(m.what() == deliverable);
}

TEST_CASE("a clock that is set back does not keep an entry for ever") {
    Memory m;
    m.learn(undeliverable);
    m.now -= 365 * 24h;
    CHECK(m.what() == unknown);
}

TEST_CASE("the case of an address does not matter, its length does") {
    CHECK(decide::verification::key_of("Ann@B.Example") == "ann@b.example");
    CHECK(decide::verification::key_of(std::string(321, 'a')).empty());
}
