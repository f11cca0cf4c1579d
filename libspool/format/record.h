// The frame of everything in a message file: the fixed header, the log's two position marks, and records. Pure bytes;
// described in FORMAT.md. Must not know what envelope and properties mean.
#pragma once
#include "libspool/format/content_scan.h"
#include "libspool/format/queue_id.h"
#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spool {

inline constexpr std::uint16_t format_version = 1; // version written
inline constexpr std::uint16_t readable_from = 1;  // oldest reader that can read it
inline constexpr std::uint32_t header_size = 192;
inline constexpr std::uint64_t log_marks_offset = 128;
inline constexpr std::uint32_t log_mark_size = 32;
inline constexpr std::uint32_t record_frame = 16; // bytes of a record besides its payload
inline constexpr std::uint32_t largest_payload = 256 * 1024 * 1024;
inline constexpr std::uint16_t envelope_type = 1;
inline constexpr std::uint16_t first_property_type = 16;

struct FileHeader {
    QueueId id;
    std::uint64_t envelope_offset = header_size;
    std::uint32_t envelope_size = 0; // of the whole record
    std::uint64_t content_offset = 0;
    ContentFacts content;
    // Where the log begins unless a mark says otherwise: after both. (An envelope that was completed after the content
    // had begun to be written follows the content.)
    std::uint64_t log_offset() const {
        return std::max(content_offset + content.size, envelope_offset + envelope_size);
    }
    bool operator==(const FileHeader&) const = default;
};

enum class HeaderFault : std::uint8_t { unsealed, damaged, newer };

// The first 128 bytes: sealed, checksummed.
std::string encode_header(const FileHeader& header);
// Of at least the first 128 bytes of a file (fewer: unsealed). All zeros: unsealed.
std::expected<FileHeader, std::pair<HeaderFault, std::string>> decode_header(std::string_view bytes);
// Of a header that can be decoded: tells the message from any other of the same id. CRC of its bytes, seeded by the id.
std::uint32_t checksum_of_header(std::string_view bytes);
// Written into a reused file when its message keeps it: from then on a log follows the content, also if a power cut
// leaves the file its old name. Its place is a log mark's, which replaces it when the log is restarted.
inline constexpr std::string_view kept_file_mark = "KEPTFILE";
inline constexpr std::uint64_t kept_file_mark_offset = 160;
// In a reused file, of at least its header: does a log follow the content?
bool is_kept_file(std::string_view bytes, QueueId id);

// What a finished message's header is overwritten with in a reused file: bytes that decode as never sealed.
std::string wiped_header();

// Where the log begins after it was restarted. Two marks alternate, so that a torn one does no harm.
struct LogMark {
    std::uint64_t offset = 0;
    std::uint32_t generation = 0;     // 0: the log begins after the content and was never restarted
    std::uint32_t first_sequence = 1; // of the record found there
    bool operator==(const LogMark&) const = default;
};
std::string encode_log_mark(const LogMark& mark, QueueId id);
// Of bytes 128–191: the newest valid mark, if any.
std::optional<LogMark> decode_log_marks(std::string_view bytes, QueueId id);

struct Record {
    std::uint16_t type = 0;
    std::uint32_t sequence = 0;
    bool synced = false;        // was meant to be synced at once
    std::uint16_t unsynced = 0; // records before it that were not on stable storage when it was written (≤ 32767)
    std::string_view payload;
};
void append_record(std::string& out, QueueId id, const Record& record);
// The record at the beginning of `bytes` and its length there, or nothing.
std::optional<std::pair<Record, std::size_t>> read_record(std::string_view bytes, QueueId id);

struct Log {
    std::vector<Record> records; // payloads point into the bytes given
    std::size_t end = 0;         // where the next record goes
    std::uint32_t next_sequence = 1;
    std::uint16_t unsynced = 0; // records at the end that may not be on stable storage
    bool torn_tail = false;     // unreadable bytes after `end`
    std::uint32_t lost = 0;     // records missing in the middle whose durability was never promised
    std::string damage;         // not empty: a promised record is unreadable, and good ones follow
};
Log parse_log(std::string_view bytes, QueueId id, std::uint32_t first_sequence);

} // namespace spool
