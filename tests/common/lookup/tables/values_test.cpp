// Every value of every kind of table, and what is wrong with them.
#include "daemons/common/lookup/format/compile.h"
#include "daemons/common/lookup/tables/values.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <sqlite3.h>

using namespace tables;

namespace {

struct Scratch {
    TemporaryDirectory here;
    std::string path(const std::string& name) const { return here.path().string() + "/" + name; }
    std::string write(const std::string& name, std::string_view text) const {
        std::ofstream(path(name)) << text;
        return path(name);
    }
};

std::string seen(const std::string& table, const std::vector<config::LookupTable>& sections = {},
                 std::size_t most = most_values) {
    std::string out;
    const auto scan = each_value(
        table, sections,
        [&](const TableValue& each) {
            out += fmt::format("{}:{}={}{} ", each.line, each.key, each.value, each.groups ? " with groups" : "");
        },
        most);
    return out + scan.text();
}

void in_database(const std::string& path, const char* statements) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, statements, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
}

} // namespace

TEST_CASE("files: lines, right-hand sides, compiled entries; so many and no more") {
    Scratch scratch;
    const auto text = scratch.write("text", "# ours\na b\n\nc d,\n e\n");
    CHECK(seen("text:" + text) == "2:a=b 4:c=d, e 2 values checked");
    CHECK(seen("text:" + text, {}, 1) == "2:a=b the first 1 value checked");
    CHECK(seen("static:5000") == "0:=5000 1 value checked");
    CHECK(seen("text:/no/such") == "its values cannot be checked: No such file or directory");
    REQUIRE(compile(text));
    CHECK(seen("lmdb:" + text) == "0:a=b 0:c=d, e 2 values checked");
    CHECK(seen("lmdb:" + text, {}, 1) == "0:a=b the first 1 value checked");
    const auto rules = scratch.write("rules", "if /x/\n/^(.*)@a$/ $1@b\nendif\n/bad\n/c/ d\n");
    CHECK(seen("regexp:" + rules) == "2:=$1@b with groups 5:=d with groups 2 values checked");
    CHECK(seen("cidr:" + scratch.write("cidr", "10.0.0.0/8 a\n!::1 b\n")) == "1:=a 2:=b 2 values checked");
}

TEST_CASE("sections: entries, what an SQLite query answers, and services that cannot be listed") {
    Scratch scratch;
    const auto database = scratch.path("database");
    in_database(
        database,
        "CREATE TABLE v (a TEXT, b TEXT); INSERT INTO v VALUES ('x', 'one'), ('y', 'two'), ('x', 'three'), ('', 'z')");
    const auto section = [&](const char* query) {
        return std::vector{
            config::LookupTable{.name = "q", .kind = config::LookupKind::sqlite, .database = database, .query = query}};
    };
    for (const auto* query :
         {"SELECT b FROM v WHERE a = ?", "select v.b from v as v where v.a=:key order by b desc;",
          "SELECT b FROM \"v\" WHERE lower(a) = ?1 AND b <> 'never'", "SELECT\n b\nFROM v\nWHERE a == @key"}) {
        const auto found = seen("table:q", section(query));
        CHECK_MESSAGE(found.find("0:y=two") != std::string::npos, query, ": ", found);
        CHECK_MESSAGE(found.ends_with("2 values checked"), query, ": ", found);
    }
    CHECK(seen("table:q", section("SELECT b FROM v WHERE a = ?"), 1).ends_with("the first 1 value checked"));
    for (const auto* query :
         {"SELECT b FROM v WHERE a LIKE ? OR 1", "SELECT ?", "SELECT b FROM v JOIN v AS w WHERE v.a = ?"})
        CHECK_MESSAGE(seen("table:q", section(query))
                          .starts_with("its values cannot be checked: keys can be listed "
                                       "only"),
                      query);
    CHECK(seen("table:q", section("SELECT b FROM gone WHERE a = ?")) ==
          fmt::format("its values cannot be checked: {}: no such table: gone", database));
    const std::vector<config::LookupTable> others{
        {.name = "few", .kind = config::LookupKind::entries, .entries = {"a b", "c d"}},
        {.name = "far", .kind = config::LookupKind::tcp}};
    CHECK(seen("table:few", others) == "1:a=b 1:c=d 2 values checked");
    for (const auto* table : {"table:far", "tcp:127.0.0.1:1", "socketmap:unix:/no/such:x"})
        CHECK(seen(table, others) == "its values cannot be checked: the service answers only one key at a time");
}

TEST_CASE("a value with groups is wrong if it is, whatever they catch") {
    const auto short_ones = [](const std::string& value) -> std::optional<std::string> {
        if (value.size() <= 12) return std::nullopt;
        return "\"" + value + "\" is long";
    };
    CHECK(check_value({"", "$1", 1, true}, short_ones) == std::nullopt);
    CHECK(check_value({"", "${1}-and-$(2)", 1, true}, short_ones) == std::nullopt);
    CHECK(check_value({"", "$1 is always long", 1, true}, short_ones) == "\"user is always long\" is long");
    CHECK(check_value({"", "$1 is always long", 1, false}, short_ones) == "\"$1 is always long\" is long");
    CHECK(check_value({"", "$$1", 1, true}, short_ones) == std::nullopt);
}
