// Password file and SCRAM against the numbers of RFC 7677, and against a client of the test's own.
#include "daemons/common/crypto/auth/password_file.h"
#include "libsmtp/text/base64.h"
#include <doctest/doctest.h>

using namespace auth;
using smtp::ScramServer;

namespace {

constexpr std::string_view server_nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
constexpr std::string_view example_first = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
constexpr std::string_view example_final = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="
                                           "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";

smtp::ScramKeys example_keys() {
    return make_scram_keys("pencil", *smtp::decode_base64("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096);
}

ScramServer server(ScramServer::Plus plus = ScramServer::Plus::not_offered, ScramServer::Binding binding = {}) {
    return {scram_crypto, std::string(server_nonce), plus, std::move(binding)};
}

} // namespace

TEST_CASE("the example of RFC 7677") {
    auto scram = server();
    CHECK(scram.first(example_first) == "user");
    CHECK(scram.challenge(example_keys()) == "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                                             "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
    CHECK(scram.final(example_final) == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

TEST_CASE("whatever is changed in it is refused") {
    for (std::size_t at = 0; at < example_final.size(); ++at) {
        auto scram = server();
        REQUIRE(scram.first(example_first));
        scram.challenge(example_keys());
        std::string odd(example_final);
        odd[at] = odd[at] == 'x' ? 'y' : 'x';
        CHECK_MESSAGE(!scram.final(odd), odd);
        auto short_one = server();
        REQUIRE(short_one.first(example_first));
        short_one.challenge(example_keys());
        CHECK(!short_one.final(example_final.substr(0, at)));
    }
    auto other = server();
    REQUIRE(other.first(example_first));
    other.challenge(make_scram_keys("pen", *smtp::decode_base64("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096));
    CHECK(other.final(example_final).error().why == "wrong password");
}

TEST_CASE("first messages") {
    using Plus = ScramServer::Plus;
    struct Row {
        std::string message;
        Plus plus;
        std::string user; // "": refused
    };
    const auto binding = [](std::string_view type) { return std::string(type == "tls-exporter" ? "bound" : ""); };
    for (const auto& row :
         {Row{"n,,n=a=2Cb=3Dc,r=x", Plus::not_offered, "a,b=c"}, Row{"y,,n=a,r=x", Plus::not_offered, "a"},
          Row{"y,,n=a,r=x", Plus::offered, ""}, Row{"n,,n=a,r=x", Plus::offered, "a"},
          Row{"p=tls-exporter,,n=a,r=x", Plus::chosen, "a"}, Row{"p=tls-unique,,n=a,r=x", Plus::chosen, ""},
          Row{"n,,n=a,r=x", Plus::chosen, ""}, Row{"p=tls-exporter,,n=a,r=x", Plus::offered, ""},
          Row{"n,a=a,n=a,r=x", Plus::not_offered, "a"}, Row{"n,a=b,n=a,r=x", Plus::not_offered, ""},
          Row{"n,,n=,r=x", Plus::not_offered, ""}, Row{"n,,n=a=1", Plus::not_offered, ""},
          Row{"n,,n=a,r=", Plus::not_offered, ""}, Row{"", Plus::not_offered, ""},
          Row{"n,,m=x,n=a,r=x", Plus::not_offered, ""}, Row{"x,,n=a,r=x", Plus::not_offered, ""},
          Row{"n,,n=a,r=" + std::string(300, 'x'), Plus::not_offered, ""}}) {
        INFO(row.message);
        const auto user = server(row.plus, binding).first(row.message);
        CHECK(user.value_or("") == row.user);
    }
}

TEST_CASE("the channel is part of the proof") {
    const auto client = [](const std::string& bound) {
        auto scram = server(ScramServer::Plus::chosen, [](std::string_view) { return std::string("channel one"); });
        REQUIRE(scram.first("p=tls-exporter,,n=user,r=abc"));
        const auto keys = example_keys();
        const auto challenge = scram.challenge(keys);
        const auto without =
            "c=" + smtp::encode_base64("p=tls-exporter,," + bound) + ",r=abc" + std::string(server_nonce);
        unsigned char proof[32];
        const auto said = "n=user,r=abc," + challenge + "," + without;
        // What the client computes from the password.
        const auto salted = [&] {
            std::string u = scram_crypto.hmac("pencil", keys.salt + std::string("\0\0\0\1", 4)), out = u;
            for (unsigned i = 1; i < keys.iterations; ++i) {
                u = scram_crypto.hmac("pencil", u);
                for (std::size_t j = 0; j < out.size(); ++j) out[j] = static_cast<char>(out[j] ^ u[j]);
            }
            return out;
        }();
        const auto key = scram_crypto.hmac(salted, "Client Key"), signature = scram_crypto.hmac(keys.stored_key, said);
        for (std::size_t i = 0; i < 32; ++i) proof[i] = static_cast<unsigned char>(key[i] ^ signature[i]);
        return scram.final(without + ",p=" + smtp::encode_base64({reinterpret_cast<char*>(proof), 32})).has_value();
    };
    CHECK(client("channel one"));
    CHECK(!client("channel two"));
}

TEST_CASE("a password file") {
    const auto keys = make_scram_keys("secret", "saltsaltsaltsalt", 1000);
    Entry both{make_hash("secret"), keys, {}}, hash{make_hash("secret"), {}, {}}, scram{"", keys, {"@b.example"}};
    REQUIRE(!both.hash.empty());
    const auto text = "\xEF\xBB\xBF# remark\n\nann:" + both.text() + "\r\nbob:" + hash.text() +
                      "\nstore@x.example:" + scram.text() + "\nlegacy:$6$abc$notahash\nnobody:\n";
    const auto file = PasswordFile::parse(text);
    REQUIRE(file);
    CHECK(file->users.size() == 5);
    for (auto user : {"ann", "bob", "store@x.example"}) {
        INFO(user);
        REQUIRE(file->find(user));
        CHECK(matches(*file->find(user), "secret"));
        CHECK(!matches(*file->find(user), "Secret"));
        CHECK(!matches(*file->find(user), ""));
        CHECK(!matches(*file->find(user), std::string_view("secret\0x", 8)));
    }
    CHECK(file->find("store@x.example")->addresses == std::vector<std::string>{"@b.example"});
    CHECK(!matches(*file->find("legacy"), "x"));
    CHECK(!matches(*file->find("nobody"), ""));
    CHECK(!file->find("ANN"));

    for (auto [odd, why] :
         {std::pair{"a b:x\n", "line 1"},
          {"ok:x\n:y\n", "line 2"},
          {"ok:x\n\uFEFF\u2028:y\n", "line 2"}, // cannot be prepared, and as first line would be another user's
          {"a:x\na:y", "line 2"},
          {"a::4096,x,y,z\n", "line 1"},
          {"a::0,,,\n", "line 1"},
          {"a:::x\r\r\n", "line 1"}}) {
        INFO(odd);
        const auto bad = PasswordFile::parse(odd);
        REQUIRE(!bad);
        CHECK(bad.error().why.starts_with(why));
    }
}
