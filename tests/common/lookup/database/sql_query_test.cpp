#include "daemons/common/lookup/database/sql_query.h"
#include <doctest/doctest.h>

using tables::SqlDialect;
using tables::SqlQuery;
using Words = std::vector<std::string>;

namespace {

std::string statement_of(std::string_view text, SqlDialect dialect = SqlDialect::mysql) {
    const auto read = SqlQuery::parse(text, dialect);
    return read ? read->statement() : "error: " + read.error().why;
}
Words parameters_of(std::string_view text, std::string_view key, SqlDialect dialect = SqlDialect::mysql) {
    return SqlQuery::parse(text, dialect)->parameters(key).value_or(Words{"none"});
}

} // namespace

TEST_CASE("queries in SQL: quoted texts with placeholders become parameters") {
    constexpr auto query = "SELECT target FROM aliases WHERE a='%s' AND b = '%u@%d' AND c='x' AND d LIKE '%%%d'";
    CHECK(statement_of(query) == "SELECT target FROM aliases WHERE a=? AND b = ? AND c='x' AND d LIKE ?");
    CHECK(statement_of(query, SqlDialect::pgsql) ==
          "SELECT target FROM aliases WHERE a=$1 AND b = $2 AND c='x' AND d LIKE $3");
    CHECK(parameters_of(query, "o'hara@b.example") == Words{"o'hara@b.example", "o'hara@b.example", "%b.example"});
    CHECK(parameters_of(query, "ann") == Words{"none"}); // no domain: no result
    CHECK(parameters_of("SELECT 1 WHERE x='it''s %s'", "k") == Words{"it's k"});
}

TEST_CASE("queries in SQL: also outside of quotes, and a percent sign is doubled") {
    CHECK(statement_of("SELECT a FROM b WHERE id = %u AND 7 %% 2 = 1 AND c LIKE '%%x'") ==
          "SELECT a FROM b WHERE id = ? AND 7 % 2 = 1 AND c LIKE '%x'");
    CHECK(statement_of("SELECT a FROM b WHERE c = \"%s\"") == "SELECT a FROM b WHERE c = ?");
    CHECK(statement_of("SELECT \"a\" FROM b", SqlDialect::pgsql) == "SELECT \"a\" FROM b");
}

TEST_CASE("queries in SQL: what cannot be a parameter") {
    for (const auto* text : {"SELECT `%s`", "SELECT 'a", "SELECT a WHERE b='\\'%s'", "SELECT a WHERE b=N'%s'",
                             "SELECT ?", "SELECT %x", "SELECT '%'"})
        CHECK(statement_of(text).starts_with("error: "));
    CHECK(statement_of("SELECT \"%s\"", SqlDialect::pgsql).starts_with("error: a placeholder between \" and \""));
    CHECK(statement_of("SELECT E'%s'", SqlDialect::pgsql).starts_with("error: "));
    CHECK(statement_of("SELECT '?', '\\'' FROM b WHERE a = '%s'") == "SELECT '?', '\\'' FROM b WHERE a = ?");
    std::string many = "SELECT 1";
    for (int i = 0; i < 51; ++i) many += ",'%s'";
    CHECK(statement_of(many) == "error: it has more than 50 placeholders");
}
