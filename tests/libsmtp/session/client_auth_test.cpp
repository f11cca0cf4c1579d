// AUTH (RFC 4954) from the client's side, as dialogues.
#include "libsmtp/text/base64.h"
#include "tests/libsmtp/session/client_driver.h"

using namespace smtp;
using namespace smtp::testing;
using M = SaslMechanism;

namespace {

std::optional<SaslClient> tim(SaslMechanism mechanism) {
    return SaslClient(mechanism, "tim", Secret("tanstaaftanstaaf"), "mx.test", 587);
}

Setup with(std::vector<SaslMechanism> mechanisms, bool without_tls = true) {
    return {.quit = true, .auth = {std::move(mechanisms), without_tls}, .sasl = tim};
}

Setup under_tls(std::vector<SaslMechanism> mechanisms) {
    auto setup = with(std::move(mechanisms), false);
    setup.tls = ClientSession::StartTls::always;
    return setup;
}

const std::vector<SaslMechanism> password = {M::login, M::plain}, token = {M::xoauth2, M::oauthbearer};
constexpr std::string_view starts = "S: 250-mx.test\nS: 250 STARTTLS\nC: STARTTLS\nS: 220 Go\nC: EHLO client.test\n";
constexpr std::string_view one = "C: MAIL FROM:<a@x>\nS: 250 Ok\nC: RCPT TO:<b@y>\nS: 250 Ok\nC: DATA\nS: 354 Go\n"
                                 "C: Subject: x\nC: \nC: hi\nC: .\nS: 250 2.0.0 Ok: queued as 1\nC: QUIT\n";
constexpr std::string_view plain_first = "C: AUTH PLAIN AHRpbQB0YW5zdGFhZnRhbnN0YWFm\n"; // RFC 4954, 4.1

std::string offer(std::string_view mechanisms) { return fmt::format("S: 250-mx.test\nS: 250 AUTH {}\n", mechanisms); }
std::string sent(std::string_view mechanism, std::string_view before = "") {
    return fmt::format("{}auth {}\nup\n1: {}ended well\n", before, mechanism, delivered);
}
std::string failed(std::string_view mechanism, std::string_view how) {
    return fmt::format("{}ended: {}\n", mechanism.empty() ? "" : fmt::format("auth {}\n", mechanism), how);
}

} // namespace

TEST_CASE("PLAIN with an initial response, before anything else") {
    play({mail(1)}, script({hello, offer("LOGIN PLAIN CRAM-MD5"), plain_first, "S: 235 2.7.0 Welcome\n", one}),
         sent("PLAIN"), with(password));
}

TEST_CASE("LOGIN, where there is nothing better; the old form of the offer too") {
    const std::string_view login = "C: AUTH LOGIN\nS: 334 VXNlcm5hbWU6\nC: dGlt\nS: 334 UGFzc3dvcmQ6\n"
                                   "C: dGFuc3RhYWZ0YW5zdGFhZg==\nS: 235 Ok\n";
    play({mail(1)}, script({hello, offer("CRAM-MD5 LOGIN"), login, one}), sent("LOGIN"), with(password));
    play({mail(1)}, script({hello, "S: 250-mx.test\nS: 250 AUTH=LOGIN\n", login, one}), sent("LOGIN"), with(password));
    play({mail(1)},
         script(
             {hello, "S: 250-mx.test\nS: 250-auth=LOGIN\nS: 250 auth GSSAPI plain\n", plain_first, "S: 235 Ok\n", one}),
         sent("PLAIN"), with(password));
}

TEST_CASE("what shows the password waits for TLS, and what was offered before it is forgotten") {
    play({mail(1)}, script({hello, starts, offer("PLAIN"), plain_first, "S: 235 Ok\n", one}),
         sent("PLAIN", "handshake\n"), under_tls(password));
    play({mail(1)},
         script({hello, "S: 250-mx.test\nS: 250-AUTH PLAIN\nS: 250 STARTTLS\nC: STARTTLS\nS: 220 Go\n",
                 "C: EHLO client.test\n", plain, "C: QUIT\n"}),
         "handshake\nended: temporary 6 4.7.4 [there is an account, but AUTH was not offered by host "
         "mx.test[192.0.2.1]]\n",
         under_tls(password));
    play({mail(1)}, script({hello, offer("PLAIN LOGIN"), "C: QUIT\n"}),
         failed("", "temporary 6 4.7.4 [the AUTH mechanisms that host mx.test[192.0.2.1] offers reveal the "
                    "password, and there is no TLS]"),
         with(password, false));
}

TEST_CASE("nothing both sides know: the conversation ends, no mail is sent") {
    play({mail(1)}, script({hello, offer("GSSAPI NTLM"), "C: QUIT\n"}),
         failed("", "temporary 6 4.7.4 [none of the AUTH mechanisms that host mx.test[192.0.2.1] offers can "
                    "be used: GSSAPI NTLM]"),
         with(password));
    for (const auto& greeting :
         {std::string(plain), std::string("S: 502 What?\nC: HELO client.test\nS: 250 mx.test\n")})
        play(
            {mail(1)}, script({hello, greeting, "C: QUIT\n"}),
            failed("",
                   "temporary 6 4.7.4 [there is an account, but AUTH was not offered by host mx.test[192.0.2.1] (there "
                   "is no TLS)]"),
            with(password));
}

TEST_CASE("nobody authenticates who was not told to") {
    auto setup = with({});
    play({mail(1)}, script({hello, offer("PLAIN"), one}), fmt::format("up\n1: {}ended well\n", delivered), setup);
}

TEST_CASE("a refusal ends the conversation; nothing is tried twice") {
    play(
        {mail(1)}, script({hello, offer("PLAIN LOGIN"), plain_first, "S: 535 5.7.8 Wrong\nC: QUIT\n"}),
        failed("PLAIN", "permanent 6 5.7.8 [host mx.test[192.0.2.1] said: 535 5.7.8 Wrong (in reply to AUTH command)]"),
        with(password));
    play(
        {mail(1)}, script({hello, offer("PLAIN"), plain_first, "S: 454 4.7.0 Later\nC: QUIT\n"}),
        failed("PLAIN", "temporary 6 4.7.0 [host mx.test[192.0.2.1] said: 454 4.7.0 Later (in reply to AUTH command)]"),
        with(password));
    play({mail(1)}, script({hello, offer("PLAIN"), plain_first, "S: 421 4.3.0 Bye\nC: QUIT\n"}),
         failed("PLAIN", "temporary 6 4.3.0 [host mx.test[192.0.2.1] said: 421 4.3.0 Bye (in reply to AUTH command)]"),
         with(password));
    play({mail(1)}, script({hello, offer("PLAIN"), plain_first, "S: (closes)\n"}),
         failed("PLAIN", "temporary 6 4.4.2 [lost connection with mx.test[192.0.2.1] while authenticating]"),
         with(password));
    play({mail(1)}, script({hello, offer("PLAIN"), plain_first, "S: (silence)\n"}),
         failed("PLAIN", "temporary 6 4.4.2 [conversation with mx.test[192.0.2.1] timed out while authenticating]"),
         with(password));
}

TEST_CASE("who repeats the password in his refusal is not quoted") {
    for (std::string_view echo : {"tanstaaftanstaaf is wrong", "what is AHRpbQB0YW5zdGFhZnRhbnN0YWFm?"})
        play({mail(1)}, script({hello, offer("PLAIN"), plain_first, fmt::format("S: 535 5.7.8 {}\nC: QUIT\n", echo)}),
             failed("PLAIN", "permanent 6 5.7.8 [host mx.test[192.0.2.1] said: 535 (its reply is not shown: it repeats "
                             "the password) (in reply to AUTH command)]"),
             with(password));
}

TEST_CASE("a challenge that makes no sense is answered with '*'") {
    struct Row {
        std::string_view mechanism, dialogue, why;
    };
    const Row rows[] = {
        {"PLAIN", "S: 334 more\n", "unexpected challenge at the end"},
        {"PLAIN", "S: 334\n", "unexpected challenge at the end"},
        {"PLAIN", "S: 334 =odd=\n", "a challenge is not base64"},
        {"LOGIN", "S: 334 Username:\n", "a challenge is not base64"},
        {"LOGIN",
         "S: 334 VXNlcm5hbWU6\nC: dGlt\nS: 334 UGFzc3dvcmQ6\nC: dGFuc3RhYWZ0YW5zdGFhZg==\nS: 334 "
         "VXNlcm5hbWU6\n",
         "unexpected challenge after user and password"},
    };
    for (const auto& row : rows)
        for (std::string_view end : {"S: 501 5.7.0 Cancelled\n", "S: 235 Welcome all the same\n", "S: 454 Hm\n"})
            play(
                {mail(1)},
                script({hello, offer(row.mechanism), row.mechanism == "PLAIN" ? plain_first : "C: AUTH LOGIN\n",
                        row.dialogue, "C: *\n", end, "C: QUIT\n"}),
                failed(row.mechanism, fmt::format("temporary 6 4.7.0 [AUTH {} with host mx.test[192.0.2.1] failed: {}]",
                                                  row.mechanism, row.why)),
                with(password));
    play({mail(1)}, script({hello, offer("PLAIN"), plain_first, "S: 334 more\nC: *\nS: 334 and more\nC: QUIT\n"}),
         "auth PLAIN\nended: temporary 6 4.5.0 [host mx.test[192.0.2.1] continues AUTH after it was "
         "cancelled: unexpected challenge at the end]\n",
         with(password));
    play({mail(1)}, script({hello, offer("PLAIN"), plain_first, "S: 354 Go\n"}),
         "auth PLAIN\nended: temporary 6 4.5.0 [protocol error from mx.test[192.0.2.1] while authenticating: "
         "unexpected "
         "reply 354]\n",
         with(password));
}

TEST_CASE("tokens: an error is acknowledged, and told with the refusal") {
    const auto error = encode_base64(R"({"status":"401"})");
    const auto bearer = [](std::string_view message) { return encode_base64(message); };
    using namespace std::string_literals;
    const auto xoauth2 = bearer("user=tim\1auth=Bearer tanstaaftanstaaf\1\1"s);
    const auto oauthbearer = bearer("n,a=tim,\1host=mx.test\1port=587\1auth=Bearer tanstaaftanstaaf\1\1"s);
    play({mail(1)},
         script({hello, offer("XOAUTH2 PLAIN"), fmt::format("C: AUTH XOAUTH2 {}\n", xoauth2), "S: 235 Ok\n", one}),
         sent("XOAUTH2"), with(token));
    play({mail(1)},
         script({hello, offer("XOAUTH2 OAUTHBEARER"),
                 fmt::format("C: AUTH OAUTHBEARER {}\nS: 334 {}\nC: AQ==\n", oauthbearer, error),
                 "S: 535 5.7.8 No\nC: QUIT\n"}),
         failed("OAUTHBEARER",
                "permanent 6 5.7.8 [host mx.test[192.0.2.1] said: 535 5.7.8 No (in reply to AUTH command); "
                "before that: {\"status\":\"401\"}]"),
         with(token));
    play({mail(1)},
         script({hello, offer("XOAUTH2"), fmt::format("C: AUTH XOAUTH2 {}\nS: 334 {}\nC: \n", xoauth2, error),
                 "S: 535 5.7.8 No\nC: QUIT\n"}),
         failed("XOAUTH2", "permanent 6 5.7.8 [host mx.test[192.0.2.1] said: 535 5.7.8 No (in reply to AUTH command); "
                           "before that: {\"status\":\"401\"}]"),
         with(token));
    auto none = with(token);
    none.sasl = [](SaslMechanism) { return std::nullopt; };
    play({mail(1)}, script({hello, offer("XOAUTH2"), "C: QUIT\n"}),
         failed("XOAUTH2", "temporary 6 4.7.8 [there is no token today]"), none);
}

TEST_CASE("an initial response that is too long for a command waits for its challenge") {
    auto setup = with(token);
    setup.sasl = [](SaslMechanism mechanism) { return SaslClient(mechanism, "tim", Secret(std::string(2000, 't'))); };
    using namespace std::string_literals;
    const auto message = encode_base64("user=tim\1auth=Bearer "s + std::string(2000, 't') + "\1\1"s);
    play({mail(1)},
         script({hello, offer("XOAUTH2"), "C: AUTH XOAUTH2\nS: 334\n", fmt::format("C: {}\n", message), "S: 235 Ok\n",
                 one}),
         sent("XOAUTH2"), setup);
    // The whole line may be 512 bytes: "AUTH PLAIN " and CRLF leave 499, of which base64 uses 496.
    for (std::size_t length : {std::size_t{372}, std::size_t{373}}) {
        const auto secret = std::string(length - 5, 's');
        auto plain = with(password);
        plain.sasl = [&](SaslMechanism mechanism) { return SaslClient(mechanism, "tim", Secret(secret)); };
        const auto line = encode_base64("\0tim\0"s + secret);
        play({mail(1)},
             script({hello, offer("PLAIN"), length == 372 ? "C: AUTH PLAIN " : "C: AUTH PLAIN\nS: 334\nC: ", line,
                     "\nS: 235 Ok\n", one}),
             sent("PLAIN"), plain);
    }
}
