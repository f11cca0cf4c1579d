#include "daemons/router/sts_store.h"
#include "daemons/router/tls_report.h"
#include "daemons/router/tls_totals.h"
#include <doctest/doctest.h>
#include <zlib.h>

using namespace router;
using decide::TlsOutcome;
using decide::TlsPolicyType;
using decide::TlsResult;

namespace {

TlsOutcome outcome(std::string domain, TlsResult result, std::string reason = "") {
    TlsOutcome out;
    out.domain = std::move(domain);
    out.host = "mx.example.com";
    out.helo = "relay7.example.com";
    out.result = result;
    out.reason = std::move(reason);
    return out;
}

} // namespace

TEST_CASE("sessions are counted by domain, policy and kind of failure; and survive the disk") {
    TlsTotals totals;
    auto sts = outcome("example.com", TlsResult::certificate_expired, "old");
    sts.policy = TlsPolicyType::sts;
    totals.count(outcome("example.com", TlsResult::success), 3, {}, {});
    totals.count(outcome("example.com", TlsResult::starttls_not_supported), 1, {}, {});
    totals.count(sts, 2, {"version: STSv1"}, {"mx.example.com"});
    totals.count(sts, 2, {"version: STSv1"}, {"mx.example.com"});
    totals.count(outcome("example.net", TlsResult::success), 1, {}, {});
    const auto again = TlsTotals::decode(totals.encode());
    REQUIRE(again);
    for (const auto& each : {totals, *again}) {
        REQUIRE(each.domains.size() == 2);
        const auto& policies = each.domains.at("example.com");
        REQUIRE(policies.size() == 2);
        CHECK(policies[0].good == 3);
        CHECK(policies[0].bad == 1);
        CHECK(policies[1].bad == 4);
        CHECK(policies[1].text == std::vector<std::string>{"version: STSv1"});
        REQUIRE(policies[1].failures.size() == 1);
        CHECK(policies[1].failures[0].sessions == 4);
        CHECK(policies[1].failures[0].reason == "old");
        CHECK(policies[1].failures[0].helo == "relay7.example.com");
    }
    CHECK(again->encode() == totals.encode());
    const auto before = TlsTotals::decode(R"({"a":[[0,[],[],1,1,[[1,"s","h","a","r",1]]]]})"); // an older version's
    REQUIRE(before);
    CHECK(before->domains.at("a").at(0).failures.at(0).helo.empty());
    for (const auto* bad : {"", "{", "[]", "{\"a\":1}", "{\"a\":[1]}", "{\"a\":[[9,[],[],1,1,[]]]}",
                            "{\"a\":[[0,[1],[],1,1,[]]]}", "{\"a\":[[0,[],[],-1,1,[]]]}",
                            "{\"a\":[[0,[],[],1,1,[[1]]]]}", "{\"a\":[[0,[],[],1,1,[[99,\"\",\"\",\"\",\"\",1]]]]}"})
        CHECK_FALSE(TlsTotals::decode(bad));
}

TEST_CASE("totals are bounded, whatever is counted") {
    TlsTotals totals;
    for (std::size_t n = 0; n < 2 * TlsTotals::max_failures; ++n)
        totals.count(outcome("example.com", TlsResult::validation_failure, std::to_string(n)), 1, {}, {});
    for (std::size_t n = 0; n < 2 * TlsTotals::max_policies; ++n)
        totals.count(outcome("example.com", TlsResult::success), 1, {std::to_string(n)}, {});
    for (std::size_t n = 0; n < TlsTotals::max_domains + 10; ++n)
        totals.count(outcome(std::to_string(n) + ".example", TlsResult::success), 1, {}, {});
    const auto& policies = totals.domains.at("example.com");
    CHECK(policies.size() == TlsTotals::max_policies);
    CHECK(policies[0].bad == 2 * TlsTotals::max_failures);
    CHECK(policies[0].failures.size() == TlsTotals::max_failures);
    CHECK(totals.domains.size() == TlsTotals::max_domains);
}

TEST_CASE("a report's file name and gzip") {
    const TlsReportSubject of{"Ltd",           "a@x.example", "b@x.example",
                              "mta.x.example", "example.com", std::chrono::sys_days(std::chrono::year(2026) / 11 / 21)};
    CHECK(of.file_name() == "mta.x.example!example.com!1795219200!1795305599.json.gz");
    CHECK(of.id() == "2026-11-21.example.com@mta.x.example");
    const auto packed = gzip("hello");
    CHECK(packed.starts_with("\x1f\x8b"));
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
    std::string out(100, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
    CHECK(out.substr(0, stream.total_out) == "hello");
    inflateEnd(&stream);
}

TEST_CASE("a policy on the disk is whole or none") {
    StsPolicy policy{{decide::sts::Mode::enforce, 60, {"mx.example", "*.example.net"}}, "7", {}, {}};
    policy.fetched = policy.used = smtp::WallTime(std::chrono::seconds(1'800'000'000));
    const auto text = encode(policy);
    const auto again = decode_sts_policy(text);
    REQUIRE(again);
    CHECK(*again == policy);
    for (std::size_t n = 0; n + 2 < text.size(); ++n) CHECK_FALSE(decode_sts_policy(text.substr(0, n)));
}
