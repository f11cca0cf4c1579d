// The canonical forms of RFC 6376 by its own examples and by tables, in every cut; which fields are signed; how
// the field is written.
#include "libsmtp/dkim/dkim.h"
#include "libsmtp/text/base64.h"
#include "tests/libsmtp/text/pieces.h"
#include <doctest/doctest.h>
#include <string>

using namespace smtp;

namespace {

std::string relaxed(const pieces::Pieces& body) {
    std::string out;
    dkim::RelaxedBody canonical([&](std::string_view bytes) { out += bytes; });
    for (const auto piece : body) canonical.feed(piece);
    canonical.finish();
    return out;
}

// What would be signed, told by a signature that is the text itself.
std::string data_of(std::string_view header, const dkim::Signature& signature = {"example.com", "one"}) {
    const auto block = scan_header(header);
    std::string data;
    const auto names = dkim::signed_fields(block);
    REQUIRE(names);
    static_cast<void>(dkim::signature_field(block, *names, std::string(32, 'h'), signature, [&](std::string_view text) {
        data = text;
        return std::optional<std::string>("signed");
    }));
    return data;
}

std::string names_of(std::string_view header) {
    const auto names = dkim::signed_fields(scan_header(header));
    if (!names) return "none";
    std::string out;
    for (const auto name : *names) out += (out.empty() ? "" : ":") + std::string(name);
    return out;
}

} // namespace

TEST_CASE("relaxed bodies, however they are cut") {
    const struct {
        std::string_view body, canonical;
    } table[] = {
        {" C \r\nD \t E\r\n\r\n\r\n", " C\r\nD E\r\n"}, // RFC 6376, 3.4.5
        {"", ""},
        {"\r\n", ""},
        {"\r\n\r\n \t\r\n", ""},
        {" \t", ""},
        {"a", "a\r\n"},
        {"a\r\n", "a\r\n"},
        {"a \r\n", "a\r\n"},
        {"a\r\n\r\nb", "a\r\n\r\nb\r\n"},
        {"\r\n\r\na\r\n \r\n\t\r\n", "\r\n\r\na\r\n"},
        {"\ta  b\t\tc   ", " a b c\r\n"},
        {"a \r\n b \r\n", "a\r\n b\r\n"},
        {"a\rb\r\n", "a\rb\r\n"},
        {"a \r\r\n", "a \r\r\n"},
        {"a\nb\n\n", "a\r\nb\r\n"},
        {"a\r", "a\r\r\n"},
    };
    for (const auto& [body, canonical] : table)
        for (const auto& cut : pieces::every_way(body)) CHECK(relaxed(cut) == canonical);
}

TEST_CASE("empty lines by the million take no memory") {
    std::size_t most = 0, all = 0;
    dkim::RelaxedBody canonical([&](std::string_view bytes) {
        most = std::max(most, bytes.size());
        all += bytes.size();
    });
    const std::string many(1'000'000, '\n');
    for (int i = 0; i < 10; ++i) canonical.feed(many);
    CHECK(all == 0);
    canonical.feed("a");
    canonical.finish();
    CHECK(all == 20'000'003);
    CHECK(most < 20'000);
}

TEST_CASE("relaxed fields") {
    const struct {
        std::string_view field, canonical;
    } table[] = {
        {"A: X\r\n", "a:X\r\n"}, // RFC 6376, 3.4.5
        {"B : Y\t\r\n\tZ  \r\n", "b:Y Z\r\n"},
        {"SUBJect:  AbC\r\n", "subject:AbC\r\n"},
        {"Empty:\r\n", "empty:\r\n"},
        {"Blank: \t \r\n", "blank:\r\n"},
        {"Folded:\r\n a\r\n \r\n\tb \t c\r\n", "folded:a b c\r\n"},
        {"Colon: a:b\r\n", "colon:a:b\r\n"},
    };
    for (const auto& [field, canonical] : table) {
        const auto block = scan_header(field);
        REQUIRE(block.fields.size() == 1);
        CHECK(dkim::relaxed_field(block.fields[0]) == canonical);
    }
}

TEST_CASE("a message is split where its header ends, wherever it is cut") {
    const struct {
        std::string_view message, header, body;
    } table[] = {
        {"From: a\r\nTo: b\r\n\r\nHi. \r\n\r\n", "From: a\r\nTo: b\r\n\r\n", "Hi.\r\n"},
        {"\r\nno header\r\n", "\r\n", "no header\r\n"},
        {"From: a\r\n", "From: a\r\n", ""},
        {"From: a\r\n\r\n\r\n\r\nx", "From: a\r\n\r\n", "\r\n\r\nx\r\n"},
    };
    for (const auto& row : table)
        for (const auto& cut : pieces::every_way(row.message)) {
            std::string body;
            dkim::SplitMessage split([&](std::string_view bytes) { body += bytes; });
            for (const auto piece : cut) split.feed(piece);
            split.finish();
            CHECK(split.header() == row.header);
            CHECK(body == row.body);
            CHECK(!split.overlong());
        }
    dkim::SplitMessage endless([](std::string_view) {});
    for (int i = 0; i < 1000; ++i) endless.feed(std::string(10'000, 'x'));
    CHECK(endless.overlong());
    CHECK(endless.header().size() < dkim::SplitMessage::header_limit + 20'000);
}

TEST_CASE("what is signed: what is there, and the names nobody may add") {
    const std::string always = "From:From:Reply-To:To:Cc:Subject:Date:Message-ID:MIME-Version:Content-Type:"
                               "Content-Transfer-Encoding";
    CHECK(names_of("From: a\r\n") == always);
    CHECK(names_of("FROM: a\r\nX-Mailer: b\r\nReceived: c\r\nDKIM-Signature: d\r\nReturn-Path: <e>\r\n") == always);
    CHECK(names_of("From: a\r\nTo: b\r\nTo: c\r\nList-Id: d\r\n") ==
          "From:From:Reply-To:To:To:To:Cc:Subject:Date:Message-ID:MIME-Version:Content-Type:"
          "Content-Transfer-Encoding:List-Id");
    CHECK(names_of("To: b\r\n") == "none");
    CHECK(names_of("From: a\r\nTo: b\r\nFrom: c\r\n") == "none");
    std::string many = "From: a\r\n";
    for (int i = 0; i < 600; ++i) many += "To: b\r\n";
    CHECK(names_of(many) == "none");
}

TEST_CASE("of several fields of one name the last comes first") {
    const auto data = data_of("To: one\r\nFrom: a\r\nTo: two\r\n");
    CHECK(data.starts_with("from:a\r\nto:two\r\nto:one\r\ndkim-signature:v=1; a=rsa-sha256; c=relaxed/relaxed; "
                           "d=example.com; s=one; t=0; h=From:From:Reply-To:To:To:To:Cc:"));
    CHECK(data.ends_with("; bh=" + encode_base64(std::string(32, 'h')) + "; b="));
}

TEST_CASE("the field is folded, and says what it was told") {
    dkim::Signature signature{"example.com", "two",      dkim::Algorithm::ed25519_sha256,
                              1700000000,    1700600000, "@news.example.com"};
    const auto block = scan_header("From: a\r\nTo: b\r\n");
    const auto field = dkim::signature_field(block, *dkim::signed_fields(block), std::string(32, '\0'), signature,
                                             [](std::string_view) { return std::string(256, 'x'); });
    REQUIRE(field);
    CHECK(field->starts_with("DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;"));
    CHECK(field->ends_with("\r\n"));
    const auto read = scan_header(*field);
    REQUIRE(read.fields.size() == 1);
    const auto value = read.fields[0].unfolded();
    for (const auto* tag : {"d=example.com;", "s=two;", "t=1700000000;", "x=1700600000;", "i=@news.example.com;"})
        CHECK(value.find(tag) != std::string::npos);
    for (std::size_t at = 0; at < field->size();) {
        const auto end = field->find("\r\n", at);
        CHECK(end - at <= 78);
        at = end + 2;
    }
    CHECK(!dkim::signature_field(block, {}, "", signature, [](std::string_view) { return std::nullopt; }));
}
