// Which domain signs: exact names before those below, From before the sender, and only what came as it should.
#include "daemons/decide/message/signing.h"
#include <doctest/doctest.h>

using namespace decide;

namespace {

std::vector<SigningRule> rules() {
    SigningRule example{.domain = "example.com", .keys = {{"s1", "/k1"}}, .domains = {"example.net", ".example.com"}};
    SigningRule news{.domain = "news.example.com", .keys = {{"s2", "/k2"}}, .sign = Came::reports};
    SigningRule deep{.domain = "deep.example", .keys = {{"s3", "/k3"}}, .domains = {".b.example.com"}};
    return {example, news, deep};
}

std::string signer(std::string_view from, std::string_view sender, Came came = Came::local) {
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
    for (const auto came : {Came::local, Came::submission, Came::authenticated, Came::networks, Came::reports})
        CHECK(signer("example.com", "", came) == "example.com");
    CHECK(signer("example.com", "", Came::other) == "none");
    CHECK(signer("example.com", "", Came{}) == "none");
    CHECK(signer("example.com", "", Came::other | Came::authenticated) == "example.com");
    // A rule of its own that does not sign is an answer: the sender's does not step in.
    CHECK(signer("news.example.com", "example.com", Came::local) == "none");
    CHECK(signer("news.example.com", "", Came::reports) == "news.example.com");
}
