// JSON objects as the journal writes them: read back by a JSON library, whatever the texts hold.
#include "libspool/journal/json_object.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <vector>

using namespace spool::journal;
using namespace std::chrono_literals;

namespace {

template <class Fill> std::string written(Fill&& fill) {
    std::string out;
    JsonObject object(out);
    fill(object);
    object.close();
    return out;
}

std::string text_back(std::string_view text, std::size_t most = 1000) {
    return nlohmann::json::parse(written([&](JsonObject& o) { o.text("t", text, most); })).at("t");
}

} // namespace

TEST_CASE("members come in their order, and what says nothing is absent") {
    const auto out = written([](JsonObject& o) {
        o.number("v", 1);
        o.text("none", "");
        o.number("zero", 0);
        o.flag("no", false);
        o.object("empty", [](JsonObject& inside) { inside.text("none", ""); });
        o.texts("nobody", std::vector<std::string>());
        o.text_even_if_empty("sender", "");
        o.number_even_if_zero("least", -5);
        o.flag("yes", true);
        o.object("client", [](JsonObject& inside) {
            inside.word("name", "a.example");
            inside.number("port", 25);
        });
        o.texts("recipients", std::vector<std::string>{"a@x", "b\"@x"});
        o.members("\"meta\":{\"a\":\"b\"}");
        o.members("");
        o.milliseconds("took", 1999us);
        o.milliseconds("unknown", -1us);
        o.seconds("waited", 61'050ms);
        o.seconds("exact", 7s);
        o.seconds("short", 999us);
        o.seconds("before", -5s);
    });
    CHECK(out ==
          R"({"v":1,"sender":"","least":-5,"yes":true,"client":{"name":"a.example","port":25},)"
          R"("recipients":["a@x","b\"@x"],"meta":{"a":"b"},"took":1,"waited":61.050,"exact":7,"short":0,"before":0})");
}

TEST_CASE("the first member of an object may be one that was encoded before") {
    CHECK(written([](JsonObject& o) { o.members("\"a\":1"); }) == R"({"a":1})");
    CHECK(written([](JsonObject&) {}) == "{}");
}

TEST_CASE("every byte can be in a text: it is one line, it is JSON, and it says the same") {
    for (int byte = 0; byte < 128; ++byte) {
        const std::string text = std::string("a") + static_cast<char>(byte) + "b";
        const auto out = written([&](JsonObject& o) { o.text("t", text); });
        CHECK(out.find_first_of(std::string_view("\0\n\r\x7f", 4)) == std::string::npos);
        CHECK(text_back(text) == text);
    }
    CHECK(text_back("grün € 😀") == "grün € 😀");
    for (int byte = 128; byte < 256; ++byte)
        CHECK(text_back(std::string("a") + static_cast<char>(byte) + "b") == "a\xEF\xBF\xBD"
                                                                             "b");
    CHECK(text_back("\xE2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD"); // a character that is not complete
}

TEST_CASE("what must be escaped is found at every place of texts of every length") {
    for (std::size_t size = 0; size < 20; ++size)
        for (std::size_t place = 0; place < size; ++place)
            for (const auto& odd : {"\"", "\\", "\x01", "\x1f", "\x7f", "\n", "ä", "€"}) {
                auto text = std::string(size, '!'); // 21: next to the quotation mark
                text.replace(place, 1, odd);
                CHECK(text_back(text) == text);
            }
    CHECK(text_back(std::string(9, '\xFF')).size() == 27);
}

TEST_CASE("a long text is cut between characters") {
    CHECK(text_back("abcdef", 3) == "abc");
    CHECK(text_back("aä", 2) == "a");
    CHECK(text_back("aä", 3) == "aä");
    CHECK(text_back("a😀", 4) == "a");
    CHECK(text_back("a😀b", 5) == "a😀");
}

TEST_CASE("times have microseconds, and days before and after leap days") {
    const auto time = [](std::int64_t microseconds) {
        std::string out;
        append_time(out, smtp::WallTime(std::chrono::microseconds(microseconds)));
        return out;
    };
    CHECK(time(0) == "1970-01-01T00:00:00.000000Z");
    CHECK(time(1'709'164'799'999'999) == "2024-02-28T23:59:59.999999Z");
    CHECK(time(1'709'164'800'000'001) == "2024-02-29T00:00:00.000001Z");
    CHECK(written([](JsonObject& o) { o.time("t", smtp::WallTime(1s)); }) == R"({"t":"1970-01-01T00:00:01.000000Z"})");
}
