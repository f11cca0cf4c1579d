#include "libsmtp/text/base64.h"
#include <cstdint>

namespace smtp {

static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encode_base64(std::string_view bytes) {
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const auto byte = [&](std::size_t at) -> std::uint32_t {
            return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
        };
        const auto group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
        for (unsigned digit = 0; digit < 4; ++digit)
            out += i + digit <= bytes.size() ? digits[group >> (18 - 6 * digit) & 63] : '=';
    }
    return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
    if (text.size() % 4 != 0) return {};
    std::size_t padding = 0;
    while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
    std::string out;
    out.reserve(text.size() / 4 * 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < text.size() - padding; ++i) {
        const auto value = digits.find(text[i]);
        if (value == digits.npos) return {};
        group = group << 6 | static_cast<std::uint32_t>(value);
        if (i % 4 == 0) continue;
        out += static_cast<char>(group >> (6 - 2 * (i % 4)));
    }
    if (padding != 0 && (group & ((1u << 2 * padding) - 1)) != 0) return {};
    return out;
}

} // namespace smtp
