#include "libsmtp/mime/encoded_word.h"
#include <doctest/doctest.h>

TEST_CASE("encoded words are read as a person reads them (RFC 2047)") {
    CHECK(smtp::decoded_words("plain text") == "plain text");
    CHECK(smtp::decoded_words("=?utf-8?Q?Gr=C3=BC=C3=9Fe?=") == "Gr\u00fc\u00dfe");
    CHECK(smtp::decoded_words("=?ISO-8859-1?q?Gr=FC=DFe_an_alle?= !") == "Gr\u00fc\u00dfe an alle !");
    CHECK(smtp::decoded_words("=?UTF-8?B?R3LDvMOfZQ==?= =?UTF-8?B?IQ==?=") ==
          "Gr\u00fc\u00dfe!"); // the blank between them goes
    CHECK(smtp::decoded_words("=?utf-8*de?Q?ja?= =?x") == "ja =?x");
    CHECK(smtp::decoded_words("=?koi8-r?Q?=C3?=") == "=?koi8-r?Q?=C3?="); // left as it is
    CHECK(smtp::decoded_words("=?utf-8?Q?=0Abcc:_=1B[2J?=") == "?bcc: ?[2J");
    CHECK(smtp::decoded_words("=?utf-8?Q?=C3?= x") == "? x");
    CHECK(smtp::decoded_words("=?utf-8?Q?=C2=9B31m?=") == "?31m");
    CHECK(smtp::decoded_words("=?utf-8?Q?=4?= =?utf-8?B?!?=") == "=?utf-8?Q?=4?= =?utf-8?B?!?=");
    CHECK(smtp::decoded_words(std::string(600, 'x')).size() == 512);
    CHECK(smtp::decoded_words(smtp::encoded_words("\u20ac 100 f\u00fcr dich")) == "\u20ac 100 f\u00fcr dich");
}

TEST_CASE("words beyond ASCII are encoded and cut between characters") {
    CHECK(smtp::encoded_words("J\xc3\xb6rg B") == "=?utf-8?Q?J=C3=B6rg=20B?=");
    std::string text;
    for (int i = 0; i < 40; ++i) text += "\xe2\x82\xac";
    const std::string out = smtp::encoded_words(text) + " ";
    for (std::size_t at = 0, end; (end = out.find(' ', at)) != out.npos; at = end + 1) {
        const std::string word = out.substr(at, end - at);
        CHECK(word.size() <= 75);
        CHECK(word.starts_with("=?utf-8?Q?=E2"));
        CHECK(word.ends_with("=AC?="));
    }
    for (const std::size_t first : {24U, 40U, 67U}) {
        const auto shorter = smtp::encoded_words(text, first);
        CHECK(shorter.find(' ') <= first);
        CHECK(smtp::decoded_words(shorter) == text);
    }
}
