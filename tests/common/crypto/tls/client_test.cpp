// Our client's half against our server's, over two strings.
#include "daemons/common/crypto/tls/session.h"
#include "tests/common/crypto/tls/authority.h"
#include <doctest/doctest.h>

using namespace tls;
using namespace tls::testing;

namespace {

const proto::secrets::Certificate& certificate() {
    static const auto made = make_certificate("mx", "DNS:mx.example,IP:192.0.2.1,DNS:*.wild.example");
    return made;
}

std::shared_ptr<const Context> server_context(const ServerOptions& options = {}) {
    proto::secrets::Server secrets;
    secrets.certificates = {certificate()};
    secrets.ticket_keys = {ticket_key('a')};
    auto made = Context::server(secrets, options);
    REQUIRE(made);
    return *made;
}

std::shared_ptr<const Context> client_context(ClientOptions options = {}) {
    auto made = Context::client(options);
    REQUIRE(made);
    return *made;
}

struct Talk {
    Talk(std::shared_ptr<const Context> ours, const std::string& host, SSL_SESSION* from = nullptr,
         const ServerOptions& options = {})
        : client(Session::connect(std::move(ours), {host}, from)), server(Session::accept(server_context(options))) {
        REQUIRE(client);
        for (int turn = 0; turn < 4; ++turn) {
            if (!client_up) client_up = client->handshake() == Session::Progress::done;
            pass(*client, *server, server_up, heard_by_server);
            pass(*server, *client, client_up, heard_by_client);
        }
    }
    static void pass(Session& from, Session& to, bool& up, std::string& heard) {
        const auto sealed = from.output();
        to.feed(sealed);
        if (!up) up = to.handshake() == Session::Progress::done;
        char space[1000];
        std::size_t taken = 0;
        while (up && to.read(space, taken) == Session::Progress::done) heard.append(space, taken);
    }
    std::unique_ptr<Session> client, server;
    bool client_up = false, server_up = false;
    std::string heard_by_server, heard_by_client;
};

} // namespace

TEST_CASE("what is said at one end is heard at the other") {
    Talk talk(client_context(), "mx.example");
    REQUIRE(talk.client_up);
    REQUIRE(talk.server_up);
    CHECK(talk.server->info().server_name == "mx.example");
    talk.client->write("EHLO client\r\n");
    Talk::pass(*talk.client, *talk.server, talk.server_up, talk.heard_by_server);
    talk.server->write("250 mx\r\n");
    Talk::pass(*talk.server, *talk.client, talk.client_up, talk.heard_by_client);
    CHECK(talk.heard_by_server == "EHLO client\r\n");
    CHECK(talk.heard_by_client == "250 mx\r\n");
}

TEST_CASE("a certificate is trusted if somebody we trust says it is that host's; else it is said why not") {
    ClientOptions trusting;
    trusting.authorities = certificate().chain;
    const auto verdict = [](const ClientOptions& options, const std::string& host) {
        Talk talk(client_context(options), host);
        REQUIRE(talk.client_up); // whatever it is worth
        const auto judgement = talk.client->verdict();
        return judgement.proof == CertificateVerdict::Proof::authority ? "trusted" : judgement.problem;
    };
    CHECK(verdict(trusting, "mx.example") == "trusted");
    CHECK(verdict(trusting, "MX.example") == "trusted");
    CHECK(verdict(trusting, "a.wild.example") == "trusted");
    CHECK(verdict(trusting, "192.0.2.1") == "trusted");
    CHECK(verdict(trusting, "192.0.2.2") == "IP address mismatch");
    CHECK(verdict(trusting, "other.example") == "hostname mismatch");
    CHECK(verdict(trusting, "a.b.wild.example") == "hostname mismatch");
    CHECK(verdict({}, "mx.example") == "self-signed certificate");
}

TEST_CASE("a session goes on where the last one ended, with the judgement it had") {
    ClientOptions trusting;
    trusting.authorities = certificate().chain;
    for (bool trusted : {true, false}) {
        Talk first(client_context(trusted ? trusting : ClientOptions{}), "mx.example");
        CHECK(!first.client->info().resumed);
        auto kept = first.client->resumable_session();
        REQUIRE(kept);
        first.client->close(); // else OpenSSL takes it for spoilt
        Talk second(client_context(trusted ? trusting : ClientOptions{}), "mx.example", kept.get());
        REQUIRE(second.client_up);
        CHECK(second.client->info().resumed);
        CHECK((second.client->info().peer == ConnectionInfo::Peer::trusted) == trusted);
    }
}

TEST_CASE("a server that requests our certificate gets it, and one that does not is not shown any") {
    using Own = ConnectionInfo::OwnCertificate;
    using Peer = ConnectionInfo::Peer;
    const auto ours = make_certificate("client", "DNS:client.example");
    ClientOptions with;
    with.certificates = {ours};
    const auto talk = [](const ClientOptions& client, ClientCertificates wanted) {
        Talk out(client_context(client), "mx.example", nullptr, {.client_certificates = wanted});
        REQUIRE(out.server_up);
        return std::pair(out.client->info().own, out.server->info().peer);
    };
    CHECK(talk(with, ClientCertificates::ask) == std::pair(Own::shown, Peer::untrusted));
    CHECK(talk({}, ClientCertificates::ask) == std::pair(Own::missing, Peer::anonymous));
    CHECK(talk(with, ClientCertificates::no) == std::pair(Own::not_requested, Peer::anonymous));
    CHECK(client_context(with)->certificates_shown() == client_context(with)->certificates_shown());
    CHECK(client_context({})->certificates_shown() == "");
    ClientOptions other;
    other.certificates = {make_certificate("client", "DNS:client.example")};
    CHECK(client_context(with)->certificates_shown() != client_context(other)->certificates_shown());
}

TEST_CASE("a server knows what the certificate that it was shown says of itself") {
    const auto authority = make_certificate("ca", "");
    ClientOptions with;
    with.certificates = {make_certificate("client", "DNS:client.example", &authority, -60)};
    Talk talk(client_context(with), "mx.example", nullptr, {.client_certificates = ClientCertificates::ask});
    REQUIRE(talk.server_up);
    const auto shown = talk.server->info().certificate;
    REQUIRE(shown);
    CHECK((shown->subject == "client" && shown->issuer == "ca"));
    CHECK((shown->fingerprint.size() == 95 && shown->fingerprint[2] == ':' && shown->key_fingerprint.size() == 95));
    CHECK(shown->fingerprint != shown->key_fingerprint);
    CHECK(!shown->problem.empty());
    using namespace std::chrono_literals;
    CHECK(shown->why_not_valid(shown->expires - 1s) == "");
    CHECK(shown->why_not_valid(shown->expires + 1s).starts_with("it expired on 20"));
    CHECK(shown->why_not_valid(shown->begins - 1s).starts_with("it is not valid before 20"));
    CHECK(!talk.client->info().certificate); // the server's is judged, not recorded
}

TEST_CASE("authorities are shared by the clients of several routes") {
    ClientOptions trusting;
    trusting.authorities = certificate().chain;
    const auto first = client_context(trusting);
    ClientOptions own;
    own.certificates = {make_certificate("client", "DNS:client.example")};
    own.same_authorities = first.get();
    Talk talk(client_context(own), "mx.example");
    CHECK(talk.client->verdict().proof == CertificateVerdict::Proof::authority);
}

TEST_CASE("certificates that are shown together have keys of different kinds") {
    const auto one = make_certificate("one", "DNS:one.example"), two = make_certificate("two", "DNS:two.example");
    CHECK(check_together({one}));
    CHECK(check_together({one, two}).error().what == "one.pem and two.pem have keys of the same kind "
                                                     "(id-ecPublicKey): expected one certificate for each kind of key");
}

TEST_CASE("versions, ciphers and authorities that cannot be used are refused at the beginning") {
    CHECK(!Context::client({Version::tls_1_2, "NO-SUCH-CIPHER", ""}));
    CHECK(!Context::client({Version::tls_1_2, "", "no certificate"}));
    Talk talk(client_context({Version::tls_1_3, "", ""}), "mx.example");
    CHECK(talk.client->info().version == "TLSv1.3");
}
