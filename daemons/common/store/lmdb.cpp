#include "daemons/common/store/lmdb.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/store/file_mutex.h"
#include "daemons/common/store/lmdb_record.h"
#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <mutex>
#include <shared_mutex>
#include <sys/file.h>
#include <sys/stat.h>

namespace store {

using common::Fd;
using spool::Error;
using spool::Result;
using std::unexpected;

namespace {

constexpr unsigned most_readers = 1024;     // threads of all processes that read at one instant
constexpr std::size_t cleared_at_once = 16; // expired entries, and one more for each change
constexpr std::size_t cleared_if_full = 1000;

MDB_val bytes_of(std::string_view text) { return {text.size(), const_cast<char*>(text.data())}; }
std::string_view text_of(const MDB_val& bytes) { return {static_cast<const char*>(bytes.mv_data), bytes.mv_size}; }

bool damage(int code) {
    return code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID || code == MDB_VERSION_MISMATCH ||
           code == MDB_INCOMPATIBLE || code == EUCLEAN;
}

// An error of LMDB in the form of all others.
Error error_of(const std::string& file, std::string_view action, int code) {
    if (damage(code))
        return {EUCLEAN, fmt::format("{} {}: it is damaged ({}); at Postrider's next start it is moved aside and a "
                                     "new one is created",
                                     action, file, code == EUCLEAN ? "checksum mismatch" : mdb_strerror(code))};
    if (code == MDB_MAP_FULL) return {ENOSPC, fmt::format("{} {}: it has reached its maximum size", action, file)};
    if (code == MDB_READERS_FULL) return {EAGAIN, fmt::format("{} {}: too many readers", action, file)};
    return {code > 0 ? code : EIO, fmt::format("{} {}: {}", action, file, mdb_strerror(code))};
}

// For processes that change a database, and for those that start to read: LMDB has a mutex for each.
struct Waiting {
    std::unique_ptr<FileMutex> writers, readers; // readers: while they enter the table of readers
};

// One transaction; aborted unless committed.
class Transaction {
public:
    Transaction() = default;
    ~Transaction() {
        if (txn_) mdb_txn_abort(txn_);
    }
    Transaction(const Transaction&) = delete;
    int begin(const Waiting& waiting, MDB_env* env, unsigned flags) {
        std::unique_lock marking(*waiting.readers, std::defer_lock);
        if (flags & MDB_RDONLY)
            marking.lock();
        else
            writing_ = std::unique_lock(*waiting.writers);
        int code = mdb_txn_begin(env, nullptr, flags, &txn_);
        if (code == MDB_READERS_FULL) { // dead ones may be among them
            int dead = 0;
            mdb_reader_check(env, &dead);
            if (dead > 0) code = mdb_txn_begin(env, nullptr, flags, &txn_);
        }
        if (code != 0) txn_ = nullptr;
        return code;
    }
    int commit() {
        const int code = mdb_txn_commit(std::exchange(txn_, nullptr));
        if (writing_) writing_.unlock();
        return code;
    }
    operator MDB_txn*() const { return txn_; }

private:
    std::unique_lock<FileMutex> writing_; // until it is over
    MDB_txn* txn_ = nullptr;
};

class Cursor {
public:
    Cursor(MDB_txn* txn, MDB_dbi dbi) : code_(mdb_cursor_open(txn, dbi, &cursor_)) {}
    ~Cursor() {
        if (cursor_) mdb_cursor_close(cursor_);
    }
    Cursor(const Cursor&) = delete;
    int move(MDB_cursor_op op, MDB_val& key, MDB_val& value) {
        return code_ != 0 ? code_ : mdb_cursor_get(cursor_, &key, &value, op);
    }

private:
    MDB_cursor* cursor_ = nullptr;
    int code_;
};

// Calls `see` with the pages that each transaction has freed.
template <class See> int each_freed(MDB_txn* txn, See see) {
    Cursor freed(txn, 0);
    MDB_val key{}, value{};
    int code = 0;
    while ((code = freed.move(MDB_NEXT, key, value)) == 0) {
        const auto* pages = static_cast<const std::size_t*>(value.mv_data); // their number first
        if (value.mv_size < sizeof *pages || value.mv_size / sizeof *pages <= *pages) return MDB_CORRUPTED;
        if (!see(std::span(pages + 1, *pages))) return MDB_CORRUPTED;
    }
    return code == MDB_NOTFOUND ? 0 : code;
}

} // namespace

struct Lmdb::Inner {
    std::string directory, file;
    LmdbOptions options;
    std::string put_aside;
    std::shared_mutex gate; // shared: in use; exclusive: being opened again
    Waiting waiting;
    MDB_env* env = nullptr;
    MDB_dbi entries = 0, by_expiry = 0;
    ino_t inode = 0;

    ~Inner() { close(); }
    void close() {
        if (env) mdb_env_close(std::exchange(env, nullptr));
    }
    Error error(std::string_view action, int code) const { return error_of(file, action, code); }

    Result<> open();
    int open_environment();
    Result<> open_as_keeper();
    Result<> examine();
    Result<> put_it_aside(std::string why);
    bool replaced() const {
        struct stat facts{};
        return ::stat(file.c_str(), &facts) == 0 && facts.st_ino != inode;
    }

    // Calls `work`, which returns LMDB's code, with the environment in use; opens that again and calls once
    // more if the keeper has replaced it, another process has made it larger, or an earlier write to it has
    // failed.
    template <class Work> Result<> use(std::string_view action, Work work);

    int find(MDB_txn* txn, std::string_view key, std::optional<Entry>& found) const;
    int change(MDB_txn* txn, const Change& change, smtp::WallTime now, bool full, Outcome& outcome) const;
    int remove(MDB_txn* txn, std::string_view key, const Entry& entry) const;
    int clear_expired(MDB_txn* txn, smtp::WallTime now, std::size_t most) const;
    int look_at_room(bool& full) const;
    int make_room(smtp::WallTime now, bool& full) const;
};

// --- opening

int Lmdb::Inner::open_environment() {
    close();
    int code = mdb_env_create(&env);
    if (code != 0) return code;
    mdb_env_set_maxdbs(env, 2);
    mdb_env_set_maxreaders(env, most_readers);
    // The space beyond `max_size` is for removing entries, which needs pages too.
    mdb_env_set_mapsize(env, (options.max_size + options.max_size / 8 + (1UL << 20)) & ~0xffffUL);
    code = mdb_env_open(env, directory.c_str(), MDB_NOTLS | MDB_NOMETASYNC, 0600);
    if (code != 0) return code;
    {
        const std::lock_guard marking(*waiting.readers);
        int dead = 0;
        mdb_reader_check(env, &dead);
    }
    struct stat facts{};
    MDB_envinfo info{};
    MDB_stat pages{};
    mdb_env_info(env, &info); // before the file's size, which others may be making larger
    mdb_env_stat(env, &pages);
    if (::stat(file.c_str(), &facts) != 0) return errno;
    // Accessing pages beyond the file's end would end the process.
    if (static_cast<std::uint64_t>(facts.st_size) < (info.me_last_pgno + 1) * pages.ms_psize && info.me_last_txnid > 0)
        return MDB_CORRUPTED;
    inode = facts.st_ino;
    Transaction txn;
    code = txn.begin(waiting, env, 0);
    if (code == 0) code = mdb_dbi_open(txn, "entries", MDB_CREATE, &entries);
    if (code == 0) code = mdb_dbi_open(txn, "by-expiry", MDB_CREATE, &by_expiry);
    return code == 0 ? txn.commit() : code;
}

Result<> Lmdb::Inner::open() {
    // The keeper moves files only while no other process opens them.
    const Fd lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock) return unexpected(Error::from_errno("open " + directory));
    const bool in_haste = options.examined == LmdbOptions::Examined::report_busy;
    while (::flock(lock.number(), options.keeper ? LOCK_EX : in_haste ? LOCK_SH | LOCK_NB : LOCK_SH) != 0) {
        if (errno == EWOULDBLOCK)
            return unexpected(Error{EBUSY, fmt::format("open {}: it is being checked after a start", file)});
        if (errno != EINTR) return unexpected(Error::from_errno("lock " + directory));
    }
    if (!options.keeper && ::access(file.c_str(), F_OK) != 0) return unexpected(Error::from_errno("open " + file));
    if (!waiting.writers) waiting.writers = TRY(FileMutex::open(directory + "/writers.lock"));
    if (!waiting.readers) waiting.readers = TRY(FileMutex::open(directory + "/readers.lock"));
    if (options.keeper) return open_as_keeper();
    if (const int code = open_environment(); code != 0) {
        close();
        return unexpected(error("open", code));
    }
    return {};
}

// Reading damaged data may end the process: a mark counts the processes that were about to. One may have ended for
// other reasons (killed, out of memory, a power failure); several in a row have not.
Result<> Lmdb::Inner::open_as_keeper() {
    constexpr off_t coincidences = 2;
    const auto mark = directory + "/examining";
    struct stat marked{};
    if (::stat(mark.c_str(), &marked) == 0 && marked.st_size > coincidences) {
        TRY(put_it_aside(fmt::format("{} processes ended while checking it", marked.st_size)));
        ::unlink(mark.c_str());
    }
    const Fd made(::open(mark.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!made || ::write(made.number(), "x", 1) != 1) return unexpected(Error::from_errno("make " + mark));
    auto opened = examine();
    if (!opened && is_damaged(opened.error())) {
        if (auto aside = put_it_aside(opened.error().what); !aside) return aside;
        opened = examine();
    }
    ::unlink(mark.c_str());
    return opened;
}

Result<> Lmdb::Inner::examine() {
    if (const int code = open_environment(); code != 0) {
        close();
        return unexpected(error("open", code));
    }
    Transaction txn;
    int code = txn.begin(waiting, env, MDB_RDONLY);
    if (code != 0) return unexpected(error("read", code));
    std::size_t expiring = 0, indexed = 0;
    MDB_val key{}, value{};
    Cursor all(txn, entries), index(txn, by_expiry);
    while ((code = all.move(MDB_NEXT, key, value)) == 0) {
        const auto entry = lmdb_record::decode(text_of(key), text_of(value));
        if (!entry) return unexpected(error("read", EUCLEAN));
        expiring += entry->expires != smtp::WallTime{};
    }
    if (code != MDB_NOTFOUND) return unexpected(error("read", code));
    while ((code = index.move(MDB_NEXT, key, value)) == 0)
        indexed += lmdb_record::decode_index(text_of(key)).has_value();
    if (code != MDB_NOTFOUND) return unexpected(error("read", code));
    if (indexed != expiring) return unexpected(error("read", MDB_CORRUPTED));
    MDB_envinfo info{};
    mdb_env_info(env, &info);
    code = each_freed(txn, [&](std::span<const std::size_t> freed) { // and are written to next
        return std::ranges::all_of(freed, [&](std::size_t page) { return page >= 2 && page <= info.me_last_pgno; });
    });
    if (code != 0) return unexpected(error("read", code));
    return {};
}

constexpr unsigned most_aside = 20; // files; more require an administrator

Result<> Lmdb::Inner::put_it_aside(std::string why) {
    close();
    ::unlink((directory + "/lock.mdb").c_str()); // means nothing without its readers
    // Files set aside earlier stay: they may be worth more than their successors.
    for (unsigned n = 0;; ++n) {
        const auto aside = directory + "/data.mdb.damaged" + (n == 0 ? "" : fmt::format(".{}", n));
        if (::renameat2(AT_FDCWD, file.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE) == 0 || errno == ENOENT)
            break;
        if (errno != EEXIST || n == most_aside) return unexpected(Error::from_errno("move aside " + file));
    }
    put_aside = std::move(why);
    return {};
}

template <class Work> Result<> Lmdb::Inner::use(std::string_view action, Work work) {
    for (bool again = false;; again = true) {
        int code = 0;
        {
            const std::shared_lock in_use(gate);
            if (env && !replaced()) {
                code = work();
                if (code == 0) return {};
                if ((code != MDB_MAP_RESIZED && code != MDB_PANIC) || again) return unexpected(error(action, code));
            } else if (again) {
                return unexpected(error(action, ENOENT));
            }
        }
        const std::lock_guard alone(gate);
        if (code == MDB_MAP_RESIZED)
            mdb_env_set_mapsize(env, 0); // as the others have it
        else if (!env || code == MDB_PANIC || replaced())
            TRY(open());
    }
}

// --- reading and changing

int Lmdb::Inner::find(MDB_txn* txn, std::string_view key, std::optional<Entry>& found) const {
    auto name = bytes_of(key);
    MDB_val value{};
    const int code = mdb_get(txn, entries, &name, &value);
    if (code == MDB_NOTFOUND) return 0;
    if (code != 0) return code;
    found = lmdb_record::decode(key, text_of(value));
    return found ? 0 : EUCLEAN;
}

static bool expired(const Entry& entry, smtp::WallTime now) {
    return entry.expires != smtp::WallTime{} && entry.expires <= now;
}

int Lmdb::Inner::remove(MDB_txn* txn, std::string_view key, const Entry& entry) const {
    auto name = bytes_of(key);
    if (const int code = mdb_del(txn, entries, &name, nullptr); code != 0) return code;
    if (entry.expires == smtp::WallTime{}) return 0;
    const auto index = lmdb_record::index_key(entry.expires, key);
    auto index_name = bytes_of(index);
    const int code = mdb_del(txn, by_expiry, &index_name, nullptr);
    return code == MDB_NOTFOUND ? 0 : code;
}

int Lmdb::Inner::change(MDB_txn* txn, const Change& change, smtp::WallTime now, bool full, Outcome& outcome) const {
    std::optional<Entry> there;
    if (const int code = find(txn, change.key, there); code != 0) return code;
    if (there && !expired(*there, now)) outcome.before = there;
    const bool wanted = change.only == Change::If::anything || (change.only == Change::If::absent && !outcome.before) ||
                        (change.only == Change::If::same && outcome.before && outcome.before->value == change.same_as);
    if (!wanted || (!change.entry && !there)) {
        outcome.made = wanted;
        return 0;
    }
    outcome.made = true;
    if (change.entry && there == change.entry) return 0;
    if (change.entry && !there && full) {
        if (options.when_full == LmdbOptions::WhenFull::fail) return MDB_MAP_FULL;
        outcome.made = false;
        return 0;
    }
    if (there)
        if (const int code = remove(txn, change.key, *there); code != 0) return code;
    if (!change.entry) return 0;
    const auto bytes = lmdb_record::encode(change.key, *change.entry);
    auto name = bytes_of(change.key), value = bytes_of(bytes);
    if (const int code = mdb_put(txn, entries, &name, &value, 0); code != 0) return code;
    if (change.entry->expires == smtp::WallTime{}) return 0;
    const auto index = lmdb_record::index_key(change.entry->expires, change.key);
    auto index_name = bytes_of(index);
    MDB_val nothing{};
    return mdb_put(txn, by_expiry, &index_name, &nothing, 0);
}

int Lmdb::Inner::clear_expired(MDB_txn* txn, smtp::WallTime now, std::size_t most) const {
    std::vector<std::string> keys;
    {
        Cursor cursor(txn, by_expiry);
        MDB_val key{}, value{};
        int code = 0;
        while (keys.size() < most && (code = cursor.move(MDB_NEXT, key, value)) == 0) {
            const auto indexed = lmdb_record::decode_index(text_of(key));
            if (!indexed) return MDB_CORRUPTED;
            if (indexed->expires > now) break;
            keys.emplace_back(indexed->key);
        }
        if (code != 0 && code != MDB_NOTFOUND) return code;
    }
    for (const auto& key : keys) {
        std::optional<Entry> there;
        if (const int code = find(txn, key, there); code != 0) return code;
        if (!there) return MDB_CORRUPTED;
        if (const int code = remove(txn, key, *there); code != 0) return code;
    }
    return 0;
}

// Is the largest size used up? The file never shrinks: then free pages in it count.
int Lmdb::Inner::look_at_room(bool& full) const {
    MDB_envinfo info{};
    MDB_stat pages{};
    mdb_env_info(env, &info);
    mdb_env_stat(env, &pages);
    auto used = info.me_last_pgno + 1;
    if (used * pages.ms_psize < options.max_size) return 0;
    Transaction txn;
    int code = txn.begin(waiting, env, MDB_RDONLY);
    if (code == 0)
        code = each_freed(txn, [&](std::span<const std::size_t> freed) {
            used -= std::min(used, freed.size());
            return true;
        });
    full = used * pages.ms_psize >= options.max_size;
    return code;
}

// In a transaction of its own: what has expired stays cleared if the changes do not fit.
int Lmdb::Inner::make_room(smtp::WallTime now, bool& full) const {
    int code = look_at_room(full);
    if (code != 0 || !full) return code;
    Transaction txn;
    code = txn.begin(waiting, env, 0);
    if (code == 0) code = clear_expired(txn, now, cleared_if_full);
    if (code == 0) code = txn.commit();
    full = false;
    return code != 0 ? code : look_at_room(full);
}

Lmdb::Lmdb(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
Lmdb::~Lmdb() = default;

Result<std::unique_ptr<Lmdb>> Lmdb::open(std::string directory, const LmdbOptions& options) {
    auto inner = std::make_unique<Inner>();
    inner->file = directory + "/data.mdb";
    inner->directory = std::move(directory);
    inner->options = options;
    TRY(inner->open());
    return std::unique_ptr<Lmdb>(new Lmdb(std::move(inner)));
}

const std::string& Lmdb::quarantine_reason() const { return inner_->put_aside; }

static bool good(std::string_view key) { return !key.empty() && key.size() <= longest_key; }

Result<std::optional<Entry>> Lmdb::get(std::string_view key, smtp::WallTime now) {
    if (!good(key)) return std::optional<Entry>();
    std::optional<Entry> found;
    TRY(inner_->use("read", [&] {
        Transaction txn;
        const int code = txn.begin(inner_->waiting, inner_->env, MDB_RDONLY);
        return code != 0 ? code : inner_->find(txn, key, found);
    }));
    if (found && expired(*found, now)) found.reset();
    return found;
}

Result<std::vector<Outcome>> Lmdb::apply(std::span<const Change> changes, smtp::WallTime now, Durable durable) {
    for (const auto& change : changes)
        if (!good(change.key) || (change.entry && change.entry->value.size() > longest_value))
            return unexpected(Error{EINVAL, "write " + inner_->file + ": a key or a value is too long"});
    std::vector<Outcome> outcomes;
    TRY(inner_->use("write", [&] {
        outcomes.assign(changes.size(), {});
        bool full = false;
        int code = inner_->make_room(now, full);
        Transaction txn;
        if (code == 0) code = txn.begin(inner_->waiting, inner_->env, 0);
        if (code == 0) code = inner_->clear_expired(txn, now, cleared_at_once + changes.size());
        for (std::size_t n = 0; code == 0 && n < changes.size(); ++n)
            code = inner_->change(txn, changes[n], now, full, outcomes[n]);
        if (code == 0) code = txn.commit();
        // Also changes that other processes made without waiting for the disk.
        if (code == 0 && durable == Durable::now) code = mdb_env_sync(inner_->env, 1);
        return code;
    }));
    return outcomes;
}

Result<std::vector<KeyedEntry>> Lmdb::walk(std::string_view prefix, std::string_view after, std::size_t most,
                                           smtp::WallTime now) {
    std::vector<KeyedEntry> out;
    TRY(inner_->use("read", [&] {
        out.clear();
        Transaction txn;
        int code = txn.begin(inner_->waiting, inner_->env, MDB_RDONLY);
        if (code != 0) return code;
        Cursor cursor(txn, inner_->entries);
        const auto from = std::max(prefix, after);
        auto key = bytes_of(from);
        MDB_val value{};
        code = cursor.move(from.empty() ? MDB_FIRST : MDB_SET_RANGE, key, value);
        for (; code == 0 && out.size() < most; code = cursor.move(MDB_NEXT, key, value)) {
            const auto name = text_of(key);
            if (!name.starts_with(prefix)) break;
            if (!after.empty() && name <= after) continue;
            auto entry = lmdb_record::decode(name, text_of(value));
            if (!entry) return EUCLEAN;
            if (!expired(*entry, now)) out.push_back({std::string(name), *std::move(entry)});
        }
        return code == MDB_NOTFOUND ? 0 : code;
    }));
    return out;
}

} // namespace store
