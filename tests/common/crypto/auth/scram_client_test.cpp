// The client's half of SCRAM: the numbers of RFC 7677, our own server's half, hostile servers, and a whole
// conversation of ClientSession's.
#include "daemons/common/crypto/auth/password_file.h"
#include "libsmtp/session/client_session.h"
#include "libsmtp/text/base64.h"
#include <doctest/doctest.h>

using namespace smtp;

namespace {

constexpr std::string_view client_nonce = "rOprNGfwEbeRWgbNEkqO";
constexpr std::string_view server_first = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                                          "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
constexpr std::string_view client_final = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
                                          "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
constexpr std::string_view server_final = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

ScramClient client(ScramClient::Binding binding = {}, std::string user = "user", std::string password = "pencil") {
    return {auth::scram_crypto,          auth::salted_password,     std::move(user),
            Secret(std::move(password)), std::string(client_nonce), std::move(binding)};
}

} // namespace

TEST_CASE("the example of RFC 7677, the client's side") {
    auto scram = client();
    CHECK(scram.first() == "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
    CHECK(scram.final(server_first) == client_final);
    CHECK(scram.verify(server_final));
}

TEST_CASE("a server that does not know the password is found out, whatever it changes") {
    for (std::size_t at = 0; at < server_final.size(); ++at) {
        auto scram = client();
        REQUIRE(scram.final(server_first));
        std::string odd(server_final);
        odd[at] = odd[at] == 'x' ? 'y' : 'x';
        CHECK_MESSAGE(!scram.verify(odd), odd);
        CHECK_MESSAGE(!scram.verify(server_final.substr(0, at)), at);
    }
    auto too_early = client();
    CHECK(!too_early.verify("v="));
    CHECK(!too_early.verify(server_final));
    auto told = client();
    REQUIRE(told.final(server_first));
    CHECK(told.verify("e=unknown-user").error().why == "it says unknown-user");
}

TEST_CASE("hostile first messages") {
    const std::string nonce = "r=" + std::string(client_nonce);
    const std::pair<std::string, std::string_view> rows[] = {
        {"", "its nonce does not continue ours"},
        {"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "its nonce does not continue ours"},
        {nonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "its nonce does not continue ours"},
        {nonce + "\tx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "its nonce does not continue ours"},
        {"m=1," + nonce + "x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "it requires an unknown extension"},
        {nonce + "x", "no salt"},
        {nonce + "x,s=,i=4096", "no salt"},
        {nonce + "x,s=odd,i=4096", "no salt"},
        {nonce + "x,i=4096,s=W22ZaJ0SNY7soEsUEjb6gQ==", "no salt"},
        {nonce + "x,s=W22ZaJ0SNY7soEsUEjb6gQ==", "the number of iterations is missing"},
        {nonce + "x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=-1", "the number of iterations is missing"},
        {nonce + "x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=99999999999999999999999", "the number of iterations is missing"},
        {nonce + "x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4095", "it requires 4095 iterations: expected 4096 to 600000"},
        {nonce + "x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4294967296",
         "it requires 4294967296 iterations: expected 4096 to 600000"},
        {nonce + std::string(5000, 'x') + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "its first message is too long"},
    };
    for (const auto& [message, why] : rows) {
        auto scram = client();
        const auto said = scram.final(message);
        CAPTURE(message);
        REQUIRE(!said);
        CHECK(said.error().why == why);
    }
}

TEST_CASE("both halves understand each other, with any name and password, bound and not") {
    using Plus = ScramServer::Plus;
    const ScramClient::Binding none, lacking{"", "", true}, bound{"tls-exporter", "exported", false},
        elsewhere{"tls-exporter", "of another channel", false};
    struct Row {
        const ScramClient::Binding& client;
        Plus server;
        bool good;
    };
    const Row rows[] = {{none, Plus::not_offered, true}, {lacking, Plus::not_offered, true},
                        {lacking, Plus::offered, false}, {none, Plus::offered, true},
                        {bound, Plus::chosen, true},     {elsewhere, Plus::chosen, false},
                        {none, Plus::chosen, false}};
    for (const auto& row : rows)
        for (std::string user : {"user", "a,b=c", "j\xc3\xb6rg", "=2C"}) {
            auto scram = client(row.client, user, "p,=\xc3\xa4 ss");
            ScramServer server(auth::scram_crypto, "server", row.server,
                               [](std::string_view) { return std::string("exported"); });
            const auto who = server.first(scram.first());
            if (!who) {
                CHECK(!row.good);
                continue;
            }
            CHECK(*who == user);
            const auto proof = scram.final(server.challenge(auth::make_scram_keys("p,=\xc3\xa4 ss", "salt", 4096)));
            REQUIRE(proof);
            const auto last = server.final(*proof);
            CHECK(last.has_value() == row.good);
            if (last) CHECK(scram.verify(*last));
        }
}

TEST_CASE("a conversation with SCRAM: only a proven server's yes counts") {
    const auto line = [](std::string_view text) { return encode_base64(text); };
    struct Row {
        std::string last; // what follows the client's proof
        bool up;
        std::string_view why;
    };
    const Row rows[] = {
        {"334 " + line(server_final) + "\r\n235 2.7.0 Welcome\r\n", true, ""},
        {"334 " + line("v=AAAA") + "\r\n501 5.7.0 Cancelled\r\n", false, "it did not prove that it knows the password"},
        {"235 2.7.0 Welcome\r\n", false, "it did not prove that it knows the password"},
        {"334 " + line(server_final) + "\r\n334 " + line(server_final) + "\r\n501 Bye\r\n", false,
         "unexpected challenge at the end"},
    };
    for (const auto& row : rows) {
        Monotonic now{};
        ClientSession session({.name = "c.test", .peer = "mx", .auth = {{SaslMechanism::scram_sha_256}, false}}, now);
        std::string sent, why;
        bool up = false;
        const auto pump = [&] {
            while (auto event = session.next()) {
                if (auto* wanted = std::get_if<client_event::AuthRequested>(&*event))
                    session.authenticate({wanted->mechanism, Secret("pencil"), client()}, now);
                up = up || std::holds_alternative<client_event::Ready>(*event);
                if (auto* ended = std::get_if<client_event::Ended>(&*event)) why = ended->why.text;
            }
            std::vector<std::string_view> views;
            session.output(views);
            std::size_t size = 0;
            for (auto view : views) sent += view, size += view.size();
            session.wrote(size, now);
        };
        for (const auto& wire : {std::string("220 mx\r\n"), std::string("250-mx\r\n250 AUTH SCRAM-SHA-256\r\n"),
                                 "334 " + line(server_first) + "\r\n"}) {
            session.feed(wire, now);
            pump();
        }
        for (std::string_view rest = row.last; !rest.empty();) {
            const auto wire = rest.substr(0, rest.find('\n') + 1);
            rest.remove_prefix(wire.size());
            session.feed(wire, now);
            pump();
        }
        CHECK(sent.find(line(client_final)) != sent.npos);
        CHECK(up == row.up);
        CHECK((row.why.empty() ? why.empty() : why.ends_with(row.why)));
    }
}
