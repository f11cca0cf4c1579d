#include "daemons/common/lookup/format/key_value.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace tables;

namespace {

// "key=value; …" in the order of the text; problems behind "!".
std::string parsed(std::string_view text) {
    Problems problems;
    KeyValues entries(text, problems);
    std::string out;
    while (const auto entry = entries.next())
        out += fmt::format("{}{}:{}={}", out.empty() ? "" : "; ", entry->line, entry->key, entry->value);
    for (const auto& problem : problems.first()) out += fmt::format("!{}:{}", problem.line, problem.message);
    return out;
}

} // namespace

TEST_CASE("text tables") {
    const struct {
        std::string_view text, entries;
    } rows[] = {
        {"", ""},
        {"a b", "1:a=b"},
        {"# c\n\n  # c\na b\n", "4:a=b"},
        {"a\tb  c \r\n", "1:a=b  c"},
        {"\xEF\xBB\xBF"
         "a b\nc d\n",
         "1:a=b; 2:c=d"},
        {"a b,\n  c,\n\n# between\n\td\ne f\n", "1:a=b,  c,\td; 6:e=f"},
        {"a\n b\n", "1:a=b"},
        {"\"odd name\"@x  y", "1:\"odd name\"@x=y"},
        {"\"od\\\"d n\"@x y", "1:\"od\\\"d n\"@x=y"},
        {"a b # c", "1:a=b # c"},
        {"@x y\n@x z", "1:@x=y; 2:@x=z"},
        {"  lost\na b", "2:a=b!1:continues nothing"},
        {"a\nb c", "2:b=c!1:expected \"key value\", not \"a\" alone; skipped"},
        {"\"a b\nc d", "2:c=d!1:a quote is not closed; skipped"},
        {"a b\x01\nc d", "2:c=d!1:has control characters; skipped"},
        {std::string_view("a b\0c\n d\ne f", 12), "3:e=f!1:has control characters; skipped"},
        {"root: bob", "1:root:=bob!1:\"root:\" ends in a colon: is this a file of aliases? A table has \"key value\""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        CHECK(parsed(row.text) == row.entries);
    }
}

TEST_CASE("text tables: what is too long is passed over, what is odd is counted") {
    CHECK(parsed(std::string(4097, 'k') + " v\na b") == "2:a=b!1:a key has at most 4096 bytes; skipped");
    CHECK(parsed(std::string(4096, 'k') + " v").starts_with("1:kkk"));
    CHECK(parsed("k " + std::string(1 << 20, 'v') + "\na b") == "2:a=b!1:longer than 1 MiB; skipped");
    std::string many = "k\n";
    for (int i = 0; i < 200'000; ++i) many += " vvvvvvvvv\n";
    CHECK(parsed(many + "a b") == "200002:a=b!1:longer than 1 MiB; skipped");
    std::string odd;
    for (int i = 0; i < 100; ++i) odd += "alone\n";
    const auto table = TextTable::read(odd + "a b");
    CHECK(table->problems().first().size() == Problems::most);
    CHECK(table->problems().count() == 100);
    CHECK(table->find("a").value == "b");
}

TEST_CASE("text tables know no case; of two equal keys the first counts") {
    const auto table = TextTable::read("Bob@Example.COM one\nbob@example.com two\nJÖRG three\n");
    CHECK(table->entries() == 2);
    CHECK(table->find("BOB@example.com") == Answer::found("one"));
    CHECK(table->find("jörg") == Answer::found("three"));
    CHECK(table->find("bob").status == Answer::Status::none);
    REQUIRE(table->problems().count() == 1);
    CHECK(table->problems().first()[0] == Problem{2, "bob@example.com is listed twice; the first entry is "
                                                     "used"});
}
