#include "daemons/common/net/dns/resolver.h"
#include "tests/common/net/dns/name_server.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <optional>

using dns::Answer;
using dns::Lookup;
using dns::LookupStatus;
using dns::Resolver;
using dns::Type;

namespace {

// Makes one look-up and runs the loop until it is answered.
Answer ask(common::Loop& loop, Resolver& resolver, std::string_view name, Type type) {
    Answer out;
    bool answered = false;
    auto lookup = resolver.look_up(name, type, [&](const Answer& answer) {
        out = answer;
        answered = true;
        loop.stop();
    });
    while (!answered) loop.run();
    return out;
}

} // namespace

TEST_CASE("an answer is kept and asked for once") {
    common::Loop loop;
    NameServer server(loop);
    server.behave = [](packet::Message& m) { return m.answer(packet::mx(m.question, 300, 10, "mx.example")).bytes(); };
    Resolver resolver(loop, server.settings());
    CHECK(resolver.cached("example.com", Type::mx) == nullptr);

    int told = 0;
    std::vector<Lookup> lookups;
    for (int i = 0; i < 3; ++i)
        lookups.push_back(resolver.look_up("Example.com", Type::mx, [&](const Answer& answer) {
            CHECK(answer.mx.at(0).host == "mx.example");
            if (++told == 2) loop.stop();
        }));
    lookups.pop_back(); // nobody wants that one any more
    CHECK(told == 0);
    while (told < 2) loop.run();
    CHECK(told == 2);
    CHECK(server.asked == 1);
    CHECK(server.edns);
    CHECK(ask(loop, resolver, "example.com", Type::mx).said == LookupStatus::records);
    CHECK(server.asked == 1);
    REQUIRE(resolver.cached("example.com", Type::mx));
    CHECK(resolver.cached("example.com", Type::mx)->ttl > 290);
    CHECK(resolver.cached("example.com", Type::a) == nullptr);
}

TEST_CASE("failures are failures, and not asked again at once") {
    common::Loop loop;
    NameServer server(loop);
    Resolver resolver(loop, server.settings());
    server.behave = [](packet::Message& m) { return m.code = 2, m.bytes(); };
    const auto why = ask(loop, resolver, "servfail.example", Type::mx).why;
    CHECK((why.starts_with("no name server gave an answer: ") || why.starts_with("SERVFAIL: "))); // by c-ares' version
    CHECK(why.ends_with(fmt::format(": asked {}, from dns.servers", server.settings().servers[0].to_string())));
    const auto before = server.asked;
    CHECK(ask(loop, resolver, "servfail.example", Type::mx).said == LookupStatus::failed);
    CHECK(server.asked == before);

    server.behave = [](packet::Message&) { return std::string(); };
    CHECK(ask(loop, resolver, "silent.example", Type::mx).why.starts_with("timeout: asked 127.0.0.1:"));
    server.behave = [](packet::Message& m) { return packet::u16(m.id) + "garbage"; };
    CHECK(ask(loop, resolver, "garbage.example", Type::mx).said == LookupStatus::failed);
    server.behave = [](packet::Message& m) { return m.code = 3, m.bytes(); };
    CHECK(ask(loop, resolver, "unproven.example", Type::mx).said == LookupStatus::failed);
}

TEST_CASE("no such name and no such record are told apart") {
    common::Loop loop;
    NameServer server(loop);
    Resolver resolver(loop, server.settings());
    server.behave = [](packet::Message& m) { return m.code = 3, m.authority(packet::soa("example", 900, 9)).bytes(); };
    const auto none = ask(loop, resolver, "none.example", Type::mx);
    CHECK(none.said == LookupStatus::no_name);
    CHECK(none.ttl == 9);
    server.behave = [](packet::Message& m) { return m.authority(packet::soa("example", 9000, 9000)).bytes(); };
    const auto empty = ask(loop, resolver, "empty.example", Type::mx);
    CHECK(empty.said == LookupStatus::no_data);
    CHECK(empty.ttl == 300); // negative_ttl
    CHECK(ask(loop, resolver, "not a name", Type::mx).said == LookupStatus::no_name);
    CHECK(server.asked == 2);
}

TEST_CASE("the cache stays within its bound") {
    common::Loop loop;
    NameServer server(loop);
    server.behave = [](packet::Message& m) { return m.answer(packet::mx(m.question, 300, 10, "mx.example")).bytes(); };
    auto settings = server.settings();
    settings.cache_entries = 10;
    Resolver resolver(loop, settings);
    for (int i = 0; i < 30; ++i) ask(loop, resolver, "d" + std::to_string(i) + ".example", Type::mx);
    int kept = 0;
    for (int i = 0; i < 30; ++i) kept += resolver.cached("d" + std::to_string(i) + ".example", Type::mx) != nullptr;
    CHECK(kept >= 5);
    CHECK(kept <= 10);
    CHECK(resolver.cached("d29.example", Type::mx) != nullptr);
}

TEST_CASE("a resolver goes away with questions open") {
    common::Loop loop;
    NameServer server(loop);
    server.behave = [](packet::Message&) { return std::string(); };
    auto resolver = std::make_unique<Resolver>(loop, server.settings());
    {
        auto lookup = resolver->look_up("a.example", Type::mx, [](const Answer&) { FAIL("told"); });
    }
    resolver.reset();
}

TEST_CASE("a client's name counts only if its addresses include the client") {
    common::Loop loop;
    NameServer server(loop);
    server.behave = [](packet::Message& m) {
        if (m.type == 12)
            m.answer(packet::ptr(m.question, 300, m.question.starts_with("1.") ? "good.example" : "liar.example"));
        if (m.type == 1) m.answer(packet::a(m.question, 300, {"\x7f\0\0\1", 4}));
        return m.bytes();
    };
    Resolver resolver(loop, server.settings());
    struct Row {
        const char *address, *confirmed, *reverse;
    };
    for (const auto& row : {Row{"127.0.0.1", "good.example", "good.example"}, Row{"127.0.0.2", "", "liar.example"}}) {
        std::optional<dns::ClientName::Names> found;
        dns::ClientName name(resolver, *common::IpAddress::parse(row.address),
                             [&](const dns::ClientName::Names& names) {
                                 found = names;
                                 loop.stop();
                             });
        while (!found) loop.run();
        CHECK(found->confirmed == row.confirmed);
        CHECK(found->reverse == row.reverse);
    }
}

TEST_CASE("queries go by numbers that are all over the place, each by one of its own") {
    common::Loop loop;
    NameServer server(loop);
    server.behave = [](packet::Message& m) { return m.authority(packet::soa("example", 60, 60)).bytes(); };
    Resolver resolver(loop, server.settings());
    constexpr int many = 2000;
    int told = 0;
    std::vector<Lookup> lookups;
    for (int i = 0; i < many; ++i) {
        lookups.push_back(resolver.look_up("d" + std::to_string(i) + ".example", Type::a, [&](const Answer& answer) {
            CHECK(answer.said == LookupStatus::no_data);
            if (++told % 100 == 0) loop.stop();
        }));
        if (lookups.size() % 100 > 0) continue; // a hundred at a time: no more fits into a socket's buffer
        while (told < i + 1) loop.run();
    }
    // Of 2000 numbers drawn by chance from 65,536 about 30 are drawn twice; a sequence would stay in its corner.
    CHECK(server.ids.size() > many - 100);
    int quarters[4] = {};
    for (const auto id : server.ids) ++quarters[id >> 14];
    for (const int in_quarter : quarters) CHECK(in_quarter > many / 8);
}

TEST_CASE("what answers another question, or goes by another number, is no answer") {
    common::Loop loop;
    NameServer server(loop);
    bool lies = true;
    const auto honest = [](packet::Message& m) {
        return m.answer(packet::mx(m.question, 300, 10, "mx.example")).bytes();
    };
    SUBCASE("another number") {
        server.behave = [&](packet::Message& m) {
            if (std::exchange(lies, false)) {
                m.id ^= 1;
                return m.answer(packet::mx(m.question, 300, 10, "evil.example")).bytes();
            }
            return honest(m);
        };
    }
    SUBCASE("another name") {
        server.behave = [&](packet::Message& m) {
            if (std::exchange(lies, false)) {
                m.question = "other.example";
                return m.answer(packet::mx("victim.example", 300, 10, "evil.example")).bytes();
            }
            return honest(m);
        };
    }
    SUBCASE("another type") {
        server.behave = [&](packet::Message& m) {
            if (std::exchange(lies, false)) {
                m.type = 1;
                return m.answer(packet::mx(m.question, 300, 10, "evil.example")).bytes();
            }
            return honest(m);
        };
    }
    Resolver resolver(loop, server.settings());
    const auto answer = ask(loop, resolver, "victim.example", Type::mx);
    REQUIRE(answer.said == LookupStatus::records); // of the second try
    CHECK(answer.mx.at(0).host == "mx.example");
    CHECK(server.asked == 2);
    CHECK(resolver.cached("other.example", Type::mx) == nullptr);
}

TEST_CASE("SRV records, and the bounds of any answer") {
    common::Loop loop;
    NameServer server(loop);
    server.behave = [](packet::Message& m) {
        if (m.type == 33)
            return m.answer(packet::srv(m.question, 300, 1, 2, 465, "a.example"))
                .answer(packet::srv(m.question, 300, 0, 0, 0, ""))
                .answer(packet::srv(m.question, 300, 0, 0, 1, "no name.example"))
                .bytes();
        for (int i = 0; i < 60; ++i) m.answer(packet::a(m.question, 10'000'000, {"\xc0\0\2\1", 4}));
        return m.bytes();
    };
    auto settings = server.settings();
    settings.edns_size = 4096;
    Resolver resolver(loop, settings);
    const auto srv = ask(loop, resolver, "_submissions._tcp.example", Type::srv);
    CHECK(srv.srv == std::vector<dns::SrvRecord>{{1, 2, 465, "a.example"}, {0, 0, 0, ""}});
    const auto many = ask(loop, resolver, "x.example", Type::a);
    CHECK(many.addresses.size() == dns::most_records);
    CHECK(many.ttl == 24 * 3600); // maximum_ttl
}

TEST_CASE("that an answer was validated is believed of a name server on this host, unless told otherwise") {
    common::Loop loop;
    NameServer server(loop);
    server.behave = [](packet::Message& m) {
        m.validated = true;
        return m.answer(packet::mx(m.question, 300, 10, "mx.example")).bytes();
    };
    auto settings = server.settings();
    Resolver trusting(loop, settings);
    CHECK(trusting.trusts_ad());
    CHECK(ask(loop, trusting, "example.com", Type::mx).secure);
    CHECK(ask(loop, trusting, "example.com", Type::mx).secure); // as it is kept
    CHECK(server.asked_to_validate);

    settings.trust_ad = false;
    Resolver careful(loop, settings);
    CHECK_FALSE(careful.trusts_ad());
    CHECK_FALSE(ask(loop, careful, "example.com", Type::mx).secure);

    for (const auto* other : {"192.0.2.53:53", "[2001:db8::53]:53"}) {
        CAPTURE(other);
        auto beyond = server.settings();
        beyond.servers.push_back(*common::Endpoint::parse(other)); // nobody can say which of them answered
        CHECK_FALSE(Resolver(loop, beyond).trusts_ad());
    }
    auto here = server.settings();
    here.servers.push_back(*common::Endpoint::parse("[::1]:53"));
    CHECK(Resolver(loop, here).trusts_ad());
}
