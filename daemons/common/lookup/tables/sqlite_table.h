// A table that is a read-only query of an SQLite database. Runs on
// another thread: a few keys at once, one batch after the other.
#pragma once
#include "daemons/common/lookup/tables/fetched_table.h"
#include <expected>
#include <vector>

namespace tables {

struct SqliteQuery {
    std::string database; // a file
    std::string text;     // one SELECT, with one parameter
    smtp::Duration timeout = std::chrono::seconds(10);
    smtp::Duration cache = std::chrono::seconds(30);
};

// The first column of the rows, joined with ","; nothing where there are none. Blocks, no longer than the timeout for
// all of them. The whole may fail (the database, the query), or single keys (`unavailable`).
std::expected<std::vector<Answer>, std::string> ask_sqlite(const SqliteQuery& query,
                                                           const std::vector<std::string>& keys);

// The keys in the table, where the query compares one column: "SELECT … FROM table WHERE column = ? …"; at most
// `at_most`. Blocks, no longer than the timeout. The error: it is another kind of query, or it fails.
std::expected<std::vector<std::string>, std::string> sqlite_keys(const SqliteQuery& query, std::size_t at_most);

class SqliteTable final : public FetchedTable {
public:
    SqliteTable(common::Loop& loop, common::Log& log, std::string name, SqliteQuery query, OnAnswer on_answer);
    ~SqliteTable() override;

private:
    struct Work;
    void fetch() override;
    void done(Work& work);

    common::Loop& loop_;
    SqliteQuery query_;
    Work* work_ = nullptr;
};

} // namespace tables
