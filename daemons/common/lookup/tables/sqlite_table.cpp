#include "daemons/common/lookup/tables/sqlite_table.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/text/pattern.h"
#include <cassert>
#include <fmt/format.h>
#include <optional>
#include <sqlite3.h>
#include <utility>

namespace tables {

namespace {

constexpr std::size_t most_keys = 64; // of one batch
constexpr int longest_value = 1 << 20;

struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

std::string why(sqlite3* database) {
    const int code = sqlite3_errcode(database);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        return "another program has locked the database for "
               "writing";
    if (code == SQLITE_INTERRUPT) return "the query takes too long; check that its column has an index";
    return sqlite3_errmsg(database);
}

// What is wrong with the query.
std::optional<std::string> objection(sqlite3_stmt* statement, const char* tail) {
    if (!statement) return "the query is empty";
    if (!trimmed(tail).empty() && trimmed(tail) != ";") return "the query is more than one statement";
    if (!sqlite3_stmt_readonly(statement)) return "the query is not read-only";
    if (sqlite3_bind_parameter_count(statement) != 1) return "the query must have one parameter, ? or :key";
    return std::nullopt;
}

// Empty: the database's error.
std::optional<Answer> answer_of(sqlite3_stmt* statement, const std::string& key) {
    sqlite3_reset(statement);
    sqlite3_bind_text(statement, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    std::string value;
    int step = SQLITE_ROW;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
        const auto size = sqlite3_column_bytes(statement, 0);
        if (!text || size == 0) continue;
        if (!value.empty()) value += ',';
        value.append(text, static_cast<std::size_t>(size));
        if (value.size() > longest_value) return Answer::unavailable("its rows exceed 1 MiB");
    }
    if (step != SQLITE_DONE) return {};
    return value.empty() ? Answer{} : Answer::found(std::move(value));
}

// A database, open to be read, until a time.
std::expected<Database, std::string> open_until(const SqliteQuery& query,
                                                const std::chrono::steady_clock::time_point& deadline) {
    sqlite3* opened = nullptr;
    const int status =
        sqlite3_open_v2(query.database.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(opened);
    if (status != SQLITE_OK)
        return std::unexpected(fmt::format("{}: {}", query.database, opened ? sqlite3_errmsg(opened) : "no memory"));
    sqlite3_progress_handler(
        opened, 1000,
        [](void* until) -> int {
            return std::chrono::steady_clock::now() > *static_cast<const std::chrono::steady_clock::time_point*>(until);
        },
        const_cast<std::chrono::steady_clock::time_point*>(&deadline)); // which must outlive it
    const auto patience = std::min<smtp::Duration>(query.timeout / 2, std::chrono::seconds(2));
    sqlite3_busy_timeout(opened,
                         static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(patience).count()));
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 4 * longest_value);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    return database;
}

// The statement that lists a query's keys; "" if the query cannot be converted. Like the patterns of tables, it ignores
// case.
std::string statement_of_keys(const std::string& query) {
    std::string_view form =
        R"(/^\s*select\s.+?\sfrom\s+([\w."`]+(?:\s+(?:as\s+)?(?!where\b)\w+)?)\s+where\s+)"
        R"(((?:lower\s*\(\s*)?[\w."`]+\s*\)?)\s*={1,2}\s*(?:\?\d*|[:@$]\w+)(?:\s+(?!or\b).*)?;?\s*$/)";
    static const auto pattern = common::Pattern::take(form);
    assert(pattern);
    common::PatternMatch match;
    std::int64_t steps = 1'000'000;
    if (match.match(*pattern, query, steps) != common::PatternMatch::Result::yes) return "";
    return match.filled_in("SELECT DISTINCT $2 FROM $1", query, query.size() + 100);
}

} // namespace

std::expected<std::vector<std::string>, std::string> sqlite_keys(const SqliteQuery& query, std::size_t at_most) {
    const auto text = statement_of_keys(query.text);
    if (text.empty())
        return std::unexpected("keys can be listed only for a query of the form \"SELECT … FROM table WHERE "
                               "column = ?\"");
    const auto deadline = std::chrono::steady_clock::now() + query.timeout;
    const auto database = open_until(query, deadline);
    if (!database) return std::unexpected(database.error());
    auto* opened = database->get();
    sqlite3_stmt* prepared = nullptr;
    const int status = sqlite3_prepare_v2(opened, text.c_str(), -1, &prepared, nullptr);
    const Statement statement(prepared);
    if (status != SQLITE_OK || !statement || !sqlite3_stmt_readonly(prepared))
        return std::unexpected(fmt::format("{}: {}", query.database, why(opened)));
    std::vector<std::string> keys;
    int step = SQLITE_ROW;
    while (keys.size() < at_most && (step = sqlite3_step(prepared)) == SQLITE_ROW) {
        const auto* key = reinterpret_cast<const char*>(sqlite3_column_text(prepared, 0));
        const auto size = sqlite3_column_bytes(prepared, 0);
        if (key && size > 0) keys.emplace_back(key, static_cast<std::size_t>(size));
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        return std::unexpected(fmt::format("{}: {}", query.database, why(opened)));
    return keys;
}

std::expected<std::vector<Answer>, std::string> ask_sqlite(const SqliteQuery& query,
                                                           const std::vector<std::string>& keys) {
    const auto deadline = std::chrono::steady_clock::now() + query.timeout;
    const auto database = open_until(query, deadline);
    if (!database) return std::unexpected(database.error());
    auto* opened = database->get();
    const auto fail = [&] { return std::unexpected(fmt::format("{}: {}", query.database, why(opened))); };
    sqlite3_stmt* prepared = nullptr;
    const char* tail = "";
    if (sqlite3_prepare_v2(opened, query.text.c_str(), -1, &prepared, &tail) != SQLITE_OK) return fail();
    const Statement statement(prepared);
    if (auto wrong = objection(prepared, tail)) return std::unexpected(*std::move(wrong));

    std::vector<Answer> answers;
    for (const auto& key : keys) {
        auto answer = answer_of(prepared, folded_key(key));
        if (!answer && answers.empty()) return fail();
        if (!answer) break; // the answers so far count; the others are asked for again
        answers.push_back(*std::move(answer));
    }
    return answers;
}

struct SqliteTable::Work {
    uv_work_t request{};
    SqliteTable* owner = nullptr; // null: the result is no longer wanted
    SqliteQuery query;
    std::vector<std::string> keys;
    std::expected<std::vector<Answer>, std::string> answers;
};

SqliteTable::SqliteTable(common::Loop& loop, common::Log& log, std::string name, SqliteQuery query, OnAnswer on_answer)
    : FetchedTable(log, std::move(name), query.cache, std::move(on_answer)), loop_(loop), query_(std::move(query)) {}

SqliteTable::~SqliteTable() {
    if (work_) work_->owner = nullptr;
}

void SqliteTable::fetch() {
    if (work_) return;
    std::vector<std::string> keys;
    while (keys.size() < most_keys) {
        auto key = next();
        if (!key) break;
        keys.push_back(*std::move(key));
    }
    if (keys.empty()) return;
    work_ = new Work{{}, this, query_, std::move(keys), {}};
    work_->request.data = work_;
    uv_queue_work(
        &loop_.uv(), &work_->request,
        [](uv_work_t* request) {
            auto& work = *static_cast<Work*>(request->data);
            work.answers = ask_sqlite(work.query, work.keys);
        },
        [](uv_work_t* request, int) {
            const std::unique_ptr<Work> work(static_cast<Work*>(request->data));
            if (work->owner) work->owner->done(*work);
        });
}

void SqliteTable::done(Work& work) {
    work_ = nullptr;
    if (!work.answers) return failed(std::move(work.answers).error());
    for (auto left = work.keys.size(); left > work.answers->size(); --left) put_back(std::move(work.keys[left - 1]));
    fetch();
    for (std::size_t i = 0; i < work.answers->size(); ++i) answered(work.keys[i], std::move((*work.answers)[i]));
}

} // namespace tables
