#include "daemons/decide/tls/mta_sts.h"
#include <doctest/doctest.h>

using namespace decide::sts;

namespace {

std::string problem(std::string_view text) {
    const auto policy = parse_policy(text);
    return policy ? "" : policy.error();
}

} // namespace

TEST_CASE("the record in the DNS") {
    const struct {
        std::string_view text, id; // "": none
    } cases[] = {
        {"v=STSv1; id=20160831085700Z;", "20160831085700Z"},
        {"v=STSv1; id=20160831085700Z", "20160831085700Z"},
        {"v=STSv1;id=1", "1"},
        {"v=STSv1 ; \t id=1 ; ", "1"},
        {"v=STSv1; more=x,y:z; id=1", "1"},
        {"v=STSv1; id=abcdefghijklmnopqrstuvwxyzABCDEF;", "abcdefghijklmnopqrstuvwxyzABCDEF"},
        {"v=STSv1; id=abcdefghijklmnopqrstuvwxyzABCDEFG;", ""}, // 33
        {"v=STSv1; id=;", ""},
        {"v=STSv1; id=1_2;", ""},
        {"v=STSv1; id=1; id=2;", ""},
        {"v=STSv1; id=1;;", ""},
        {"v=STSv1; id=1; x", ""},
        {"v=STSv1; id=1; x=", ""},
        {"v=STSv1; id=1; x=a=b", ""},
        {"v=STSv1; id=1; x=a b", ""},
        {"v=STSv1; id=1; -x=a", ""},
        {"v=STSv1;", ""},
        {"v=STSv1", ""},
        {"v=STSv1 id=1", ""},
        {"v=stsv1; id=1;", ""},
        {" v=STSv1; id=1;", ""},
        {"v=STSv2; id=1;", ""},
        {"id=1; v=STSv1;", ""},
        {"", ""},
    };
    for (const auto& each : cases) {
        CAPTURE(each.text);
        CHECK(parse_record(each.text).value_or("") == each.id);
    }
    CHECK(find_record(std::vector<std::string>{"v=spf1 -all", "v=STSv1; id=7;"}) == "7");
    CHECK(!find_record(std::vector<std::string>{"v=STSv1; id=7;", "v=STSv1; id=8;"}));
    CHECK(!find_record(std::vector<std::string>{"v=STSv1; id=7;", "v=STSv1; broken"}));
    CHECK(find_record(std::vector<std::string>{"v=STSv10; id=8;", "v=STSv1; id=7;"}) == "7");
    CHECK(!find_record({}));
}

TEST_CASE("the policy, as the RFC shows it") {
    const auto policy = parse_policy("version: STSv1\r\nmode: enforce\r\nmx: mail.example.com\r\nmx: *.example.net\r\n"
                                     "mx: backupmx.example.com\r\nmax_age: 604800\r\n");
    REQUIRE(policy);
    CHECK(*policy == Policy{Mode::enforce, 604800, {"mail.example.com", "*.example.net", "backupmx.example.com"}});
}

TEST_CASE("policies") {
    const std::string rest = "mode: testing\nmax_age: 60\nmx: mx.example\n";
    const Policy usual{Mode::testing, 60, {"mx.example"}};
    const struct {
        std::string text;
        Policy policy;
    } good[] = {
        {"version: STSv1\n" + rest, usual},
        {"version:STSv1\nmax_age:\t60 \nmx:MX.Example\nmode:testing", usual},
        {rest + "version: STSv1\n\n\r\n", usual},
        {"version: STSv1\nfuture: \xc3\xa4 b, c\n" + rest, usual},
        {"version: STSv1\n" + rest + "mode: enforce\nmax_age: 5\n", usual}, // the first counts
        {"version: STSv1\nmode: none\nmax_age: 0", {Mode::none, 0, {}}},
        {"version: STSv1\nmode: none\nmax_age: 9999999999", {Mode::none, longest_age, {}}},
        {"version: STSv1\nmode: none\nmax_age: 31557600", {Mode::none, 31'557'600, {}}},
    };
    for (const auto& each : good) {
        CAPTURE(each.text);
        const auto policy = parse_policy(each.text);
        REQUIRE(policy);
        CHECK(*policy == each.policy);
    }
    const std::string version = "version: STSv1\n";
    const std::string bad[] = {
        "",
        rest,
        "version: STSv2\n" + rest,
        "Version: STSv1\n" + rest,
        version + "max_age: 60\nmx: mx.example\n",
        version + "mode: Enforce\nmax_age: 60\nmx: mx.example\n",
        version + "mode: enforce\nmx: mx.example\n",
        version + "mode: enforce\nmax_age: 60\n",
        version + "mode: enforce\nmax_age: \nmx: mx.example\n",
        version + "mode: enforce\nmax_age: -1\nmx: mx.example\n",
        version + "mode: enforce\nmax_age: 60s\nmx: mx.example\n",
        version + "mode: enforce\nmax_age: 10000000000\nmx: mx.example\n",
        version + rest + "mx: *\n",
        version + rest + "mx: *.\n",
        version + rest + "mx: *.*.example\n",
        version + rest + "mx: mx.*.example\n",
        version + rest + "mx: m*.example\n",
        version + rest + "mx: .example\n",
        version + rest + "mx: mx..example\n",
        version + rest + "mx: mx.example.\n",
        version + rest + "mx: -mx.example\n",
        version + rest + "mx: mx-.example\n",
        version + rest + "mx: [192.0.2.1]\n",
        version + rest + "mx:\n",
        version + rest + "mx: m\xc3\xa4x.example\n",
        version + "\n" + rest, // an empty line in the middle
        version + rest + "no colon\n",
        version + rest + " key: value\n",
        version + rest + "key:\n",
        version + rest + "key: a\rb\n",
        version + rest + "key: \xff\n",
        version + rest + std::string(33, 'k') + ": v\n",
        "<html><body>Not found</body></html>",
    };
    for (const auto& each : bad) {
        CAPTURE(each);
        CHECK(problem(each) != "");
    }
}

TEST_CASE("policies are bounded") {
    std::string many = "version: STSv1\nmode: enforce\nmax_age: 60\n";
    for (std::size_t n = 0; n < most_patterns; ++n) many += "mx: mx" + std::to_string(n) + ".example\n";
    CHECK(problem(many) == "");
    CHECK(problem(many + "mx: one.more.example\n") != "");
    CHECK(problem("version: STSv1\nmode: none\nmax_age: 1\nx: " + std::string(largest_policy, 'x')) ==
          "it is too large");
}

TEST_CASE("hosts a policy admits") {
    const std::vector<std::string> patterns = {"mx.example.com", "*.example.net"};
    for (const auto* host : {"mx.example.com", "a.example.net", "mx-1.example.net"}) CHECK(admits(patterns, host));
    for (const auto* host : {"example.com", "a.mx.example.com", "mx.example.co", "example.net", "a.b.example.net",
                             ".example.net", "aexample.net", "", "192.0.2.1"})
        CHECK_FALSE(admits(patterns, host));
    CHECK_FALSE(admits({}, "mx.example.com"));
}
