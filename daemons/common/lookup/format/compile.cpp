#include "daemons/common/lookup/format/compile.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/read_file.h"
#include "libsmtp/text/text.h"
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace tables {

namespace {

// Of addresses: the file takes what it needs. Some systems have no 64 GiB of them (arm64 with 39 bits, ulimit -v).
constexpr std::size_t largest_map = std::size_t{1} << 36, smallest_map = std::size_t{1} << 30;
constexpr std::size_t puts_per_transaction = 20'000;

spool::Error error_of(const std::string& path, int status) {
    return {status > 0 ? status : 0, fmt::format("write {}: {}", path, mdb_strerror(status))};
}

class LmdbWriter final : public Writer {
public:
    explicit LmdbWriter(std::string path) : path_(std::move(path)) {}
    ~LmdbWriter() override {
        if (transaction_) mdb_txn_abort(transaction_);
        if (env_) mdb_env_close(env_);
    }
    LmdbWriter(const LmdbWriter&) = delete;

    spool::Result<> open() {
        int status = ENOMEM;
        for (auto size = largest_map; status == ENOMEM && size >= smallest_map; size /= 4) status = open(size);
        TRY(check(status));
        TRY(begin());
        return check(mdb_dbi_open(transaction_, nullptr, 0, &database_));
    }

    spool::Result<Put> put(std::string_view key, std::string_view value, bool replace) override {
        auto folded = folded_key(key);
        if (folded.empty() || folded.size() > static_cast<std::size_t>(mdb_env_get_maxkeysize(env_)))
            return Put::too_long;
        MDB_val name{folded.size(), folded.data()}, content{value.size(), const_cast<char*>(value.data())};
        const int status = mdb_put(transaction_, database_, &name, &content, replace ? 0 : MDB_NOOVERWRITE);
        if (status == MDB_KEYEXIST) return Put::there;
        TRY(check(status));
        if (++puts_ % puts_per_transaction == 0) {
            TRY(commit());
            TRY(begin());
        }
        return Put::added;
    }

    spool::Result<> erase(std::string_view key) override {
        auto folded = folded_key(key);
        for (int nul = 0; nul < 2; ++nul) { // as Postfix writes them, too
            MDB_val name{folded.size() + static_cast<std::size_t>(nul), folded.data()};
            if (folded.empty() || name.mv_size > static_cast<std::size_t>(mdb_env_get_maxkeysize(env_))) continue;
            if (const int status = mdb_del(transaction_, database_, &name, nullptr); status != MDB_NOTFOUND)
                TRY(check(status));
        }
        return {};
    }

    // On disk when this returns. The number of entries.
    spool::Result<std::size_t> finish() {
        TRY(commit());
        TRY(check(mdb_env_sync(env_, 1)));
        MDB_stat stat{};
        TRY(check(mdb_env_stat(env_, &stat)));
        return stat.ms_entries;
    }

private:
    int open(std::size_t size) {
        if (env_) mdb_env_close(std::exchange(env_, nullptr)); // what could not be opened cannot be opened again
        if (const int status = mdb_env_create(&env_); status != 0) return status;
        mdb_env_set_mapsize(env_, size);
        return mdb_env_open(env_, path_.c_str(), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600);
    }
    spool::Result<> check(int status) const {
        if (status == 0) return {};
        return std::unexpected(error_of(path_, status));
    }
    spool::Result<> begin() { return check(mdb_txn_begin(env_, nullptr, 0, &transaction_)); }
    spool::Result<> commit() { return check(mdb_txn_commit(std::exchange(transaction_, nullptr))); }

    std::string path_;
    MDB_env* env_ = nullptr;
    MDB_txn* transaction_ = nullptr;
    MDB_dbi database_ = 0;
    std::size_t puts_ = 0;
};

// A file that is deleted unless it was moved into place.
struct Beside {
    std::string path;
    ~Beside() {
        if (!path.empty()) ::unlink(path.c_str());
    }
};

} // namespace

spool::Result<std::size_t> write_compiled(const std::string& path, const std::string& like,
                                          const std::function<spool::Result<>(Writer&)>& fill) {
    Beside beside{path + ".XXXXXX"};
    const common::Fd fd(::mkostemp(beside.path.data(), O_CLOEXEC));
    if (!fd) {
        const auto error = spool::Error::from_errno("create a file beside " + path);
        beside.path.clear();
        return std::unexpected(error);
    }
    std::size_t entries = 0;
    {
        LmdbWriter writer(beside.path);
        TRY(writer.open());
        TRY(fill(writer));
        entries = TRY(writer.finish());
    }
    struct stat facts{};
    if (::stat(like.c_str(), &facts) == 0) {
        if (::geteuid() == 0 && ::fchown(fd.number(), facts.st_uid, facts.st_gid) != 0)
            return std::unexpected(spool::Error::from_errno("change the owner of " + beside.path));
        if (::fchmod(fd.number(), facts.st_mode & 0666) != 0)
            return std::unexpected(spool::Error::from_errno("change the mode of " + beside.path));
    }
    if (::fsync(fd.number()) != 0) return std::unexpected(spool::Error::from_errno("sync " + beside.path));
    if (::rename(beside.path.c_str(), path.c_str()) != 0)
        return std::unexpected(spool::Error::from_errno(fmt::format("rename {} to {}", beside.path, path)));
    beside.path.clear();
    const auto slash = path.rfind('/');
    const auto directory = slash == path.npos ? "." : path.substr(0, slash + 1);
    const common::Fd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.number()) != 0) return std::unexpected(spool::Error::from_errno("sync " + directory));
    return entries;
}

spool::Result<Compiled> compile(const std::string& file) {
    const auto text = TRY(common::read_file(file));
    Compiled out{file + ".lmdb", 0, {}};
    out.entries = TRY(write_compiled(out.path, file, [&](Writer& writer) -> spool::Result<> {
        KeyValues entries(text, out.problems);
        while (const auto entry = entries.next()) {
            const auto put = TRY(writer.put(entry->key, entry->value));
            if (put == Writer::Put::there)
                out.problems.add(entry->line, fmt::format("{} is listed twice; the first entry is used",
                                                          smtp::printable(entry->key, 64)));
            if (put == Writer::Put::too_long)
                out.problems.add(entry->line, "keys of a compiled table have at most 511 bytes; skipped");
        }
        return {};
    }));
    return out;
}

} // namespace tables
