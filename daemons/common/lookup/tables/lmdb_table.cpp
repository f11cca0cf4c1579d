#include "daemons/common/lookup/tables/lmdb_table.h"
#include "daemons/common/lookup/format/key_value.h"
#include <algorithm>
#include <fmt/format.h>
#include <lmdb.h>
#include <sys/stat.h>

namespace tables {

namespace {

// How much a file may grow, by Postfix's postmap -i, before it is opened again. A file also has the number of addresses
// that were wanted when it was written; with ten such files that would be more than some systems have.
constexpr std::size_t room_to_grow = 1024UL * 1024 * 1024;

struct Abort {
    void operator()(MDB_txn* transaction) const { mdb_txn_abort(transaction); }
};
using Transaction = std::unique_ptr<MDB_txn, Abort>;

std::string why(int status) {
    if (status == MDB_INVALID || status == MDB_VERSION_MISMATCH || status == MDB_CORRUPTED)
        return "not a compiled table; create it again with \"postrider map\"";
    return mdb_strerror(status);
}

std::string_view text_of(const MDB_val& value) {
    std::string_view text(static_cast<const char*>(value.mv_data), value.mv_size);
    if (text.ends_with('\0')) text.remove_suffix(1);
    return text;
}

Transaction begin(MDB_env* env, int& status) {
    MDB_txn* transaction = nullptr;
    status = mdb_txn_begin(env, nullptr, MDB_RDONLY, &transaction);
    return Transaction(status == 0 ? transaction : nullptr);
}

// If a file is shorter than it says, reading the first missing page would end the process.
bool is_whole(MDB_env* env, const std::string& path) {
    MDB_envinfo info{};
    MDB_stat stat{};
    struct stat facts{};
    if (mdb_env_info(env, &info) != 0 || mdb_env_stat(env, &stat) != 0 || ::stat(path.c_str(), &facts) != 0)
        return false;
    return static_cast<std::uint64_t>(facts.st_size) >= (info.me_last_pgno + std::uint64_t{1}) * stat.ms_psize;
}

} // namespace

void LmdbFile::Close::operator()(MDB_env* env) const { mdb_env_close(env); }

// Without locks: what `postrider map` has made never changes, and one change of Postfix's harms no reader.
std::expected<std::unique_ptr<LmdbFile>, std::string> LmdbFile::open(const std::string& path) {
    auto out = std::make_unique<LmdbFile>();
    MDB_env* env = nullptr;
    if (const int status = mdb_env_create(&env); status != 0) return std::unexpected(why(status));
    out->env_.reset(env);
    struct stat facts{};
    if (::stat(path.c_str(), &facts) == 0 && facts.st_size == 0) return std::unexpected(why(MDB_INVALID));
    mdb_env_set_mapsize(env, (static_cast<std::size_t>(facts.st_size) + room_to_grow) & ~(room_to_grow / 1024 - 1));
    if (const int status = mdb_env_open(env, path.c_str(), MDB_RDONLY | MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS, 0);
        status != 0)
        return std::unexpected(why(status));
    if (!is_whole(env, path)) return std::unexpected("truncated; create it again with \"postrider map\"");
    int status = 0;
    auto transaction = begin(env, status);
    if (status == 0) status = mdb_dbi_open(transaction.get(), nullptr, 0, &out->database_);
    if (status == 0) status = mdb_txn_commit(transaction.release()); // else the handle would not remain valid
    if (status != 0) return std::unexpected(why(status));
    return out;
}

Answer LmdbFile::find(const std::string& key) const {
    int status = 0;
    const auto transaction = begin(env_.get(), status);
    if (status != 0) return Answer::unavailable(why(status));
    const auto longest = static_cast<std::size_t>(mdb_env_get_maxkeysize(env_.get()));
    for (const std::size_t nul : {0, 1}) {
        if (key.size() + nul > longest) return {};
        MDB_val wanted{key.size() + nul, const_cast<char*>(key.c_str())}, value{};
        status = mdb_get(transaction.get(), database_, &wanted, &value);
        if (status == MDB_NOTFOUND) continue;
        if (status != 0) return Answer::unavailable(why(status));
        const auto text = text_of(value);
        if (text.empty() ||
            std::ranges::any_of(text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }))
            return Answer::unavailable("its value for this key is empty or contains control characters");
        return Answer::found(std::string(text));
    }
    return {};
}

std::expected<void, std::string>
LmdbFile::each(const std::function<bool(std::string_view key, std::string_view value)>& take) const {
    int status = 0;
    const auto transaction = begin(env_.get(), status);
    MDB_cursor* cursor = nullptr;
    if (status == 0) status = mdb_cursor_open(transaction.get(), database_, &cursor);
    if (status != 0) return std::unexpected(why(status));
    MDB_val key{}, value{};
    while ((status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0)
        if (!take(text_of(key), text_of(value))) break;
    mdb_cursor_close(cursor);
    if (status != 0 && status != MDB_NOTFOUND) return std::unexpected(why(status));
    return {};
}

std::size_t LmdbFile::entries() const {
    MDB_stat stat{};
    return mdb_env_stat(env_.get(), &stat) == 0 ? stat.ms_entries : 0;
}

LmdbTable::LmdbTable(common::Log& log, std::string name, std::string path)
    : log_(log), name_(std::move(name)), watch_(std::move(path)) {}

LmdbTable::~LmdbTable() = default;

Answer LmdbTable::find(std::string_view key, smtp::Now now) {
    refresh(now);
    if (!file_) return Answer::unavailable(problem());
    auto answer = file_->find(folded_key(key));
    if (answer.status == Answer::Status::unavailable) answer.why = fmt::format("table {}: {}", name_, answer.why);
    return answer;
}

std::string LmdbTable::problem() const {
    return watch_.problem().empty() ? "" : fmt::format("table {}: {}", name_, watch_.problem());
}

void LmdbTable::refresh(smtp::Now now) {
    const auto change = watch_.check(now);
    if (change == common::WatchedFile::Change::none) return;
    file_.reset();
    if (change == common::WatchedFile::Change::changed) {
        auto opened = LmdbFile::open(watch_.path());
        if (opened) {
            file_ = *std::move(opened);
            watch_.clear_problem();
            return log_.info("table {}: {} entries", name_, file_->entries());
        }
        if (watch_.failed(std::move(opened).error()) == common::WatchedFile::Change::none) return;
    }
    log_.warning("{}; mail that depends on it waits until it can be read", problem());
}

} // namespace tables
