// The server's half against OpenSSL's own client, over two strings.
#include "daemons/common/crypto/tls/session.h"
#include "tests/common/crypto/tls/authority.h"
#include <doctest/doctest.h>

using namespace tls;
using namespace tls::testing;

namespace {

struct Client {
    explicit Client(const std::string& name = "", int most = TLS1_3_VERSION, SSL_SESSION* resume = nullptr)
        : context(SSL_CTX_new(TLS_client_method())) {
        SSL_CTX_set_max_proto_version(context.get(), most);
        SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
        SSL_CTX_set_security_level(context.get(), 0);
        ssl.reset(SSL_new(context.get()));
        in = BIO_new(BIO_s_mem());
        out = BIO_new(BIO_s_mem());
        SSL_set_bio(ssl.get(), in, out);
        if (!name.empty()) SSL_set_tlsext_host_name(ssl.get(), name.c_str());
        if (resume) SSL_set_session(ssl.get(), resume);
        SSL_set_connect_state(ssl.get());
    }
    ~Client() { SSL_set_shutdown(ssl.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); } // a good ticket stays one
    std::string sealed() {
        std::string text(static_cast<std::size_t>(BIO_pending(out)), '\0');
        if (!text.empty()) BIO_read(out, text.data(), static_cast<int>(text.size()));
        return text;
    }
    SslContext context;
    std::unique_ptr<SSL, Deleter<SSL_free>> ssl;
    BIO *in, *out;
};

// Bytes go over `length` at a time.
struct Talk {
    Talk(std::shared_ptr<const Context> context, Client& client, std::size_t length = 100000)
        : server(Session::accept(std::move(context))), client(client), length(length) {
        for (int turn = 0; turn < 5; ++turn) {
            SSL_do_handshake(client.ssl.get());
            to_server();
            to_client();
        }
        char byte;
        SSL_read(client.ssl.get(), &byte, 1); // takes the tickets
    }
    void to_client() {
        const auto bytes = server->output();
        BIO_write(client.in, bytes.data(), static_cast<int>(bytes.size()));
    }
    void to_server() {
        const auto bytes = client.sealed();
        for (std::size_t at = 0; at < bytes.size(); at += length) {
            server->feed(std::string_view(bytes).substr(at, length));
            if (!up) {
                progress = server->handshake();
                up = progress == Session::Progress::done;
            }
            while (up) {
                char space[100];
                std::size_t taken = 0;
                progress = server->read(space, taken);
                if (progress != Session::Progress::done) break;
                heard.append(space, taken);
            }
        }
    }
    std::string server_certificate() {
        auto* name = X509_get_subject_name(SSL_get0_peer_certificate(client.ssl.get()));
        char text[100] = "";
        X509_NAME_get_text_by_NID(name, NID_commonName, text, sizeof text);
        return text;
    }
    std::unique_ptr<Session> server;
    Client& client;
    std::size_t length;
    bool up = false;
    Session::Progress progress = Session::Progress::wants_more;
    std::string heard;
};

proto::secrets::Server secrets() {
    static const auto made = [] {
        proto::secrets::Server s;
        s.certificates = {make_certificate("first", "DNS:first.example"),
                          make_certificate("second", "DNS:second.example,DNS:*.wild.example")};
        s.ticket_keys = {ticket_key('a')};
        return s;
    }();
    return made;
}

std::shared_ptr<const Context> context_of(const proto::secrets::Server& secrets, ServerOptions options = {}) {
    auto made = Context::server(secrets, options);
    REQUIRE(made);
    return *made;
}

} // namespace

TEST_CASE("plain bytes come through whole, byte by byte and in sevens") {
    for (std::size_t length : {std::size_t{100000}, std::size_t{1}, std::size_t{7}}) {
        Client client;
        Talk talk(context_of(secrets()), client, length);
        REQUIRE(talk.up);
        const auto facts = talk.server->info();
        CHECK(facts.version == "TLSv1.3");
        CHECK(facts.text() == "TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits)");
        CHECK(facts.peer == ConnectionInfo::Peer::anonymous);
        const std::string long_text(50000, 'x');
        SSL_write(client.ssl.get(), long_text.data(), static_cast<int>(long_text.size()));
        talk.to_server();
        CHECK(talk.heard == long_text);
        talk.server->write("hello");
        talk.to_client();
        char got[10];
        CHECK(SSL_read(client.ssl.get(), got, sizeof got) == 5);
        SSL_shutdown(client.ssl.get());
        talk.to_server();
        CHECK(talk.progress == Session::Progress::closed);
    }
}

TEST_CASE("the certificate follows the name asked for") {
    struct Row {
        std::string asked, certificate;
    };
    for (const auto& [asked, certificate] :
         {Row{"", "first"}, Row{"first.example", "first"}, Row{"second.example", "second"},
          Row{"x.wild.example", "second"}, Row{"x.y.wild.example", "first"}, Row{"other.example", "first"}}) {
        INFO(asked);
        Client client(asked);
        Talk talk(context_of(secrets()), client);
        REQUIRE(talk.up);
        CHECK(talk.server_certificate() == certificate);
        CHECK(talk.server->info().server_name == asked);
    }
}

TEST_CASE("versions below the minimum are refused") {
    Client old("", TLS1_1_VERSION), common("", TLS1_2_VERSION);
    CHECK(!Talk(context_of(secrets()), old).up);
    CHECK(Talk(context_of(secrets()), common).up);
    Client again("", TLS1_2_VERSION);
    Talk strict(context_of(secrets(), {.minimum = Version::tls_1_3}), again);
    CHECK(!strict.up);
    CHECK(strict.progress == Session::Progress::failed);
    CHECK(!strict.server->error().empty());
}

TEST_CASE("what is no TLS fails with a reason") {
    auto server = Session::accept(context_of(secrets()));
    server->feed("EHLO client.example\r\n");
    CHECK(server->handshake() == Session::Progress::failed);
    CHECK(!server->error().empty());
}

TEST_CASE("a ticket opens where the key is known and the purpose is the same") {
    for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        Client first("", version);
        Talk begin(context_of(secrets(), {.purpose = "relay"}), first);
        REQUIRE(begin.up);
        CHECK(!begin.server->info().resumed);
        auto* ticket = SSL_get1_session(first.ssl.get());
        const auto resumed = [&](const proto::secrets::Server& with, const std::string& purpose) {
            Client again("", version, ticket);
            Talk talk(context_of(with, {.purpose = purpose}), again);
            REQUIRE(talk.up);
            return talk.server->info().resumed;
        };
        CHECK(resumed(secrets(), "relay")); // another worker's Context
        auto turned = secrets();
        turned.ticket_keys = {ticket_key('b'), ticket_key('a')};
        CHECK(resumed(turned, "relay"));
        turned.ticket_keys = {ticket_key('c'), ticket_key('b')};
        CHECK(!resumed(turned, "relay"));
        CHECK(!resumed(secrets(), "submission"));
        SSL_SESSION_free(ticket);
    }
}

TEST_CASE("a ticket opens only while the same authorities decide about the client's certificate") {
    for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        auto trusting = secrets();
        trusting.client_authorities = trusting.certificates.front().chain;
        const ServerOptions asks{.purpose = "relay", .client_certificates = ClientCertificates::ask};
        Client first("", version);
        Talk begin(context_of(trusting, asks), first);
        REQUIRE(begin.up);
        auto* ticket = SSL_get1_session(first.ssl.get());
        const auto resumed = [&](const proto::secrets::Server& with, const ServerOptions& options) {
            Client again("", version, ticket);
            Talk talk(context_of(with, options), again);
            REQUIRE(talk.up);
            return talk.server->info().resumed;
        };
        CHECK(resumed(trusting, asks));
        CHECK(!resumed(secrets(), asks)); // the authority has been removed
        CHECK(!resumed(trusting, {.purpose = "relay"}));
        SSL_SESSION_free(ticket);
    }
}

TEST_CASE("both ends of the channel see the same binding") {
    Client client;
    Talk talk(context_of(secrets()), client);
    unsigned char bytes[32];
    constexpr std::string_view label = "EXPORTER-Channel-Binding";
    REQUIRE(SSL_export_keying_material(client.ssl.get(), bytes, sizeof bytes, label.data(), label.size(), nullptr, 0,
                                       1) == 1);
    CHECK(talk.server->channel_binding("tls-exporter") ==
          std::string(reinterpret_cast<const char*>(bytes), sizeof bytes));
    CHECK(talk.server->channel_binding("tls-server-end-point").size() == 32);
    CHECK(talk.server->channel_binding("tls-unique").empty());
}

TEST_CASE("unusable certificates are refused by name") {
    auto odd = secrets().certificates.front();
    odd.key = secrets().certificates.back().key;
    CHECK(check(odd, odd.file).error().what.find("first.pem") != std::string::npos);
    odd = secrets().certificates.front();
    odd.chain = "nothing";
    CHECK(!check(odd, odd.file));
    odd = secrets().certificates.front();
    CHECK(check(odd, odd.file));
    CHECK(!Context::server({}, {}));
}

TEST_CASE("a client's certificate is asked for and judged") {
    const auto own = make_certificate("client one", "DNS:client.example");
    for (const bool vouched : {true, false}) {
        auto with = secrets();
        with.client_authorities = vouched ? own.chain : secrets().certificates.front().chain;
        Client client;
        BIO* chain = BIO_new_mem_buf(own.chain.data(), static_cast<int>(own.chain.size()));
        BIO* key = BIO_new_mem_buf(own.key.data(), static_cast<int>(own.key.size()));
        auto* certificate = PEM_read_bio_X509(chain, nullptr, nullptr, nullptr);
        auto* secret = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
        SSL_use_certificate(client.ssl.get(), certificate);
        SSL_use_PrivateKey(client.ssl.get(), secret);
        Talk talk(context_of(with, {.client_certificates = ClientCertificates::ask}), client);
        REQUIRE(talk.up);
        CHECK(talk.server->info().peer == (vouched ? ConnectionInfo::Peer::trusted : ConnectionInfo::Peer::untrusted));
        CHECK(talk.server->info().peer_name == (vouched ? "client one" : ""));
        X509_free(certificate), EVP_PKEY_free(secret), BIO_free(chain), BIO_free(key);
    }
}
