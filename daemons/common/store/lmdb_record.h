// The layout of an entry in the LMDB database: under its key "expiry, checksum, value"; and in an
// index by expiry, "expiry, key", so that expired entries are found without reading the rest. Pure.
#pragma once
#include "daemons/common/store/store.h"
#include <expected>
#include <string>
#include <string_view>

namespace store::lmdb_record {

// Big-endian microseconds since 1970: in the order of time. Eight bytes.
std::string time_bytes(smtp::WallTime when);

std::string encode(std::string_view key, const Entry& entry);
// Or nothing: these are not bytes that encode() made for this key.
std::optional<Entry> decode(std::string_view key, std::string_view bytes);

inline std::string index_key(smtp::WallTime expires, std::string_view key) {
    return time_bytes(expires) + std::string(key);
}
struct Indexed {
    smtp::WallTime expires;
    std::string_view key;
};
std::optional<Indexed> decode_index(std::string_view bytes);

} // namespace store::lmdb_record
