#include "daemons/common/crypto/webhook/signing.h"
#include <doctest/doctest.h>
#include <string>

using webhook::Secrets;

namespace {

constexpr std::string_view first = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                           second = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

std::string why(std::string_view text) {
    const auto secrets = Secrets::parse(text);
    return secrets ? "" : secrets.error();
}

} // namespace

TEST_CASE("the signature of the published example") {
    const auto secrets = Secrets::parse(first);
    REQUIRE(secrets);
    CHECK(secrets->signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})") ==
          "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST_CASE("while a secret is replaced there are two signatures") {
    const auto one = Secrets::parse(first), other = Secrets::parse(second);
    const auto text = "# new\r\n" + std::string(second) + "\r\n\n# old\n  " + std::string(first) + "  \n";
    const auto both = Secrets::parse(text);
    REQUIRE(both);
    CHECK(both->signature("a.1", 7, "{}") == other->signature("a.1", 7, "{}") + " " + one->signature("a.1", 7, "{}"));
}

TEST_CASE("files without usable secrets are refused, without repeating them") {
    CHECK(why("") == "there is no secret in it");
    CHECK(why("# only this\n\n") == "there is no secret in it");
    CHECK(why("\nMfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n") == "line 2: expected a secret that begins with \"whsec_\"");
    CHECK(why("whsec_not Base64!") == "line 1: the secret is not valid Base64");
    CHECK(why("whsec_c2hvcnQ=") == "line 1: the secret has 5 bytes: expected 24 to 64");
    CHECK(why(std::string(first) + "\n" + std::string(second) + "\n" + std::string(first)) ==
          "line 3: more than 2 secrets");
}
