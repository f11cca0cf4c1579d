#include "libspool/journal/names.h"
#include <algorithm>
#include <charconv>
#include <cstring>

namespace spool::journal {

namespace {

constexpr std::size_t digits = 20, node_id_size = 36;
constexpr std::string_view lower_hexadecimal = "0123456789abcdef";

constexpr bool is_hyphen_place(std::size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

} // namespace

std::string segment_file(std::uint64_t first, std::string_view suffix) {
    auto number = std::to_string(first);
    number.insert(0, digits - number.size(), '0');
    return number.append(suffix);
}

std::optional<std::uint64_t> first_in(std::string_view name, std::string_view suffix) {
    if (name.size() != digits + suffix.size() || !name.ends_with(suffix)) return {};
    std::uint64_t first = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + digits, first);
    if (error != std::errc() || end != name.data() + digits || first == 0) return {};
    return first;
}

std::string encode_mark(std::string_view magic, std::uint64_t number) {
    std::string bytes(magic);
    bytes.resize(magic.size() + sizeof number);
    std::memcpy(bytes.data() + magic.size(), &number, sizeof number);
    return bytes;
}

std::optional<std::uint64_t> decode_mark(std::string_view magic, std::string_view bytes) {
    std::uint64_t number = 0;
    if (bytes.size() != magic.size() + sizeof number || !bytes.starts_with(magic)) return {};
    std::memcpy(&number, bytes.data() + magic.size(), sizeof number);
    return number;
}

std::string node_id_of(std::string_view random) {
    std::string out;
    for (std::size_t n = 0; n < 16 && n < random.size(); ++n) {
        auto byte = static_cast<unsigned char>(random[n]);
        if (n == 6) byte = static_cast<unsigned char>((byte & 0x0F) | 0x40);
        if (n == 8) byte = static_cast<unsigned char>((byte & 0x3F) | 0x80);
        if (is_hyphen_place(out.size())) out += '-';
        out += lower_hexadecimal[byte >> 4];
        out += lower_hexadecimal[byte & 15];
    }
    return out;
}

bool is_node_id(std::string_view text) {
    if (text.size() != node_id_size) return false;
    for (std::size_t at = 0; at < text.size(); ++at)
        if (is_hyphen_place(at) ? text[at] != '-' : lower_hexadecimal.find(text[at]) == std::string_view::npos)
            return false;
    return true;
}

} // namespace spool::journal
