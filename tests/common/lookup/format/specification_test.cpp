#include "daemons/common/lookup/format/specification.h"
#include <doctest/doctest.h>

using tables::Kind;
using tables::Specification;

TEST_CASE("tables' specifications") {
    const struct {
        std::string_view text;
        Kind kind;
        std::string_view name, address;
    } rows[] = {
        {"text:/etc/postrider/virtual", Kind::text, "/etc/postrider/virtual", ""},
        {"lmdb:/etc/virtual", Kind::lmdb, "/etc/virtual.lmdb", ""},
        {"lmdb:/etc/virtual.lmdb", Kind::lmdb, "/etc/virtual.lmdb", ""},
        {"regexp:/a b", Kind::regexp, "/a b", ""},
        {"cidr:/x", Kind::cidr, "/x", ""},
        {"mysql:/x.cf", Kind::mysql, "/x.cf", ""},
        {"pgsql:/x.cf", Kind::pgsql, "/x.cf", ""},
        {"ldap:/x.cf", Kind::ldap, "/x.cf", ""},
        {"static: all of them ", Kind::fixed, "", ""},
        {"table:users", Kind::section, "users", ""},
        {"socketmap:unix:/run/x.sock:name", Kind::socketmap, "name", "unix:/run/x.sock"},
        {"socketmap:inet:127.0.0.1:3000:name", Kind::socketmap, "name", "inet:127.0.0.1:3000"},
        {"socketmap:inet:localhost:3000:name", Kind::socketmap, "name", "inet:127.0.0.1:3000"},
        {"socketmap:inet:[::1]:3000:name", Kind::socketmap, "name", "inet:[::1]:3000"},
        {"tcp:127.0.0.1:3000", Kind::tcp, "", "inet:127.0.0.1:3000"},
        {"tcp:localhost:3000", Kind::tcp, "", "inet:127.0.0.1:3000"},
        {"tcp:unix:/run/x", Kind::tcp, "", "unix:/run/x"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto read = Specification::parse(row.text);
        REQUIRE(read);
        CHECK(read->kind == row.kind);
        CHECK(read->name == row.name);
        CHECK((row.address.empty() ? read->address == common::ServiceAddress{}
                                   : read->address.to_string() == row.address));
    }
}

TEST_CASE("what names no table says what is expected") {
    const struct {
        std::string_view text, part;
    } rows[] = {
        {"", "is not a table; write \"text:FILE\""},
        {"/etc/virtual", "is not a table"},
        {"text", "is not a table"},
        {"txet:/x", "is not a table"},
        {"text:", "is not the absolute path"},
        {"text:x", "is not the absolute path"},
        {"text:/x/", "is not the absolute path"},
        {"text:/x\ny", "control characters"},
        {"hash:/etc/virtual", "or \"lmdb:FILE\" after \"postrider map FILE\""},
        {"pcre:/x", "write \"regexp:FILE\""},
        {"sqlite:/x.cf", "[table.NAME] with kind = \"sqlite\""},
        {"socketmap:unix:/run/x", "is not a socket map such as"},
        {"socketmap:unix:/run/x:", "is not a socket map such as"},
        {"socketmap:inet:example.com:3000:name", "is not a socket map such as"},
        {"tcp:127.0.0.1", "is not a server such as"},
        {"static: ", "has no value such as in"},
        {"static:a\nb", "control characters are not allowed"},
        {"static:\x1f", "control characters are not allowed"},
        {"static:a\x7f", "control characters are not allowed"},
        {"table:", "does not name a section"},
        {"table:a b", "does not name a section"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto read = Specification::parse(row.text);
        REQUIRE(!read);
        CHECK(read.error().why.find(row.part) != std::string::npos);
    }
}
