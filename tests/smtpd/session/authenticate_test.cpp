// AUTH and STARTTLS as a worker's clients meet them.
#include "daemons/common/config/config.h"
#include "libsmtp/text/base64.h"
#include "tests/common/crypto/tls/authority.h"
#include "tests/smtpd/worker.h"

using namespace smtpd::testing;

TEST_CASE("a refusal of AUTH that comes at once, and QUIT behind it: one end") {
    Worker worker({}, config::Service::submission,
                  [](config::Listener& listener) { listener.auth = listener.auth_without_tls = true; });
    std::vector<std::string> said;
    worker.with([&] {
        Client client(worker.port), other(worker.port);
        client.reply();
        said.push_back(client.say("EHLO c"));
        client.send("AUTH PLAIN !\r\nQUIT\r\n");
        for (int i = 0; i < 3; ++i) said.push_back(client.reply());
        said.push_back(other.reply());
    });
    CHECK(said[0].find("AUTH ") != std::string::npos);
    CHECK(said[1] == "501 5.5.2 Error: malformed authentication response");
    CHECK(said[2].starts_with("221"));
    CHECK(said[3] == "");
    CHECK(said[4].starts_with("220"));
}

TEST_CASE("who authenticated before STARTTLS is nobody after it") {
    auth::Entry entry;
    entry.hash = auth::make_hash("secret");
    proto::secrets::Server secrets;
    secrets.passwords = "ann:" + entry.text() + "\n";
    secrets.certificates = {tls::testing::make_certificate("mx.test", "DNS:mx.test")};
    Worker worker([](config::Config& config) { config.auth.mechanisms = {"SCRAM-SHA-256", "PLAIN"}; },
                  config::Service::submission,
                  [](config::Listener& listener) {
                      listener.auth = listener.auth_without_tls = true;
                      listener.tls = config::ListenerTls::offer;
                      listener.submitters.clear();
                  },
                  std::make_shared<const proto::secrets::Message>(std::move(secrets)));
    std::vector<std::string> said;
    worker.with([&] {
        Client client(worker.port);
        client.reply();
        client.say("EHLO c");
        said.push_back(client.say("AUTH PLAIN " + smtp::encode_base64(std::string("\0ann\0secret", 11))));
        said.push_back(client.say("STARTTLS"));
        const tls::SslContext context(SSL_CTX_new(TLS_client_method()));
        const std::unique_ptr<SSL, tls::Deleter<SSL_free>> ssl(SSL_new(context.get()));
        SSL_set_fd(ssl.get(), client.number());
        if (SSL_connect(ssl.get()) != 1) return;
        for (const std::string line : {"EHLO c\r\n", "MAIL FROM:<ann@here.example>\r\n",
                                       "AUTH SCRAM-SHA-256 eSwsbj1hbm4scj14\r\n"}) { // y,,n=ann,r=x
            SSL_write(ssl.get(), line.data(), static_cast<int>(line.size()));
            char space[1000];
            const int n = SSL_read(ssl.get(), space, sizeof space);
            said.emplace_back(space, static_cast<std::size_t>(std::max(n, 0)));
        }
    });
    REQUIRE(said.size() == 5);
    CHECK(said[0].starts_with("235"));
    CHECK(said[1].starts_with("220"));
    CHECK(said[2].starts_with("250"));
    CHECK(said[3] == "530 5.7.0 Authentication required\r\n");
    CHECK(said[4].starts_with("334 ")); // binding was not offered: who could bind may say so
}
