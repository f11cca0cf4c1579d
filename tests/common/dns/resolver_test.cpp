#include "daemons/common/dns/resolver.h"
#include "tests/common/dns/packet.h"
#include <arpa/inet.h>
#include <doctest/doctest.h>

using dns::Answer;
using dns::Lookup;
using dns::Resolver;
using dns::Said;
using dns::Type;

namespace {

// A name server on loopback, on the same loop. Answers as `behave` says; "" says nothing.
struct NameServer {
    explicit NameServer(common::Loop& loop) {
        udp = common::make_handle<uv_udp_t>(this, [&](uv_udp_t* h) { return uv_udp_init(&loop.uv(), h); });
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        uv_udp_bind(udp.get(), reinterpret_cast<sockaddr*>(&any), 0);
        int size = sizeof any;
        uv_udp_getsockname(udp.get(), reinterpret_cast<sockaddr*>(&any), &size);
        port = ntohs(any.sin_port);
        uv_udp_recv_start(
            udp.get(),
            [](uv_handle_t* h, size_t, uv_buf_t* buffer) {
                *buffer = uv_buf_init(common::owner_of<NameServer>(h)->space, sizeof space);
            },
            [](uv_udp_t* h, ssize_t n, const uv_buf_t* buffer, const sockaddr* from, unsigned) {
                if (n > 12 && from)
                    common::owner_of<NameServer>(h)->received({buffer->base, static_cast<std::size_t>(n)},
                                                              from);
            });
        uv_unref(reinterpret_cast<uv_handle_t*>(udp.get()));
    }
    void received(std::string_view query, const sockaddr* from) {
        packet::Message message;
        message.id = static_cast<unsigned char>(query[0]) << 8 | static_cast<unsigned char>(query[1]);
        std::size_t at = 12;
        while (query[at] != 0) {
            if (!message.question.empty()) message.question += '.';
            message.question += query.substr(at + 1, static_cast<unsigned char>(query[at]));
            at += 1 + static_cast<unsigned char>(query[at]);
        }
        message.type =
            static_cast<unsigned char>(query[at + 1]) << 8 | static_cast<unsigned char>(query[at + 2]);
        ++asked;
        edns = edns || query.substr(at + 5).find(std::string("\0\0\x29", 3)) != query.npos;
        auto bytes = behave(message);
        if (bytes.empty()) return;
        auto buffer = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
        uv_udp_try_send(udp.get(), &buffer, 1, from);
    }
    config::Dns settings() const {
        config::Dns out;
        out.servers = {*common::Endpoint::parse("127.0.0.1:" + std::to_string(port))};
        out.timeout = std::chrono::milliseconds(100);
        out.tries = 2;
        return out;
    }

    common::Handle<uv_udp_t> udp;
    std::uint16_t port = 0;
    int asked = 0;
    bool edns = false;
    char space[2048];
    std::function<std::string(packet::Message&)> behave;
};

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
    server.behave = [](packet::Message& m) {
        return m.answer(packet::mx(m.question, 300, 10, "mx.example")).bytes();
    };
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
    CHECK(ask(loop, resolver, "example.com", Type::mx).said == Said::records);
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
    CHECK(ask(loop, resolver, "servfail.example", Type::mx).why == "no name server gave an answer");
    const auto before = server.asked;
    CHECK(ask(loop, resolver, "servfail.example", Type::mx).said == Said::failed);
    CHECK(server.asked == before);

    server.behave = [](packet::Message&) { return std::string(); };
    CHECK(ask(loop, resolver, "silent.example", Type::mx).why == "timeout");
    server.behave = [](packet::Message& m) { return packet::u16(m.id) + "garbage"; };
    CHECK(ask(loop, resolver, "garbage.example", Type::mx).said == Said::failed);
    server.behave = [](packet::Message& m) { return m.code = 3, m.bytes(); };
    CHECK(ask(loop, resolver, "unproven.example", Type::mx).said == Said::failed);
}

TEST_CASE("no such name and no such record are told apart") {
    common::Loop loop;
    NameServer server(loop);
    Resolver resolver(loop, server.settings());
    server.behave = [](packet::Message& m) {
        return m.code = 3, m.authority(packet::soa("example", 900, 9)).bytes();
    };
    const auto none = ask(loop, resolver, "none.example", Type::mx);
    CHECK(none.said == Said::no_name);
    CHECK(none.ttl == 9);
    server.behave = [](packet::Message& m) {
        return m.authority(packet::soa("example", 9000, 9000)).bytes();
    };
    const auto empty = ask(loop, resolver, "empty.example", Type::mx);
    CHECK(empty.said == Said::no_data);
    CHECK(empty.ttl == 300); // negative_ttl
    CHECK(ask(loop, resolver, "not a name", Type::mx).said == Said::no_name);
    CHECK(server.asked == 2);
}

TEST_CASE("the cache stays within its bound") {
    common::Loop loop;
    NameServer server(loop);
    server.behave = [](packet::Message& m) {
        return m.answer(packet::mx(m.question, 300, 10, "mx.example")).bytes();
    };
    auto settings = server.settings();
    settings.cache_entries = 10;
    Resolver resolver(loop, settings);
    for (int i = 0; i < 30; ++i) ask(loop, resolver, "d" + std::to_string(i) + ".example", Type::mx);
    int kept = 0;
    for (int i = 0; i < 30; ++i)
        kept += resolver.cached("d" + std::to_string(i) + ".example", Type::mx) != nullptr;
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
            m.answer(
                packet::ptr(m.question, 300, m.question.starts_with("1.") ? "good.example" : "liar.example"));
        if (m.type == 1) m.answer(packet::a(m.question, 300, {"\x7f\0\0\1", 4}));
        return m.bytes();
    };
    Resolver resolver(loop, server.settings());
    for (auto [address, expected] : {std::pair("127.0.0.1", "good.example"), std::pair("127.0.0.2", "")}) {
        std::string found = "never told";
        dns::ClientName name(resolver, *common::IpAddress::parse(address), [&](const std::string& told) {
            found = told;
            loop.stop();
        });
        while (found == "never told") loop.run();
        CHECK(found == expected);
    }
}
