// A query of a database in SQL as a prepared statement: each quoted text with a placeholder, and each placeholder
// outside of quotes, becomes a parameter, so that no part of a key is ever interpreted as SQL. Pure.
#pragma once
#include "daemons/common/lookup/database/template.h"
#include <cstdint>

namespace tables {

enum class SqlDialect : std::uint8_t { mysql, pgsql };

class SqlQuery {
public:
    static std::expected<SqlQuery, smtp::Malformed> parse(std::string_view text, SqlDialect dialect);

    const std::string& statement() const { return statement_; } // with ? or $1, $2 …
    // The parameters for this key; nothing: it lacks a part that the query names, and has no result.
    std::optional<std::vector<std::string>> parameters(std::string_view key) const;

    static constexpr std::size_t most_parameters = 50;

private:
    std::string statement_;
    std::vector<Template> parameters_;
};

} // namespace tables
