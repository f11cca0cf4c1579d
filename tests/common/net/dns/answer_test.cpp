#include "daemons/common/net/dns/answer.h"
#include "tests/common/net/dns/packet.h"
#include <doctest/doctest.h>

using dns::Answer;
using dns::LookupStatus;
using dns::parse_answer;
using dns::Type;
using packet::Message;

namespace {

Answer parse(const std::string& bytes, std::string_view name, Type type) {
    return parse_answer({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}, name, type);
}

} // namespace

TEST_CASE("MX records, with the shortest time") {
    const auto bytes = Message{.question = "example.com"}
                           .answer(packet::mx("example.com", 300, 20, "MX2.example.com"))
                           .answer(packet::mx("Example.COM", 60, 10, "mx1.example.com"))
                           .bytes();
    const auto answer = parse(bytes, "example.com", Type::mx);
    CHECK(answer.said == LookupStatus::records);
    CHECK(answer.ttl == 60);
    REQUIRE(answer.mx.size() == 2);
    CHECK(answer.mx[0] == dns::MxRecord{20, "mx2.example.com"});
    CHECK(answer.mx[1] == dns::MxRecord{10, "mx1.example.com"});

    // Cut short anywhere it is a failure, or complete as far as it counts; never anything invented.
    for (std::size_t n = 0; n < bytes.size(); ++n)
        CHECK(parse(bytes.substr(0, n), "example.com", Type::mx).said == LookupStatus::failed);
}

TEST_CASE("a null MX is a record with an empty host") {
    const auto bytes = Message{.question = "example.com"}.answer(packet::mx("example.com", 300, 0, "")).bytes();
    const auto answer = parse(bytes, "example.com", Type::mx);
    REQUIRE(answer.mx.size() == 1);
    CHECK(answer.mx[0].host.empty());
}

TEST_CASE("hosts with odd characters are passed over") {
    const auto bytes = Message{.question = "example.com"}
                           .answer(packet::mx("example.com", 300, 5, "a b.example.com"))
                           .answer(packet::mx("example.com", 300, 5, "a\n.example.com"))
                           .answer(packet::mx("example.com", 300, 10, "good.example.com"))
                           .bytes();
    const auto answer = parse(bytes, "example.com", Type::mx);
    REQUIRE(answer.mx.size() == 1);
    CHECK(answer.mx[0].host == "good.example.com");
}

TEST_CASE("MX records of which none names a host are records all the same") {
    const auto bytes =
        Message{.question = "example.com"}.answer(packet::mx("example.com", 300, 5, "a b.example.com")).bytes();
    const auto answer = parse(bytes, "example.com", Type::mx);
    CHECK(answer.said == LookupStatus::records);
    CHECK(answer.mx.empty());
    CHECK(answer.ttl == 300);
}

TEST_CASE("lists are capped") {
    Message message{.question = "example.com"};
    for (int i = 0; i < 200; ++i)
        message.answer(packet::mx("example.com", 300, 10, "mx" + std::to_string(i) + ".example.com"));
    CHECK(parse(message.bytes(), "example.com", Type::mx).mx.size() == dns::most_records);
}

TEST_CASE("NXDOMAIN counts only with the zone's SOA") {
    const auto proven =
        Message{.code = 3, .question = "none.example"}.authority(packet::soa("example", 900, 300)).bytes();
    CHECK(parse(proven, "none.example", Type::mx).said == LookupStatus::no_name);
    CHECK(parse(proven, "none.example", Type::mx).ttl == 300);
    const auto bare = Message{.code = 3, .question = "none.example"}.bytes();
    CHECK(parse(bare, "none.example", Type::mx).said == LookupStatus::failed);
    CHECK(parse(bare, "none.example", Type::mx).why == "NXDOMAIN without the zone's SOA");
}

TEST_CASE("no data, servers that fail, garbage") {
    const auto none = Message{.question = "example.com"}.authority(packet::soa("example.com", 100, 300)).bytes();
    CHECK(parse(none, "example.com", Type::mx).said == LookupStatus::no_data);
    CHECK(parse(none, "example.com", Type::mx).ttl == 100);
    CHECK(parse(Message{.code = 2, .question = "x"}.bytes(), "x", Type::mx).why == "SERVFAIL");
    CHECK(parse(Message{.code = 5, .question = "x"}.bytes(), "x", Type::mx).why == "REFUSED");
    CHECK(parse(Message{.code = 1, .question = "x"}.bytes(), "x", Type::mx).said == LookupStatus::failed);
    CHECK(parse("", "x", Type::mx).said == LookupStatus::failed);
    CHECK(parse("garbage garbage garbage", "x", Type::mx).said == LookupStatus::failed);
    auto question = Message{.question = "x"}.answer(packet::mx("x", 1, 1, "y")).bytes();
    question[2] &= 0x7f; // not an answer at all
    CHECK(parse(question, "x", Type::mx).said == LookupStatus::failed);
}

TEST_CASE("aliases are followed within the packet, in any order; others' records are ignored") {
    const auto bytes = Message{.question = "www.example", .type = 1}
                           .answer(packet::a("c.example", 500, {"\x7f\0\0\1", 4}))
                           .answer(packet::a("evil.example", 500, {"\x7f\0\0\2", 4}))
                           .answer(packet::cname("b.example", 40, "c.example"))
                           .answer(packet::cname("www.example", 400, "b.example"))
                           .bytes();
    const auto answer = parse(bytes, "www.example", Type::a);
    CHECK(answer.said == LookupStatus::records);
    CHECK(answer.ttl == 40);
    REQUIRE(answer.addresses.size() == 1);
    CHECK(answer.addresses[0].to_string() == "127.0.0.1");
    const auto circle = Message{.question = "a.example", .type = 1}
                            .answer(packet::cname("a.example", 40, "b.example"))
                            .answer(packet::cname("b.example", 40, "a.example"))
                            .bytes();
    CHECK(parse(circle, "a.example", Type::a).said == LookupStatus::no_data);
}

TEST_CASE("records of the wrong size are passed over") {
    const auto bytes = Message{.question = "x", .type = 1}.answer(packet::a("x", 5, "abc")).bytes();
    CHECK(parse(bytes, "x", Type::a).said == LookupStatus::no_data);
    const auto six =
        Message{.question = "x", .type = 28}.answer(packet::record("x", 28, 5, std::string(16, '\1'))).bytes();
    CHECK(parse(six, "x", Type::aaaa).addresses[0].to_string() == "101:101:101:101:101:101:101:101");
}

TEST_CASE("reverse names") {
    CHECK(dns::reverse_name(*common::IpAddress::parse("192.0.2.1")) == "1.2.0.192.in-addr.arpa");
    CHECK(dns::reverse_name(*common::IpAddress::parse("2001:db8::1")) ==
          "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa");
}

TEST_CASE("names that cannot be asked for") {
    CHECK(dns::canonical_name("Example.COM.") == "example.com");
    for (auto odd : {"", ".", "..", "a..b", ".a", "a b", "a\\b", "a\xc3\xa4.example"})
        CHECK(dns::canonical_name(odd).empty());
    CHECK(dns::canonical_name(std::string(64, 'a')).empty());
    CHECK(dns::canonical_name(std::string(63, 'a')).size() == 63);
}

TEST_CASE("TLSA records, validated or not") {
    for (const bool validated : {false, true}) {
        const auto answer = parse(Message{.question = "_25._tcp.mx.example", .type = 52, .validated = validated}
                                      .answer(packet::tlsa("_25._tcp.mx.example", 300, 3, 1, 1, "\x01\x02"))
                                      .answer(packet::tlsa("_25._tcp.mx.example", 300, 255, 0, 0, ""))
                                      .answer(packet::record("_25._tcp.mx.example", 52, 300, "xy")) // too short
                                      .bytes(),
                                  "_25._tcp.mx.example", Type::tlsa);
        CHECK(answer.said == LookupStatus::records);
        CHECK(answer.secure == validated);
        REQUIRE(answer.tlsa.size() == 2);
        CHECK(answer.tlsa[0] == dns::TlsaRecord{3, 1, 1, "\x01\x02"});
        CHECK(answer.tlsa[1] == dns::TlsaRecord{255, 0, 0, ""});
    }
}

TEST_CASE("that there is nothing can be validated, too") {
    for (const unsigned code : {0u, 3u}) {
        const auto answer = parse(Message{.code = code, .question = "x.example", .validated = true}
                                      .authority(packet::soa("example", 300, 60))
                                      .bytes(),
                                  "x.example", Type::tlsa);
        CHECK(answer.said == (code == 0 ? LookupStatus::no_data : LookupStatus::no_name));
        CHECK(answer.secure);
    }
}

TEST_CASE("the name at the end of all aliases; and an alias asked for itself") {
    const auto bytes = Message{.question = "mx.example", .type = 1}
                           .answer(packet::cname("mx.example", 300, "Second.example"))
                           .answer(packet::cname("second.example", 300, "real.example"))
                           .answer(packet::a("real.example", 300, "\x7f\x01\x01\x01"))
                           .bytes();
    CHECK(parse(bytes, "mx.example", Type::a).canonical == "real.example");
    const auto alias = parse(bytes, "mx.example", Type::cname);
    CHECK(alias.said == LookupStatus::records);
    CHECK(alias.names == std::vector<std::string>{"second.example"});
    const auto none = parse(Message{.question = "mx.example", .type = 5}.bytes(), "mx.example", Type::cname);
    CHECK(none.said == LookupStatus::no_data);
}
