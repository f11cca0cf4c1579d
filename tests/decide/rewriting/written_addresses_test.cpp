#include "daemons/decide/rewriting/written_addresses.h"
#include "libsmtp/message/address.h"
#include <doctest/doctest.h>
#include <string>

namespace {

// "ann@x, bob", items that hold none left out; "!why" for the first that is none.
std::string addresses(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const auto found = decide::addresses_in_item(decide::take_list_item(text));
        if (!found) return "!" + found.error().why;
        for (const auto& each : *found) {
            CHECK(smtp::Mailbox::parse_bare_allowed(each).has_value());
            out += (out.empty() ? "" : ", ") + each;
        }
    }
    return out;
}

} // namespace

// Each of the first forms was tried with Debian's Postfix, in its alias file and in a virtual table.
TEST_CASE("the forms in which people write addresses") {
    struct Row {
        const char *text, *addresses;
    } rows[] = {
        {"Alice Smith <alice>", "alice"},
        {"(c) carol", "carol"},
        {"alice (c)", "alice"},
        {"friends: a, b;", "a, b"},
        {"friends: a, b; c", "a, b, c"},
        {"<ok1@far.example>", "ok1@far.example"},
        {"Bob <ok2@far.example>, x", "ok2@far.example, x"},
        {"\"Bob, the Builder\" <bob@here.example>", "bob@here.example"},
        {"Bob (a, b; c: d) <bob@here.example>", "bob@here.example"},
        {"\"john smith\"@x", "\"john smith\"@x"},
        {"\"john smith\"", "\"john smith\""},
        {"a b", "a, b"},
        {"a@x b@y.", "a@x, b@y"},
        {"Bob Foo, c", "Bob, Foo, c"},
        {"foo@NU.EXAMPLE.", "foo@NU.EXAMPLE"},
        {"<foo@NU.EXAMPLE.>", "foo@NU.EXAMPLE"},
        {"a..b@x", "a..b@x"},
        {"a;b", "a, b"},
        {"@route:foo@x", "foo@x"},
        {"<@route:foo@x>", "foo@x"},
        {" ,, ", ""},
        {"(nobody)", ""},
        {"a@[192.0.2.1], b@[IPv6:2001:db8::1]", "a@[192.0.2.1], b@[IPv6:2001:db8::1]"},
        {"j\xc3\xb6rg@b\xc3\xbc.example", "j\xc3\xb6rg@b\xc3\xbc.example"},
        // What quotes enclose is meant, as long as it is an address.
        {"\"ann@x.example\"", "ann@x.example"},
        {"\"an\\n\"@x", "ann@x"},
        {"foo@@x", "!\"foo@@x\" is not a valid address: domain expected after @"},
        {"ok1@far.example> NOTIFY=NEVER",
         "!\"ok1@far.example> NOTIFY=NEVER\" is not a valid address: expected a comma"},
        {"\"ok1@far.example> NOTIFY=NEVER\"",
         "!\"\"ok1@far.example> NOTIFY=NEVER\"\" is not a valid address: bad domain"},
        {"a <b", "!\"a <b\" is not a valid address: expected >"},
        {"(unclosed, b", "!\"(unclosed, b\" is not a valid address: comment is not closed"},
        {"\"unclosed, b", "!\"\"unclosed, b\" is not a valid address: quoted string is not closed"},
        {"a@-x", "!\"a@-x\" is not a valid address: bad domain"},
        {"a@x/y", "!\"a@x/y\" is not a valid address: bad domain"},
        {"@x", "!\"@x\" is not a valid address: address expected"},
        {"a\x01@x", "!\"a?@x\" is not a valid address: control character"},
        {"\xff@x", "!\"?@x\" is not a valid address: local part is not UTF-8"},
        {"<>", "!\"<>\" is not a valid address: address expected"},
        {"\\", "!\"\\\" is not a valid address: address expected"},
    };
    for (const auto& row : rows) CHECK_MESSAGE(addresses(row.text) == row.addresses, row.text);
    CHECK(addresses(std::string(255, 'a') + "@x") == std::string(255, 'a') + "@x");
    CHECK(addresses(std::string(256, 'a') + "@x").ends_with("local part longer than 255"));
}
