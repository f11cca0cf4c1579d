#include "daemons/postrider/queue/suppression_lines.h"
#include <doctest/doctest.h>

using namespace postrider;

namespace {

std::vector<SuppressionLine> all(std::vector<std::string_view> lines) {
    SuppressionReader reader;
    std::vector<SuppressionLine> out;
    for (const auto line : lines) {
        const auto read = reader.read(line);
        REQUIRE(read);
        if (*read) out.push_back(**read);
    }
    return out;
}

} // namespace

TEST_CASE("plain lines, comments, paths, a byte order mark") {
    CHECK(all({"\xef\xbb\xbf"
               "ann@example.org",
               "", "# no", "  <bob@example.org>\r", "example.net"}) ==
          std::vector<SuppressionLine>{{.recipient = "ann@example.org", .scope = {}, .reason = "", .reply = ""},
                                       {.recipient = "bob@example.org", .scope = {}, .reason = "", .reply = ""},
                                       {.recipient = "example.net", .scope = {}, .reason = "", .reply = ""}});
}

TEST_CASE("exports of others: the line of names says where everything is") {
    // SendGrid's, Mailgun's and Postmark's.
    auto found =
        all({"status,reason,email,created", "5.1.1,\"550 5.1.1 no, \"\"never\"\"\",ann@example.org,1700000000"});
    REQUIRE(found.size() == 1);
    CHECK(found[0].recipient == "ann@example.org");
    CHECK(found[0].reason == "550 5.1.1 no, \"never\"");
    found = all({"address,code,error,created_at", "ann@example.org,550,No such user,2026-01-01"});
    REQUIRE(found.size() == 1);
    CHECK(found[0].reply == "No such user");
    found = all({"\"EmailAddress\";\"SuppressionReason\"", "ann@example.org;HardBounce"});
    REQUIRE(found.size() == 1);
    CHECK(found[0].reason == "HardBounce");
}

TEST_CASE("CSV without names: the address, then the reason") {
    const auto found = all({"ann@example.org,asked to be left alone"});
    REQUIRE(found.size() == 1);
    CHECK(found[0].reason == "asked to be left alone");
}

TEST_CASE("our own listing comes in again") {
    const auto found = all(
        {R"({"recipient":"ann@example.org","sender":"news.example","reason":"r","reply":"550","expires":1800000000})"});
    REQUIRE(found.size() == 1);
    CHECK(all({R"({"recipient":"ann@example.org","sender":"","pool":"news","lane":""})"})[0].scope.pool == "news");
    CHECK(found[0] == SuppressionLine{"ann@example.org", {"news.example", "", ""}, "r", "550", 1800000000});
}

TEST_CASE("what is wrong with a line") {
    for (const auto* bad : {"\"ann@example.org", "{", "{}", R"({"recipient":5})", ",x"}) {
        CAPTURE(bad);
        SuppressionReader reader;
        CHECK_FALSE(reader.read(bad));
    }
}

TEST_CASE("fields of CSV") {
    using Fields = std::vector<std::string>;
    CHECK(csv_fields("a,b", ',') == Fields{"a", "b"});
    CHECK(csv_fields("\"a,b\",c", ',') == Fields{"a,b", "c"});
    CHECK(csv_fields("\"a \"\"b\"\"\"", ',') == Fields{"a \"b\""});
    CHECK(csv_fields("", ',') == Fields{""});
    CHECK(csv_fields("a;b,c", ';') == Fields{"a", "b,c"});
    CHECK_FALSE(csv_fields("\"a", ','));
}
