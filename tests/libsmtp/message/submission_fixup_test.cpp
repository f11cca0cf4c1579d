#include "libsmtp/message/submission_fixup.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace smtp;

namespace {

SubmissionOptions options(RecipientSource source = RecipientSource::arguments) {
    SubmissionOptions o;
    o.recipients = source;
    o.origin = "example.org";
    o.sender = "user@example.org";
    o.queue_id = "0A1B2C3D4E5F01";
    o.now = WallTime(std::chrono::seconds(1795190098));
    return o;
}

struct Result {
    std::string content;
    std::vector<std::string> recipients;
    std::string problem;
    bool operator==(const Result&) const = default;
};

Result run(std::string_view text, const SubmissionOptions& o, std::size_t step) {
    SubmissionFixup fixup(o);
    Result r;
    for (std::size_t at = 0; at < text.size(); at += step) fixup.feed(text.substr(at, step), r.content);
    fixup.finish(r.content);
    r.recipients = fixup.recipients();
    r.problem = fixup.problem();
    return r;
}

// Whole, byte by byte and in sevens come to the same.
Result fix(std::string_view text, const SubmissionOptions& o = options()) {
    const Result whole = run(text, o, text.size() + 1);
    CHECK(run(text, o, 1) == whole);
    CHECK(run(text, o, 7) == whole);
    return whole;
}

const std::string added = "Message-ID: <20261120155458.0A1B2C3D4E5F01@example.org>\r\n"
                          "Date: Fri, 20 Nov 2026 15:54:58 +0000\r\n";
const std::string present = "From: a@x\r\nDate: d\r\nMessage-ID: <i@x>\r\n";

} // namespace

TEST_CASE("a submission gets what it lacks and loses what must not leave") {
    struct Case {
        std::string_view given;
        std::string content;
    };
    const Case cases[] = {
        {"", added + "From: user@example.org\r\n\r\n"},
        {"hello", added + "From: user@example.org\r\n\r\nhello\r\n"},
        {"hello there\nworld\n", added + "From: user@example.org\r\n\r\nhello there\r\nworld\r\n"},
        {"\nSubject: in the body\n", added + "From: user@example.org\r\n\r\nSubject: in the body\r\n"},
        {"Subject: x\n\nbody\n", "Subject: x\r\n" + added + "From: user@example.org\r\n\r\nbody\r\n"},
        {"Subject: x\nbody\n", "Subject: x\r\n" + added + "From: user@example.org\r\n\r\nbody\r\n"},
        {"Subject: x", "Subject: x\r\n" + added + "From: user@example.org\r\n\r\n"},
        {"From: a@x\nDate: d\nMessage-ID: <i@x>\n\nb\n", present + "\r\nb\r\n"},
        {"From: a@x\r\nDate: d\r\nMessage-ID: <i@x>\r\n\r\nb\r\n", present + "\r\nb\r\n"},
        {"From: a@x\rDate: d\rMessage-ID: <i@x>\r\rb\r", present + "\r\nb\r\n"},
        {"From root Fri Nov 20\n>From x\nFrom: a@x\nDate: d\nMessage-ID: <i@x>\n\nFrom body\n",
         present + "\r\nFrom body\r\n"},
        {"From: a@x\nDate: d\nBcc: secret@x,\n more@x\nMessage-ID: <i@x>\nReturn-Path: "
         "<r@x>\nContent-Length: 5\n"
         "Resent-Bcc: s@x\n\nb\n",
         present + "\r\nb\r\n"},
        {"From: root (Charlie Root)\nDate: d\nMessage-ID: <i@x>\nTo: a, B <b>,\n \"c d\", e@f\n\n",
         "From: root@example.org (Charlie Root)\r\nDate: d\r\nMessage-ID: <i@x>\r\n"
         "To: a@example.org, B <b@example.org>,\r\n \"c d\"@example.org, e@f\r\n\r\n"},
        {"From: a@x\nDate: d\nMessage-ID: <i@x>\nTo: not an address\n\n", present + "To: not an address\r\n\r\n"},
        {"From: a@x\nDate: d\nMessage-ID: <i@x>\nResent-To: b@y\n\n",
         "Resent-Message-ID: <20261120155458.0A1B2C3D4E5F01@example.org>\r\nResent-Date: Fri, 20 Nov 2026 "
         "15:54:58 "
         "+0000\r\nResent-From: user@example.org\r\n" +
             present + "Resent-To: b@y\r\n\r\n"},
        {"From: a@x\nDate: d\nMessage-ID: <i@x>\n\na\rb\r\nc\n\n.\n..\nd",
         present + "\r\na\r\nb\r\nc\r\n\r\n.\r\n..\r\nd\r\n"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.given);
        CHECK(fix(c.given).content == c.content);
    }
}

TEST_CASE("a missing From names the sender") {
    SubmissionOptions o = options();
    o.full_name = "Doe, John";
    CHECK(fix("\n", o).content == added + "From: \"Doe, John\" <user@example.org>\r\n\r\n");
    o.full_name = "J\xc3\xb6rg";
    o.sender = "joerg";
    CHECK(fix("\n", o).content == added + "From: =?utf-8?Q?J=C3=B6rg?= <joerg@example.org>\r\n\r\n");
    o.sender = "";
    CHECK(fix("\n", o).content == added + "From: Mail Delivery System <MAILER-DAEMON@example.org>\r\n\r\n");
}

TEST_CASE("-t reads the recipients from the header") {
    const SubmissionOptions o = options(RecipientSource::header);
    const auto recipients = [&](std::string_view text) {
        const Result r = fix(text, o);
        return r.problem.empty() ? fmt::format("{}", fmt::join(r.recipients, " ")) : "problem: " + r.problem;
    };
    CHECK(recipients("To: a@x, b\nCc: C <c@x>\nBcc: d@x\n\n") == "a@x b@example.org c@x d@x");
    CHECK(recipients("To: a@x\nTo: b@x, a@x\n\n") == "a@x b@x");
    CHECK(recipients("To: a@x\nResent-To: r@x\nResent-Bcc: s@x\nBcc: b@x\n\n") == "r@x s@x");
    CHECK(recipients("To: list: a@x, b@x;\n\nCc: not@this") == "a@x b@x");
    CHECK(recipients("To: undisclosed-recipients:;\nSubject: x\n\n") == "");
    CHECK(recipients("Subject: x\n\nTo: a@x\n") == "");
    CHECK(recipients("To: a@x (oops\n\n") == "problem: To: comment is not closed (byte 5)");
    CHECK(recipients("To: a@x\n\nbody") == "a@x");
    CHECK(fix("To: a@x\nBcc: b@x\nFrom: f@x\nDate: d\nMessage-ID: <m>\n\n", o).content ==
          "To: a@x\r\nFrom: f@x\r\nDate: d\r\nMessage-ID: <m>\r\n\r\n");
}

TEST_CASE("an endless header is refused") {
    SubmissionOptions o = options();
    o.max_header = 1000;
    std::string header;
    while (header.size() < 5000) header += "X: " + std::string(60, 'x') + "\n";
    CHECK(fix(header + "\nbody\n", o).problem == "header larger than 1000 bytes");
    CHECK(fix("X: " + std::string(9000, 'y'), o).problem == "header larger than 1000 bytes");
    CHECK(fix("X: y\n\n" + std::string(9000, 'y'), o).problem == "");
}

TEST_CASE("arguments are address lists too") {
    CHECK(complete_addresses("a@x,b, C <c@z>", "example.org").addresses ==
          std::vector<std::string>{"a@x", "b@example.org", "c@z"});
    CHECK(complete_addresses("a b", "example.org").problem == "expected @, a comma or < (byte 2)");
}

TEST_CASE("what is in transit or signed keeps its header as it is") {
    auto leave = options();
    leave.transit = SubmissionOptions::HeaderCompletion::leave;
    const std::string odd = "Subject:no blank\r\nTO : root\r\nContent-Length: 5\r\nReturn-Path: <a@x>\r\n";
    for (const std::string mark :
         {"Received: from a by b; then\r\n", "DKIM-Signature: v=1;\r\n\tb=x\r\n", "ARC-Seal: i=1\r\n"}) {
        const auto whole = mark + odd + "\r\nbody\r\n";
        CHECK(fix(whole, leave).content == whole);
        CHECK(fix(whole, options()).content != whole);
    }
    // Blind copies have left their sender's system already; where they are still with it they go no further.
    const std::string blind = "Bcc: secret@x,\r\n more@x\r\n";
    CHECK(fix("Received: r\r\n" + blind + "\r\nb\r\n", leave).content == "Received: r\r\n" + blind + "\r\nb\r\n");
    CHECK(fix("DKIM-Signature: d\r\n" + blind + odd + "\r\nb\r\n", leave).content ==
          "DKIM-Signature: d\r\n" + odd + "\r\nb\r\n");
    CHECK(fix("From a Fri\r\nReceived: r\r\n\r\nb\r\n", leave).content == "From a Fri\r\nReceived: r\r\n\r\nb\r\n");
    CHECK(fix("Received: r\r\nno field\r\n", leave).content == "Received: r\r\nno field\r\n");
    // Neither: a submission.
    CHECK(fix("Subject: x\r\n\r\nb\r\n", leave).content ==
          "Subject: x\r\n" + added + "From: user@example.org\r\n\r\nb\r\n");
}
