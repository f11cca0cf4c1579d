#include "daemons/common/lookup/database/table_file.h"
#include <doctest/doctest.h>

using namespace std::chrono_literals;
using tables::DatabaseTable;
using tables::Kind;
using tables::read_table_file;

namespace {

std::string problems_of(Kind kind, std::string_view text) {
    const auto read = read_table_file(kind, text);
    std::string out;
    if (!read)
        for (const auto& each : read.error()) out += each.text() + "\n";
    return out;
}

constexpr std::string_view users = "# who\nhosts = unix:/run/db.sock, db1.example:3307\n  [::1]\nuser = mail\n"
                                   "password = se#cret = x\ndbname = mail\nquery = SELECT a\n   FROM b WHERE c = '%s'\n"
                                   "domain = Example.com, !other.example\nexpansion_limit = 5\nresult_format = <%s>\n";

} // namespace

TEST_CASE("a table's file: everything that mysql_table(5) has in common use") {
    const auto read = read_table_file(Kind::mysql, users);
    REQUIRE(read);
    REQUIRE(read->servers.size() == 3);
    CHECK(read->servers[0].socket == "/run/db.sock");
    CHECK(read->servers[1].text() == "db1.example:3307");
    CHECK(read->servers[2].text() == "[::1]");
    CHECK(read->user == "mail");
    CHECK(read->password.reveal() == "se#cret = x");
    CHECK(read->database == "mail");
    CHECK(read->query.statement() == "SELECT a FROM b WHERE c = ?");
    CHECK(read->domains == std::vector<std::string>{"example.com", "!other.example"});
    CHECK(read->expansion_limit == 5);
    CHECK(read->timeout == 10s);
    CHECK(read->connections == 2);
    CHECK(read->notes.empty());
}

TEST_CASE("a table's file: which keys are looked up") {
    auto read = read_table_file(Kind::mysql, users);
    REQUIRE(read);
    CHECK(read->asks_for("ann@example.com"));
    for (const auto* key : {"", "ann", "example.com", "@example.com", "ann@other.example", "ann@sub.example.com"})
        CHECK_FALSE(read->asks_for(key));
    read->domains.clear();
    CHECK(read->asks_for("ann"));
    CHECK_FALSE(read->asks_for(""));
}

TEST_CASE("a table's file: queries of older files") {
    const auto text = "table = t\nselect_field = s\nwhere_field = w\nadditional_conditions = and on = 1\n";
    CHECK(read_table_file(Kind::mysql, text)->query.statement() == "SELECT s FROM t WHERE w = ? and on = 1");
    CHECK(read_table_file(Kind::pgsql, "dbname=d\nselect_function = f\n")->query.statement() == "SELECT f($1)");
}

TEST_CASE("a table's file: directories") {
    const auto read = read_table_file(Kind::ldap, "server_host = ldaps://a.example:636 b.example\nserver_port = 1389\n"
                                                  "search_base = ou=people,dc=%2,dc=%1\nquery_filter = (mail=%s)\n"
                                                  "result_attribute = mail, uid\nspecial_result_attribute = member\n"
                                                  "bind_dn = cn=postfix\nbind_pw = x\nstart_tls = yes\nscope = one\n"
                                                  "debuglevel = 3\n");
    REQUIRE(read);
    CHECK(read->servers[0].text() == "ldaps://a.example:636");
    CHECK(read->servers[1].text() == "ldap://b.example:1389");
    CHECK(read->ldap.attributes == std::vector<std::string>{"mail", "uid"});
    CHECK(read->ldap.dn_attributes == std::vector<std::string>{"member"});
    CHECK(read->ldap.start_tls);
    CHECK(read->ldap.scope == tables::LdapScope::one);
    CHECK(read->user == "cn=postfix");
    CHECK(read->notes == std::vector<std::string>{"line 11: debuglevel: it has no effect here"});
    const auto odd = read_table_file(Kind::ldap, "search_base = dc=x\nbind_dn = cn=postfix\n");
    REQUIRE(odd);
    REQUIRE(odd->notes.size() == 1);
    CHECK(odd->notes[0].starts_with("line 2: bind_dn: bind_pw is missing"));
}

TEST_CASE("a table's file: each kind of mistake, without the password") {
    CHECK(problems_of(Kind::mysql, "hosts = a\n") == "query: it is missing\n");
    CHECK(problems_of(Kind::mysql, "query = %x\n").starts_with("line 1: query: \"%x\" is not a placeholder"));
    CHECK(problems_of(Kind::mysql, "query = x\nhost = a\n") == "line 2: host: unknown parameter of mysql tables\n");
    CHECK(problems_of(Kind::mysql, "query = x\nhosts = a:0 unix:b\n") ==
          "line 2: hosts: expected HOST, HOST:PORT, inet:HOST:PORT or unix:/PATH\n"
          "line 2: hosts: expected HOST, HOST:PORT, inet:HOST:PORT or unix:/PATH\n");
    CHECK(problems_of(Kind::mysql, "query = x\nexpansion_limit = many\n") ==
          "line 2: expansion_limit: expected a number from 0 to 1000000\n");
    CHECK(
        problems_of(Kind::mysql, "query = x\ndomain = hash:/a\n").starts_with("line 2: domain: lists in other files"));
    CHECK(problems_of(Kind::mysql, "query\n") == "line 1: expected \"name = value\"\n");
    CHECK(problems_of(Kind::mysql, " query = x\n") ==
          "line 1: a line that continues another one must not be the first\n");
    CHECK(problems_of(Kind::ldap, "bind = sasl\n") ==
          "line 1: bind: SASL is not supported: expected yes, simple or no\n");
    CHECK(problems_of(Kind::ldap, "leaf_result_attribute = mail\n") ==
          "line 1: leaf_result_attribute: attributes of leaf entries are not supported\n");
    CHECK(problems_of(Kind::pgsql, "query = x\ndbname = d\nhosts = postgresql://u:secret@h/d\n") ==
          "line 3: hosts: connection URLs are not supported: expected HOST, HOST:PORT or unix:PATH\n");
    CHECK(problems_of(Kind::mysql, "password = secret\nsecret\n") == "line 2: expected \"name = value\"\n");
}
