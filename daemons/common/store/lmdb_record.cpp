#include "daemons/common/store/lmdb_record.h"
#include "libspool/format/crc32c.h"

namespace store::lmdb_record {

namespace {

std::string number_bytes(std::uint64_t n, int size) {
    std::string out;
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(n >> shift));
    return out;
}

std::uint64_t number_of(std::string_view bytes) {
    std::uint64_t n = 0;
    for (const char c : bytes) n = n << 8 | static_cast<unsigned char>(c);
    return n;
}

smtp::WallTime time_of(std::string_view bytes) {
    return smtp::WallTime(smtp::Duration(static_cast<std::int64_t>(number_of(bytes.substr(0, 8)))));
}

std::uint32_t checksum(std::string_view key, std::string_view time, std::string_view value) {
    return spool::crc32c(value, spool::crc32c(time, spool::crc32c(key)));
}

} // namespace

std::string time_bytes(smtp::WallTime when) {
    return number_bytes(static_cast<std::uint64_t>(when.time_since_epoch().count()), 8);
}

std::string encode(std::string_view key, const Entry& entry) {
    const auto time = time_bytes(entry.expires);
    return time + number_bytes(checksum(key, time, entry.value), 4) + entry.value;
}

std::optional<Entry> decode(std::string_view key, std::string_view bytes) {
    if (bytes.size() < 12) return {};
    const auto value = bytes.substr(12);
    if (number_of(bytes.substr(8, 4)) != checksum(key, bytes.substr(0, 8), value)) return {};
    return Entry{std::string(value), time_of(bytes)};
}

std::optional<Indexed> decode_index(std::string_view bytes) {
    if (bytes.size() <= 8) return {};
    return Indexed{time_of(bytes), bytes.substr(8)};
}

} // namespace store::lmdb_record
