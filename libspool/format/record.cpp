#include "libspool/format/record.h"
#include "libspool/format/crc32c.h"
#include <algorithm>
#include <cstring>
#include <limits>

namespace spool {

namespace {

// The spool is little-endian, as is every machine it runs on.
class Bytes {
public:
    explicit Bytes(std::size_t size) : out_(size, '\0') {}
    template <class T> void put(std::size_t at, T value) {
        for (std::size_t i = 0; i < sizeof(T); ++i)
            out_[at + i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
    std::string& text() { return out_; }

private:
    std::string out_;
};

template <class T> T number_at(std::string_view bytes, std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
    return static_cast<T>(value);
}

std::uint32_t seed_of(QueueId id) {
    Bytes bytes(8);
    bytes.put(0, id.value);
    return crc32c(bytes.text());
}

constexpr std::string_view magic{"Postrid\x1a", 8};
constexpr std::uint32_t sealed = 0x4c414553; // "SEAL"
constexpr std::size_t sealed_part = 128;
constexpr std::uint16_t synced_bit = 0x8000;

constexpr std::uint32_t flag_eight_bit = 1;
constexpr std::uint32_t flag_eight_bit_header = 2;
constexpr std::uint32_t flag_dot_line = 4;
constexpr std::uint32_t flag_bare = 8;
constexpr std::uint32_t flag_no_final_newline = 16;
constexpr std::uint32_t flag_nul = 32;

std::uint32_t flags_of(const ContentFacts& c) {
    return (c.eight_bit ? flag_eight_bit : 0) | (c.eight_bit_header ? flag_eight_bit_header : 0) |
           (c.dot_line ? flag_dot_line : 0) | (c.bare_lf_or_cr ? flag_bare : 0) |
           (c.ends_with_newline ? 0 : flag_no_final_newline) | (c.nul ? flag_nul : 0);
}

} // namespace

std::string encode_header(const FileHeader& header) {
    Bytes b(sealed_part);
    std::memcpy(b.text().data(), magic.data(), magic.size());
    b.put(8, format_version);
    b.put(10, readable_from);
    b.put(12, header_size);
    b.put(16, header.id.value);
    b.put(24, header.envelope_offset);
    b.put(32, header.envelope_size);
    b.put(36, header.content.crc);
    b.put(40, header.content_offset);
    b.put(48, header.content.size);
    b.put(56, header.content.body_offset);
    b.put(64, flags_of(header.content));
    b.put(68, header.content.longest_line);
    b.put(72, sealed);
    b.put(124, crc32c(std::string_view(b.text()).substr(0, 124), seed_of(header.id)));
    return std::move(b.text());
}

std::expected<FileHeader, std::pair<HeaderFault, std::string>> decode_header(std::string_view bytes) {
    const auto fault = [](HeaderFault how, std::string what) {
        return std::unexpected(std::pair(how, "header: " + std::move(what)));
    };
    if (bytes.size() < sealed_part) return fault(HeaderFault::unsealed, "cut short");
    bytes = bytes.substr(0, sealed_part);
    if (std::ranges::all_of(bytes, [](char c) { return c == 0; })) return fault(HeaderFault::unsealed, "never written");
    if (!bytes.starts_with(magic)) return fault(HeaderFault::damaged, "not a message file");
    FileHeader h;
    h.id.value = number_at<std::uint64_t>(bytes, 16);
    if (number_at<std::uint32_t>(bytes, 124) != crc32c(bytes.substr(0, 124), seed_of(h.id)))
        return fault(HeaderFault::damaged, "checksum is wrong");
    if (number_at<std::uint16_t>(bytes, 10) > format_version)
        return fault(HeaderFault::newer, "written in version " + std::to_string(number_at<std::uint16_t>(bytes, 8)) +
                                             " of the format, to be read from version " +
                                             std::to_string(number_at<std::uint16_t>(bytes, 10)) +
                                             " on; this program knows version " + std::to_string(format_version) +
                                             ": use a Postrider at least as new as the one that wrote it");
    if (!h.id.valid()) return fault(HeaderFault::damaged, "not a queue id");
    if (number_at<std::uint32_t>(bytes, 72) != sealed) return fault(HeaderFault::unsealed, "not sealed");
    h.envelope_offset = number_at<std::uint64_t>(bytes, 24);
    h.envelope_size = number_at<std::uint32_t>(bytes, 32);
    h.content.crc = number_at<std::uint32_t>(bytes, 36);
    h.content_offset = number_at<std::uint64_t>(bytes, 40);
    h.content.size = number_at<std::uint64_t>(bytes, 48);
    h.content.body_offset = number_at<std::uint64_t>(bytes, 56);
    const auto flags = number_at<std::uint32_t>(bytes, 64);
    h.content.eight_bit = flags & flag_eight_bit;
    h.content.eight_bit_header = flags & flag_eight_bit_header;
    h.content.dot_line = flags & flag_dot_line;
    h.content.bare_lf_or_cr = flags & flag_bare;
    h.content.ends_with_newline = !(flags & flag_no_final_newline);
    h.content.nul = flags & flag_nul;
    h.content.longest_line = number_at<std::uint32_t>(bytes, 68);
    constexpr auto limit = std::uint64_t{1} << 60; // so that no sum overflows
    if (h.envelope_offset < header_size || h.envelope_offset > limit || h.content_offset > limit ||
        h.content.size > limit || h.envelope_size > largest_payload + record_frame || h.content_offset < header_size ||
        (h.content_offset < h.envelope_offset + h.envelope_size &&
         h.envelope_offset < h.content_offset + h.content.size) ||
        h.content.body_offset > h.content.size)
        return fault(HeaderFault::damaged, "invalid offsets");
    return h;
}

std::uint32_t checksum_of_header(std::string_view bytes) { return number_at<std::uint32_t>(bytes, 124); }

bool is_kept_file(std::string_view bytes, QueueId id) {
    if (bytes.size() < header_size) return false;
    return bytes.substr(kept_file_mark_offset, kept_file_mark.size()) == kept_file_mark ||
           decode_log_marks(bytes.substr(log_marks_offset, 2 * log_mark_size), id);
}

std::string wiped_header() { return std::string(sealed_part, '\0'); }

std::string encode_log_mark(const LogMark& mark, QueueId id) {
    Bytes b(log_mark_size);
    b.put(0, mark.offset);
    b.put(8, mark.generation);
    b.put(12, mark.first_sequence);
    b.put(28, crc32c(std::string_view(b.text()).substr(0, 28), seed_of(id)));
    return std::move(b.text());
}

std::optional<LogMark> decode_log_marks(std::string_view bytes, QueueId id) {
    std::optional<LogMark> best;
    for (std::size_t at = 0; at + log_mark_size <= bytes.size(); at += log_mark_size) {
        const auto one = bytes.substr(at, log_mark_size);
        LogMark mark{number_at<std::uint64_t>(one, 0), number_at<std::uint32_t>(one, 8),
                     number_at<std::uint32_t>(one, 12)};
        if (mark.generation == 0 || number_at<std::uint32_t>(one, 28) != crc32c(one.substr(0, 28), seed_of(id)))
            continue;
        if (!best || mark.generation > best->generation) best = mark;
    }
    return best;
}

void append_record(std::string& out, QueueId id, const Record& record) {
    const auto begin = out.size();
    Bytes head(12);
    head.put(0, static_cast<std::uint32_t>(record.payload.size()));
    head.put(4, record.type);
    const auto before = std::min<std::uint16_t>(record.unsynced, synced_bit - 1);
    head.put(6, static_cast<std::uint16_t>(before | (record.synced ? synced_bit : 0)));
    head.put(8, record.sequence);
    out += head.text();
    out += record.payload;
    Bytes tail(4);
    tail.put(0, crc32c(std::string_view(out).substr(begin), seed_of(id)));
    out += tail.text();
}

std::optional<std::pair<Record, std::size_t>> read_record(std::string_view bytes, QueueId id) {
    if (bytes.size() < record_frame) return {};
    const std::uint64_t length = number_at<std::uint32_t>(bytes, 0);
    if (length > largest_payload || length + record_frame > bytes.size()) return {};
    Record record;
    record.type = number_at<std::uint16_t>(bytes, 4);
    if (record.type == 0) return {};
    const auto whole = static_cast<std::size_t>(length + record_frame);
    if (number_at<std::uint32_t>(bytes, whole - 4) != crc32c(bytes.substr(0, whole - 4), seed_of(id))) return {};
    const auto marks = number_at<std::uint16_t>(bytes, 6);
    record.synced = marks & synced_bit;
    record.unsynced = marks & (synced_bit - 1);
    record.sequence = number_at<std::uint32_t>(bytes, 8);
    record.payload = bytes.substr(12, static_cast<std::size_t>(length));
    return std::pair(record, whole);
}

namespace {
// The next good record of this log behind `from`, at any offset: damage hides where records begin.
std::optional<std::size_t> find_record(std::string_view bytes, std::size_t from, QueueId id, std::uint32_t after) {
    for (; from + record_frame <= bytes.size(); ++from) {
        const auto sequence = number_at<std::uint32_t>(bytes, from + 8);
        if (sequence < after || sequence - after > bytes.size()) continue; // cheap, before the checksum
        if (read_record(bytes.substr(from), id)) return from;
    }
    return {};
}

std::uint16_t saturating(std::uint64_t n) { return static_cast<std::uint16_t>(std::min<std::uint64_t>(n, 0xffff)); }
} // namespace

Log parse_log(std::string_view bytes, QueueId id, std::uint32_t first_sequence) {
    Log log;
    log.next_sequence = first_sequence;
    std::uint32_t first_lost = 0, last_lost = 0; // sequence numbers of an unreadable stretch
    while (log.end < bytes.size()) {
        auto next = read_record(bytes.substr(log.end), id);
        if (!next || next->first.sequence != log.next_sequence) {
            const auto found = find_record(bytes, log.end, id, log.next_sequence);
            if (!found) {
                log.torn_tail = true;
                break;
            }
            log.end = *found;
            next = read_record(bytes.substr(log.end), id);
        }
        if (!next) break;
        const auto [record, length] = *next;
        if (const auto missing = record.sequence - log.next_sequence; missing > 0) {
            if (log.lost == 0) first_lost = log.next_sequence;
            last_lost = record.sequence - 1;
            log.lost += missing;
            log.unsynced = saturating(std::uint64_t{log.unsynced} + missing);
        }
        // A good record tells which of those before it were promised; a lost one among them is damage.
        if (log.lost > 0 && record.sequence - record.unsynced > first_lost)
            log.damage = "property log: record " + std::to_string(first_lost) +
                         (last_lost > first_lost ? " to " + std::to_string(last_lost) : "") + " unreadable";
        log.unsynced = record.synced ? 0 : saturating(std::uint64_t{log.unsynced} + 1);
        log.next_sequence = record.sequence + 1;
        log.end += length;
        log.records.push_back(record);
    }
    return log;
}

} // namespace spool
