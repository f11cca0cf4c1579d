// The file system as the spool needs it, so that tests can provide one that loses what was not synced.
// Paths are relative to the spool directory. Knows nothing of messages. Thread-safe; every call may block.
#pragma once
#include "libspool/disk/result.h"
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spool {

class Disk;

// An open file or directory; closed with its owner. Must not outlive its Disk.
class File {
public:
    File() = default;
    File(Disk& disk, int handle) : disk_(&disk), handle_(handle) {}
    File(File&& other) noexcept
        : disk_(std::exchange(other.disk_, nullptr)), handle_(std::exchange(other.handle_, -1)) {}
    File& operator=(File&& other) noexcept {
        std::swap(disk_, other.disk_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~File();

    explicit operator bool() const { return disk_ != nullptr; }
    int handle() const { return handle_; } // a descriptor, if the disk is a real one
    void close() { *this = File(); }

private:
    Disk* disk_ = nullptr;
    int handle_ = -1;
};

enum class Open : std::uint8_t {
    read,       // an existing file
    read_write, // an existing file
    create,     // a new file, read and write; EEXIST if the name is taken
    upsert,     // the file, made if it does not exist; read and write
    directory,  // an existing directory, to be synced or listed
};

enum class Lock : std::uint8_t { shared, exclusive };
enum class Locked : std::uint8_t { yes, held_by_another };

struct Space {
    std::uint64_t bytes_free = 0, bytes_total = 0; // free: to a process without privileges
    std::uint64_t files_free = 0, files_total = 0; // 0 in all where the file system does not count them
};

class Disk {
public:
    virtual ~Disk() = default;

    // Links are never followed. ENOENT, EEXIST … in Error::code.
    virtual Result<File> open(const std::string& path, Open how) = 0;
    // As much as there is from `offset`, at most into.size(); less only at the end of the file.
    virtual Result<std::size_t> read(const File& file, std::uint64_t offset, std::span<char> into) = 0;
    // All the parts, one behind the other, or an error (then any part of it may have been written).
    virtual Result<> write(const File& file, std::uint64_t offset, std::span<const std::string_view> parts) = 0;
    virtual Result<std::uint64_t> size(const File& file) = 0;
    virtual Result<> truncate(const File& file, std::uint64_t size) = 0;
    // Room for that many bytes without changing the file's size.
    virtual Result<> allocate(const File& file, std::uint64_t offset, std::uint64_t size) = 0;
    // For a file that is overwritten again and again, while it is empty: asks that this be done in place where the file
    // system would write elsewhere (copy on write). Not to be relied on.
    virtual void prefer_overwriting(const File&) {}
    // Gives room back inside the file; reads as zeros afterwards. Not to be relied on.
    virtual Result<> punch_hole(const File& file, std::uint64_t offset, std::uint64_t size) = 0;

    // Contents, size and, on file systems that keep the promise by it, the name. After an error the file is
    // finished: never sync it again, the kernel has forgotten the error and the data.
    virtual Result<> sync(const File& file) = 0;
    // Contents and size only: for files whose name is durable already.
    virtual Result<> sync_data(const File& file) = 0;

    // Whole-file lock of this open file (flock), never waits.
    virtual Result<Locked> lock(const File& file, Lock kind) = 0;
    virtual Result<> unlock(const File& file) = 0;

    virtual Result<> rename(const std::string& from, const std::string& to) = 0; // replaces
    virtual Result<> unlink(const std::string& path) = 0;
    virtual Result<> make_directory(const std::string& path, unsigned mode) = 0; // EEXIST is success
    // Names in a directory, without "." and "..", in no order.
    virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
    virtual Result<Space> space() = 0;
    // True where syncing a new file has been shown to keep its name through a power cut, so that its
    // directory needs no sync of its own.
    virtual bool file_sync_keeps_name() const { return false; }

protected:
    friend class File;
    virtual void close(int handle) noexcept = 0;
};

inline File::~File() {
    if (disk_ != nullptr) disk_->close(handle_);
}

inline bool is_out_of_space(const Error& error) {
    return error.code == ENOSPC || error.code == EDQUOT || error.code == EFBIG;
}

} // namespace spool
