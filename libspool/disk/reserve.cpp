#include "libspool/disk/reserve.h"
#include <algorithm>

namespace spool {

FreeSpace check_free_space(const Space& space, const Floor& floor, std::uint64_t size) {
    if (space.bytes_free < floor.bytes || space.bytes_free - floor.bytes < size) return FreeSpace::no_space;
    if (space.files_total != 0 && space.files_free < floor.files) return FreeSpace::no_files;
    return FreeSpace::enough;
}

Result<FreeSpace> check_free_space(Disk& disk, const Floor& floor, std::uint64_t size) {
    return check_free_space(TRY(disk.space()), floor, size);
}

Result<Reserve> Reserve::open(Disk& disk, std::uint64_t size) {
    File file = TRY(disk.open("index/reserve", Open::upsert));
    const auto there = TRY(disk.size(file));
    Reserve reserve(disk, std::move(file), size);
    reserve.held_ = std::min(there, size);
    TRY(reserve.restore());
    return reserve;
}

Result<bool> Reserve::release(std::uint64_t bytes) {
    if (held_ == 0) return false;
    const auto rest = held_ > bytes ? held_ - bytes : 0;
    TRY(disk_->truncate(file_, rest));
    held_ = rest;
    return true;
}

Result<> Reserve::restore() {
    constexpr std::uint64_t step = 1024 * 1024; // as much of it as there is room for
    while (held_ < size_) {
        const auto more = std::min(step, size_ - held_);
        if (auto got = disk_->allocate(file_, held_, more); !got) {
            if (is_out_of_space(got.error()) || got.error().code == EOPNOTSUPP) return {};
            return got;
        }
        TRY(disk_->truncate(file_, held_ + more));
        held_ += more;
    }
    return {};
}

} // namespace spool
