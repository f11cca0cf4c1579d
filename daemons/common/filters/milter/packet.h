// The milter protocol's frames: four bytes of length, a command, data. Pure: bytes in and out, bounded.
#pragma once
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace milter {

struct Packet {
    char command = 0;
    std::string data;
    bool operator==(const Packet&) const = default;
};

inline constexpr std::size_t largest_packet = 128 * 1024; // what libmilter sends is at most 64 KiB and a little

void append_packet(std::string& out, char command, std::string_view data = {});
void append_number(std::string& out, std::uint32_t number); // big-endian

// Takes packets from a stream that comes in pieces.
class PacketReader {
public:
    void feed(std::string_view bytes);
    // The next whole one; none: more is needed. Malformed: a length that cannot be.
    std::expected<std::optional<Packet>, smtp::Malformed> next();
    // Nothing was fed beyond the packets taken.
    bool empty() const { return begin_ == input_.size(); }

private:
    std::string input_;
    std::size_t begin_ = 0;
};

// Reads the data of one packet, piece by piece; nothing is given when there is not enough.
class DataReader {
public:
    explicit DataReader(std::string_view data) : rest_(data) {}
    std::optional<std::uint32_t> number();
    std::optional<std::string> text(); // up to its NUL, which must be there
    bool ended() const { return rest_.empty(); }

private:
    std::string_view rest_;
};

} // namespace milter
