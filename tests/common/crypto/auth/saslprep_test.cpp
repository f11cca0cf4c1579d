// SASLprep: the examples of RFC 4013, 3, and what the password file makes of it.
#include "daemons/common/crypto/auth/password_file.h"
#include "daemons/common/crypto/auth/saslprep.h"
#include <doctest/doctest.h>

using namespace auth;

TEST_CASE("what is prepared, and what comes back as it is") {
    struct Row {
        std::string_view text, prepared;
    };
    const Row rows[] = {
        {"", ""},
        {"user", "user"},
        {"USER", "USER"},
        {"I\u00adX", "IX"},               // the soft hyphen is not seen
        {"\u00aa", "a"},                  // compatibility
        {"\u2168", "IX"},                 // a numeral of one letter
        {"jo\u0308rg", "j\u00f6rg"},      // composed
        {"two\u00a0words", "two words"},  // the blank that does not break
        {"\ufb01sh", "fish"},             // a ligature
        {"\u3042\u3044", "\u3042\u3044"}, // nothing to do
        {"\U0001f600", "\U0001f600"},     // younger than Unicode 3.2
        {"\u0627\u0031", "\u0627\u0031"}, // both directions
        {"\u00ad", "\u00ad"},             // nothing is left
        {"a\u2028b", "a\u2028b"},         // separates lines
        {"a\x07", "a\x07"},               // ASCII is never changed
        {"caf\xe9", "caf\xe9"},           // Latin-1
        {std::string_view("\xc3\xb6\0x", 4), std::string_view("\xc3\xb6\0x", 4)},
    };
    for (const auto& [text, prepared] : rows) {
        CHECK_MESSAGE(saslprep(text) == prepared, text);
        CHECK_MESSAGE(saslprep(saslprep(text)) == prepared, text);
    }
}

TEST_CASE("one name, however it was typed") {
    const auto file = PasswordFile::parse("j\u00f6rg:x::\nIX:y::\n");
    REQUIRE(file);
    REQUIRE(file->find("jo\u0308rg"));
    CHECK(file->find("jo\u0308rg")->hash == "x");
    CHECK(file->find("\u2168")->hash == "y");
    CHECK(!file->find("jorg"));
    CHECK(!PasswordFile::parse("a\uff1ab:x::\n")); // a wide colon becomes a colon
    const auto twice = PasswordFile::parse("j\u00f6rg:x::\njo\u0308rg:y::\n");
    REQUIRE(!twice);
    CHECK(twice.error().why == "line 2: this user is already listed");
}

TEST_CASE("one password, however it was typed") {
    constexpr std::string_view typed = "pa\u00df\u00a0wo\u0308rter", same = "pa\u00df w\u00f6rter";
    Entry hash, scram, foreign;
    hash.hash = make_hash(typed);
    scram.scram = make_scram_keys(typed, "some salt", 4096);
    for (const auto& entry : {hash, scram}) {
        CHECK(matches(entry, typed));
        CHECK(matches(entry, same));
        CHECK(!matches(entry, "pa\u00df worter"));
    }
    CHECK(make_scram_keys(same, "some salt", 4096).stored_key == scram.scram->stored_key);
    // By another crypt(3), of the bytes as they are typed
    foreign.hash = "$5$saltsalt$qnYEydK7BQecRGgPzdj.5HoEjFC1YaQeSbyDLuzQQi.";
    CHECK(matches(foreign, typed));
    CHECK(!matches(foreign, same));
}
