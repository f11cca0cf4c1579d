// Keys for DKIM: the example of RFC 8463 (appendix A), signed again to the bit by both kinds of key; what is no
// key; what is made and published.
#include "daemons/common/crypto/dkim/signing_key.h"
#include "libsmtp/text/base64.h"
#include <doctest/doctest.h>

namespace {

// RFC 8463, A.2: the RSA key as PEM, the Ed25519 one as PKCS#8 around its 32 bytes.
constexpr std::string_view rsa_pem = R"(-----BEGIN RSA PRIVATE KEY-----
MIICXQIBAAKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQi
Y/J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqM
KrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT+l/K4w3QIDAQAB
AoGAH0cxOhFZDgzXWhDhnAJDw5s4roOXN4OhjiXa8W7Y3rhX3FJqmJSPuC8N9vQm
6SVbaLAE4SG5mLMueHlh4KXffEpuLEiNp9Ss3O4YfLiQpbRqE7Tm5SxKjvvQoZZe
zHorimOaChRL2it47iuWxzxSiRMv4c+j70GiWdxXnxe4UoECQQDzJB/0U58W7RZy
6enGVj2kWF732CoWFZWzi1FicudrBFoy63QwcowpoCazKtvZGMNlPWnC7x/6o8Gc
uSe0ga2xAkEA8C7PipPm1/1fTRQvj1o/dDmZp243044ZNyxjg+/OPN0oWCbXIGxy
WvmZbXriOWoSALJTjExEgraHEgnXssuk7QJBALl5ICsYMu6hMxO73gnfNayNgPxd
WFV6Z7ULnKyV7HSVYF0hgYOHjeYe9gaMtiJYoo0zGN+L3AAtNP9huqkWlzECQE1a
licIeVlo1e+qJ6Mgqr0Q7Aa7falZ448ccbSFYEPD6oFxiOl9Y9se9iYHZKKfIcst
o7DUw1/hz2Ck4N5JrgUCQQCyKveNvjzkkd8HjYs0SwM0fPjK16//5qDZ2UiDGnOe
uEzxBDAr518Z8VFbR41in3W4Y3yCDgQlLlcETrS+zYcL
-----END RSA PRIVATE KEY-----
)";
constexpr std::string_view rsa_record =
    "v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWRiGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/"
    "J16JYi0Qvx/byYzCNb3W91y3FutACDfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3Ip3G+2kryOTIKT"
    "+l/K4w3QIDAQAB";

std::string ed25519_pem() {
    const std::string_view prefix("\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20", 16);
    const auto seed = smtp::decode_base64("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=");
    return "-----BEGIN PRIVATE KEY-----\n" + smtp::encode_base64(std::string(prefix) + *seed) +
           "\n-----END PRIVATE KEY-----\n";
}

// A.3, without the signatures.
constexpr std::string_view header = "From: Joe SixPack <joe@football.example.com>\r\n"
                                    "To: Suzie Q <suzie@shopping.example.net>\r\n"
                                    "Subject: Is dinner ready?\r\n"
                                    "Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)\r\n"
                                    "Message-ID: <20030712040037.46341.5F8J@football.example.com>\r\n";
constexpr std::string_view body = "Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n";
constexpr std::string_view by_ed25519 = "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;\r\n"
                                        " d=football.example.com; i=@football.example.com;\r\n"
                                        " q=dns/txt; s=brisbane; t=1528637909; h=from : to :\r\n"
                                        " subject : date : message-id : from : subject : date;\r\n"
                                        " bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n"
                                        " b=";
constexpr std::string_view by_rsa = "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;\r\n"
                                    " d=football.example.com; i=@football.example.com;\r\n"
                                    " q=dns/txt; s=test; t=1528637909; h=from : to : subject :\r\n"
                                    " date : message-id : from : subject : date;\r\n"
                                    " bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n"
                                    " b=";

std::string signed_data(std::string_view signature) {
    std::string data;
    for (const auto& field : smtp::scan_header(header).fields) data += smtp::dkim::relaxed_field(field);
    data += smtp::dkim::relaxed_field(smtp::scan_header(signature).fields.front());
    data.resize(data.size() - 2);
    return data;
}

} // namespace

TEST_CASE("the example of RFC 8463 comes out as it is printed there") {
    dkim::Sha256 hash;
    smtp::dkim::RelaxedBody canonical([&](std::string_view bytes) { hash.update(bytes); });
    canonical.feed(body);
    canonical.finish();
    CHECK(smtp::encode_base64(hash.finish()) == "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=");

    const auto ed25519 = dkim::SigningKey::read(ed25519_pem(), "a");
    REQUIRE(ed25519);
    CHECK(ed25519->algorithm() == smtp::dkim::Algorithm::ed25519_sha256);
    CHECK(ed25519->record() == "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
    CHECK(smtp::encode_base64(ed25519->sign(signed_data(by_ed25519)).value()) ==
          "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==");

    const auto rsa = dkim::SigningKey::read(rsa_pem, "b");
    REQUIRE(rsa);
    CHECK(rsa->algorithm() == smtp::dkim::Algorithm::rsa_sha256);
    CHECK(rsa->record() == rsa_record);
    CHECK(smtp::encode_base64(rsa->sign(signed_data(by_rsa)).value()) ==
          "F45dVWDfMbQDGHJFlXUNB2HKfbCeLRyhDXgFpEL8GwpsRe0IeIixNTe3DhCVlUrSjV4BwcVcOF6+FF3Zo9Rpo1tFOeS9mPYQTnGdaSGsgeef"
          "Osk2JzdA+L10TeYt9BgDfQNZtKdN1WO//KgIqXP7OdEFE4LjFYNcUxZQ4FADY+8=");
}

TEST_CASE("keys are made, written and read again") {
    for (const bool rsa : {false, true}) {
        const auto made = rsa ? dkim::SigningKey::make_rsa(2048) : dkim::SigningKey::make_ed25519();
        REQUIRE(made);
        const auto again = dkim::SigningKey::read(made->pem(), "it");
        REQUIRE(again);
        CHECK(again->record() == made->record());
        CHECK(again->algorithm() == made->algorithm());
        CHECK(again->sign("x").has_value());
    }
}

TEST_CASE("what is no key says so, with the file's name") {
    const auto why = [](std::string_view pem) {
        const auto read = dkim::SigningKey::read(pem, "/etc/key.pem");
        REQUIRE(!read);
        return read.error().what;
    };
    CHECK(why("").starts_with("/etc/key.pem: contains no readable private key"));
    CHECK(why("rubbish\n").starts_with("/etc/key.pem: contains no readable private key"));
    const auto weak = dkim::SigningKey::make_rsa(768);
    REQUIRE(weak);
    CHECK(why(weak->pem()).starts_with("/etc/key.pem: the RSA key has 768 bits"));
}
