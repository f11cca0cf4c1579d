#include "daemons/smtpd/policy/policy_protocol.h"
#include <doctest/doctest.h>

using namespace smtpd;
using State = PolicyAnswer::State;

namespace {

PolicyContext facts() {
    PolicyContext context;
    context.client = client_of({*common::IpAddress::parse("203.0.113.5"), 12345});
    context.client.name = "mail.client.example";
    context.helo = "client.example";
    context.protocol = "ESMTP";
    context.sender = "ann@client.example";
    context.recipient = "bob@here.example";
    context.instance = "1.2";
    context.size = 1000;
    return context;
}

State run(PolicyAnswer& answer, std::string_view text, std::size_t piece) {
    auto state = State::incomplete;
    for (std::size_t at = 0; at < text.size(); at += piece) state = answer.feed(text.substr(at, piece));
    return state;
}

} // namespace

TEST_CASE("a question, line by line") {
    const auto text = policy_request(Stage::rcpt, facts());
    CHECK(text.starts_with("request=smtpd_access_policy\nprotocol_state=RCPT\nprotocol_name=ESMTP\n"));
    for (auto line : {"helo_name=client.example\n", "sender=ann@client.example\n", "recipient=bob@here.example\n",
                      "client_address=203.0.113.5\n", "client_name=mail.client.example\n", "size=1000\n",
                      "recipient_count=0\n", "instance=1.2\n"})
        CHECK_MESSAGE(text.find(line) != text.npos, line);
    CHECK(text.ends_with("\n\n"));
}

TEST_CASE("names of a certificate are told if an authority vouches for them, fingerprints always") {
    auto context = facts();
    CHECK(policy_request(Stage::rcpt, context)
              .find("ccert_subject=\nccert_issuer=\nccert_fingerprint=\n"
                    "ccert_pubkey_fingerprint=\n") != std::string::npos);
    tls::ClientCertificate shown;
    shown.subject = "client.example", shown.issuer = "ca.example";
    shown.fingerprint = "AB:01", shown.key_fingerprint = "CD:02";
    context.certificate = std::make_shared<const tls::ClientCertificate>(shown);
    context.tls_peer = "client.example";
    CHECK(policy_request(Stage::rcpt, context)
              .find("ccert_subject=client.example\nccert_issuer=ca.example\nccert_fingerprint=AB:01\n"
                    "ccert_pubkey_fingerprint=CD:02\n") != std::string::npos);
    shown.problem = "self-signed certificate";
    context.certificate = std::make_shared<const tls::ClientCertificate>(shown);
    context.tls_peer.clear();
    CHECK(policy_request(Stage::rcpt, context).find("ccert_subject=\nccert_issuer=\nccert_fingerprint=AB:01\n") !=
          std::string::npos);
}

TEST_CASE("nothing in a value can end its line") {
    auto odd = facts();
    odd.helo = "x\naction=OK";
    CHECK(policy_request(Stage::helo, odd).find("helo_name=x?action=OK\n") != std::string::npos);
}

TEST_CASE("answers, whole, in sevens, byte by byte") {
    struct {
        std::string text, action;
        State state;
    } table[] = {
        {"action=DUNNO\n\n", "DUNNO", State::complete},
        {"action=DUNNO\r\n\r\n", "DUNNO", State::complete},
        {"other=1\naction=450 4.2.0 later\n\n", "450 4.2.0 later", State::complete},
        {"action=OK\n", "", State::incomplete},
        {"\n", "", State::malformed},
        {"nonsense\n\n", "", State::malformed},
        {"action=OK\n\naction=OK\n\n", "", State::malformed},
        {std::string("action=O\0K\n\n", 12), "", State::malformed},
        {"action=" + std::string(PolicyAnswer::limit, 'x'), "", State::malformed},
    };
    for (const auto& row : table)
        for (std::size_t piece : {row.text.size(), std::size_t{7}, std::size_t{1}}) {
            PolicyAnswer answer;
            CHECK_MESSAGE(run(answer, row.text, piece) == row.state, row.text.substr(0, 40));
            if (row.state == State::complete) CHECK(answer.take() == row.action);
        }
    PolicyAnswer answer;
    CHECK(answer.feed("action=OK\n\n") == State::complete);
    CHECK(answer.take() == "OK");
    CHECK(answer.feed("action=REJECT no\n\n") == State::complete);
    CHECK(answer.take() == "REJECT no");
}

TEST_CASE("what actions mean") {
    const auto reply = [](std::string_view action, Stage stage = Stage::rcpt) {
        const auto verdict = parse_policy_action(action, stage, facts());
        return verdict && verdict->kind == PolicyVerdict::Kind::reject ? verdict->reply.line() : std::string("-");
    };
    CHECK(reply("REJECT") == "554 5.7.1 <bob@here.example>: Recipient address rejected: Access denied");
    CHECK(reply("reject go away") == "554 5.7.1 <bob@here.example>: Recipient address rejected: go away");
    CHECK(reply("DEFER_IF_PERMIT Greylisted") ==
          "450 4.7.1 <bob@here.example>: Recipient address rejected: Greylisted");
    CHECK(reply("DEFER_IF_PERMIT 4.2.0 Greylisted") ==
          "450 4.2.0 <bob@here.example>: Recipient address rejected: Greylisted");
    CHECK(reply("550 5.7.23 SPF fail", Stage::mail) ==
          "550 5.7.23 <ann@client.example>: Sender address rejected: SPF fail");
    CHECK(reply("421 4.7.0 bye", Stage::helo) == "421 4.7.0 <client.example>: Helo command rejected: bye");
    CHECK(reply("550 4.7.1 odd") == "550 5.7.1 <bob@here.example>: Recipient address rejected: 4.7.1 odd");
    CHECK(reply("DUNNO") == "-");
    CHECK(parse_policy_action("OK", Stage::rcpt, facts())->kind == PolicyVerdict::Kind::permit);
    CHECK(parse_policy_action("PREPEND X-Greylist: delayed 5 s", Stage::rcpt, facts())->fields.at(0) ==
          "X-Greylist: delayed 5 s");
    CHECK(parse_policy_action("HOLD look at it", Stage::rcpt, facts())->hold == "look at it");
    CHECK(parse_policy_action("DISCARD", Stage::data, facts())->discard == "discarded by policy");
    CHECK(parse_policy_action("BCC spy@here.example", Stage::data, facts())->added_recipients.at(0) ==
          "spy@here.example");
    CHECK(parse_policy_action("WARN careful", Stage::connect, facts())->warning == "careful");
    for (auto odd : {"", "FROBNICATE", "PREPEND nonsense", "PREPEND : x", "600 x", "99", "HOLD"}) {
        const auto stage = std::string_view(odd) == "HOLD" ? Stage::connect : Stage::rcpt;
        CHECK_MESSAGE(!parse_policy_action(odd, stage, facts()), odd);
    }
}
