// A Disk on a real file system: system calls relative to one directory
// descriptor, close-on-exec, never following a link in the last component.
#pragma once
#include "libspool/disk/disk.h"
#include <chrono>
#include <functional>
#include <string>

namespace spool {

class RealDisk final : public Disk {
public:
    // Opens the spool directory itself.
    static Result<std::unique_ptr<RealDisk>> open_at(const std::string& directory);
    // Takes over a directory's descriptor (for example one passed on by master).
    explicit RealDisk(int directory_descriptor);
    ~RealDisk() override;
    RealDisk(const RealDisk&) = delete;

    int directory() const { return directory_; }
    // `watch` is called with the duration of every sync, on the thread that waited for it. Set before the first one.
    void watch_syncs(std::function<void(std::chrono::nanoseconds)> watch) { watch_ = std::move(watch); }

    Result<File> open(const std::string& path, Open how) override;
    Result<std::size_t> read(const File& file, std::uint64_t offset, std::span<char> into) override;
    Result<> write(const File& file, std::uint64_t offset, std::span<const std::string_view> parts) override;
    Result<std::uint64_t> size(const File& file) override;
    Result<> truncate(const File& file, std::uint64_t size) override;
    Result<> allocate(const File& file, std::uint64_t offset, std::uint64_t size) override;
    void prefer_overwriting(const File& file) override;
    Result<> punch_hole(const File& file, std::uint64_t offset, std::uint64_t size) override;
    Result<> sync(const File& file) override;
    Result<> sync_data(const File& file) override;
    Result<Locked> lock(const File& file, Lock kind) override;
    Result<> unlock(const File& file) override;
    Result<> rename(const std::string& from, const std::string& to) override;
    Result<> unlink(const std::string& path) override;
    Result<> make_directory(const std::string& path, unsigned mode) override;
    Result<std::vector<std::string>> list(const std::string& path) override;
    Result<Space> space() override;
    bool file_sync_keeps_name() const override { return keeps_name_; }
    // Mounted read-only, or made so after a file system error.
    bool read_only() const;

private:
    void close(int handle) noexcept override;
    int timed(int (*sync)(int), const File& file);
    int directory_;
    bool keeps_name_;
    bool copies_on_write_ = false;                        // unless told not to
    std::function<void(std::chrono::nanoseconds)> watch_; // may be empty
};

} // namespace spool
