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
    // The file never grows beyond this. Address space only until it is used.
    std::uint64_t max_size = 1ULL << 30;
    // Then what becomes of a call with a new key: it fails with ENOSPC, or all other changes of it are made.
    enum class WhenFull : std::uint8_t { fail, skip_new_keys } when_full = WhenFull::fail;
    // Creates the database if there is none, examines every entry of an existing one, and moves one that cannot be read
    // aside as "data.mdb.damaged". At most one of the processes that share a store is its keeper.
    bool keeper = false;
    // While the keeper examines it, which takes long for a large one: callers with other work do not wait.
    enum class Examined : std::uint8_t { wait, report_busy } examined = Examined::wait;
};

// Is the keeper examining it just now? Then it can be opened in a moment.
inline bool is_being_examined(const spool::Error& error) { return error.code == EBUSY; }

class Lmdb final : public Store {
public:
    // `directory` exists. A process opens it once. Errors: ENOENT (not a keeper, and no keeper has created it yet),
    // is_damaged, is_being_examined, and those of files. Their text names the file, and what to do about a damaged one.
    static spool::Result<std::unique_ptr<Lmdb>> open(std::string directory, const LmdbOptions& options = {});
    ~Lmdb() override;

    // From any thread, several at once. If the keeper has replaced the database, they use the new one.
    spool::Result<std::optional<Entry>> get(std::string_view key, smtp::WallTime now) override;
    spool::Result<std::vector<Outcome>> apply(std::span<const Change> changes, smtp::WallTime now,
                                              Durable durable) override;
    using Store::apply;
    spool::Result<std::vector<KeyedEntry>> walk(std::string_view prefix, std::string_view after, std::size_t most,
                                                smtp::WallTime now) override;

    // For a keeper: why the database before this one was set aside; "" if it was not.
    const std::string& quarantine_reason() const;

private:
    struct Inner;
    explicit Lmdb(std::unique_ptr<Inner> inner);
    std::unique_ptr<Inner> inner_;
};

} // namespace store
