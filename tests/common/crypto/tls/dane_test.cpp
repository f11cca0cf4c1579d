// What a server's certificate proves by TLSA records (RFC 7672, 3).
#include "daemons/common/crypto/tls/session.h"
#include "tests/common/crypto/tls/authority.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <openssl/evp.h>

using namespace tls;
using namespace tls::testing;
using decide::TlsaRecord;
using decide::TlsResult;
using Secret = proto::secrets::Certificate;

namespace {

std::string digest(const std::string& bytes, const EVP_MD* how) {
    std::string out(static_cast<std::size_t>(EVP_MD_get_size(how)), '\0');
    EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), nullptr, how, nullptr);
    return out;
}

TlsaRecord record_of(const Secret& secret, std::uint8_t usage, std::uint8_t selector, std::uint8_t matching) {
    auto* certificate = first_of(secret);
    unsigned char* bytes = nullptr;
    const int size =
        selector == 0 ? i2d_X509(certificate, &bytes) : i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &bytes);
    std::string whole(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
    X509_free(certificate);
    if (matching > 0) whole = digest(whole, matching == 1 ? EVP_sha256() : EVP_sha512());
    return {usage, selector, matching, whole};
}

// The server has the certificate; the client trusts no authority.
CertificateVerdict judged(const Secret& certificate, ServerIdentity identity) {
    proto::secrets::Server secrets;
    secrets.certificates = {certificate};
    auto server_side = Context::server(secrets, {});
    auto client_side = Context::client({});
    REQUIRE(server_side);
    REQUIRE(client_side);
    auto server = Session::accept(*server_side);
    auto client = Session::connect(*client_side, std::move(identity), nullptr);
    REQUIRE(client);
    bool up = false;
    for (int turn = 0; turn < 4 && !up; ++turn) {
        up = client->handshake() == Session::Progress::done;
        const auto there = client->output();
        server->feed(there);
        static_cast<void>(server->handshake());
        const auto back = server->output();
        client->feed(back);
        up = up || client->handshake() == Session::Progress::done;
    }
    REQUIRE(up);
    return client->verdict();
}

const Secret& host() {
    static const auto made = make_certificate("mx", "DNS:mx.example");
    return made;
}

} // namespace

TEST_CASE("a record of usage 3 names the certificate, or its key, by digest or whole") {
    for (const std::uint8_t selector : {0, 1})
        for (const std::uint8_t matching : {0, 1, 2}) {
            const auto record = record_of(host(), 3, selector, matching);
            CAPTURE(record.to_string().substr(0, 20));
            CHECK(is_well_formed(record));
            const auto judgement = judged(host(), {"mx.example", {record}});
            CHECK(judgement.proof == CertificateVerdict::Proof::records);
            CHECK(judgement.of_host);
            CHECK(judgement.result == TlsResult::success);
        }
}

TEST_CASE("where it does, names and dates in the certificate do not matter") {
    const auto stale = make_certificate("old", "DNS:somebody.else.example", nullptr, -3600);
    const auto record = record_of(stale, 3, 1, 1);
    CHECK(judged(stale, {"mx.example", {record}}).proof == CertificateVerdict::Proof::records);
    CHECK(judged(stale, {"mx.example"}).proof == CertificateVerdict::Proof::none);
}

TEST_CASE("one of several records is enough; another's is worth nothing, and is told") {
    const auto other = make_certificate("mx", "DNS:mx.example");
    const auto right = record_of(host(), 3, 1, 1), wrong = record_of(other, 3, 1, 1);
    CHECK(judged(host(), {"mx.example", {wrong, right}}).proof == CertificateVerdict::Proof::records);
    const auto judgement = judged(host(), {"mx.example", {wrong}});
    CHECK(judgement.proof == CertificateVerdict::Proof::none);
    CHECK(judgement.problem == "no matching DANE TLSA records");
    CHECK(judgement.certificate == right.to_string());
    CHECK(judgement.result == TlsResult::certificate_not_trusted);
}

TEST_CASE("a record of usage 2 names who issued it: then the name and the dates count") {
    const auto issuer = make_certificate("issuer", "");
    const auto record = record_of(issuer, 2, 0, 1);
    const auto issued = [&](const std::string& names, long ends = 3600) {
        return make_certificate("server", names, &issuer, ends);
    };
    const ServerIdentity identity{"mx.example", {record}, {"next-hop.example"}};
    const auto of_host = judged(issued("DNS:mx.example"), identity);
    CHECK(of_host.proof == CertificateVerdict::Proof::records);
    CHECK(of_host.of_host);
    const auto of_domain = judged(issued("DNS:next-hop.example"), identity);
    CHECK(of_domain.proof == CertificateVerdict::Proof::records);
    CHECK_FALSE(of_domain.of_host);
    const auto elsewhere = judged(issued("DNS:other.example"), identity);
    CHECK(elsewhere.proof == CertificateVerdict::Proof::none);
    CHECK(elsewhere.result == TlsResult::certificate_host_mismatch);
    const auto stale = judged(issued("DNS:mx.example", -3600), identity);
    CHECK(stale.proof == CertificateVerdict::Proof::none);
    CHECK(stale.result == TlsResult::certificate_expired);
    CHECK(judged(host(), identity).proof == CertificateVerdict::Proof::none); // somebody else issued it
}

TEST_CASE("what an authority says does not matter where records do") {
    ClientOptions trusting;
    trusting.authorities = host().chain;
    const auto wrong = record_of(make_certificate("mx", "DNS:mx.example"), 3, 1, 1);
    proto::secrets::Server secrets;
    secrets.certificates = {host()};
    auto server = Session::accept(*Context::server(secrets, {}));
    auto client = Session::connect(*Context::client(trusting), {"mx.example", {wrong}}, nullptr);
    static_cast<void>(client->handshake());
    const auto there = client->output();
    server->feed(there);
    static_cast<void>(server->handshake());
    const auto back = server->output();
    client->feed(back);
    REQUIRE(client->handshake() == Session::Progress::done);
    CHECK(client->verdict().proof == CertificateVerdict::Proof::none);
}

TEST_CASE("a whole certificate or key in a record must be one") {
    CHECK_FALSE(is_well_formed({3, 0, 0, "no certificate"}));
    CHECK_FALSE(is_well_formed({3, 1, 0, "no key"}));
    auto longer = record_of(host(), 3, 0, 0);
    longer.data += "x";
    CHECK_FALSE(is_well_formed(longer));
    CHECK(is_well_formed({3, 1, 1, "digests are not looked at"}));
}
