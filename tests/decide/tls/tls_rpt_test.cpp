#include "daemons/decide/tls/tls_rpt.h"
#include <doctest/doctest.h>

using namespace decide::tls_rpt;

namespace {

std::string shown(const std::vector<std::string>& texts) {
    std::string out;
    for (const auto& to : find_destinations(texts))
        out += to.mailbox.empty() ? to.host + ":" + std::to_string(to.port) + to.target + " " : to.mailbox + " ";
    return out;
}

} // namespace

TEST_CASE("where a domain wants its TLS reports") {
    const struct {
        std::string_view text, wanted;
    } cases[] = {
        {"v=TLSRPTv1; rua=mailto:a@example.com", "a@example.com "},
        {"v=TLSRPTv1;rua=mailto:a@example.com;", "a@example.com "},
        {"v=TLSRPTv1; rua=mailto:a@example.com , https://Example.com/v1?x=y", "a@example.com example.com:443/v1?x=y "},
        {"v=TLSRPTv1; more=this; rua=https://example.com:8443", "example.com:8443/ "},
        {"v=TLSRPTv1; rua=HTTPS://example.com?q#part", "example.com:443/?q "},
        {"v=TLSRPTv1; rua=mailto:a%2Bb@example.com?subject=x", "a+b@example.com "},
        {"v=TLSRPTv1; rua=mailto:a@example.com!10m", ""},
        {"v=TLSRPTv1; rua=http://example.com/v1", ""},
        {"v=TLSRPTv1; rua=https://user@example.com/v1", ""},
        {"v=TLSRPTv1; rua=https://[::1]/v1", ""},
        {"v=TLSRPTv1; rua=https:///v1", ""},
        {"v=TLSRPTv1; rua=https://example.com:0/", ""},
        {"v=TLSRPTv1; rua=https://example.com:70000/", ""},
        {"v=TLSRPTv1; rua=https://example.com/a b", ""},
        {"v=TLSRPTv1; rua=mailto:a", ""},
        {"v=TLSRPTv1; rua=mailto:a%0Ab@example.com", ""},
        {"v=TLSRPTv1; rua=mailto:a%4@example.com", ""},
        {"v=TLSRPTv1; rua=", ""},
        {"v=TLSRPTv1;", ""},
        {"v=TLSRPTv1 rua=mailto:a@example.com", ""},
        {"v=TLSRPTv2; rua=mailto:a@example.com", ""},
        {"rua=mailto:a@example.com", ""},
        {"v=spf1 -all", ""},
    };
    for (const auto& each : cases) {
        CAPTURE(each.text);
        CHECK(shown({std::string(each.text)}) == each.wanted);
    }
    const std::string good = "v=TLSRPTv1; rua=mailto:a@example.com";
    CHECK(shown({"v=spf1 -all", good}) == "a@example.com ");
    CHECK(shown({good, good}) == "");
    std::string many = "v=TLSRPTv1; rua=https://example.com/0";
    for (int n = 1; n < 20; ++n) many += ",https://example.com/" + std::to_string(n);
    CHECK(find_destinations(std::vector{many}).size() == most_destinations);
}
