#include "daemons/http/compose/content.h"
#include "daemons/http/compose/header.h"
#include "daemons/http/compose/message.h"
#include "libsmtp/message/header.h"
#include "libsmtp/mime/seven_bit.h"
#include <doctest/doctest.h>
#include <string_view>

using namespace http::compose;

namespace {

Draft draft() {
    Draft out;
    out.sender = "shop@test.example";
    out.recipients = {"ann@a.example"};
    return out;
}

std::string value(const std::string& message, std::string_view name) {
    return smtp::Header(smtp::scan_header(message)).value(name);
}

std::string error(const Draft& draft) {
    const auto made = message(draft);
    return made ? "" : made.error();
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

} // namespace

TEST_CASE("a text alone") {
    auto given = draft();
    given.subject = "Order 4711";
    given.text = "Thank you.\n";
    CHECK(*message(given) == "From: shop@test.example\r\n"
                             "To: ann@a.example\r\n"
                             "Subject: Order 4711\r\n"
                             "MIME-Version: 1.0\r\n"
                             "Content-Type: text/plain; charset=utf-8\r\n"
                             "Content-Transfer-Encoding: 7bit\r\n"
                             "\r\n"
                             "Thank you.\r\n");
}

TEST_CASE("line ends, and the encoding that fits") {
    const auto encoding = [](std::string text) {
        auto given = draft();
        given.text = std::move(text);
        return value(*message(given), "Content-Transfer-Encoding");
    };
    CHECK(encoding("a\tb = c\n") == "7bit");
    CHECK(encoding("Grüße\n") == "quoted-printable");
    CHECK(encoding("Привет, мир") == "base64");
    CHECK(encoding(std::string(998, 'x')) == "7bit");
    CHECK(encoding(std::string(999, 'x')) == "quoted-printable");
    CHECK(encoding("--=_a line like a boundary") == "quoted-printable");
    CHECK(encoding("\x1b[1m") == "quoted-printable");
    auto given = draft();
    given.text = "a\rb\r\nc\n\nd";
    CHECK(message(given)->ends_with("\r\n\r\na\r\nb\r\nc\r\n\r\nd\r\n"));
    given.text = "";
    CHECK(message(given)->ends_with("\r\n\r\n\r\n"));
}

TEST_CASE("parts of parts") {
    auto given = draft();
    given.text = "plain";
    given.html = "<img src=\"cid:logo\">";
    given.attachments = {{"invoice.pdf", "application/pdf", "%PDF", ""}, {"logo.png", "image/png", "PNG", "logo"}};
    const auto made = *message(given);
    CHECK(value(made, "Content-Type").starts_with("multipart/mixed; boundary=\"=_"));
    const auto position = [&](std::string_view part) {
        CAPTURE(part);
        REQUIRE(contains(made, part));
        return made.find(part);
    };
    CHECK(position("multipart/alternative;") < position("text/plain"));
    CHECK(position("text/plain") < position("multipart/related; type=\"text/html\";"));
    CHECK(position("multipart/related;") < position("text/html; charset"));
    CHECK(position("Content-Disposition: inline;\r\n filename=\"logo.png\"\r\nContent-ID: <logo>") <
          position("Content-Disposition: attachment;\r\n filename=\"invoice.pdf\""));
    CHECK(made == *message(given));
    const auto boundary = value(made, "Content-Type");
    given.attachments[0].content += ' ';
    CHECK(value(*message(given), "Content-Type") != boundary);
    smtp::SevenBitSurvey survey;
    survey.feed(made);
    CHECK(survey.finish().parts.size() == 7);
    given.text.reset();
    given.html.reset();
    given.attachments.resize(1);
    CHECK(value(*message(given), "Content-Type").starts_with("multipart/mixed;"));
}

TEST_CASE("names of files") {
    auto given = draft();
    const auto named = [&](std::string name) {
        given.attachments = {{std::move(name), "", "x", ""}};
        return *message(given);
    };
    CHECK(contains(named("a; b.pdf"), "filename=\"a; b.pdf\"\r\n"));
    CHECK(contains(named("Prüfung \"1\".pdf"), "filename*=utf-8''Pr%C3%BCfung%20%221%22.pdf\r\n"));
    CHECK(contains(named("a\\b"), "filename*=utf-8''a%5Cb\r\n"));
    CHECK(contains(named(std::string(200, 'x')), ";\r\n filename*4*=x"));
    CHECK(contains(named(""), "Content-Type: application/octet-stream\r\n"));
    CHECK_FALSE(contains(named(""), "filename"));
}

TEST_CASE("fields that are given") {
    auto given = draft();
    given.text = "x";
    given.recipients.emplace_back("bob@b.example");
    CHECK(value(*message(given), "To") == "undisclosed-recipients:;");
    given.fields = {{"from", {"Shop <shop@shop.example>"}},
                    {"To", {"ann@a.example", "Bob <bob@b.example>"}},
                    {"List-Unsubscribe", {"<https://shop.example/u>"}},
                    {"X-Tag", {"a", "ä"}},
                    {"Reply-To", {""}}};
    const auto made = *message(given);
    CHECK(value(made, "From") == "Shop <shop@shop.example>");
    CHECK(value(made, "To") == "ann@a.example, Bob <bob@b.example>");
    CHECK(smtp::Header(smtp::scan_header(made)).count("X-Tag") == 2);
    CHECK_FALSE(contains(made, "Reply-To"));
    given.sender.clear();
    given.fields.clear();
    CHECK_FALSE(contains(*message(given), "From:"));
}

TEST_CASE("what is wrong is named") {
    const auto with_field = [](std::string name, std::vector<std::string> values) {
        auto given = draft();
        given.text = "x";
        given.fields = {{std::move(name), std::move(values)}};
        return error(given);
    };
    CHECK(with_field("X-A", {"a\r\nBcc: x@y"}).starts_with("headers.X-A: expected lines"));
    CHECK(with_field("X-A", {std::string(longest_value + 1, 'x')}).starts_with("headers.X-A: expected lines"));
    for (const auto* name : {"", "X A", "X:A", "X\r\nA", "Ä", "Bcc", "Subject", "content-type", "X-Postrider-Lane",
                             "Idempotency-Key", "Received", "Resent-To"}) {
        CAPTURE(name);
        CHECK(with_field(name, {"x"}).starts_with("headers: expected other fields"));
    }
    CHECK(with_field("To", {"a@b@c"}).starts_with("headers.To: expected addresses"));
    CHECK(with_field("Sender", {"a@b, c@d"}) == "headers.Sender: expected one address.");
    CHECK(with_field("From", {"nobody:;"}) == "headers.From: expected an address.");
    CHECK(with_field("Message-ID", {"<a@b>", "<c@d>"}) == "headers.Message-ID: expected one value.");
    auto given = draft();
    given.text = "x";
    given.fields = {{"X-A", {"1"}}, {"x-a", {"2"}}};
    CHECK(error(given) == "headers.x-a: expected it once.");
    given.fields.assign(most_fields + 1, {"X-A", {"1"}});
    CHECK(error(given).starts_with("headers: expected at most"));
    given.fields.clear();
    given.subject = "a\nb";
    CHECK(error(given).starts_with("subject: expected a line"));
    const auto with_file = [](Attachment file) {
        auto one = draft();
        one.attachments = {std::move(file)};
        return error(one);
    };
    CHECK(with_file({"a\nb", "", "", ""}).starts_with("attachments.name"));
    for (const auto* type :
         {"pdf", "a/", "/b", "a/b\r\n", "multipart/mixed", "Message/rfc822", "a/b;c", "a/b; c=\"d\""}) {
        CAPTURE(type);
        CHECK(with_file({"", type, "", ""}).starts_with("attachments.type"));
    }
    CHECK(with_file({"", "text/csv; charset=utf-8", "", ""}).empty());
    CHECK(with_file({"", "", "", "a>b"}).starts_with("attachments.cid"));
    CHECK(with_file({"", "", "", "logo"}) == "attachments.cid: expected html that refers to it.");
    CHECK(error(draft()).starts_with("One of raw, text"));
    auto many = draft();
    many.attachments.resize(most_attachments + 1);
    CHECK(error(many).starts_with("attachments: expected at most"));
}
