#include "libsmtp/message/address.h"
#include <doctest/doctest.h>

using namespace smtp;

static std::string repeat(std::string_view text, int times) {
    std::string out;
    while (times-- > 0) out += text;
    return out;
}

TEST_CASE("mailboxes that are") {
    struct {
        std::string_view text, local_part, domain, again;
    } const table[] = {
        {"a@b", "a", "b", "a@b"},
        {"Ann.Lee+tag@Example.ORG", "Ann.Lee+tag", "Example.ORG", "Ann.Lee+tag@Example.ORG"},
        {"\"joe\"@x.org", "joe", "x.org", "joe@x.org"},
        {"\"a b\"@x.org", "a b", "x.org", "\"a b\"@x.org"},
        {"\"a\\\"b\\\\\"@x", "a\"b\\", "x", "\"a\\\"b\\\\\"@x"},
        {"\"a@b>c\"@x", "a@b>c", "x", "\"a@b>c\"@x"},
        {"a..b@x", "a..b", "x", "a..b@x"},
        {"#!$%&'*+-/=?^_`{|}~@x", "#!$%&'*+-/=?^_`{|}~", "x", "#!$%&'*+-/=?^_`{|}~@x"},
        {"a@[192.0.2.1]", "a", "[192.0.2.1]", "a@[192.0.2.1]"},
        {"a@[IPv6:2001:db8::1]", "a", "[IPv6:2001:db8::1]", "a@[IPv6:2001:db8::1]"},
        {"a@[IPv6:::ffff:192.0.2.1]", "a", "[IPv6:::ffff:192.0.2.1]", "a@[IPv6:::ffff:192.0.2.1]"},
        {"a@_x._y", "a", "_x._y", "a@_x._y"},
        {"j\xc3\xb6rg@b\xc3\xbc"
         "cher.example",
         "j\xc3\xb6rg",
         "b\xc3\xbc"
         "cher.example",
         "j\xc3\xb6rg@b\xc3\xbc"
         "cher.example"},
        {"o\xcc\x88@x", "o\xcc\x88", "x", "o\xcc\x88@x"}, // not composed: that is for who owns the mailbox
        {"\"\xe4\xbe\x8b \xf0\x9f\x93\xa7\"@\xe4\xbe\x8b", "\xe4\xbe\x8b \xf0\x9f\x93\xa7", "\xe4\xbe\x8b",
         "\"\xe4\xbe\x8b \xf0\x9f\x93\xa7\"@\xe4\xbe\x8b"},
    };
    for (auto& row : table) {
        const auto mailbox = Mailbox::parse(row.text);
        REQUIRE_MESSAGE(mailbox, row.text);
        CHECK(mailbox->local_part == row.local_part);
        CHECK(mailbox->domain == row.domain);
        CHECK(mailbox->text() == row.again);
        CHECK(Mailbox::parse(mailbox->text()) == *mailbox);
    }
}

TEST_CASE("mailboxes that are not") {
    for (std::string_view odd : {"",
                                 "@",
                                 "a@",
                                 "@b",
                                 "a",
                                 "a b@c",
                                 "a@b c",
                                 "a@b>",
                                 "<a@b>",
                                 "a@b@c",
                                 "a@.b",
                                 "a@b.",
                                 "a@b..c",
                                 "a@-b",
                                 "a@b-",
                                 "\"\"@b",
                                 "\"a@b",
                                 "\"a\"b@c",
                                 "a\"b\"@c",
                                 "a@[1.2.3]",
                                 "a@[1.2.3.256]",
                                 "a@[1.2.3.4",
                                 "a@[]",
                                 "a@[x:y]",
                                 "a@[IPv6:1:2:3]",
                                 "a@[IPv6:::1::2]",
                                 "a@[IPv6:12345::]",
                                 "a@[IPv6:1:2:3:4:5:6:7:8:9]",
                                 "a(c)@b",
                                 "a@b(c)",
                                 "a,b@c",
                                 "\xc3@b",
                                 "a\xff@b",
                                 "a@\xc3",
                                 "a@\xed\xa0\x80.b",
                                 "\xc0\xaf@b",
                                 "a\xc2\x9b@b",
                                 "a@x\xc2\x85",
                                 "\"\xc3\"@b"})
        CHECK_MESSAGE(!Mailbox::parse(odd), odd);
    for (char c : {'\0', '\r', '\n', '\t', '\x7f'}) {
        CHECK(!Mailbox::parse(std::string("a") + c + "b@x"));
        CHECK(!Mailbox::parse(std::string("\"a") + c + "b\"@x"));
        CHECK(!Mailbox::parse(std::string("\"a\\") + c + "b\"@x"));
        CHECK(!Mailbox::parse(std::string("a@x") + c));
    }
}

TEST_CASE("limits are taken up to the last byte and no further") {
    CHECK(Mailbox::parse(repeat("a", 255) + "@x"));
    CHECK(!Mailbox::parse(repeat("a", 256) + "@x"));
    CHECK(Mailbox::parse(repeat("a", 255) + "@" + repeat("b", 60) + ".xyz"));
    CHECK(!Mailbox::parse(repeat("a", 255) + "@" + repeat("b", 61) + ".xyz")); // 321 in all
    const auto domain = repeat(repeat("a", 63) + ".", 3) + repeat("b", 63);    // 255
    REQUIRE(domain.size() == 255);
    CHECK(Mailbox::parse("a@" + domain));
    CHECK(Mailbox::parse(repeat("a", 64) + "@" + domain));
    CHECK(!Mailbox::parse(repeat("a", 65) + "@" + domain));
    CHECK(!Mailbox::parse("a@" + domain + "b"));
    CHECK(!Mailbox::parse("a@" + repeat("a", 64)));
    CHECK(Mailbox::parse(repeat("\xc3\xb6", 127) + "@x")); // bytes are counted
    CHECK(!Mailbox::parse(repeat("\xc3\xb6", 128) + "@x"));
    CHECK(Mailbox::parse("a@" + repeat("\xf0\x9f\x93\xa7", 63)));
    CHECK(!Mailbox::parse("a@" + repeat("\xf0\x9f\x93\xa7", 64)));
}

TEST_CASE("paths") {
    CHECK(ReversePath::parse("")->null());
    CHECK(ReversePath::parse("a@b")->text() == "a@b");
    CHECK(ReversePath::parse("@x,@y.z:a@b")->text() == "a@b");
    CHECK(ReversePath::parse("root")->mailbox->bare());
    for (auto odd : {"@x", "@x:", "@x,:a@b", "@x,y:a@b", "@:a@b", "@x a@b", " ", "a@b ", " a@b", "<>"})
        CHECK_MESSAGE(!ReversePath::parse(odd), odd);
    CHECK(!ForwardPath::parse(""));
    CHECK(ForwardPath::parse("PostMaster")->bare_postmaster());
    CHECK_FALSE(ForwardPath::parse("postmaster@x")->bare_postmaster());
    CHECK_FALSE(ForwardPath::parse("postmaster2")->bare_postmaster());
}

TEST_CASE("an address of the Internet needs its brackets") {
    for (auto odd : {"a@192.0.2.1", "a@1", "a@1.2", "@x:a@192.0.2.1"}) {
        CHECK_MESSAGE(!ReversePath::parse(odd), odd);
        CHECK_MESSAGE(!ForwardPath::parse(odd), odd);
    }
    for (auto fine : {"a@[192.0.2.1]", "a@1.2.3.4x", "a@163.com", "a@1-2", "1.2.3.4"}) {
        CHECK_MESSAGE(ReversePath::parse(fine), fine);
        CHECK_MESSAGE(ForwardPath::parse(fine), fine);
    }
}

TEST_CASE("a path is cut from its parameters") {
    struct {
        std::string_view argument, inside, parameters;
    } const table[] = {
        {"<a@b>", "a@b", ""},
        {" <a@b> SIZE=1  BODY=7BIT ", "a@b", "SIZE=1  BODY=7BIT"},
        {"<>", "", ""},
        {"<\"a> b\"@c> X", "\"a> b\"@c", "X"},
        {"<\"a\\\">b\"@c> X", "\"a\\\">b\"@c", "X"},
        {"a@b SIZE=1", "a@b", "SIZE=1"},
    };
    for (auto& row : table) {
        const auto split = split_path(row.argument);
        REQUIRE_MESSAGE(split, row.argument);
        CHECK(split->inside == row.inside);
        CHECK(split->parameters == row.parameters);
    }
    for (auto odd : {"", "  ", "<a@b", "<\"a>", "<a@b>SIZE=1", "<a@b>>", "<\"a\\"})
        CHECK_MESSAGE(!split_path(odd), odd);
}
