// A connection and TLS: how much of it mail requires, what follows without, what is remembered and reported.
#include "tests/common/crypto/tls/authority.h"
#include "tests/smtp-client/session/world.h"

using namespace smtp_client;
using namespace smtp_client::testing;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<const tls::Context> server_context(const proto::secrets::Certificate& certificate) {
    proto::secrets::Server secrets;
    secrets.certificates = {certificate};
    secrets.ticket_keys = {tls::testing::ticket_key('a')};
    auto made = tls::Context::server(secrets, {});
    REQUIRE(made);
    return *made;
}

std::shared_ptr<const tls::Context> client_context(const std::string& authorities = "") {
    tls::ClientOptions options;
    options.authorities = authorities;
    auto made = tls::Context::client(options);
    REQUIRE(made);
    return *made;
}

void requires_tls(World& world, const std::string& domain, decide::TlsLevel level) {
    decide::RouteRule rule;
    rule.pattern = domain;
    rule.tls = level;
    world.context().tls_routes.emplace(std::vector{rule});
}

const std::string starttls = "S: 220 mx.test\nC: EHLO client.test\nS: 250-mx.test\nS: 250 STARTTLS\n"
                             "C: STARTTLS\nS: 220 Go\ntls\nC: EHLO client.test\nS: 250 mx.test\n";
const std::string no_tls = "S: 220 mx.test\nC: EHLO client.test\nS: 250 mx.test\nC: QUIT\nclose";

} // namespace

TEST_CASE("TLS that is required for a domain is required under all its names") {
    Server server({no_tls});
    World world;
    world.context().tls = client_context();
    requires_tls(world, "xn--bcher-kva.example", decide::TlsLevel::encrypt);
    world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(world.write("x\r\n", {"b@B\u00dcCHER.example"}));
    CHECK(world.run().find("TLS is required, but was not offered by host") != std::string::npos);
    CHECK(server.problems() == "");
}

TEST_CASE("recipients of several domains, rerouted to one next hop: TLS as the strictest requires it") {
    Server server({no_tls});
    World world;
    world.context().tls = client_context();
    requires_tls(world, "strict.example", decide::TlsLevel::encrypt);
    world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(world.write("x\r\n", {"b@lax.example", "c@strict.example"}), {0, 1});
    CHECK(world.run().find("TLS is required, but was not offered by host") != std::string::npos);
    CHECK(server.problems() == "");
}

TEST_CASE("a UNIX socket needs no TLS; the next host of the link, over the network, does") {
    const SilentSocket silent;
    Server server({no_tls});
    World world;
    world.context().tls = client_context();
    world.context().settings.greeting_timeout = 100ms; // of the socket, which never greets
    world.context().settings.tls = decide::TlsLevel::encrypt;
    proto::route::Host store{silent.path, 24, 0}, network{"127.0.0.1", server.port, 10};
    world.connect({store, network});
    world.deliver(world.write("x\r\n"));
    const auto told = world.run();
    CHECK(world.log_text().find(silent.timed_out()) != std::string::npos);
    CHECK(told.find("TLS is required, but was not offered by host") != std::string::npos);
    CHECK(server.problems() == "");
}

TEST_CASE("TLS is required: the next host serves when the first ends the conversation") {
    const auto context = server_context(tls::testing::make_certificate("mx", "DNS:mx.test"));
    Server first({starttls + "C: MAIL FROM:<a@x>\nS: 421 4.3.2 Going down\nclose"}, context);
    Server second({starttls + "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n"
                              "C: <message>\nS: 250 2.0.0 Ok\nC: QUIT\nclose"},
                  context);
    World world;
    world.context().tls = client_context();
    world.context().settings.tls = decide::TlsLevel::encrypt;
    auto& connection = world.connect({{"127.0.0.1", first.port, 10}, {"127.0.0.1", second.port, 20}});
    world.deliver(world.write("x\r\n"));
    connection.close();
    CHECK(world.run() == "connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(first.problems() == "");
    CHECK(second.problems() == "");
}

TEST_CASE("a TLS session whose certificate was refused is not come back to, one that served is") {
    // (Under TLS 1.2 what one may come back with is there before the certificate is judged.)
    const auto certificate = tls::testing::make_certificate("mx", "IP:127.0.0.1");
    const auto served = starttls + "C: QUIT\nclose";
    const auto context = server_context(certificate);
    SSL_CTX_set_max_proto_version(context->first(), TLS1_2_VERSION);
    for (const bool trusted : {false, true}) {
        CAPTURE(trusted);
        Server server({trusted ? served : starttls, served}, context);
        World world;
        auto& context = world.context();
        context.settings.tls = decide::TlsLevel::verify;
        tls::ClientOptions options;
        if (trusted) options.authorities = certificate.chain;
        for (int n = 0; n < 2; ++n) {
            auto made = tls::Context::client(options);
            REQUIRE(made);
            if (n == 0 || !trusted) context.tls = *made;
            auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
            world.on_connected = [&] { connection.close(); };
            world.run();
            options.authorities = certificate.chain;
        }
        static_cast<void>(server.problems());
        CHECK(server.resumed == (trusted ? 1 : 0));
        CAPTURE(world.told);
        CHECK(world.told.ends_with("connected\nclosed\n"));
    }
}

TEST_CASE("what came of every try to have TLS is told, for reports") {
    const auto context = server_context(tls::testing::make_certificate("mx", "DNS:mx.test"));
    using decide::TlsResult;
    struct {
        decide::TlsLevel level;
        std::string script;
        TlsResult result;
    } const table[] = {
        {decide::TlsLevel::may, starttls + "C: QUIT\nclose", TlsResult::success},
        {decide::TlsLevel::may, no_tls, TlsResult::starttls_not_supported},
        {decide::TlsLevel::encrypt, no_tls, TlsResult::starttls_not_supported},
        {decide::TlsLevel::encrypt,
         "S: 220 mx.test\nC: EHLO client.test\nS: 250-mx.test\nS: 250 STARTTLS\n"
         "C: STARTTLS\nS: 220 Go\nclose",
         TlsResult::validation_failure},
        {decide::TlsLevel::verify, starttls, TlsResult::certificate_not_trusted},
    };
    for (const auto& row : table) {
        Server server({row.script}, context);
        World world;
        world.context().tls = client_context();
        world.context().settings.tls = row.level;
        std::vector<decide::TlsOutcome> outcomes;
        world.context().tls_outcome = [&](const decide::TlsOutcome& outcome) { outcomes.push_back(outcome); };
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
        world.deliver(world.write("x\r\n"));
        connection.close();
        world.run();
        static_cast<void>(server.problems());
        REQUIRE(outcomes.size() == 1);
        CHECK(outcomes[0].result == row.result);
        CHECK(outcomes[0].domain == "y");
        CHECK(outcomes[0].host == "127.0.0.1");
        CHECK(outcomes[0].policy == decide::TlsPolicyType::none);
        CHECK(outcomes[0].reason.empty() == (row.result == TlsResult::success || row.level == decide::TlsLevel::may));
    }
}

namespace {
struct Onlooker final : SessionObserver {
    void looked_up(const std::string&, dns::Type, const dns::Answer&) override {}
    void connected(const std::string&, const std::string&) override {}
    void unreachable(const Candidate&, const smtp::Verdict&) override {}
    void published(const std::string&, const Published&) override {}
    void authenticating(const std::string&) override {}
    void sent(const std::string&, const smtp::client_event::CommandSent&) override {}
    void received(const std::string&, const smtp::client_event::ReplyReceived&) override {}
    void handshake_done(const std::string&, const tls::ConnectionInfo&, const tls::CertificateVerdict&,
                        std::string_view, decide::TlsLevel) override {}
    void failed(const std::string&, const smtp::Verdict& why) override { failure = why.text; }
    void probed(const std::string&, const smtp::TransactionResult&) override {}
    std::string failure;
};
} // namespace

TEST_CASE("what an operator tries is no session that reports count") {
    Server server({no_tls});
    World world;
    Onlooker onlooker;
    world.context().tls = client_context();
    world.context().settings.tls = decide::TlsLevel::encrypt;
    int outcomes = 0;
    world.context().tls_outcome = [&](const decide::TlsOutcome&) { ++outcomes; };
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, {}, &onlooker);
    smtp::Transaction probe;
    probe.probe = true;
    probe.recipients = {{"b@y", {}}};
    connection.probe(probe, false, {});
    connection.close();
    world.run();
    CHECK(onlooker.failure.find("TLS is required, but was not offered by host") != std::string::npos);
    CHECK(outcomes == 0);
}

namespace {

// What a host says that is spoken to under TLS, and takes a message that requires TLS all the way.
std::string takes_on(std::string_view offer, std::string_view then) {
    return "S: 220 mx.test\nC: EHLO client.test\nS: 250-mx.test\nS: 250 STARTTLS\nC: STARTTLS\nS: 220 Go\ntls\n"
           "C: EHLO client.test\nS: 250-mx.test\nS: 250 " +
           std::string(offer) + "\n" + std::string(then);
}
const std::string served = "C: MAIL FROM:<a@x> REQUIRETLS\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n"
                           "C: <message>\nS: 250 2.0.0 Ok\nC: QUIT\nclose";

// A host whose certificate proves its name to us.
struct Trusted {
    proto::secrets::Certificate certificate = tls::testing::make_certificate("mx", "IP:127.0.0.1");
    std::shared_ptr<const tls::Context> server = server_context(certificate),
                                        client = client_context(certificate.chain);
};

} // namespace

TEST_CASE(
    "mail that requires TLS all the way goes to the host that promises it, though it is the second (RFC 8689, 4.2.1)") {
    const Trusted trusted;
    Server first({takes_on("8BITMIME", "C: QUIT\nclose")}, trusted.server);
    Server second({takes_on("REQUIRETLS", served)}, trusted.server);
    World world;
    world.require_tls = world.secure = true;
    world.context().tls = trusted.client;
    auto& connection = world.connect({{"127.0.0.1", first.port, 10}, {"127.0.0.1", second.port, 20}}, {.mx = true});
    world.deliver(world.write("x\r\n"));
    connection.close();
    CHECK(world.run() == "connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(first.problems() == "");
    CHECK(second.problems() == "");
}

TEST_CASE("mail that requires TLS all the way goes to no host that nobody vouches for") {
    const Trusted trusted;
    Server server({takes_on("REQUIRETLS", "C: QUIT\nclose")}, trusted.server);
    World world;
    world.require_tls = true;
    world.context().tls = trusted.client;
    auto& connection = world.connect({{"127.0.0.1", server.port, 10}}, {.mx = true});
    world.deliver(world.write("x\r\n"));
    connection.close();
    const auto told = world.run();
    CHECK(told.find("done 1 0=2:message requires TLS on the whole path (REQUIRETLS), and host 127.0.0.1") != told.npos);
    CHECK(told.find(" is secured neither by DNSSEC nor by an MTA-STS policy") != told.npos);
    CHECK(told.ends_with("closed\n"));
    CHECK(server.problems() == "");
}

TEST_CASE("the policy of the domain vouches for its hosts, too") {
    const Trusted trusted;
    Server server({takes_on("REQUIRETLS", served)}, trusted.server);
    World world;
    world.require_tls = true;
    world.sts = {"y", decide::sts::Mode::testing, "1", 86400, {"127.0.0.1"}};
    world.context().tls = trusted.client;
    auto& connection = world.connect({{"127.0.0.1", server.port, 10}}, {.mx = true});
    world.deliver(world.write("x\r\n"));
    connection.close();
    CHECK(world.run() == "connected\ndone 1 0=0:250 2.0.0 Ok\nclosed\n");
    CHECK(server.problems() == "");
}

TEST_CASE(
    "mail that requires what no reachable host promises waits while another cannot be reached, and fails no link") {
    const Trusted trusted;
    Server server({takes_on("8BITMIME", "C: QUIT\nclose")}, trusted.server);
    World world;
    world.require_tls = world.secure = true;
    world.context().tls = trusted.client;
    world.connect({{"127.0.0.1", closed_port(), 10}, {"127.0.0.1", server.port, 20}}, {.mx = true});
    world.deliver(world.write("x\r\n"));
    const auto told = world.run();
    CHECK(told.find("done 1 0=1:message requires TLS on the whole path (REQUIRETLS), and host 127.0.0.1[127.0.0.1] "
                    "does not offer REQUIRETLS; other hosts cannot be reached") != std::string::npos);
    CHECK(told.ends_with("closed\n"));
    CHECK(server.problems() == "");
}

TEST_CASE("a configured hop without the TLS its route demands is its link's failure, so that the next one serves") {
    for (const bool probe : {true, false}) { // a link that is down is tried without mail
        CAPTURE(probe);
        Server server({no_tls});
        World world;
        world.context().tls = client_context();
        requires_tls(world, "strict.example", decide::TlsLevel::encrypt);
        auto& connection = world.connect({{"127.0.0.1", server.port, 0}}, {.rule = "strict.example"});
        world.on_connected = [&] { connection.close(); };
        if (!probe) world.deliver(world.write("x\r\n", {"b@strict.example"}));
        const auto told = world.run();
        CHECK(told.starts_with("failed: "));
        CHECK(told.find("TLS is required, but was not offered by host") != std::string::npos);
        CHECK(server.problems() == "");
    }
}

TEST_CASE("what a message itself requires of a configured hop is no failure of the link") {
    Server server({no_tls});
    World world;
    world.require_tls = true;
    world.context().tls = client_context();
    world.context().settings.tls = decide::TlsLevel::may;
    auto& connection = world.connect({{"127.0.0.1", server.port, 0}});
    world.deliver(world.write("x\r\n"));
    connection.close();
    CHECK(world.run().ends_with("closed\n"));
    CHECK(server.problems() == "");
}
