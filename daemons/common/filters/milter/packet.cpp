#include "daemons/common/filters/milter/packet.h"

namespace milter {

void append_number(std::string& out, std::uint32_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

void append_packet(std::string& out, char command, std::string_view data) {
    append_number(out, static_cast<std::uint32_t>(data.size() + 1));
    out += command;
    out += data;
}

void PacketReader::feed(std::string_view bytes) {
    input_.erase(0, begin_);
    begin_ = 0;
    input_ += bytes;
}

std::expected<std::optional<Packet>, smtp::Malformed> PacketReader::next() {
    const auto pending = std::string_view(input_).substr(begin_);
    const auto length = DataReader(pending).number();
    if (!length) return std::nullopt;
    if (*length == 0 || *length > largest_packet)
        return std::unexpected(smtp::Malformed{"a packet of " + std::to_string(*length) + " bytes"});
    if (pending.size() < 4 + std::size_t{*length}) return std::nullopt;
    begin_ += 4 + std::size_t{*length};
    return Packet{pending[4], std::string(pending.substr(5, *length - 1))};
}

std::optional<std::uint32_t> DataReader::number() {
    if (rest_.size() < 4) return {};
    std::uint32_t number = 0;
    for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(rest_[static_cast<std::size_t>(i)]);
    rest_.remove_prefix(4);
    return number;
}

std::optional<std::string> DataReader::text() {
    const auto end = rest_.find('\0');
    if (end == rest_.npos) return {};
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
}

} // namespace milter
