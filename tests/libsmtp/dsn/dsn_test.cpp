#include "libsmtp/dsn/dsn.h"
#include "libsmtp/dsn/dsn_text.h"
#include <doctest/doctest.h>

using namespace smtp;
using namespace smtp::dsn;

namespace {

Report report() {
    Report r;
    r.host = "mx.example.org";
    r.from = "MAILER-DAEMON@example.org";
    r.postmaster = "postmaster@example.org";
    r.sender = "sender@example.com";
    r.queue_id = "0A1B2C3D4E5F01";
    r.report_id = "0A1B2C3D4E6002";
    r.arrival = WallTime(std::chrono::seconds(1795190000));
    r.now = WallTime(std::chrono::seconds(1795190098));
    Recipient to;
    to.final_recipient = "nobody@example.net";
    to.reason.status = "5.1.1";
    to.reason.text = "host mx.example.net[192.0.2.1] said: 550 5.1.1 No such user (in reply to RCPT TO command)";
    to.reason.remote_reply = "550 5.1.1 No such user";
    to.reason.remote_host = "mx.example.net";
    to.last_attempt = r.now;
    r.recipients = {to};
    r.content = "Message-ID: <orig@example.com>\r\nSubject: hello\r\n\r\nbody\r\n";
    return r;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

} // namespace

TEST_CASE("a failure report, byte for byte") {
    CHECK(compose(report()) == "Date: Fri, 20 Nov 2026 15:54:58 +0000\r\n"
                               "From: Mail Delivery System <MAILER-DAEMON@example.org>\r\n"
                               "To: <sender@example.com>\r\n"
                               "Subject: Undelivered Mail Returned to Sender\r\n"
                               "Message-ID: <20261120155458.0A1B2C3D4E6002@mx.example.org>\r\n"
                               "In-Reply-To: <orig@example.com>\r\n"
                               "References: <orig@example.com>\r\n"
                               "Auto-Submitted: auto-replied\r\n"
                               "MIME-Version: 1.0\r\n"
                               "Content-Type: multipart/report; report-type=delivery-status;\r\n"
                               "\tboundary=\"=_0A1B2C3D4E6002.660B744187880\"\r\n"
                               "\r\n"
                               "This is a message in MIME format: a report on the delivery of a mail.\r\n"
                               "\r\n"
                               "--=_0A1B2C3D4E6002.660B744187880\r\n"
                               "Content-Description: Notification\r\n"
                               "Content-Type: text/plain; charset=us-ascii\r\n"
                               "Content-Transfer-Encoding: 7bit\r\n"
                               "\r\n"
                               "This is the mail system at mx.example.org.\r\n"
                               "\r\n"
                               "Your message of Fri, 20 Nov 2026 15:53:20 +0000\r\n"
                               "could not be delivered to the recipients listed here. There will be\r\n"
                               "no further attempts. Recipients that are not listed are not affected.\r\n"
                               "\r\n"
                               "<nobody@example.net>: host mx.example.net[192.0.2.1] said: 550 5.1.1 No\r\n"
                               "    such user (in reply to RCPT TO command)\r\n"
                               "    -> There is no such address. Check its spelling, or ask the recipient for\r\n"
                               "       the correct one.\r\n"
                               "\r\n"
                               "Replies of other mail systems are quoted unchanged. If you need help,\r\n"
                               "write to postmaster@example.org and include this report.\r\n"
                               "\r\n"
                               "--=_0A1B2C3D4E6002.660B744187880\r\n"
                               "Content-Description: Delivery report\r\n"
                               "Content-Type: message/delivery-status\r\n"
                               "Content-Transfer-Encoding: 7bit\r\n"
                               "\r\n"
                               "Reporting-MTA: dns; mx.example.org\r\n"
                               "X-Postrider-Queue-ID: 0A1B2C3D4E5F01\r\n"
                               "X-Postrider-Sender: rfc822; sender@example.com\r\n"
                               "Arrival-Date: Fri, 20 Nov 2026 15:53:20 +0000\r\n"
                               "\r\n"
                               "Final-Recipient: rfc822; nobody@example.net\r\n"
                               "Action: failed\r\n"
                               "Status: 5.1.1\r\n"
                               "Remote-MTA: dns; mx.example.net\r\n"
                               "Diagnostic-Code: smtp; 550 5.1.1 No such user\r\n"
                               "Last-Attempt-Date: Fri, 20 Nov 2026 15:54:58 +0000\r\n"
                               "\r\n"
                               "--=_0A1B2C3D4E6002.660B744187880\r\n"
                               "Content-Description: Header of the message\r\n"
                               "Content-Type: text/rfc822-headers\r\n"
                               "Content-Transfer-Encoding: 7bit\r\n"
                               "\r\n"
                               "Message-ID: <orig@example.com>\r\n"
                               "Subject: hello\r\n"
                               "\r\n"
                               "--=_0A1B2C3D4E6002.660B744187880--\r\n");
}

TEST_CASE("how much is returned") {
    Report r = report();
    r.returns = Return::full;
    CHECK(has(compose(r), "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: 7bit\r\n\r\nMessage-ID:"));
    CHECK(has(compose(r), "\r\n\r\nbody\r\n\r\n--="));
    r.full_content_limit = 20;
    CHECK_FALSE(has(compose(r), "body\r\n"));
    r.full_content_limit = 10000;
    r.content_complete = false;
    CHECK_FALSE(has(compose(r), "body\r\n"));
    r.content_complete = true;
    r.kind = ReportKind::delayed;
    CHECK_FALSE(has(compose(r), "\r\nbody\r\n"));
    r.headers_limit = 40;
    CHECK(has(compose(r), "Message-ID: <orig@example.com>\r\n\r\n--"));
    r.headers_limit = 10000;
    r.content = "X-Long: x\r\nSubject: y\r\nReceived: z\r\n\r\nbody\r\n";
    r.returns = Return::few_headers;
    CHECK(has(compose(r), "7bit\r\n\r\nSubject: y\r\n\r\n--"));
    r.content = "";
    CHECK(has(compose(r), "text/rfc822-headers\r\nContent-Transfer-Encoding: 7bit\r\n\r\n\r\n--"));
}

TEST_CASE("8-bit content is labelled as such") {
    Report r = report();
    r.returns = Return::full;
    r.content = "Subject: x\r\n\r\n\xe4\r\n";
    const std::string out = compose(r);
    CHECK(has(out.substr(0, out.find("\r\n\r\n")), "Content-Transfer-Encoding: 8bit"));
    CHECK(has(out, "message/rfc822\r\nContent-Transfer-Encoding: 8bit"));
    CHECK(has(out, "message/delivery-status\r\nContent-Transfer-Encoding: 7bit"));
}

TEST_CASE("delays, successes and the sender's own words") {
    Report r = report();
    r.kind = ReportKind::delayed;
    r.retry_until = r.arrival + std::chrono::hours(120);
    r.envelope_id = "QQ314159";
    r.recipients[0].reason.status = "4.4.1";
    r.recipients[0].reason.remote_reply = "";
    r.recipients[0].reason.remote_host = "";
    r.recipients[0].reason.text = "connect to mx.example.net[192.0.2.1]:25: Connection timed out";
    r.recipients[0].original_recipient = "rfc822;list@example.com";
    std::string out = compose(r);
    CHECK(has(out, "Original-Envelope-Id: QQ314159\r\n"));
    CHECK(has(out, "Original-Recipient: rfc822;list@example.com\r\n"));
    CHECK(has(out, "<nobody@example.net> (you wrote to <list@example.com>): connect to"));
    CHECK(has(out, "Action: delayed\r\nStatus: 4.4.1\r\nDiagnostic-Code: X-Postrider; connect to"));
    CHECK(has(out, "Will-Retry-Until: Wed, 25 Nov 2026 15:53:20 +0000\r\n"));
    CHECK_FALSE(has(out, "Remote-MTA"));
    r.kind = ReportKind::relayed;
    out = compose(r);
    CHECK(has(out, "Action: relayed\r\nStatus: 2.0.0\r\n"));
    CHECK_FALSE(has(out, "Will-Retry-Until"));
}

TEST_CASE("a sender without SMTPUTF8 is told of addresses beyond ASCII in ASCII") {
    Report r = report();
    r.recipients[0].final_recipient = "j\xc3\xb6rg+x@\xe4\xbe\x8b.example";
    r.recipients[0].original_recipient = "utf-8;J\xc3\xb6rg@example.net";
    CHECK_FALSE(needs_smtputf8(r));
    const std::string out = compose(r);
    CHECK(has(out, "Content-Type: message/delivery-status\r\nContent-Transfer-Encoding: 7bit"));
    CHECK(has(out, "Final-Recipient: utf-8; j\\x{F6}rg\\x{2B}x@\\x{4F8B}.example\r\n"));
    CHECK(has(out, "Original-Recipient: utf-8; J\\x{F6}rg@example.net\r\n"));
    CHECK(has(out, "<j\xc3\xb6rg+x@\xe4\xbe\x8b.example>")); // to the human as they are
    CHECK_FALSE(has(out, "message/global"));
}

TEST_CASE("addresses beyond ASCII make an SMTPUTF8 report") {
    Report r = report();
    r.smtputf8 = true;
    CHECK_FALSE(needs_smtputf8(r)); // there is nothing to show
    r.recipients[0].original_recipient = "rfc822;nobody@example.net";
    r.recipients[0].final_recipient = "j\xc3\xb6rg@example.net";
    CHECK(needs_smtputf8(r));
    const std::string out = compose(r);
    CHECK(has(out, "Original-Recipient: rfc822;nobody@example.net\r\n"));
    CHECK(has(out, "Content-Type: message/global-delivery-status\r\nContent-Transfer-Encoding: 8bit"));
    CHECK(has(out, "Final-Recipient: utf-8; j\xc3\xb6rg@example.net\r\n"));
    CHECK(has(out, "Content-Type: text/rfc822-headers"));
    CHECK(has(out, "text/plain; charset=utf-8"));
}

TEST_CASE("what others said cannot break out of its field") {
    Report r = report();
    r.recipients[0].reason.remote_reply = "550 no\r\nAction: delivered\r\n\r\n--" + std::string(3000, 'x');
    r.recipients[0].reason.text = "said \xff\r\n--=_0A1B2C3D4E6002.660B744187880--\r\n" + std::string(2000, 'y');
    r.recipients[0].reason.remote_host = "a\nb";
    r.content = "Message-ID: <a\r\n b>\r\nX: --=_0A1B2C3D4E6002.660B744187880\r\n\r\n";
    const std::string out = compose(r);
    CHECK_FALSE(has(out, "\nAction: delivered"));
    CHECK(has(out, "boundary=\"=_0A1B2C3D4E6002.660B744187880.1\""));
    CHECK_FALSE(has(out, "In-Reply-To"));
    for (std::size_t at = 0, end; (end = out.find("\r\n", at)) != out.npos; at = end + 2) CHECK(end - at <= 998);
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (out[i] == '\n') CHECK(out[i - 1] == '\r');
        if (out[i] == '\r') CHECK(out[i + 1] == '\n');
    }
}

TEST_CASE("an operator's wording") {
    Report r = report();
    r.wording = {"Zur\xc3\xbc"
                 "ck",
                 "Guten Tag {sender}, {nonsense} {host\n{recipients}-- {queue_id}"};
    std::string out = compose(r);
    CHECK(has(out, "Subject: =?utf-8?Q?Zur=C3=BCck?=\r\n"));
    CHECK(has(out, "Guten Tag sender@example.com, {nonsense} {host\r\n<nobody@example.net>: host"));
    CHECK(has(out, "-- 0A1B2C3D4E5F01\r\n"));
    r.wording.text = "Only this.";
    out = compose(r);
    CHECK(has(out, "Only this.\r\n\r\n<nobody@example.net>: host"));
    r.wording.text = "{recipients}";
    r.recipients[0].reason.text = "{host} {recipients}";
    CHECK(has(compose(r), "<nobody@example.net>: {host} {recipients}\r\n"));
}

TEST_CASE("a status fits its action") {
    CHECK(fitting_status("5.1.1", Action::failed) == "5.1.1");
    CHECK(fitting_status("4.4.7", Action::failed) == "4.4.7");
    CHECK(fitting_status("", Action::failed) == "5.0.0");
    CHECK(fitting_status("2.0.0", Action::failed) == "5.0.0");
    CHECK(fitting_status("5.7.1", Action::delayed) == "4.7.1");
    CHECK(fitting_status("nonsense", Action::delivered) == "2.0.0");
    CHECK(fitting_status("5.1.1\r\nX: y", Action::failed) == "5.0.0");
    CHECK(fitting_status("2.1.5", Action::relayed) == "2.1.5");
}

TEST_CASE("fields are folded at blanks and read back the same") {
    const std::string value =
        "smtp; 550 a reason that is rather long and  has two blanks, so that it is folded somewhere";
    const std::string field = folded_field("Diagnostic-Code", value);
    std::string unfolded;
    for (char c : field)
        if (c != '\r' && c != '\n') unfolded += c;
    CHECK(unfolded == "Diagnostic-Code: " + value);
    CHECK(field.find("\r\n") < 78);
    CHECK(folded_field("X", "") == "X:\r\n");
    CHECK(folded_field("X", "a   ") == "X: a\r\n");
}
