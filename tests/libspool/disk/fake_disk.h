// A disk that forgets what was not synced. Contents and names live twice: as programs see them and as they
// would be found after a power cut. Can be cut off after any operation, made to fail at any, and made to
// swallow chosen syncs. Single-threaded tests see every operation in a fixed order (CommitPool without
// threads); it is thread-safe anyway.
#pragma once
#include "libspool/disk/disk.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace spool::test {

class FakeDisk final : public Disk {
public:
    FakeDisk();

    // --- What a test does to it ---

    // The power goes at the n-th changing operation from now on (0: at once): it is done by half (a write
    // keeps a part), and from then on every call fails.
    void cut_power_after(std::uint64_t operations) { cut_at_ = operations_ + operations; }
    bool power_is_off() const { return off_; }
    // The n-th changing operation from now on fails with this errno; a write may have been done in part.
    void fail_after(std::uint64_t operations, int code) {
        fail_at_ = operations_ + operations;
        fail_code_ = code;
    }
    // Every changing operation fails so until told otherwise (0): a full or read-only disk.
    void fail_all(int code) { fail_all_ = code; }
    // Syncs for which this is true do nothing and say they did. Names: "file incoming/ID", "data
    // messages/ID", "directory incoming/SLOT" …: kind and path with ids and hash directories made general.
    void swallow(std::function<bool(const std::string& name)> which) { swallow_ = std::move(which); }
    // Called before each listing of a directory: what another process does at that moment.
    void before_listing(std::function<void()> act) { before_listing_ = std::move(act); }
    // The names of all syncs asked for so far.
    std::set<std::string> syncs() const { return sync_names_; }
    // Did anybody sync a file again whose sync or write had failed? Nobody may.
    bool synced_after_failure() const { return synced_after_failure_; }

    // What is found when the power comes back: nothing unsynced, all of it, or by the seed a part of it. Open
    // files, locks and faults are gone.
    enum class Keep : std::uint8_t { nothing, names_without_data, everything, by_seed };
    void restart(Keep keep, std::uint64_t seed = 0);

    std::uint64_t operations() const { return operations_; } // changing ones, so far
    std::uint64_t syncs_done() const { return syncs_done_; }
    std::uint64_t bytes_read() const { return bytes_read_; }
    std::uint64_t opened() const { return static_cast<std::uint64_t>(next_handle_) - 1; } // files, so far
    bool keeps_name = false;                                                              // file_sync_keeps_name()
    Space free{1u << 30, 1u << 30, 1u << 20, 1u << 20};

    // Direct looks and meddling, as programs would see it now.
    std::vector<std::string> paths() const;
    std::string contents(const std::string& path) const;
    void set_contents(const std::string& path, std::string bytes); // durable
    bool exists(const std::string& path) const;

    // --- Disk ---
    Result<File> open(const std::string& path, Open how) override;
    Result<std::size_t> read(const File& file, std::uint64_t offset, std::span<char> into) override;
    Result<> write(const File& file, std::uint64_t offset, std::span<const std::string_view> parts) override;
    Result<std::uint64_t> size(const File& file) override;
    Result<> truncate(const File& file, std::uint64_t size) override;
    Result<> allocate(const File& file, std::uint64_t offset, std::uint64_t size) override;
    Result<> punch_hole(const File& file, std::uint64_t offset, std::uint64_t size) override;
    Result<> sync(const File& file) override;
    Result<> sync_data(const File& file) override;
    Result<Locked> lock(const File& file, Lock kind) override;
    Result<> unlock(const File& file) override;
    Result<> rename(const std::string& from, const std::string& to) override;
    Result<> unlink(const std::string& path) override;
    Result<> make_directory(const std::string& path, unsigned mode) override;
    Result<std::vector<std::string>> list(const std::string& path) override;
    Result<Space> space() override { return free; }
    bool file_sync_keeps_name() const override { return keeps_name; }

private:
    struct Node {
        bool directory = false;
        std::string now, durable;
        std::vector<int> locks; // handles that hold it shared; exclusive: one, and `exclusive`
        bool exclusive = false;
        bool finished = false; // a write or sync failed
    };
    using NodePtr = std::shared_ptr<Node>;
    using Tree = std::map<std::string, NodePtr>;
    // A change of names not synced yet.
    struct Change {
        std::string from, to; // create: to; unlink: from; rename: both
        NodePtr node;
    };
    struct Handle {
        NodePtr node;
        std::string path;
        bool writable = false;
        std::string last_written; // what the latest write was: names a sync
    };

    void close(int handle) noexcept override;
    // The gate of every changing operation: counts, cuts, fails. True in `torn`: do half of it, then fail.
    Result<> change(bool& torn);
    Result<> sync_any(const File& file, const char* kind, bool name_too);
    void make_names_durable(const std::function<bool(const Change&)>& wanted);
    static void apply(Tree& tree, const Change& change);
    Handle& handle(const File& file) { return handles_.at(file.handle()); }

    mutable std::recursive_mutex mutex_;
    Tree now_, durable_;
    std::vector<Change> pending_;
    std::map<int, Handle> handles_;
    int next_handle_ = 1;
    std::uint64_t operations_ = 0, cut_at_ = UINT64_MAX, fail_at_ = UINT64_MAX, syncs_done_ = 0, bytes_read_ = 0;
    int fail_code_ = 0, fail_all_ = 0;
    bool off_ = false, synced_after_failure_ = false;
    std::function<bool(const std::string&)> swallow_;
    std::function<void()> before_listing_;
    std::set<std::string> sync_names_;
};

// The power cuts that are tried after each operation.
struct PowerCut {
    FakeDisk::Keep keep;
    std::uint64_t seed;
};
inline constexpr PowerCut power_cuts[] = {{FakeDisk::Keep::nothing, 0},    {FakeDisk::Keep::names_without_data, 0},
                                          {FakeDisk::Keep::everything, 0}, {FakeDisk::Keep::by_seed, 1},
                                          {FakeDisk::Keep::by_seed, 2},    {FakeDisk::Keep::by_seed, 3}};

} // namespace spool::test
