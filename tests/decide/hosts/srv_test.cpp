// Where mail is submitted, by what the name system said of the two services.
#include "daemons/decide/hosts/srv.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace decide;

namespace {

const SrvAnswer none{LookupStatus::no_name, {}, ""}, fails{LookupStatus::failed, {}, "SERVFAIL"};
SrvAnswer said(std::vector<SrvRecord> records) { return {LookupStatus::records, std::move(records), ""}; }
const SrvAnswer refused = said({{0, 0, 0, ""}});

// "a:465/tls 0 5", one host to a word group; or status and text.
std::string decided(const SrvAnswer& wrapped, const SrvAnswer& starttls) {
    const auto out =
        decide_srv("example.net", wrapped, starttls, [](const std::string& host) { return host == "me.example"; });
    if (!out.found()) return out.status + (out.kind == RouteKind::permanent ? " permanent" : " temporary");
    std::string text;
    for (const auto& host : out.hosts)
        text += fmt::format("{}{}:{}{} {} {} {}", text.empty() ? "" : ", ", host.name, host.port,
                            host.tls_wrap ? "/tls" : "", static_cast<int>(host.tier), host.preference, host.weight);
    return text;
}

} // namespace

TEST_CASE("TLS from the first byte before STARTTLS; port, priority and weight are the record's") {
    CHECK(decided(said({{10, 5, 465, "b.example.net"}, {0, 7, 466, "a.example.net"}}),
                  said({{0, 0, 587, "a.example.net"}})) ==
          "a.example.net:466/tls 0 0 7, b.example.net:465/tls 0 10 5, a.example.net:587 1 0 0");
    CHECK(decided(none, said({{0, 0, 587, "a.example.net"}})) == "a.example.net:587 1 0 0");
    CHECK(decided(said({{0, 0, 465, "a.example.net"}}), none) == "a.example.net:465/tls 0 0 0");
    CHECK(decided(said({{0, 1, 465, "a.example.net"}, {9, 1, 465, "a.example.net"}}), none) ==
          "a.example.net:465/tls 0 0 1"); // once is enough
}

TEST_CASE("not offered, nowhere to be found, not to be found out") {
    CHECK(decided(refused, refused) == "5.4.4 permanent");
    CHECK(decided(none, none) == "5.4.4 permanent");
    CHECK(decided(refused, none) == "5.4.4 permanent");
    CHECK(decided(refused, said({{0, 0, 587, "a.example.net"}})) == "a.example.net:587 1 0 0");
    CHECK(decided(fails, none) == "4.4.3 temporary");
    CHECK(decided(none, fails) == "4.4.3 temporary");
    CHECK(decided(fails, said({{0, 0, 587, "a.example.net"}})) == "a.example.net:587 1 0 0");
    CHECK(decided(said({{0, 0, 0, "a.example.net"}}), none) == "5.4.4 permanent"); // no port
}

TEST_CASE("this system is no place to submit its own mail") {
    CHECK(decided(said({{0, 0, 465, "me.example"}}), none) == "5.4.6 permanent");
    CHECK(decided(said({{0, 0, 465, "me.example"}}), said({{0, 0, 587, "a.example.net"}})) ==
          "a.example.net:587 1 0 0");
}

TEST_CASE("its link tells the hosts apart by port and by TLS") {
    CHECK(decide_srv("example.net", said({{0, 0, 465, "a"}, {5, 0, 465, "b"}}), said({{0, 0, 587, "a"}}), [](auto&) {
              return false;
          }).link == "a:465/tls;b:465/tls;a:587");
}
