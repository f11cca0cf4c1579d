// What `postrider check` says of a good configuration whose mail would wait or be refused.
#include "daemons/common/commands/sending_warnings.h"
#include "tests/common/config/reading.h"
#include <doctest/doctest.h>

using config::testing::good;

namespace {

// All of them, one to a line.
std::string said(std::string_view toml, std::string_view credentials = "") {
    auto accounts = auth::Credentials::parse(credentials);
    REQUIRE(accounts);
    std::string out;
    for (const auto& each : common::sending_warnings(good(toml), *accounts)) out += each + "\n";
    return out;
}

constexpr std::string_view relay = R"([route."*"]
next_hop = "[relay.example.net]:587"
)";

} // namespace

TEST_CASE("nothing is said of what will go well") {
    CHECK(said("") == "");
    CHECK(said(relay, "relay.example.net:587 me:secret") == "");
    CHECK(said(relay, "[Relay.Example.NET] me:secret") == "");
    CHECK(said("[smtp_client]\ntls = \"dane\"\n[dns]\nservers = [\"192.0.2.1\", \"127.0.0.1\"]") == "");
    CHECK(said("[smtp_client]\ntls = \"dane\"") == ""); // /etc/resolv.conf says which
    CHECK(said("[smtp_client]\ntls = \"sts\"\n[dns]\nservers = [\"192.0.2.1\"]") == "");
}

TEST_CASE("certificates that nobody vouches for") {
    CHECK(said("[smtp_client]\ntls = \"verify\"\ntls_ca_file = \"\"")
              .starts_with("smtp_client.tls is \"verify\", but smtp_client.tls_ca_file names no file"));
    CHECK(said("[smtp_client]\ntls_ca_file = \"\"\n[route.\"a.example\"]\nnext_hop = \"mx\"\ntls = \"verify\"")
              .starts_with("route.\"a.example\".tls is"));
    CHECK(said("[smtp_client]\ntls = \"encrypt\"\ntls_ca_file = \"\"") == "");
}

TEST_CASE("DANE where no name server is believed") {
    CHECK(said("[smtp_client]\ntls = \"dane\"\n[dns]\nservers = [\"192.0.2.1\"]") ==
          "smtp_client.tls requests DANE, but dns.servers lists no server on this host: TLSA records are not "
          "trusted\n");
    CHECK(
        said("[smtp_client]\ntls = \"dane-only\"\n[dns]\nservers = [\"192.0.2.1\"]").ends_with("and the mail waits\n"));
    CHECK(said("[smtp_client]\ntls = \"dane\"\n[dns]\ntrust_ad = false").find("dns.trust_ad is off") !=
          std::string::npos);
}

TEST_CASE("accounts and next hops that do not meet") {
    CHECK(said(relay, "relay.exmple.net:587 me:secret")
              .starts_with("smtp_client.credentials: the account me at relay.exmple.net:587 matches no next "
                           "hop"));
    CHECK(said(relay, "relay.example.net:25 me:secret")
              .starts_with("smtp_client.credentials: the account me at relay.example.net:25"));
    CHECK(said(relay, "relay.exmple.net:587 me:secret").find("secret") == std::string::npos);
    // Which hosts those are the DNS says.
    CHECK(said("[route.\"*\"]\nnext_hop = \"srv:example.net\"", "smtp.example.net me:secret") == "");
    CHECK(said("[route.\"*\"]\nnext_hop = \"mx\"\nfallback = [\"[relay.example.net]:25\"]",
               "relay.example.net me:secret") == "");
    // A table may name it.
    CHECK(said("[sender_relay]\ntables = [\"text:/etc/postrider/sender_relay\"]\n" + std::string(relay),
               "smtp.example.net me:secret") == "");
    const std::string as_ann = "[route.\"*\"]\nnext_hop = \"ann@[relay.example.net]:587\"\n";
    CHECK(said(as_ann, "relay.example.net ann:secret") == "");
    CHECK(said(as_ann, "relay.example.net:587 ben:secret\nrelay.example.net ann:secret")
              .starts_with("smtp_client.credentials: the account ben at"));
    CHECK(said(as_ann) ==
          "route.\"*\": smtp_client.credentials has no account for ann at [relay.example.net]:587: mail for it "
          "waits\n");
    const std::string auth = std::string(relay) + "auth = [\"PLAIN\"]";
    CHECK(said(auth) ==
          "route.\"*\".auth lists mechanisms, but smtp_client.credentials has no account at its next hop: "
          "mail is sent there without AUTH\n");
    CHECK(said(auth, "relay.example.net me:secret") == "");
    CHECK(said(std::string(relay) + "auth = \"no\"") == "");
}
