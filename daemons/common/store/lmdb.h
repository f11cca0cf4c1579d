// The built-in store: an LMDB database in a directory of its own ("data.mdb", "lock.mdb", and
// "writers.lock" and "readers.lock" for mutual exclusion), which any number of processes open at once.
// Writers take turns, readers never wait; a process that dies in the middle of a change leaves none of it,
// and blocks no other. One of them, the keeper, examines all of it when it opens it, and moves a damaged
// one aside; the others switch to the new one automatically. Knows files, nothing of what is stored.
#pragma once
#include "daemons/common/store/store.h"
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

namespace store {

struct LmdbOptions {
    // The file never grows beyond this; what would not fit is refused as `is_full`. Address space only until
    // it is used.
    std::uint64_t max_size = 1ULL << 30;
    // Makes the database if there is none, looks at every entry of one that is there, and puts one that
    // cannot be read aside as "data.mdb.damaged". Of the processes that share a store at most one is its
    // keeper.
    bool keeper = false;
    // While the keeper looks at it, which takes long where it is large: whoever has other work does not wait.
    enum class Examined : std::uint8_t { wait, report_busy } examined = Examined::wait;
};

// Is it the keeper's turn just now? Then it can be opened in a moment.
inline bool is_being_examined(const spool::Error& error) { return error.code == EBUSY; }

class Lmdb final : public Store {
public:
    // `directory` exists. A process opens it once. Errors: ENOENT (not a keeper, and no keeper was here yet),
    // is_damaged, is_being_examined, and those of files. Their text says which file, and what to do about a damaged
    // one.
    static spool::Result<std::unique_ptr<Lmdb>> open(std::string directory, const LmdbOptions& options = {});
    ~Lmdb() override;

    // From any thread, several at once. The database was replaced by its keeper: they speak of the new one.
    spool::Result<std::optional<Entry>> get(std::string_view key, smtp::WallTime now) override;
    spool::Result<std::vector<Outcome>> apply(std::span<const Change> changes, smtp::WallTime now,
                                              Durable durable) override;
    using Store::apply;
    spool::Result<std::vector<KeyedEntry>> walk(std::string_view prefix, std::string_view after, std::size_t most,
                                                smtp::WallTime now) override;

    // A keeper's: why the database before this one was set aside; "" if it was not.
    const std::string& quarantine_reason() const;

private:
    struct Inner;
    explicit Lmdb(std::unique_ptr<Inner> inner);
    std::unique_ptr<Inner> inner_;
};

} // namespace store
