#include "libsmtp/protocol/parameters.h"
#include <doctest/doctest.h>

using namespace smtp;

static Capabilities all() {
    Capabilities offered;
    offered.size = 1000;
    offered.future_release = 1000;
    offered.mt_priority = true;
    offered.auth = "PLAIN";
    offered.smtputf8 = offered.require_tls = true;
    return offered;
}

TEST_CASE("MAIL parameters") {
    const auto p = parse_mail_parameters("SIZE=123 body=8bitmime RET=HDRS ENVID=a+2Bb", all());
    REQUIRE(p);
    CHECK(p->size == 123);
    CHECK(p->body == Body::eight_bit_mime);
    CHECK(p->ret == Ret::headers);
    CHECK(p->envid == "a+b");
    CHECK(parse_mail_parameters("", all()) == MailParameters{});
    CHECK(parse_mail_parameters("RET=full BODY=7BIT", all())->ret == Ret::full);
}

TEST_CASE("MAIL parameters of submission") {
    const auto p = parse_mail_parameters("HOLDFOR=1000 MT-PRIORITY=-9 AUTH=ann+40here.example", all());
    REQUIRE(p);
    CHECK(p->hold_for == 1000u);
    CHECK(p->priority == -9);
    CHECK(p->auth == "ann@here.example");
    const auto at = WallTime(std::chrono::seconds(1795190400)); // 2026-11-20T16:00:00Z
    CHECK(parse_mail_parameters("HOLDUNTIL=2026-11-20T16:00:00Z", all())->hold_until == at);
    CHECK(parse_mail_parameters("HOLDUNTIL=2026-11-20T17:00:00+01:00", all())->hold_until == at);
    CHECK(parse_mail_parameters("HOLDUNTIL=2026-11-20T14:30:00-01:30", all())->hold_until == at);
    for (auto not_offered : {"HOLDFOR=1", "HOLDUNTIL=2026-11-20T16:00:00Z", "MT-PRIORITY=1", "AUTH=<>"})
        CHECK(parse_mail_parameters(not_offered, Capabilities{}).error().code == 555);
}

TEST_CASE("MAIL parameters that are refused") {
    struct {
        std::string_view text;
        int code;
    } const table[] = {
        {"SIZE=1x", 501},
        {"HOLDFOR=1001", 501},
        {"HOLDFOR=-1", 501},
        {"HOLDFOR=", 501},
        {"HOLDFOR=1 HOLDUNTIL=2026-11-20T16:00:00Z", 501},
        {"HOLDUNTIL=2026-13-20T16:00:00Z", 501},
        {"HOLDUNTIL=2026-11-20T16:00:00", 501},
        {"HOLDUNTIL=2026-11-20 16:00:00Z", 501},
        {"HOLDUNTIL", 501},
        {"MT-PRIORITY=10", 501},
        {"MT-PRIORITY=-", 501},
        {"MT-PRIORITY=+1", 501},
        {"AUTH=ann", 501},
        {"AUTH=", 501},
        {"SIZE=-1", 501},
        {"SIZE=ten", 501},
        {"SIZE=", 501},
        {"SIZE", 501},
        {"SIZE=1 SIZE=1", 501},
        {"RET=FULL RET=FULL", 501},
        {"RET=BODY", 501},
        {"RET", 501},
        {"BODY=9BIT", 501},
        {"BODY", 501},
        {"ENVID=", 501},
        {"ENVID=+00", 501},
        {"ENVID=a+0D+0Ab", 501},
        {"ENVID=+zz", 501},
        {"ENVID=+2b", 501},
        {"ENVID=+4", 501},
        {"ENVID=+", 501},
        {"ENVID=a=b", 501},
        {"NOTIFY=NEVER", 555},
        {"SMTPUTF8=1", 501},
        {"SMTPUTF8 SMTPUTF8", 501},
        {"REQUIRETLS=yes", 501},
        {"SMTPUTF", 555},
        {"X=1", 555},
        {"=1", 555},
    };
    for (auto& row : table) {
        const auto p = parse_mail_parameters(row.text, all());
        REQUIRE_MESSAGE(!p, row.text);
        CHECK(p.error().code == row.code);
        CHECK(p.error().status == EnhancedStatus{5, 5, 4});
    }
    CHECK(!parse_mail_parameters("ENVID=" + std::string(101, 'x'), all()));
    CHECK(parse_mail_parameters("ENVID=" + std::string(100, 'x'), all()));
    CHECK(parse_mail_parameters("SIZE=1", Capabilities{}).error().code == 555); // not offered, not understood
    CHECK(parse_mail_parameters("SMTPUTF8", Capabilities{}).error().code == 555);
    CHECK(parse_mail_parameters("REQUIRETLS", Capabilities{}).error().code == 555);
    CHECK(parse_mail_parameters("smtputf8", all())->smtputf8);
    CHECK(parse_mail_parameters("RequireTLS", all())->require_tls);
}

TEST_CASE("RCPT parameters") {
    const auto p = parse_rcpt_parameters("NOTIFY=success,DELAY ORCPT=rfc822;Bob+40example.org", all());
    REQUIRE(p);
    CHECK(p->notify == Notify{false, true, false, true});
    CHECK(p->orcpt == "rfc822;Bob@example.org");
    CHECK(parse_rcpt_parameters("NOTIFY=NEVER", all())->notify.never);
    for (auto odd : {"NOTIFY=NEVER,SUCCESS", "NOTIFY=", "NOTIFY", "NOTIFY=SUCCESS,SUCCESS", "NOTIFY=SUCCESS,",
                     "NOTIFY=SOMETIMES", "ORCPT=rfc822;", "ORCPT=;a", "ORCPT=a@b", "ORCPT=rfc822;a+00b",
                     "ORCPT=rfc822;a+0D+0A", "ORCPT=rfc822;+zz", "ORCPT=r(c;a", "NOTIFY=NEVER NOTIFY=NEVER"}) {
        const auto refused = parse_rcpt_parameters(odd, all());
        REQUIRE_MESSAGE(!refused, odd);
        CHECK(refused.error().code == 501);
        CHECK(refused.error().status == EnhancedStatus{5, 5, 4});
    }
    CHECK(parse_rcpt_parameters("SIZE=1", all()).error().code == 555);
}

TEST_CASE("NOTIFY goes and comes back") {
    for (std::uint8_t bits = 0; bits < 16; ++bits) {
        const auto notify = Notify::from_bits(bits);
        CHECK(notify.bits() == bits);
        const bool lawful = bits != 0 && (bits == 1 || (bits & 1) == 0);
        const auto again = Notify::parse(notify.text());
        CHECK(again.has_value() == lawful);
        if (lawful) CHECK(*again == notify);
    }
}

TEST_CASE("xtext goes and comes back") {
    std::string every;
    for (int c = 0x20; c < 0x7f; ++c) every.push_back(static_cast<char>(c));
    CHECK(decode_xtext(encode_xtext(every)) == every);
    CHECK(encode_xtext("a+b=c d") == "a+2Bb+3Dc+20d");
    CHECK(encode_orcpt("rfc822;a+b@c") == "rfc822;a+2Bb@c");
    CHECK(decode_orcpt(encode_orcpt("rfc822;a+b@c")) == "rfc822;a+b@c");
}

TEST_CASE("ORCPT of type utf-8 (RFC 6533)") {
    const std::string decoded = "utf-8;j\xc3\xb6rg+1@\xe4\xbe\x8b.example";
    for (auto written :
         {"ORCPT=utf-8;j\\x{F6}rg\\x{2B}1@\\x{4F8B}.example", "ORCPT=utf-8;j\xc3\xb6rg\\x{2b}1@\\x{004F8B}.example"}) {
        const auto p = parse_rcpt_parameters(written, all());
        REQUIRE_MESSAGE(p, written);
        CHECK(p->orcpt == decoded);
    }
    CHECK(encode_orcpt(decoded) == "utf-8;j\\x{F6}rg\\x{2B}1@\\x{4F8B}.example");
    CHECK(encode_orcpt(decoded, WireText::utf8) == "utf-8;j\xc3\xb6rg\\x{2B}1@\xe4\xbe\x8b.example");
    CHECK(encode_utf8_address("\xf0\x9f\x93\xa7@x") == "\\x{1F4E7}@x");
    CHECK(decode_utf8_address("\\x{1F4E7}@x") == "\xf0\x9f\x93\xa7@x");
    for (auto odd : {"ORCPT=utf-8;", "ORCPT=utf-8;a\xff", "ORCPT=utf-8;\\x{}", "ORCPT=utf-8;\\x{0D}\\x{0A}",
                     "ORCPT=utf-8;\\x{D800}", "ORCPT=utf-8;\\x{110000}", "ORCPT=utf-8;\\x{9B}", "ORCPT=utf-8;\\x{F6",
                     "ORCPT=utf-8;\\xF6", "ORCPT=utf-8;a+b", "ORCPT=utf-8;a=b", "ORCPT=rfc822;j\xc3\xb6rg",
                     "ORCPT=utf-8;\\x{G0}", "ORCPT=utf-8;\\x{-1}", "ORCPT=utf-8;\\x{0000041}"})
        CHECK_MESSAGE(!parse_rcpt_parameters(odd, all()), odd);
}
