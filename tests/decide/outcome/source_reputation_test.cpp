// Refusals as servers of the world say them: which speak of the address we come from, and which only seem to.
#include "daemons/decide/outcome/source_reputation.h"
#include "libsmtp/protocol/reply.h"
#include <doctest/doctest.h>
#include <string>

using namespace decide;
using smtp::Stage;

namespace {

constexpr SourceIdentity from{"192.0.2.1", "mx1.Example.com"}, from_v6{"2001:db8::1", "mx6.example.com"};

std::string blamed(std::string_view reply, Stage stage = Stage::rcpt, const SourceIdentity& departure = from) {
    const int code = (reply[0] - '0') * 100 + (reply[1] - '0') * 10 + (reply[2] - '0');
    const auto word = reply.substr(4, reply.find(' ', 4) - 4);
    const auto status = smtp::EnhancedStatus::parse(word);
    const std::string own = std::to_string(code / 100) + ".0.0"; // as a session has it where the server gave none
    return std::string(blames_source({stage, code, status ? word : own}, reply, departure));
}

} // namespace

TEST_CASE("refusals of the address") {
    static constexpr std::string_view table[] = {
        // Postfix
        "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org; "
        "https://www.spamhaus.org/query/ip/192.0.2.1",
        "550 5.7.1 <mx1.example.com[192.0.2.1]>: Client host rejected: Access denied",
        "450 4.7.25 Client host rejected: cannot find your hostname, [192.0.2.1]",
        "450 4.7.1 Client host rejected: cannot find your reverse hostname, [192.0.2.1]",
        "450 4.7.1 <mx1.example.com>: Helo command rejected: Host not found",
        // Exim
        "550 rejected because 192.0.2.1 is in a black list at bl.spamcop.net",
        "550 \"JunkMail rejected - mx1.example.com [192.0.2.1]:25 is in an RBL: black\"",
        // sendmail's dnsbl feature
        "550 5.7.1 Mail from 192.0.2.1 refused by blackhole site dnsbl.example.net",
        "550 5.7.1 Rejected: 192.0.2.1 listed at list.example.net",
        // Gmail
        "550 5.7.1 [192.0.2.1 18] Our system has detected that this message is likely suspicious due to the very low "
        "reputation of the sending IP address. To best protect our users from spam, the message has been blocked.",
        "550 5.7.1 [192.0.2.1] Our system has detected an unusual rate of unsolicited mail originating from your IP "
        "address. To protect our users from spam, mail sent from your IP address has been blocked.",
        "421 4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address.",
        "550 5.7.25 [192.0.2.1] The IP address sending this message does not have a PTR record setup",
        "550 5.7.1 [2001:db8::1] Our system has detected that this message does not meet IPv6 sending guidelines "
        "regarding PTR records and authentication.",
        // Microsoft
        "550 5.7.606 Access denied, banned sending IP [192.0.2.1]. To request removal from this list please visit "
        "https://sender.office.com/",
        "550 5.7.511 Access denied, banned sender[192.0.2.1]. To request removal from this list please forward this "
        "message to delist@microsoft.com.",
        "550 5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Please contact your Internet service "
        "provider since part of their network is on our block list (S3140).",
        "451 4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation.",
        "451 4.7.500 Server busy. Please try again later from [192.0.2.1]. (S77714)",
        "550 5.7.708 Service unavailable. Access denied, traffic not accepted from this IP.",
        // Yahoo, AOL
        "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints - "
        "4.16.55.1; see https://postmaster.yahooinc.com/error-codes",
        "421 4.7.1 [TS03] All messages from 192.0.2.1 will be permanently deferred; Retrying will NOT succeed.",
        "553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1, because the ip is in Spamhaus's list",
        // Proofpoint, iCloud
        "554 5.7.0 Blocked - see https://support.proofpoint.com/dnsbl-lookup.cgi?ip=192.0.2.1",
        "550 5.7.1 Service unavailable; Access denied, see https://ipcheck.proofpoint.com/?ip=192.0.2.1",
        // Comcast, Cox, Barracuda, Cisco, Mimecast, Trend Micro, GMX
        "554 5.7.1 resimta-h1p comcast 192.0.2.1 found on one or more DNSBLs, see http://postmaster.comcast.net/",
        "552 5.1.0 192.0.2.1 found on one or more DNSBLs (Bizanga)",
        "554 5.7.1 Service unavailable; blocked using b.barracudacentral.org",
        "554 Your access to this mail system has been rejected due to the sending MTA's poor reputation.",
        "550 csi.mimecast.org Poor Reputation Sender. - https://community.mimecast.com/docs/DOC-1369#550",
        "450 4.7.1 Mail from 192.0.2.1 deferred using Trend Micro Email Reputation database.",
        "554 No SMTP service: Bad DNS PTR resource record.",
        // Words of their own
        "550 your address 192.0.2.1 is on our list of abusers",
        "550 5.7.1 Your IP is blacklisted",
        "554 5.7.1 You are not welcome, mx1.EXAMPLE.com",
        "550 5.7.0 Access from ip address 192.0.2.1 blocked.",
    };
    for (const auto reply : table) {
        INFO(reply);
        CHECK_FALSE(blamed(reply).empty());
    }
}

TEST_CASE("refusals of something else") {
    static constexpr std::string_view table[] = {
        // who may send by that server
        "554 5.7.1 <b@example.org>: Relay access denied",
        "550 5.7.1 Unable to relay for b@example.org [192.0.2.1]",
        "550 5.7.1 mx1.example.com [192.0.2.1] is not permitted to relay through this server without authentication",
        "550 relay not permitted",
        "550 5.7.1 Relaying denied. IP name lookup failed [192.0.2.1]",
        "530 5.7.0 Authentication required",
        "550 5.7.1 Client host rejected: was not authenticated",
        // the recipient
        "550 5.1.1 <b@example.org>: Recipient address rejected: User unknown in local recipient table",
        "550 5.1.1 192.0.2.1: that recipient is blocked",
        "550 5.2.1 192.0.2.1: this account is blocked",
        "550 5.7.1 <b@example.org>: Recipient address rejected: Access denied",
        "550 5.7.1 user b@example.org is suppressed",
        "550 Requested action not taken: mailbox unavailable; connecting IP 192.0.2.1 rejected",
        "550 5.7.1 You are not allowed to write to this list",
        // the sender and its domain
        "554 5.7.1 Service unavailable; Sender address [a@example.com] blocked using dbl.spamhaus.org",
        "550 5.7.1 <a@example.com>: Sender address rejected: Access denied",
        "450 4.1.8 <a@example.com>: Sender address rejected: Domain not found",
        "550 5.7.23 SPF fail: 192.0.2.1 is not allowed to send mail from example.com",
        "550 5.7.1 SPF check failed: 192.0.2.1 is not allowed to send mail for example.com",
        "550 5.7.26 Unauthenticated email from example.com is not accepted due to domain's DMARC policy. [192.0.2.1]",
        "550 5.7.27 The sender's domain has a null MX: not accepted from 192.0.2.1",
        "550 5.7.1 [192.0.2.1] Our system has detected that this message is likely suspicious due to the very low "
        "reputation of the sending domain.",
        // the mail
        "550 5.7.1 [192.0.2.1] Our system has detected that this message is likely unsolicited mail. To reduce the "
        "amount of spam sent to Gmail, this message has been blocked.",
        "554 5.7.1 Blocked by SpamAssassin: message content is spam",
        "554 5.7.1 The message contains a URL listed in multi.surbl.org",
        "552 5.3.4 Message size exceeds fixed limit",
        "550 5.6.0 192.0.2.1: bad headers, rejected",
        "550 5.7.1 rejected by policy",
        // how much of it, and greylisting
        "451 4.7.1 192.0.2.1: Greylisting in action, please come back later: policy",
        "450 4.2.0 <b@example.org>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/",
        "450 4.7.1 Client host rejected: Greylisted",
        "421 4.7.0 Too many connections from your IP: refused",
        "451 4.7.1 rate limit of your IP reached, rejected for now",
        // other addresses and names
        "550 5.7.1 192.0.2.10 is blocked",
        "550 5.7.1 1192.0.2.1 is blocked",
        "550 5.7.1 192.0.2.1.5 is blocked",
        "550 5.7.1 amx1.example.com is blocked",
        "550 5.7.1 mx1.example.com.example.org is blocked",
        // no blame
        "451 4.3.0 192.0.2.1: try again later",
        "550 No",
        "554 5.7.1 Message rejected",
    };
    for (const auto reply : table) {
        INFO(reply);
        CHECK(blamed(reply) == "");
    }
}

TEST_CASE("what speaks is told") {
    CHECK(blamed("550 5.7.606 No") == "5.7.606");
    CHECK(blamed("550 5.7.605 No") == "");
    CHECK(blamed("450 4.7.25 No") == "4.7.25");
    CHECK(blamed("554 5.7.1 CLIENT HOST [192.0.2.1] no") == "client host [");
    CHECK(blamed("554 192.0.2.1 blocked") == "192.0.2.1");
    CHECK(blamed("554 192.0.2.1: blocked") == "192.0.2.1");
    CHECK(blamed("554 blocked (192.0.2.1).") == "192.0.2.1");
    CHECK(blamed("554 blocked, ip:192.0.2.1.") == "192.0.2.1");
    CHECK(blamed("554 2001:DB8::1 blocked", Stage::mail, from_v6) == "2001:db8::1");
    CHECK(blamed("554 2001:db8::1: blocked", Stage::mail, from_v6) == "2001:db8::1");
    CHECK(blamed("554 2001:db8::1:5 blocked", Stage::mail, from_v6) == "");
    CHECK(blamed("554 2001:db8::12 blocked", Stage::mail, from_v6) == "");
    CHECK(blamed("554 5.7.1 mx1.example.com blocked") == "mx1.Example.com");
}

TEST_CASE("only a refusal of mail") {
    const std::string_view text = "554 5.7.1 Client host [192.0.2.1] blocked using zen.spamhaus.org";
    for (const auto stage : {Stage::mail, Stage::rcpt, Stage::data, Stage::content, Stage::final_dot})
        CHECK(blamed(text, stage) != "");
    // At the door every refusal leads to the pool's next address, whatever its words; AUTH and TLS are other matters.
    for (const auto stage : {Stage::connect, Stage::banner, Stage::ehlo, Stage::tls, Stage::auth, Stage::local})
        CHECK(blamed(text, stage) == "");
    CHECK(blames_source({Stage::rcpt, 0, "4.4.2"}, "lost connection: 192.0.2.1 blocked", from) == "");
    CHECK(blames_source({Stage::rcpt, 250, "2.0.0"}, "250 2.0.0 client host [192.0.2.1]", from) == "");
    CHECK(blames_source({Stage::rcpt, 550, "5.7.1"}, "550 5.7.1  is blocked", SourceIdentity{}) == "");
}
