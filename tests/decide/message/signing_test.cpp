// Which domain signs: exact names before those below, From before the sender, and only what came as it should.
#include "daemons/decide/message/signing.h"
#include <doctest/doctest.h>

using namespace decide;

namespace {

std::vector<SigningRule> rules() {
    SigningRule example{.domain = "example.com", .keys = {{"s1", "/k1"}}, .domains = {"example.net", ".example.com"}};
    SigningRule news{.domain = "news.example.com", .keys = {{"s2", "/k2"}}, .sign = MailOrigin::reports};
    SigningRule deep{.domain = "deep.example", .keys = {{"s3", "/k3"}}, .domains = {".b.example.com"}};
    return {example, news, deep};
}

std::string signer(std::string_view from, std::string_view sender, MailOrigin came = MailOrigin::local) {
    const auto all = rules();
    const auto* rule = signing_rule(all, from, sender, came);
    return rule ? rule->domain : "none";
}

} // namespace

TEST_CASE("the From field's domain decides, then the sender's") {
    CHECK(signer("example.com", "") == "example.com");
    CHECK(signer("example.net", "") == "example.com");
    CHECK(signer("a.example.com", "") == "example.com");
    CHECK(signer("x.a.example.com", "") == "example.com");
    CHECK(signer("x.b.example.com", "") == "deep.example");
    CHECK(signer("b.example.com", "") == "example.com");
    CHECK(signer("a.example.net", "") == "none");
    CHECK(signer("notexample.com", "") == "none");
    CHECK(signer("other.example", "example.com") == "example.com");
    CHECK(signer("", "example.com") == "example.com");
    CHECK(signer("", "") == "none");
    CHECK(signer("com", "") == "none");
}

TEST_CASE("only what came as the rule says is signed") {
    for (const auto came : {MailOrigin::local, MailOrigin::submission, MailOrigin::authenticated, MailOrigin::networks,
                            MailOrigin::reports})
        CHECK(signer("example.com", "", came) == "example.com");
    CHECK(signer("example.com", "", MailOrigin::other) == "none");
    CHECK(signer("example.com", "", MailOrigin{}) == "none");
    CHECK(signer("example.com", "", MailOrigin::other | MailOrigin::authenticated) == "example.com");
    // A rule of its own that does not sign is an answer: the sender's does not step in.
    CHECK(signer("news.example.com", "example.com", MailOrigin::local) == "none");
    CHECK(signer("news.example.com", "", MailOrigin::reports) == "news.example.com");
}
