// The client's half of SASL without SCRAM (which has real hashing in tests/common/auth): the examples of the
// RFCs, and servers that ask for what there is not.
#include "libsmtp/auth/sasl_client.h"
#include "libsmtp/text/base64.h"
#include <doctest/doctest.h>

using namespace smtp;
using namespace std::string_literals;

namespace {

SaslClient client(SaslMechanism mechanism, std::string user, std::string secret) {
    return {mechanism, std::move(user), Secret(std::move(secret)), "server.example.com", 143};
}

} // namespace

TEST_CASE("what is said first") {
    struct Row {
        SaslMechanism mechanism;
        std::string user, secret, first;
    };
    const Row rows[] = {
        {SaslMechanism::plain, "tim", "tanstaaftanstaaf", "\0tim\0tanstaaftanstaaf"s}, // RFC 4616, 4
        {SaslMechanism::plain, "tim", "", "\0tim\0"s},
        {SaslMechanism::plain, "j\xc3\xb6rg", "p\xc3\xa4ss", "\0j\xc3\xb6rg\0p\xc3\xa4ss"s},
        {SaslMechanism::oauthbearer, "user@example.com",
         "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==", // RFC 7628, 4.1
         "n,a=user@example.com,\001host=server.example.com\001port=143\001"
         "auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\001\001"s},
        {SaslMechanism::oauthbearer, "a=b,c", "t",
         "n,a=a=3Db=2Cc,\001host=server.example.com\001port=143\001auth=Bearer t\001\001"s},
        {SaslMechanism::xoauth2, "someuser@example.com", "ya29.vF9dft4qmTc2Nvb3RlckBhdHRhdmlzdGEuY29tCg",
         "user=someuser@example.com\001auth=Bearer ya29.vF9dft4qmTc2Nvb3RlckBhdHRhdmlzdGEuY29tCg\001\001"s},
    };
    for (const auto& row : rows) {
        auto sasl = client(row.mechanism, row.user, row.secret);
        const auto first = sasl.initial();
        REQUIRE(first);
        CHECK(first->reveal() == row.first);
    }
    CHECK(!client(SaslMechanism::login, "u", "p").initial());
}

TEST_CASE("LOGIN: user, password, nothing more, however it asks") {
    for (const auto& prompt : {"Username:"s, ""s, "User Name\0"s, std::string(4000, 'x')}) {
        auto sasl = client(SaslMechanism::login, "ann", "secret");
        CHECK(sasl.respond(prompt)->reveal() == "ann");
        CHECK(sasl.respond(prompt)->reveal() == "secret");
        for (int i = 0; i < 3; ++i)
            CHECK(sasl.respond(prompt).error().why == "unexpected challenge after user and password");
    }
}

TEST_CASE("a challenge where there is nothing to say") {
    auto plain = client(SaslMechanism::plain, "u", "secret");
    plain.initial();
    CHECK(plain.respond("").error().why == "unexpected challenge at the end");
    CHECK(plain.respond("more").error().why == "unexpected challenge at the end");
}

TEST_CASE("an error is taken note of (RFC 7628, 3.2.3), once") {
    constexpr std::string_view error = R"({"status":"invalid_token","scope":"example_scope"})";
    for (const auto mechanism : {SaslMechanism::oauthbearer, SaslMechanism::xoauth2}) {
        auto sasl = client(mechanism, "u", "token");
        sasl.initial();
        CHECK(sasl.server_error().empty());
        CHECK(sasl.respond(error)->reveal() == (mechanism == SaslMechanism::oauthbearer ? "\1" : ""));
        CHECK(sasl.server_error() == error);
        CHECK(!sasl.respond(error));
        CHECK(!sasl.respond(""));
    }
    auto odd = client(SaslMechanism::xoauth2, "u", "token");
    odd.initial();
    CHECK(odd.respond("\r\n\0"s + std::string(1000, 'y')));
    CHECK(odd.server_error().size() == 200);
    CHECK(odd.server_error().starts_with("???yyy"));
}

TEST_CASE("who repeats the password is noticed") {
    for (const auto mechanism :
         {SaslMechanism::plain, SaslMechanism::login, SaslMechanism::xoauth2, SaslMechanism::oauthbearer}) {
        auto sasl = client(mechanism, "ann", "tanstaaf");
        CHECK(sasl.is_revealed_by("no such password: tanstaaf!"));
        CHECK(sasl.is_revealed_by("what is " + encode_base64("tanstaaf") + "?"));
        CHECK(!sasl.is_revealed_by("535 5.7.8 ann is not known"));
        if (const auto first = sasl.initial()) CHECK(sasl.is_revealed_by("AUTH X " + encode_base64(first->reveal())));
    }
    CHECK(!client(SaslMechanism::plain, "ann", "535").is_revealed_by("535 5.7.8 no"));
}

TEST_CASE("names of mechanisms") {
    for (int i = 0; i <= static_cast<int>(SaslMechanism::last_); ++i) {
        const auto mechanism = static_cast<SaslMechanism>(i);
        CHECK(sasl_mechanism_named(name_of(mechanism)) == mechanism);
        CHECK(sasl_mechanism_named(lowered(name_of(mechanism))) == mechanism);
    }
    for (const auto* odd : {"", "CRAM-MD5", "PLAI", "PLAIN ", "SCRAM-SHA-1"}) CHECK(!sasl_mechanism_named(odd));
}
