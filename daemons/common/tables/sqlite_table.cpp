#include "daemons/common/tables/sqlite_table.h"
#include "daemons/common/tables/key_value.h"
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
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return "somebody is writing to the database and does not let go of it";
    if (code == SQLITE_INTERRUPT) return "the query takes too long; look whether its column has an index";
    return sqlite3_errmsg(database);
}

// "" or what is wrong with the query.
std::string objection(sqlite3_stmt* statement, const char* tail) {
    if (!statement) return "the query is empty";
    if (!trimmed(tail).empty() && trimmed(tail) != ";") return "the query is more than one statement";
    if (!sqlite3_stmt_readonly(statement)) return "the query is none that only reads";
    if (sqlite3_bind_parameter_count(statement) != 1) return "the query must have one parameter, ? or :key";
    return "";
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
        if (value.size() > longest_value) return Answer::unavailable("the rows for it exceed 1 MiB");
    }
    if (step != SQLITE_DONE) return {};
    return value.empty() ? Answer{} : Answer::found(std::move(value));
}

} // namespace

std::expected<std::vector<Answer>, std::string> ask_sqlite(const SqliteQuery& query, const std::vector<std::string>& keys) {
    sqlite3* opened = nullptr;
    const int status = sqlite3_open_v2(query.database.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    const Database database(opened);
    if (status != SQLITE_OK)
        return std::unexpected(fmt::format("{}: {}", query.database, opened ? sqlite3_errmsg(opened) : "no memory"));
    const auto fail = [&] { return std::unexpected(fmt::format("{}: {}", query.database, why(opened))); };

    const auto deadline = std::chrono::steady_clock::now() + query.timeout;
    sqlite3_progress_handler(
        opened, 1000,
        [](void* until) -> int {
            return std::chrono::steady_clock::now() > *static_cast<const std::chrono::steady_clock::time_point*>(until);
        },
        const_cast<std::chrono::steady_clock::time_point*>(&deadline));
    const auto patience = std::min<smtp::Duration>(query.timeout / 2, std::chrono::seconds(2));
    sqlite3_busy_timeout(opened, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(patience).count()));
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, 4 * longest_value);
    sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);

    sqlite3_stmt* prepared = nullptr;
    const char* tail = "";
    if (sqlite3_prepare_v2(opened, query.text.c_str(), -1, &prepared, &tail) != SQLITE_OK) return fail();
    const Statement statement(prepared);
    if (auto wrong = objection(prepared, tail); !wrong.empty()) return std::unexpected(std::move(wrong));

    std::vector<Answer> answers;
    for (const auto& key : keys) {
        auto answer = answer_of(prepared, folded_key(key));
        if (!answer && answers.empty()) return fail();
        if (!answer) break; // what there is counts; the others are asked for anew
        answers.push_back(*std::move(answer));
    }
    return answers;
}

struct SqliteTable::Work {
    uv_work_t request{};
    SqliteTable* owner = nullptr; // null: nobody wants to know any more
    SqliteQuery query;
    std::vector<std::string> keys;
    std::expected<std::vector<Answer>, std::string> answers;
};

SqliteTable::SqliteTable(common::Loop& loop, common::Log& log, std::string name, SqliteQuery query, Known known)
    : FetchedTable(log, std::move(name), query.cache, std::move(known)), loop_(loop), query_(std::move(query)) {}

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
