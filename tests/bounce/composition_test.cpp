#include "daemons/bounce/composition.h"
#include <doctest/doctest.h>

using namespace bounce;
using smtp::ReportKind;

namespace {

spool::MessageState state(std::vector<spool::Notify> notify, std::string reverse_path = "sender@example.com") {
    spool::Envelope envelope;
    envelope.reverse_path = std::move(reverse_path);
    envelope.envid = "ENV1";
    for (std::size_t i = 0; i < notify.size(); ++i) {
        spool::EnvelopeRecipient r;
        r.address = "r" + std::to_string(i) + "@example.net";
        r.notify = notify[i];
        envelope.recipients.push_back(r);
    }
    return spool::MessageState(envelope);
}

proto::report::Report report(ReportKind kind, std::vector<std::uint32_t> recipients) {
    proto::report::Report r;
    r.queue_id = spool::QueueId{0x0A1B2C3D4E5F01};
    r.kind = kind;
    for (auto n : recipients)
        r.recipients.push_back(
            {.number = n, .kind = kind, .reason = {"5.1.1", "host mx said: 550 no", "550 no", "mx"}});
    return r;
}

std::vector<std::uint32_t> told(ReportKind kind, const spool::MessageState& s, std::vector<std::uint32_t> of) {
    std::vector<std::uint32_t> out;
    for (const auto& addressee : addressees_of(report(kind, std::move(of)), s))
        for (const auto& r : addressee.recipients) out.push_back(r.number);
    return out;
}

Settings settings() {
    return {"mx.example.org", "example.org", "Mail Delivery System", 50 * 1024, true, false, {}, {}};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

} // namespace

TEST_CASE("NOTIFY decides who is told of what") {
    using spool::Notify;
    const auto s = state({Notify::unspecified, Notify::never, Notify::success, Notify::failure, Notify::delay,
                          Notify::success | Notify::failure | Notify::delay});
    const std::vector<std::uint32_t> all = {0, 1, 2, 3, 4, 5};
    CHECK(told(ReportKind::failed, s, all) == std::vector<std::uint32_t>{0, 3, 5});
    CHECK(told(ReportKind::delayed, s, all) == std::vector<std::uint32_t>{0, 4, 5});
    CHECK(told(ReportKind::delivered, s, all) == std::vector<std::uint32_t>{2, 5});
    CHECK(told(ReportKind::relayed, s, all) == std::vector<std::uint32_t>{2, 5});
    CHECK(told(ReportKind::failed, s, {99, 3}) == std::vector<std::uint32_t>{3});
}

TEST_CASE("each reverse-path is told of its own recipients") {
    auto s = state({spool::Notify::unspecified, spool::Notify::unspecified, spool::Notify::unspecified});
    s.recipients[1].reverse_path = "owner-list@example.org";
    s.recipients[2].reverse_path = "<>";
    const auto addressees = addressees_of(report(ReportKind::failed, {0, 1, 2}), s);
    REQUIRE(addressees.size() == 3);
    CHECK(addressees[0].reverse_path == "sender@example.com");
    CHECK(addressees[1].reverse_path == "owner-list@example.org");
    CHECK(addressees[2].reverse_path == "");
}

TEST_CASE("a report is a message from nobody to the sender") {
    const auto s = state({spool::Notify::unspecified, spool::Notify::unspecified});
    const auto asked = report(ReportKind::failed, {1});
    const OriginalMessage original{asked.queue_id, "Subject: s\r\n\r\nbody \xe4\r\n", true};
    const auto made = compose(settings(), asked, addressees_of(asked, s).at(0), s, original,
                              spool::QueueId{0x0A1B2C3D4E6002}, {smtp::WallTime(std::chrono::seconds(1795190098)), {}});
    CHECK(made.envelope.reverse_path == "");
    REQUIRE(made.envelope.recipients.size() == 1);
    CHECK(made.envelope.recipients[0].address == "sender@example.com");
    CHECK(made.envelope.parent == asked.queue_id);
    CHECK(made.envelope.origin == spool::Origin::report);
    CHECK(made.envelope.body == spool::Body::eight_bit);
    CHECK(made.envelope.message_id == "<20261120155458.0A1B2C3D4E6002@mx.example.org>");
    CHECK(has(made.content, "Message-ID: " + made.envelope.message_id + "\r\n"));
    CHECK(made.content.starts_with("Received: by mx.example.org (Postrider)\r\n\tid 0A1B2C3D4E6002; Fri, 20 Nov"));
    CHECK(has(made.content, "\r\n\r\nbody \xe4\r\n"));
    CHECK(has(made.content, "Original-Envelope-Id: ENV1\r\n"));
    CHECK(has(made.content, "r1@example.net"));
    CHECK_FALSE(has(made.content, "r0@example.net"));
}

TEST_CASE("what our own suppression list stopped is not put on the recipient's system, whatever that may say") {
    const auto s = state({spool::Notify::unspecified});
    const auto text_of = [&](std::string reply, bool suppressed = true) {
        auto asked = report(ReportKind::failed, {0});
        asked.recipients[0] = {.number = 0,
                               .kind = ReportKind::failed,
                               .reason = {.status = "5.7.1",
                                          .text = "on the suppression list since 2026-11-22: asked for",
                                          .remote_reply = reply,
                                          .suppressed = suppressed}};
        auto text = compose(settings(), asked, addressees_of(asked, s).at(0), s,
                            {asked.queue_id, "Subject: s\r\n\r\nbody\r\n", true}, spool::QueueId{0x0A1B2C3D4E6002},
                            {smtp::WallTime(std::chrono::seconds(1795190098)), {}})
                        .content;
        for (auto at = text.find("\r\n       "); at != text.npos; at = text.find("\r\n       "))
            text.replace(at, 9, " ");
        return text;
    };
    CHECK(has(text_of(""), "(postrider suppress remove r0@example.net)."));
    CHECK_FALSE(has(text_of(""), "rejected the message by its policy"));
    CHECK(has(text_of("550 5.7.1 no"), "rejected the message by its policy"));
    CHECK_FALSE(has(text_of("", false), "postrider suppress remove")); // the words decide nothing
}

TEST_CASE("who used an idempotency key for other content is told what to change") {
    const auto is_told = [](bool reused, std::string verdict) {
        auto s = state({spool::Notify::unspecified});
        s.envelope.idempotency_key_reused = reused;
        s.envelope.verdict_reason = std::move(verdict);
        auto asked = report(ReportKind::failed, {0});
        asked.recipients[0] = {
            .number = 0,
            .kind = ReportKind::failed,
            .reason = {.status = "5.6.0", .text = "Error: Idempotency-Key was used for other content"}};
        const auto made = compose(settings(), asked, addressees_of(asked, s).at(0), s,
                                  {asked.queue_id, "Subject: s\r\n\r\n", true}, spool::QueueId{0x0A1B2C3D4E6002}, {});
        return has(made.content, "The program that sent it identifies its messages by keys");
    };
    CHECK(is_told(true, "5.6.0 in other words"));
    CHECK_FALSE(is_told(false, "5.6.0 in other words"));
    // As files were written before there was the field.
    CHECK(
        is_told(false, "5.6.0 Error: Idempotency-Key was used for other content, which was queued as 0A1B2C3D4E6000"));
}

TEST_CASE("a sender whose domain alone is beyond ASCII is told in ASCII, any other at the address as it is") {
    const auto asked = report(ReportKind::failed, {0});
    const auto made = [&](const std::string& sender) {
        const auto s = state({spool::Notify::unspecified}, sender);
        return compose(settings(), asked, addressees_of(asked, s).at(0), s,
                       {asked.queue_id, "Subject: s\r\n\r\n", true}, spool::QueueId{0x0A1B2C3D4E6002}, {});
    };
    const auto domain = made("ann@B\u00fccher.example");
    CHECK(has(domain.content, "\r\nTo: <ann@xn--bcher-kva.example>\r\n"));
    CHECK(domain.envelope.recipients[0].address == "ann@xn--bcher-kva.example");
    CHECK_FALSE(domain.envelope.smtputf8);
    CHECK(domain.envelope.body == spool::Body::seven_bit);
    const auto whole = made("j\u00f6rg@b\u00fccher.example");
    CHECK(has(whole.content, "\r\nTo: <j\u00f6rg@b\u00fccher.example>\r\n"));
    CHECK(whole.envelope.recipients[0].address == "j\u00f6rg@b\u00fccher.example");
    CHECK(whole.envelope.smtputf8);
}

TEST_CASE("what comes of an alias names the address that was written to") {
    auto s = state({spool::Notify::unspecified});
    s.recipients[0].address = "final@example.net";
    const auto asked = report(ReportKind::failed, {0});
    const auto made = compose(settings(), asked, addressees_of(asked, s).at(0), s, {asked.queue_id, "", false},
                              spool::QueueId{0x0A1B2C3D4E6002}, {});
    CHECK(has(made.content, "Original-Recipient: rfc822;r0@example.net\r\nFinal-Recipient: rfc822; final@example.net"));
    CHECK(has(made.content, "<final@example.net> (you wrote to <r0@example.net>)"));
}

TEST_CASE("RET and a full mailbox limit what is returned") {
    auto s = state({spool::Notify::unspecified});
    auto asked = report(ReportKind::failed, {0});
    const OriginalMessage original{asked.queue_id, "Received: x\r\nSubject: s\r\n\r\nbody\r\n", true};
    const auto content = [&] {
        return compose(settings(), asked, addressees_of(asked, s).at(0), s, original, spool::QueueId{0x0A1B2C3D4E6002},
                       {})
            .content;
    };
    CHECK(has(content(), "\r\n\r\nbody\r\n"));
    CHECK(needs_content(asked, s));
    s.envelope.ret = smtp::Ret::headers;
    CHECK_FALSE(has(content(), "\r\n\r\nbody\r\n"));
    CHECK(has(content(), "Received: x\r\nSubject: s\r\n"));
    CHECK_FALSE(needs_content(asked, s));
    asked.recipients[0].reason.status = "5.2.2";
    CHECK_FALSE(has(content(), "Received: x\r\n"));
    CHECK(has(content(), "Subject: s\r\n"));
}

TEST_CASE("a list's member is reported to the list's owner, as mail of the list's own") {
    auto s = state({spool::Notify::never});
    s.envelope.ret = smtp::Ret::headers;
    s.recipients.push_back(s.recipients[0]);
    s.recipients[0].status = spool::Status::expanded;
    s.recipients[1].address = "member@example.net";
    s.recipients[1].reverse_path = "owner-list@example.org";
    s.recipients[1].list = true;
    const auto asked = report(ReportKind::failed, {1});
    const auto addressees = addressees_of(asked, s);
    REQUIRE(addressees.size() == 1); // NOTIFY=NEVER was said to the list
    CHECK(addressees[0].reverse_path == "owner-list@example.org");
    const auto made = compose(settings(), asked, addressees[0], s, {asked.queue_id, "Subject: s\r\n\r\nbody\r\n", true},
                              spool::QueueId{0x0A1B2C3D4E6002}, {});
    CHECK_FALSE(has(made.content, "Original-Envelope-Id"));
    CHECK_FALSE(has(made.content, "Original-Recipient"));
    CHECK(has(made.content, "\r\n\r\nbody\r\n"));
}

TEST_CASE("what follows an alias of several is not told of success; what follows one is") {
    auto s = state({spool::Notify::success | spool::Notify::failure, spool::Notify::success});
    for (const std::uint32_t origin : {0, 0, 1}) {
        s.recipients.push_back(s.recipients[origin]);
        s.recipients[origin].status = spool::Status::expanded;
        s.recipients.back().address = "final@example.net";
    }
    CHECK(told(ReportKind::delivered, s, {2, 3, 4}) == std::vector<std::uint32_t>{4});
    CHECK(told(ReportKind::failed, s, {2, 3, 4}) == std::vector<std::uint32_t>{2, 3});
    CHECK(told(ReportKind::expanded, s, {0}) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a status says of each recipient what became of it, whatever NOTIFY says") {
    auto s = state({spool::Notify::never, spool::Notify::never, spool::Notify::never});
    auto asked = report(ReportKind::status, {0, 1, 2});
    asked.recipients[0].kind = ReportKind::delivered;
    asked.recipients[1].kind = ReportKind::failed;
    asked.recipients[2].kind = ReportKind::expanded;
    const auto text = [&] {
        return compose(settings(), asked, addressees_of(asked, s).at(0), s,
                       {asked.queue_id, "Subject: s\r\n\r\n", true}, spool::QueueId{0x0A1B2C3D4E6002}, {})
            .content;
    };
    CHECK(has(text(), "Subject: Mail Delivery Status Report\r\n"));
    CHECK(has(text(), "Action: delivered\r\nStatus: 2.0.0\r\n"));
    CHECK(has(text(), "Action: failed\r\nStatus: 5.1.1\r\n"));
    s.envelope.trace = spool::Trace::verify;
    CHECK(has(text(), "Action: deliverable\r\nStatus: 2.0.0\r\n"));
    CHECK(has(text(), "Action: undeliverable\r\nStatus: 5.1.1\r\n"));
    CHECK(has(text(), "Action: expanded\r\nStatus: 2.0.0\r\n"));
    CHECK(has(text(), "<r0@example.net> is deliverable"));
}

TEST_CASE("the postmaster gets copies of what is wanted, and nobody hears of those") {
    const auto s = state({spool::Notify::unspecified});
    auto wants = settings();
    const auto asked = report(ReportKind::failed, {0});
    const auto told = addressees_of(asked, s);
    CHECK(postmaster_copies(wants, ReportKind::failed, told).empty());
    wants.postmaster_copy.failed = true;
    CHECK(postmaster_copies(wants, ReportKind::delayed, told).empty());
    const auto copies = postmaster_copies(wants, ReportKind::failed, told);
    REQUIRE(copies.size() == 1);
    const auto made = compose(wants, asked, copies[0], s, {asked.queue_id, "Subject: s\r\n\r\nbody\r\n", true},
                              spool::QueueId{0x0A1B2C3D4E6002}, {});
    CHECK(made.envelope.recipients[0].address == "postmaster@example.org");
    CHECK(made.envelope.recipients[0].notify == spool::Notify::never);
    CHECK(has(made.content, "To: <postmaster@example.org>\r\nSubject: Copy for the postmaster: "));
    CHECK(has(made.content, "X-Postrider-Sender: rfc822; sender@example.com\r\n"));
    CHECK_FALSE(has(made.content, "body\r\n"));
    const std::vector<Addressee> nobody = {{"", asked.recipients, false}};
    CHECK(postmaster_copies(wants, ReportKind::failed, nobody).empty());
    wants.postmaster_copy = {.undeliverable = true};
    CHECK(postmaster_copies(wants, ReportKind::failed, nobody).size() == 1);
    CHECK(postmaster_copies(wants, ReportKind::failed, told).empty());
}
