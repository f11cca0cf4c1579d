// The names of the journal's files, and what is in its two small ones (libspool/FORMAT.md, "The journal"). Shared by
// the writer and the readers; knows no line.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace spool::journal {

inline constexpr std::string_view node_file = "node", synced_file = "synced", stopped_file = "stopped";
// What follows the number in the names of a segment's files: open, sealed, and what belongs to a sealed one.
inline constexpr std::string_view segment_suffix = ".jsonl", sealed_suffix = ".jsonl.zst", frames_suffix = ".frames",
                                  index_suffix = ".index";

// "00000000000000088001.jsonl"
std::string segment_file(std::uint64_t first, std::string_view suffix);
// The first number of the segment whose file with that suffix has this name.
std::optional<std::uint64_t> first_in(std::string_view name, std::string_view suffix);

// Of `synced` (magic "PRSYNCED") and `stopped` ("PRSTOPPD"): the magic, then a number, little-endian; 16 bytes.
inline constexpr std::string_view synced_magic = "PRSYNCED", stopped_magic = "PRSTOPPD";
std::string encode_mark(std::string_view magic, std::uint64_t number);
std::optional<std::uint64_t> decode_mark(std::string_view magic, std::string_view bytes);

// "6ba7b810-9dad-41d1-80b4-00c04fd430c8": of 16 random bytes, as a UUID of version 4.
std::string node_id_of(std::string_view random);
bool is_node_id(std::string_view text);

} // namespace spool::journal
