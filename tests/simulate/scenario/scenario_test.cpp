#include "daemons/simulate/scenario/scenario.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
namespace simulate = postrider::simulate;

namespace {

std::string problem(std::string_view text) {
    const auto read = simulate::parse(text, "s.toml");
    std::string all;
    if (!read)
        for (const auto& each : read.error()) all += (all.empty() ? "" : "\n") + each.to_string();
    return all;
}

constexpr std::string_view mail = "[traffic.t]\ndomains = [\"example.org\"]\n";

} // namespace

TEST_CASE("messages that are listed, one by one") {
    const auto read =
        simulate::parse("[traffic.\"a.example\"]\ndomains = [\"a.example\", \"b.example\"]\nprofile = \"listed\"\n"
                        "size = \"12KiB\"\narrivals = \"\"\"\n0:00 9:38:43x3\n 27:00:30\n\"\"\"\n",
                        "s.toml");
    REQUIRE_MESSAGE(read, (read ? "" : read.error().front().to_string()));
    const auto& traffic = read->traffic.at(0);
    CHECK(traffic.domains.size() == 2);
    CHECK(traffic.size == 12 * 1024);
    const auto nine = 9h + 38min + 43s;
    CHECK(traffic.arrivals == std::vector<smtp::Duration>{0s, nine, nine, nine, 27h + 30s});
    for (const char* wrong :
         {"9", "9:", "9:60", "9:38:60", "x3", "9:38x", "9:38x0", "9:38 9:37", "-1:00", "9:38:43:1", "9:38,9:39",
          "99999:00", "0:00x5000000 0:01", "0:00x99999999999", "18446744073709551616:00"}) {
        CAPTURE(wrong);
        CHECK(!simulate::parse_arrivals(wrong));
    }
    CHECK(simulate::parse_arrivals("").value().empty());
    const std::string listed = std::string(mail) + "profile = \"listed\"\n";
    CHECK(problem(listed).find("traffic.t.arrivals is missing: expected the times of arrival") != std::string::npos);
    CHECK(problem(listed + "arrivals = \"soon\"\n").find("\"soon\" is not a time") != std::string::npos);
    CHECK(
        problem(listed + "arrivals = \"0:01\"\nmessages = 7\n").find("traffic.t.messages is for profiles other than") !=
        std::string::npos);
    CHECK(problem(std::string(mail) + "arrivals = \"0:01\"\n")
              .find("traffic.t.arrivals is for profile = \"listed\" only") != std::string::npos);
}

TEST_CASE("a scenario is read, with the usual where nothing is said") {
    const auto read = simulate::parse(R"(
[world]
duration = "2d"
seed = 7
[traffic.news]
domains = ["Example.ORG", "example.net"]
messages = 60
until = "90m"
lane = "bulk"
[host."[192.0.2.1]:2525"]
transaction = "1s"
[host."mx.example.org"]
unknown = 0.5
[domain."example.net"]
mx = ["mx.example.org", "mx2.example.org"]
[fault.night]
hosts = ["mx.example.org", "[2001:db8::1]:25"]
how = "busy"
from = "1h"
lasts = "30m"
[fault.names]
domains = ["example.net"]
how = "no_dns"
)",
                                      "s.toml");
    REQUIRE(read);
    CHECK(read->duration == 48h);
    CHECK(read->interval == 2h); // some 24 of them
    CHECK(read->traffic.at(0).domains == std::vector<std::string>{"example.org", "example.net"});
    CHECK(read->traffic[0].until == 90min);
    CHECK(read->traffic[0].lane == decide::queue::Lane::bulk);
    CHECK(read->host("192.0.2.1", 2525).transaction == 1s);
    CHECK(read->host("192.0.2.1", 25).transaction == 200ms); // another one
    CHECK(read->host("mx.example.org", 25).unknown == 0.5);
    CHECK(read->domain("example.net")->mx.size() == 2);
    CHECK(read->domain("example.com") == nullptr);
    REQUIRE(read->faults.size() == 2);
    const auto& night = read->faults[read->faults[0].name == "night" ? 0 : 1];
    CHECK(night.until() == 90min);
    CHECK(night.hosts.at(1).covers("2001:db8::1", 25));
    CHECK(!night.hosts[1].covers("2001:db8::1", 26));
    CHECK(night.kind == simulate::FaultKind::replies);
    CHECK(night.at == smtp::Stage::banner);
    CHECK(night.reply.code == 421);
}

TEST_CASE("what is wrong is named with its place and what was probably meant") {
    CHECK(problem("[traffic.t]\ndomain = [\"a.example\"]\n").starts_with("s.toml:1:"));
    CHECK(simulate::parse("[traffic.t]\ndomain = [\"a.example\"]\n", "s.toml").error().at(1).to_string() ==
          "s.toml:2:1: unknown key traffic.t.domain: did you mean domains?");
    CHECK(problem("[wrld]\nseed = 1\n[traffic.t]\ndomains=\"a.example\"\n") ==
          "s.toml:1:2: unknown section wrld: did you mean [world]?");
    CHECK(problem(std::string(mail) + "messages = 0\n") ==
          "s.toml:3:12: traffic.t.messages: 0 is out of range: expected 1 to 100000000");
    CHECK(problem(std::string(mail) + "[fault.x]\nhosts = \"a b\"\n").find("is not a host") != std::string::npos);
    CHECK(problem(std::string(mail) + "[fault.x]\nhosts = \"a.example:0\"\n").find("is not a host") !=
          std::string::npos);
    CHECK(problem(std::string(mail) + "[fault.x]\nhow = \"dies\"\nhosts = \"a.example\"\n")
              .find("is not a valid value") != std::string::npos);
    CHECK(problem(std::string(mail) + "[trouble.x]\n") == "s.toml:3:2: [trouble] is now called [fault]");
    CHECK(problem(std::string(mail) + "[fault.x]\n").find("expected what is affected") != std::string::npos);
    CHECK(problem(std::string(mail) + "[fault.x]\nhow = \"no_dns\"\ndomains = \"a.example\"\nhosts = \"b.example\"\n")
              .find("no_dns") != std::string::npos);
    CHECK(problem(std::string(mail) + "from = \"2h\"\nuntil = \"1h\"\n").find("later than from") != std::string::npos);
    CHECK(problem(std::string(mail) + "messages = 100000000\n").find("more than can be simulated") !=
          std::string::npos);
    CHECK(problem("[traffic.t]\ndomains = []\n").find("is empty") != std::string::npos);
    CHECK(problem("").find("a scenario needs mail") != std::string::npos);
    CHECK(problem("[world]\nduration = \"1h\"\ninterval = \"2h\"\n" + std::string(mail)).find("longer than duration") !=
          std::string::npos);
    CHECK(problem("[world\n").starts_with("s.toml:1:"));
}

TEST_CASE("a file that is not there is a problem of its own") {
    CHECK(simulate::load("/nonexistent/scenario.toml").error().at(0).to_string() ==
          "/nonexistent/scenario.toml: No such file or directory");
}
