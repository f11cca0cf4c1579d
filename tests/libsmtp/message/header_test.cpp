#include "libsmtp/message/header.h"
#include <doctest/doctest.h>

using namespace smtp;

TEST_CASE("a header block is cut into fields, folded ones whole") {
    const std::string_view text = "Subject: one\r\n two\r\nX-Empty:\r\nOld : blank\r\n\r\nbody\r\n";
    const HeaderBlock block = scan_header(text);
    REQUIRE(block.fields.size() == 3);
    CHECK(block.fields[0].is("SUBJECT"));
    CHECK(block.fields[0].value == " one\r\n two");
    CHECK(block.fields[0].unfolded() == "one two");
    CHECK(block.fields[0].raw == "Subject: one\r\n two\r\n");
    CHECK(block.fields[1].unfolded() == "");
    CHECK(block.fields[2].name == "Old");
    CHECK(block.end == HeaderEnd::blank_line);
    CHECK(text.substr(block.body) == "body\r\n");
    CHECK(block.length + 2 == block.body);
}

TEST_CASE("a header ends where its fields end") {
    struct Case {
        std::string_view text;
        std::size_t fields, body;
        HeaderEnd end;
    };
    const Case cases[] = {
        {"", 0, 0, HeaderEnd::end_of_text},
        {"\r\n", 0, 2, HeaderEnd::blank_line},
        {"\n", 0, 1, HeaderEnd::blank_line},
        {"hello there\n", 0, 0, HeaderEnd::not_a_field},
        {" folded nothing\n", 0, 0, HeaderEnd::not_a_field},
        {": no name\n", 0, 0, HeaderEnd::not_a_field},
        {"A: b", 1, 4, HeaderEnd::end_of_text},
        {"A: b\n", 1, 5, HeaderEnd::end_of_text},
        {"A: b\nno field\n", 1, 5, HeaderEnd::not_a_field},
        {"A: b\n c\n\td\n\nx", 1, 12, HeaderEnd::blank_line},
        {"A\xff: b\n", 0, 0, HeaderEnd::not_a_field},
    };
    for (const Case& c : cases) {
        CAPTURE(c.text);
        const HeaderBlock block = scan_header(c.text);
        CHECK(block.fields.size() == c.fields);
        CHECK(block.body == c.body);
        CHECK(block.end == c.end);
    }
}

TEST_CASE("a header can be changed") {
    Header header(scan_header("From: a\nBcc: x\nTo: b,\n c\nbcc: y\n\n"));
    CHECK(header.count("BCC") == 2);
    CHECK(header.remove("Bcc") == 2);
    CHECK(header.value("to") == "b, c");
    header.append("Date", "today");
    header.prepend("Return-Path", "<s@x>");
    header.replace(1, "z");
    CHECK(header.text() == "Return-Path: <s@x>\r\nFrom: z\r\nTo: b,\r\n c\r\nDate: today\r\n");
}

TEST_CASE("a value cannot start a field of its own") {
    Header header;
    header.append("X", "a\r\nBcc: evil@example.org\r\n folded");
    CHECK(header.text() == "X: aBcc: evil@example.org\r\n folded\r\n");
}
