#include "libsmtp/encoded_word.h"
#include <doctest/doctest.h>

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
}
