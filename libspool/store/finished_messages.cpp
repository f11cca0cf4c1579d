#include "libspool/store/finished_messages.h"
#include "libspool/format/crc32c.h"
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace spool {

namespace {

constexpr const char* finished_path = "index/finished";

// Id (8), number (8), checksum of the header (4), CRC of these 20 bytes (4). The spool is little-endian, as is every
// machine it runs on.
void put_entry(std::string& out, const FinishedMessage& message, std::uint64_t number) {
    char bytes[FinishedMessages::entry_size];
    std::memcpy(bytes, &message.id.value, 8);
    std::memcpy(bytes + 8, &number, 8);
    std::memcpy(bytes + 16, &message.header_checksum, 4);
    const auto crc = crc32c(std::string_view(bytes, 20));
    std::memcpy(bytes + 20, &crc, 4);
    out.append(bytes, sizeof bytes);
}

struct Entry {
    FinishedMessage message;
    std::uint64_t number = 0;
};

std::optional<Entry> entry_at(std::string_view bytes) {
    std::uint32_t crc;
    std::memcpy(&crc, bytes.data() + 20, 4);
    if (crc != crc32c(bytes.substr(0, 20))) return {};
    Entry out;
    std::memcpy(&out.message.id.value, bytes.data(), 8);
    std::memcpy(&out.number, bytes.data() + 8, 8);
    std::memcpy(&out.message.header_checksum, bytes.data() + 16, 4);
    if (!out.message.id.valid() || out.number == 0) return {};
    return out;
}

} // namespace

Result<FinishedIndex> FinishedMessages::open() {
    auto index = read();
    if (!index && index.error().code == ENOENT) {
        TRY(make());
        index = FinishedIndex();
    }
    if (!index) return index;
    const std::lock_guard lock(mutex_);
    usable_ = true;
    return index;
}

Result<FinishedIndex> FinishedMessages::read() {
    file_ = TRY(disk_.open(finished_path, Open::read_write));
    const auto size = TRY(disk_.size(file_));
    entries_ = static_cast<std::size_t>(size / entry_size);
    std::string bytes(std::min(entries_, most_entries) * entry_size, '\0');
    if (size == 0 || bytes.size() != size || TRY(disk_.read(file_, 0, bytes)) < size) {
        file_.close();
        TRY(disk_.unlink(finished_path)); // not ours, or never completed
        return std::unexpected(Error{ENOENT, finished_path});
    }
    FinishedIndex out;
    for (std::size_t n = 0; n < entries_; ++n) {
        const auto entry = entry_at(std::string_view(bytes).substr(n * entry_size, entry_size));
        if (!entry || entry->number % entries_ != n) continue;
        out.add(entry->message);
        next_ = std::max(next_, entry->number + 1);
    }
    return out;
}

// Written once in full, so that entries_ overwrite blocks that exist.
Result<> FinishedMessages::make() {
    const auto share = static_cast<std::size_t>(TRY(disk_.space()).bytes_total / 1000 / entry_size);
    entries_ = std::min(most_, std::clamp(share, fewest_entries, most_entries));
    file_ = TRY(disk_.open(finished_path, Open::create));
    disk_.prefer_overwriting(file_);
    const std::string nothing(entries_ * entry_size, '\0');
    const std::string_view part = nothing;
    TRY(disk_.write(file_, 0, {&part, 1}));
    TRY(disk_.sync(file_));
    return disk_.sync(TRY(disk_.open("index", Open::directory)));
}

void FinishedMessages::add(const FinishedMessage& message) {
    const std::lock_guard lock(mutex_);
    if (usable_) unwritten_.push_back(message);
}

bool FinishedMessages::has_unwritten() const {
    const std::lock_guard lock(mutex_);
    return !unwritten_.empty();
}

Result<> FinishedMessages::write() {
    std::vector<FinishedMessage> some;
    {
        const std::lock_guard lock(mutex_);
        some.swap(unwritten_);
        if (!usable_) return {};
    }
    if (some.empty()) return {};
    if (some.size() > entries_) some.erase(some.begin(), some.end() - static_cast<std::ptrdiff_t>(entries_));
    const auto written = [&]() -> Result<> {
        for (std::size_t done = 0; done < some.size();) {
            const auto place = static_cast<std::size_t>(next_ % entries_);
            const auto count = std::min(some.size() - done, entries_ - place); // up to the end of the file
            std::string bytes;
            bytes.reserve(count * entry_size);
            for (std::size_t n = 0; n < count; ++n) put_entry(bytes, some[done + n], next_ + n);
            const std::string_view part = bytes;
            TRY(disk_.write(file_, place * entry_size, {&part, 1}));
            next_ += count;
            done += count;
        }
        return disk_.sync_data(file_);
    }();
    if (!written) {
        const std::lock_guard lock(mutex_);
        usable_ = false;
        unwritten_.clear();
    }
    return written;
}

} // namespace spool
