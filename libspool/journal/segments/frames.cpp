#include "libspool/journal/segments/frames.h"
#include "libspool/format/crc32c.h"
#include <concepts>

namespace spool {

namespace {

constexpr std::string_view frames_magic = "PRFRAMES";
constexpr std::uint32_t version = 1;
constexpr std::size_t head_size = 48, entry_size = 16, checksum_size = 4;

template <std::integral T> void put(std::string& out, T value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
        out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
}

template <std::integral T> void take(std::string_view& from, T& value) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof value; ++i)
        bits |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
    value = static_cast<T>(bits);
    from.remove_prefix(sizeof value);
}

} // namespace

std::string encode(const FrameTable& table) {
    std::string out(frames_magic);
    put(out, version);
    put(out, static_cast<std::uint32_t>(table.frames.size()));
    put(out, table.size);
    put(out, table.last);
    put(out, table.oldest);
    put(out, table.newest);
    for (const auto& frame : table.frames) {
        put(out, frame.number);
        put(out, frame.offset);
    }
    put(out, crc32c(out));
    return out;
}

std::optional<FrameTable> decode_frames(std::string_view bytes) {
    if (bytes.size() < head_size + checksum_size || !bytes.starts_with(frames_magic)) return {};
    auto checksum = bytes.substr(bytes.size() - checksum_size);
    std::uint32_t stored = 0;
    take(checksum, stored);
    if (stored != crc32c(bytes.substr(0, bytes.size() - checksum_size))) return {};
    auto rest = bytes.substr(frames_magic.size());
    std::uint32_t written_by = 0, count = 0;
    take(rest, written_by);
    take(rest, count);
    if (written_by != version || count > most_frames || bytes.size() != head_size + count * entry_size + checksum_size)
        return {};
    FrameTable table;
    take(rest, table.size);
    take(rest, table.last);
    take(rest, table.oldest);
    take(rest, table.newest);
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        Frame frame;
        take(rest, frame.number);
        take(rest, frame.offset);
        if ((i > 0 && frame.offset <= end) || frame.offset >= table.size) return {};
        end = frame.offset;
        table.frames.push_back(frame);
    }
    return table;
}

} // namespace spool
