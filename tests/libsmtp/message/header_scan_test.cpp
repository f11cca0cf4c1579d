#include "libsmtp/message/header_scan.h"
#include "libsmtp/message/received.h"
#include "tests/libsmtp/text/pieces.h"
#include <doctest/doctest.h>
#include <string>

using namespace smtp;

TEST_CASE("what a header says, however it is cut") {
    struct {
        std::string text;
        std::string message_id;
        std::uint32_t received, fields;
        std::uint64_t size;
        bool ended;
    } const table[] = {
        {"Received: a\r\n\tb\r\nMessage-ID: <1@x>\r\nSubject: Received: no\r\n\r\nReceived: body\r\n", "<1@x>", 1, 3,
         61, true},
        {"received:a\r\nRECEIVED: b\r\nReceived-SPF: c\r\n\r\n", "", 2, 3, 44, true},
        {"Message-Id:\r\n <folded\r\n\t@x>\r\nX: y\r\n\r\n", "<folded@x>", 0, 2, 37, true},
        {"Message-ID: <1@x>\r\nMessage-ID: <2@x>\r\n\r\n", "<1@x>", 0, 2, 40, true},
        {"Message-ID : <1@x>\r\n\r\n", "<1@x>", 0, 1, 22, true},
        {"\r\nReceived: body\r\n", "", 0, 0, 2, true},
        {"no header at all\r\nReceived: x\r\n", "", 0, 0, 3, true},
        {"Subject: x\r\nhello\r\nReceived: x\r\n", "", 0, 1, 12, true},
        {" continuation first\r\nReceived: x\r\n", "", 0, 0, 0, true},
        {"Subject: not ended", "", 0, 1, 18, false},
        {"Message-ID: <a\x01\xc3@x>\r\n\r\n", "<a??@x>", 0, 1, 23, true},
    };
    for (auto& row : table) {
        for (auto& way : pieces::every_way(row.text)) {
            HeaderScan scan;
            for (auto piece : way) scan.feed(piece);
            INFO(row.text);
            CHECK(scan.message_id() == row.message_id);
            CHECK(scan.received() == row.received);
            CHECK(scan.fields() == row.fields);
            CHECK(scan.ended() == row.ended);
            if (row.text.find("hello") == row.text.npos && row.text.find("no header") == row.text.npos)
                CHECK(scan.size() == row.size);
        }
    }
}

TEST_CASE("a message may do without TLS if its header says so, once (RFC 8689, 5)") {
    struct {
        std::string text;
        bool optional;
    } const table[] = {
        {"Subject: x\r\nTLS-Required: No\r\n\r\n", true},
        {"tls-required:no\r\n\r\n", true},
        {"TLS-Required:\r\n \tNO \r\nSubject: x\r\n\r\n", true},
        {"TLS-Required: Yes\r\n\r\n", false},
        {"TLS-Required: No, really\r\n\r\n", false},
        {"TLS-Required:\r\n\r\n", false},
        {"TLS-Required: No\r\nTLS-Required: No\r\n\r\n", false},
        {"Subject: x\r\n\r\nTLS-Required: No\r\n", false},
        {"TLS-Required: " + std::string(5000, ' ') + "No\r\n\r\n", false},
    };
    for (auto& row : table)
        for (auto& way : pieces::every_way(row.text)) {
            HeaderScan scan;
            for (auto piece : way) scan.feed(piece);
            INFO(row.text.substr(0, 60));
            CHECK(scan.tls_optional() == row.optional);
        }
}

TEST_CASE("a long field name is no field; a long Message-ID is cut") {
    HeaderScan scan;
    scan.feed(std::string(200, 'x') + ": y\r\n");
    CHECK(scan.ended());
    HeaderScan long_id;
    long_id.feed("Message-ID: <" + std::string(100000, 'x') + ">\r\n\r\n");
    CHECK(long_id.message_id().size() < 1000);
    CHECK(long_id.ended());
}

TEST_CASE("our Received field") {
    ReceivedFacts facts{"client.example", "mail.example", "192.0.2.1",
                        "mx.test",        "ESMTP",        "",
                        "0A1B2C3D4E5F01", "b@x.org",      "Fri, 20 Nov 2026 15:38:00 +0000"};
    CHECK(received_field(facts) == "Received: from client.example (mail.example [192.0.2.1])\r\n"
                                   "\tby mx.test (Postrider) with ESMTP id 0A1B2C3D4E5F01\r\n"
                                   "\tfor <b@x.org>; Fri, 20 Nov 2026 15:38:00 +0000\r\n");
    facts.recipient = "";
    facts.address = "2001:db8::1";
    facts.name = "unknown";
    CHECK(received_field(facts) ==
          "Received: from client.example (unknown [IPv6:2001:db8::1])\r\n"
          "\tby mx.test (Postrider) with ESMTP id 0A1B2C3D4E5F01; Fri, 20 Nov 2026 15:38:00 +0000\r\n");
    const std::string long_word(5000, 'x');
    facts.helo = long_word;
    facts.name = "evil)\r\nX-Injected: (";
    const auto field = received_field(facts);
    CHECK(field.find("\r\nX-Injected") == field.npos);
    CHECK(field.find("evil???X-Injected: ?") != field.npos);
    for (auto rest = std::string_view(field); !rest.empty();) {
        const auto end = rest.find("\r\n");
        CHECK(end < 998);
        rest.remove_prefix(end + 2);
    }
    CHECK(received_field_for_local("mx.test", 1000, "0A1B2C3D4E", "now") ==
          "Received: by mx.test (Postrider, from userid 1000)\r\n\tid 0A1B2C3D4E; now\r\n");
}

TEST_CASE("fields that are asked for: the first of each name, unfolded, in any case, cut at the limit") {
    const std::vector<std::string> wanted{"Subject", "list-id", "X-Absent", "Message-ID"};
    const auto found = [](const HeaderScan& scan) {
        std::string out;
        for (const auto& each : scan.found()) out += each.name + '=' + each.value + '\n';
        return out;
    };
    const std::string text = "Received: a\r\nSUBJECT : one\r\n\ttwo \r\n three\r\nSubject: second\r\nList-Id:<l@x>\r\n"
                             "Message-ID: <1@x>\r\n\r\nX-Absent: body\r\n";
    for (auto& way : pieces::every_way(text)) {
        HeaderScan scan(wanted);
        for (auto piece : way) scan.feed(piece);
        CHECK(scan.message_id() == "<1@x>");
        CHECK(found(scan) == "Subject=one\ttwo  three\nlist-id=<l@x>\nMessage-ID=<1@x>\n");
    }
    HeaderScan scan(wanted);
    scan.feed("Subject:" + std::string(5000, 'x') + "\r\nList-Id:\r\n\r\n");
    CHECK(found(scan) == "Subject=" + std::string(HeaderScan::longest_value, 'x') + "\nlist-id=\n");
}

TEST_CASE("Precedence: the first one, whatever its case, however it is folded") {
    const auto of = [](std::string_view header) {
        smtp::HeaderScan whole, bytes;
        whole.feed(header);
        for (std::size_t i = 0; i < header.size(); ++i) bytes.feed(header.substr(i, 1));
        CHECK(whole.precedence() == bytes.precedence());
        return whole.precedence();
    };
    CHECK(of("Subject: x\r\nPRECEDENCE:\r\n Bulk \r\nPrecedence: list\r\n\r\n") == "bulk");
    CHECK(of("Subject: x\r\n\r\nPrecedence: bulk\r\n") == "");
    CHECK(of("Precedence: " + std::string(5000, 'x') + "\r\n\r\n").size() == 99);
}
