#include "daemons/common/tokens/token_file.h"
#include <doctest/doctest.h>

using namespace tokens;

namespace {

Token token(std::string name, std::string_view secret) {
    Token made;
    made.name = std::move(name);
    made.hash = hash_of(secret);
    made.scopes.add(Scope::read);
    made.scopes.add(Scope::read_content);
    made.submitter = "token:" + made.name;
    made.sender_domains = {"shop.example"};
    made.networks = {*common::Network::parse("192.0.2.0/24")};
    made.created = smtp::WallTime(std::chrono::seconds(1'800'000'000));
    made.expires = made.created + std::chrono::hours(24);
    made.rate = 7;
    return made;
}

} // namespace

TEST_CASE("tokens are written and read, without their secrets") {
    const auto text = text_of({token("shop", "prt_a"), token("page", "prt_b")});
    CHECK(text.find("prt_") == text.npos);
    const auto read = parse(text);
    REQUIRE(read);
    REQUIRE(read->size() == 2);
    CHECK(text_of(*read) == text);
    CHECK((*read)[0].scopes.names() == std::vector<std::string_view>{"read", "read:content"});
    CHECK(find(*read, "prt_b") == &(*read)[1]);
    CHECK(find(*read, "prt_c") == nullptr);
    CHECK(find(*read, "") == nullptr);
}

TEST_CASE("a secret has 256 bits, and no two are the same") {
    const auto one = new_secret(), other = new_secret();
    CHECK(one.size() == 4 + 43);
    CHECK(one != other);
    CHECK(one.find_first_of("+/=") == one.npos);
}

TEST_CASE("a line that is wrong is named") {
    const auto good = text_of({token("shop", "prt_a")});
    for (const auto& bad :
         {std::string("{"), std::string("[]"), std::string("{\"name\":\"x\"}"), good,
          std::string("{\"name\":\"x y\",\"sha256\":\"") + std::string(64, 'a') + "\"}",
          std::string("{\"name\":\"x\",\"sha256\":\"") + std::string(63, 'a') + "\"}",
          std::string("{\"name\":\"x\",\"scopes\":[\"fly\"],\"sha256\":\"") + std::string(64, 'a') + "\"}"}) {
        const auto read = parse(good + bad);
        REQUIRE_FALSE(read);
        CHECK(read.error().starts_with("line 2: "));
    }
}
