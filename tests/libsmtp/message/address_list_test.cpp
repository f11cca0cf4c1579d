#include "libsmtp/message/address_list.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace smtp;

// "name <address> [group]" per address, or "error: …".
static std::string read(std::string_view text, const AddressListLimits& limits = {}) {
    const auto list = parse_address_list(text, limits);
    if (!list) return fmt::format("error {}: {}", list.error().position, list.error().why);
    std::string out;
    for (const ListedAddress& a : *list) {
        if (!out.empty()) out += ", ";
        out += a.display_name.empty() ? a.address() : fmt::format("{} <{}>", a.display_name, a.address());
        if (!a.group.empty()) out += fmt::format(" [{}]", a.group);
    }
    return out;
}

TEST_CASE("address lists are read as RFC 5322 writes them") {
    struct Case {
        std::string_view text, read;
    };
    const Case cases[] = {
        {"", ""},
        {" , ,", ""},
        {"a@example.org", "a@example.org"},
        {"root", "root"},
        {"a@x,b@y", "a@x, b@y"},
        {" a@x ,\r\n b@y,, ", "a@x, b@y"},
        {"Name <c@z>", "Name <c@z>"},
        {"<c@z>", "c@z"},
        {"\"Doe, John\" <j.doe@x>", "Doe, John <j.doe@x>"},
        {"John  Q. Public <jq@x>", "John Q. Public <jq@x>"},
        {"=?utf-8?Q?J=C3=B6rg?= <j@x>", "=?utf-8?Q?J=C3=B6rg?= <j@x>"},
        {"J\xc3\xb6rg <j@x>", "J\xc3\xb6rg <j@x>"},
        {"a@x (a comment (nested) \\) here)", "a@x"},
        {"(before) a (in) @ (and) x . (c) y", "a@x.y"},
        {"undisclosed-recipients:;", ""},
        {"Friends: a@x, Bee <b@y>; , c@z", "a@x [Friends], Bee <b@y> [Friends], c@z"},
        {"A Group:a@x;", "a@x [A Group]"},
        {"<@relay.example,@other:a@x>", "a@x"},
        {"Bob <@relay.example:bob@x>", "Bob <bob@x>"},
        {"\"john doe\"@x", "\"john doe\"@x"},
        {"\"plain\"@x", "plain@x"},
        {"\"a\\\"b\\\\c\"@x", "\"a\\\"b\\\\c\"@x"},
        {"first.\"second part\"@x", "\"first.second part\"@x"},
        {"a@[192.0.2.1]", "a@[192.0.2.1]"},
        {"a@[IPv6:2001:db8::1]", "a@[IPv6:2001:db8::1]"},
        {"a@x.", "a@x"},
        {"user+tag=x%y!z@x", "user+tag=x%y!z@x"},
        {"a@x b@y", "error 4: expected a comma"},
        {"john doe@x", "error 5: expected @, a comma or <"},
        {"a@", "error 2: domain expected after @"},
        {"@x", "error 0: address expected"},
        {"\"\"@x", "error 0: empty local part"},
        {"a..b@x", "error 2: misplaced dot"},
        {".a@x", "error 0: misplaced dot"},
        {"a.@x", "error 1: misplaced dot"},
        {"a@x..y", "error 4: misplaced dot"},
        {"a@.x", "error 2: misplaced dot"},
        {"a@x@y", "error 3: expected a comma"},
        {"<a@x", "error 4: expected >"},
        {"a@x>", "error 3: expected a comma"},
        {"<>", "error 1: address expected"},
        {"Name <>", "error 6: address expected"},
        {"a@x (open", "error 4: comment is not closed"},
        {"\"open@x", "error 0: quoted string is not closed"},
        {"\"end\\", "error 0: quoted string is not closed"},
        {"a@[192.0.2.1", "error 2: address literal is not closed"},
        {"a@[]", "error 2: empty address literal"},
        {"a@[1 2]", "error 4: not an address literal"},
        {"a@[1\t2]", "error 4: not an address literal"},
        {"a@[1\xff]", "error 4: not an address literal"},
        {"group: a@x", "error 10: group is not closed"},
        {"g: h: a@x;;", "error 4: group inside a group"},
        {"; a@x", "error 0: address expected"},
        {"<@x>", "error 3: source route without an address"},
        {std::string_view("a\0b@x", 5), "error 1: control character"},
        {"\"a\x01\"@x", "error 2: control character"},
        {"a\x7f@x", "error 1: control character"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.text);
        CHECK(read(c.text) == c.read);
    }
}

TEST_CASE("what is read can be written and read again") {
    for (std::string_view text : {"a@x", "\"john doe\"@x", "\"a\\\\\\\"b\"@[192.0.2.1]", "\"a@b\"@c", "root"}) {
        CHECK(parse_address_list(text)->at(0).address() == text);
    }
    CHECK(quote_phrase("John Doe") == "John Doe");
    CHECK(quote_phrase("Doe, \"J\"") == "\"Doe, \\\"J\\\"\"");
    CHECK(quote_phrase("a\r\nBcc: b") == "\"a  Bcc: b\"");
}

TEST_CASE("the end of an address is where a bare name is completed") {
    const std::string_view text = "Root <root (x)>, \"a b\" (c), you@x";
    const auto list = parse_address_list(text);
    REQUIRE(list);
    CHECK(text.substr(0, list->at(0).end) == "Root <root");
    CHECK(text.substr(0, list->at(1).end) == "Root <root (x)>, \"a b\"");
}

TEST_CASE("lists are bounded") {
    CHECK(read("a,b,c", {.addresses = 2}) == "error 5: more than 2 addresses");
    CHECK(read(std::string(50, '(') + "x" + std::string(50, ')')) == "error 32: comments nested too deeply");
    CHECK(read(std::string(2000, 'a')) == "error 0: local part too long");
    CHECK(read("a@" + std::string(2000, 'a')) == "error 2: domain too long");
}

TEST_CASE("as headers have them, if that is wanted") {
    const AddressListLimits tolerant{.form = AddressListLimits::Form::as_found};
    struct Case {
        std::string_view text, read;
    };
    const Case cases[] = {
        {"<>", ""},
        {"Nobody <>, a@x", "a@x"},
        {"a@x; b@y;", "a@x, b@y"},
        {"A: a@x; b@y; ; c@z", "a@x [A], b@y, c@z"},
        {"a@x <b@y>, c@z <d@z>", "a@x <b@y>, c@z <d@z>"},
        {"a@x list <b@y>", "a@x list <b@y>"},
        {"a@ <b@y>", "a@ <b@y>"},
        {"a@x b@y", "error 4: expected a comma"},
        {"a@x b@y, c <d@z>", "error 4: expected a comma"},
        {"a@x <b@y", "error 8: expected >"},
        {"a@x (", "error 4: comment is not closed"},
        {"A: a@x", "error 6: group is not closed"},
        {"a@[192.0.2.1]; b", "a@[192.0.2.1], b"},
    };
    for (const auto& each : cases) {
        CAPTURE(each.text);
        CHECK(read(each.text, tolerant) == each.read);
    }
    CHECK(read("<>") == "error 1: address expected");
    CHECK(read("a@x; b@y") == "error 3: expected a comma");
    CHECK(read("a@x <b@y>") == "error 4: expected a comma");
}
