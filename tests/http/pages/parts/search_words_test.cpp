#include "daemons/http/pages/parts/search_words.h"
#include <doctest/doctest.h>

using namespace http::pages;
using Words = std::vector<std::string>;

TEST_CASE("words are separated by blanks, unless they are quoted") {
    CHECK(words_of("").empty());
    CHECK(words_of("  \t ").empty());
    CHECK(words_of(" a  b=c ") == Words{"a", "b=c"});
    CHECK(words_of("subject=\"two words\" x") == Words{"subject=two words", "x"});
    CHECK(words_of("'it \"is\"' \"it's\"") == Words{"it \"is\"", "it's"});
    CHECK(words_of("\"\" a") == Words{"", "a"});
    CHECK(words_of("\"open end") == Words{"open end"});
    std::string many;
    for (std::size_t i = 0; i < 2 * most_words; ++i) many += "x ";
    CHECK(words_of(many).size() == most_words);
}

TEST_CASE("words without a key mean what they look like") {
    CHECK(queue_words({"all", "state=held", "ann@test.example", "4F0D*"}) ==
          Words{"all", "state=held", "recipient=ann@test.example", "id=4F0D*"});
    CHECK(history_words({"all", "ann@test.example", "since=1h"}) == Words{"ann@test.example", "since=1h"});
}
