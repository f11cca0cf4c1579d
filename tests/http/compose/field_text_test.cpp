#include "daemons/http/compose/field_text.h"
#include "libsmtp/mime/encoded_word.h"
#include <doctest/doctest.h>

using namespace http::compose;

namespace {

std::string unfolded(std::string text) {
    for (auto at = text.find("\r\n "); at != text.npos; at = text.find("\r\n ")) text.erase(at, 2);
    return text;
}

std::size_t longest_line(const std::string& text) {
    std::size_t longest = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find("\r\n", at);
        longest = std::max(longest, end - at);
        at = end + 2;
    }
    return longest;
}

} // namespace

TEST_CASE("texts are folded, and encoded where they must be") {
    CHECK(text_field("Subject", " Order 4711 ") == "Subject: Order 4711\r\n");
    CHECK(text_field("Subject", "") == "Subject: \r\n");
    for (const std::string& value :
         {std::string("Grüße aus Köln"), std::string("=?utf-8?Q?x?="), std::string(2000, 'x'), std::string("a  b"),
          "Ein langer Betreff, der " + std::string(30, 'x') + "  in zwei Zeilen geht  und " + std::string(30, 'y')}) {
        CAPTURE(value);
        const auto field = text_field("Subject", value);
        CHECK(longest_line(field) <= 76);
        CHECK(smtp::decoded_words(unfolded(field), 5000) == "Subject: " + value + "??"); // its line end
    }
    CHECK_FALSE(text_field("Subject", std::string(200, '\xc3').append("x")).starts_with("Subject:\r\n"));
    std::string long_greek;
    for (int i = 0; i < 300; ++i) long_greek += "λ";
    CHECK(smtp::decoded_words(unfolded(text_field("X-Long-Name-Of-A-Field", long_greek)), 5000) ==
          "X-Long-Name-Of-A-Field: " + long_greek + "??");
}

TEST_CASE("what programs read is not encoded") {
    CHECK(*exact_field("Message-ID", "<a@b>") == "Message-ID: <a@b>\r\n");
    CHECK_FALSE(exact_field("Message-ID", "<ä@b>"));
    CHECK_FALSE(exact_field("References", std::string(999, 'x')));
    std::string references;
    for (int i = 0; i < 100; ++i) references += "<0123456789@shop.example> ";
    const auto folded = exact_field("References", references);
    REQUIRE(folded);
    CHECK(longest_line(*folded) <= 76);
}

TEST_CASE("addresses keep their form; names are encoded") {
    CHECK(*address_field("To", "Ann <ann@a.example>, bob@b.example") == "To: Ann <ann@a.example>, bob@b.example\r\n");
    CHECK(*address_field("To", "undisclosed-recipients:;") == "To: undisclosed-recipients:;\r\n");
    CHECK(*address_field("To", "Jürgen <j@a.example>, \"Müller, K\" <k@a.example>, \"A, B\" <b@a.example>") ==
          "To: =?utf-8?Q?J=C3=BCrgen?= <j@a.example>, =?utf-8?Q?M=C3=BCller=2C=20K?=\r\n"
          " <k@a.example>, \"A, B\" <b@a.example>\r\n");
    CHECK(*address_field("To", "jürgen@a.example") == "To: jürgen@a.example\r\n");
    for (const auto* wrong : {"a@b@c", "\"", "<", "Ä: a@b;"}) CHECK_FALSE(address_field("To", wrong));
}

TEST_CASE("a line") {
    CHECK(is_line(""));
    CHECK(is_line("Grüße"));
    for (const auto* wrong : {"a\nb", "a\rb", "a\tb", "\x7f", "\xff", "\xc2\x85"}) CHECK_FALSE(is_line(wrong));
}
