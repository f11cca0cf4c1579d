#include "libsmtp/message/header_addresses.h"
#include <doctest/doctest.h>
#include <map>

using namespace smtp;

namespace {

// Every address in the domain "in" becomes the same local part in "out"; "long@in" something long.
std::optional<std::string> moved(AddressFieldKind, const std::string& address) {
    if (address == "long@in") return std::string(300, 'x') + "@out";
    if (address == "quoted@in") return "\"a b\"@out";
    const auto at = address.rfind('@');
    if (address.substr(at) != "@in") return std::nullopt;
    return address.substr(0, at) + "@out";
}

std::string rewritten(const std::string& field) {
    const auto found = addresses_of_header(scan_header(field));
    if (found.fields.empty()) return "-";
    return rewritten_field(found.fields.front(), moved).value_or("=");
}

} // namespace

TEST_CASE("addresses are replaced, and nothing else changes") {
    struct Case {
        std::string field, becomes; // "=": stays; "-": lists no address
    };
    const Case cases[] = {
        // forms of an address
        {"From: ann@in\r\n", "From: ann@out\r\n"},
        {"From:ann@in\r\n", "From:ann@out\r\n"},
        {"FROM :  ann@in  \r\n", "FROM :  ann@out  \r\n"},
        {"From: <ann@in>\r\n", "From: <ann@out>\r\n"},
        {"From: < ann@in >\r\n", "From: < ann@out >\r\n"},
        {"From: Ann <ann@in>\r\n", "From: Ann <ann@out>\r\n"},
        {"From: Ann<ann@in>\r\n", "From: Ann<ann@out>\r\n"},
        {"From: \"Ann, ann@in\" <ann@in>\r\n", "From: \"Ann, ann@in\" <ann@out>\r\n"},
        {"From: \"Ann \\\" ann@in\" <ann@in>\r\n", "From: \"Ann \\\" ann@in\" <ann@out>\r\n"},
        {"From: Ann Smith-Jones Jr. <ann@in>\r\n", "From: Ann Smith-Jones Jr. <ann@out>\r\n"},
        {"From: =?utf-8?Q?J=C3=B6rg_in?= <j@in>\r\n", "From: =?utf-8?Q?J=C3=B6rg_in?= <j@out>\r\n"},
        {"From: J\xc3\xb6rg <j@in>\r\n", "From: J\xc3\xb6rg <j@out>\r\n"},
        {"From: j\xc3\xb6rg@in\r\n", "From: j\xc3\xb6rg@out\r\n"},
        {"From: ann@in (Ann)\r\n", "From: ann@out (Ann)\r\n"},
        {"From: (Ann) ann@in\r\n", "From: (Ann) ann@out\r\n"},
        {"From: ann@in (ann@in (nested \\) ann@in))\r\n", "From: ann@out (ann@in (nested \\) ann@in))\r\n"},
        {"From: \"ann\"@in\r\n", "From: ann@out\r\n"},
        {"From: \"ann b\"@in\r\n", "From: \"ann b\"@out\r\n"},
        {"From: quoted@in\r\n", "From: \"a b\"@out\r\n"},
        {"From: Ann <quoted@in>\r\n", "From: Ann <\"a b\"@out>\r\n"},
        {"From: ann . b @ in\r\n", "From: ann.b@out\r\n"},
        {"From: ann@in.\r\n", "From: ann@out\r\n"},
        {"From: ann(one)@(two)in\r\n", "From: ann@out (one) (two)\r\n"},
        {"From: ann (a \"quoted\" (deeper)) @in\r\n", "From: ann@out (a \"quoted\" (deeper))\r\n"},
        {"From: \"ann (no comment)\"(one)@in\r\n", "From: \"ann (no comment)\"@out (one)\r\n"},
        {"From: <@relay,@other:ann@in>\r\n", "From: <ann@out>\r\n"},
        {"From: <@in:ann@in>\r\n", "From: <ann@out>\r\n"},
        {"From: Ann < @relay , @other : (c) ann@in >\r\n", "From: Ann < ann@out (c) >\r\n"},
        {"From: <@relay:ann@elsewhere>\r\n", "="},
        // what some programs write
        {"From: ann@in <ann@in>\r\n", "From: ann@in <ann@out>\r\n"},
        {"From: ann@in via a list <ann@in>, b@in\r\n", "From: ann@in via a list <ann@out>, b@out\r\n"},
        {"To: <>, ann@in\r\n", "To: <>, ann@out\r\n"},
        {"To: ann@in, Nobody <>\r\n", "To: ann@out, Nobody <>\r\n"},
        {"To: ann@in; bob@in\r\n", "To: ann@out; bob@out\r\n"},
        {"To: ann@in;\r\n", "To: ann@out;\r\n"},
        {"To: Ann <ann@in>; Group: bob@in; ; c@in\r\n", "To: Ann <ann@out>; Group: bob@out; ; c@out\r\n"},
        {"From: ann+tag=x%y!z@in\r\n", "From: ann+tag=x%y!z@out\r\n"},
        // what stays
        {"From: ann@elsewhere\r\n", "="},
        {"From: ann\r\n", "="},
        {"From: in\r\n", "="},
        {"From: ann@[192.0.2.1]\r\n", "="},
        {"From: ann@[IPv6:2001:db8::1]\r\n", "="},
        {"From: ann@in.example\r\n", "="},
        {"From: ann@sub.in\r\n", "="},
        {"From:\r\n", "-"},
        {"From: \r\n", "-"},
        {"From: <>\r\n", "-"},
        {"To: undisclosed-recipients:;\r\n", "-"},
        {"To: , ,\r\n", "-"},
        {"To: (nobody)\r\n", "-"},
        // malformed fields stay as they are
        {"To: ann@in bob@in\r\n", "-"},
        {"To: ann@in, bob@\r\n", "-"},
        {"To: ann@in, <bob@in\r\n", "-"},
        {"To: ann@in, \"bob@in\r\n", "-"},
        {"To: ann@in (open\r\n", "-"},
        {"To: ann@in@in\r\n", "-"},
        {"To: ann..b@in\r\n", "-"},
        {"To: Group: ann@in\r\n", "-"},
        {"To: a: b: ann@in;;\r\n", "-"},
        {std::string("To: ann\0@in\r\n", 13), "-"},
        {"To: ann@in, Company, Inc. <x@in>\r\n",
         "To: ann@out, Company, Inc. <x@out>\r\n"}, // a bare name, then a phrase
        // lists
        {"To: ann@in,bob@in\r\n", "To: ann@out,bob@out\r\n"},
        {"To: ann@in, bob@elsewhere, carol@in\r\n", "To: ann@out, bob@elsewhere, carol@out\r\n"},
        {"To: ann@elsewhere, bob@in\r\n", "To: ann@elsewhere, bob@out\r\n"},
        {"To: ,ann@in,,bob@in,\r\n", "To: ,ann@out,,bob@out,\r\n"},
        {"To: Friends: ann@in, Bob <bob@in>; , carol@in\r\n", "To: Friends: ann@out, Bob <bob@out>; , carol@out\r\n"},
        {"To: in: ann@in;\r\n", "To: in: ann@out;\r\n"},
        {"To: \"a group\":ann@in,bob;, carol@in\r\n", "To: \"a group\":ann@out,bob;, carol@out\r\n"},
        {"To: root, ann@in\r\n", "To: root, ann@out\r\n"},
        // folding
        {"To: ann@in,\r\n bob@in,\r\n\tcarol@elsewhere\r\n", "To: ann@out,\r\n bob@out,\r\n\tcarol@elsewhere\r\n"},
        {"To:\r\n ann@in\r\n", "To:\r\n ann@out\r\n"},
        {"To: Ann\r\n <ann@in>,\r\n (c)\r\n\r\n", "To: Ann\r\n <ann@out>,\r\n (c)\r\n"},
        {"To: ann\r\n @in\r\n", "To: ann@out\r\n"},
        {"To: ann@\r\n in (c)\r\n", "To: ann@out (c)\r\n"},
        {"To: ann@in\n", "To: ann@out\n"},
        {"To: ann@in", "To: ann@out"},
        // names of fields
        {"Sender: ann@in\r\n", "Sender: ann@out\r\n"},
        {"Reply-To: ann@in\r\n", "Reply-To: ann@out\r\n"},
        {"reply-to: ann@in\r\n", "reply-to: ann@out\r\n"},
        {"Errors-To: ann@in\r\n", "Errors-To: ann@out\r\n"},
        {"Return-Receipt-To: ann@in\r\n", "Return-Receipt-To: ann@out\r\n"},
        {"Disposition-Notification-To: ann@in\r\n", "Disposition-Notification-To: ann@out\r\n"},
        {"Mail-Followup-To: ann@in\r\n", "Mail-Followup-To: ann@out\r\n"},
        {"Cc: ann@in\r\n", "Cc: ann@out\r\n"},
        {"Bcc: ann@in\r\n", "Bcc: ann@out\r\n"},
        {"Apparently-To: ann@in\r\n", "Apparently-To: ann@out\r\n"},
        {"Resent-From: ann@in\r\n", "Resent-From: ann@out\r\n"},
        {"Resent-Sender: ann@in\r\n", "Resent-Sender: ann@out\r\n"},
        {"Resent-Reply-To: ann@in\r\n", "Resent-Reply-To: ann@out\r\n"},
        {"Resent-To: ann@in\r\n", "Resent-To: ann@out\r\n"},
        {"Resent-Cc: ann@in\r\n", "Resent-Cc: ann@out\r\n"},
        {"Resent-Bcc: ann@in\r\n", "Resent-Bcc: ann@out\r\n"},
        {"Subject: ann@in\r\n", "-"},
        {"Message-ID: <ann@in>\r\n", "-"},
        {"Received: from x by y for <ann@in>; Mon, 1 Jan 2024\r\n", "-"},
        {"Delivered-To: ann@in\r\n", "-"},
        {"X-To: ann@in\r\n", "-"},
        {"DKIM-Signature: i=ann@in\r\n", "-"},
        {"List-Post: <mailto:ann@in>\r\n", "-"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.field);
        CHECK(rewritten(each.field) == each.becomes);
    }
}

TEST_CASE("whose addresses a field lists") {
    using Kind = AddressFieldKind;
    for (const auto* name : {"From", "from", "SENDER", "Reply-To", "Resent-From", "Resent-Sender", "Errors-To"})
        CHECK_MESSAGE(address_field_kind(name) == Kind::sender, name);
    for (const auto* name : {"To", "cc", "BCC", "Resent-To", "Resent-Cc", "Resent-Bcc", "Apparently-To"})
        CHECK_MESSAGE(address_field_kind(name) == Kind::recipient, name);
    for (const auto* name : {"", "Subject", "T", "Too", "Return-Path", "Fro", "From "})
        CHECK_MESSAGE(address_field_kind(name) == Kind::none, name);
    // The replacement is told.
    const auto found = addresses_of_header(scan_header("From: a@in\r\nTo: a@in\r\n"));
    REQUIRE(found.fields.size() == 2);
    const auto of_senders = [](Kind kind, const std::string&) {
        return kind == Kind::sender ? std::optional<std::string>("b@out") : std::nullopt;
    };
    CHECK(rewritten_field(found.fields[0], of_senders) == "From: b@out\r\n");
    CHECK(rewritten_field(found.fields[1], of_senders) == std::nullopt);
}

TEST_CASE("fields that are not a list of addresses are named") {
    const auto found =
        addresses_of_header(scan_header("To: a@in b@in\r\nFrom: a@in\r\nCC: nobody at all\r\nBcc: (a@in\r\n"
                                        "Subject: x@ y@\r\nSender: <>\r\n"));
    CHECK(found.complete);
    CHECK(found.fields.size() == 1);
    REQUIRE(found.unreadable.size() == 2); // one without an @ lists none
    CHECK(found.unreadable[0].name == "To");
    CHECK(found.unreadable[0].why == "expected a comma");
    CHECK(found.unreadable[1].name == "Bcc");
    CHECK(found.unreadable[1].why == "comment is not closed");
}

TEST_CASE("a line that becomes too long is folded before the address") {
    const std::string name(700, 'n');
    CHECK(rewritten("To: " + name + " <long@in>\r\n") ==
          "To: " + name + "\r\n <" + std::string(300, 'x') + "@out>\r\n");
    CHECK(rewritten("To: long@in, long@in, long@in, long@in\r\n") ==
          "To: " + std::string(300, 'x') + "@out, " + std::string(300, 'x') + "@out,\r\n " + std::string(300, 'x') +
              "@out, " + std::string(300, 'x') + "@out\r\n");
    const auto already = "To: " + std::string(1200, 'n') + " <ann@in>\r\n";
    CHECK(rewritten(already) == "To: " + std::string(1200, 'n') + "\r\n <ann@out>\r\n");
    // A line of blanks alone would end the header.
    for (const auto* before : {"To:\r\n ", "To:\r\n \t ", "To:\r\n <", "To:\r\n\t(c)\r\n "}) {
        const std::string closed = std::string_view(before).ends_with('<') ? ">" : "";
        const auto becomes = rewritten(before + ("long@in" + closed) + ", " + std::string(900, 'n') + "@x\r\n");
        CAPTURE(becomes.substr(0, 30));
        CHECK(becomes.find("@out") != becomes.npos);
        const auto block = scan_header(becomes);
        CHECK(block.fields.size() == 1);
        CHECK(block.length == becomes.size());
    }
    // Where there is no blank, it is not.
    CHECK(rewritten("To:long@in,long@in,long@in,long@in\r\n").find("\r\n") == 4 * 304 + 3 + 3);
}

TEST_CASE("fields of a header are bounded in size and number of addresses") {
    const std::string header = "From: a@in\r\nTo: b@in, c@in\r\nSubject: x\r\nCc: d@in\r\n";
    const auto all = addresses_of_header(scan_header(header));
    CHECK(all.complete);
    REQUIRE(all.fields.size() == 3);
    CHECK(all.fields[2].number == 3);
    const auto few = addresses_of_header(scan_header(header), {.addresses = 2});
    CHECK_FALSE(few.complete); // To has one too many, Cc still fits
    REQUIRE(few.fields.size() == 2);
    CHECK(few.fields[1].number == 3);
    CHECK(addresses_of_header(scan_header(header), {.addresses = 4}).complete);
    const auto narrow = addresses_of_header(scan_header(header), {.field = 15});
    CHECK_FALSE(narrow.complete);
    CHECK(narrow.fields.size() == 2);
    CHECK(addresses_of_header(scan_header("To: b@, c@in\r\n")).complete); // malformed is no bound
    std::string many = "To: a@in";
    for (int i = 0; i < 20'000; ++i) many += ",\r\n a@in";
    many += "\r\n";
    CHECK_FALSE(addresses_of_header(scan_header(many)).complete);
    CHECK(addresses_of_header(scan_header(many)).fields.empty());
    std::string fields;
    for (int i = 0; i < 100'000; ++i) fields += "To: a@in\r\n";
    CHECK(addresses_of_header(scan_header(fields)).fields.size() == 10'000);
}
