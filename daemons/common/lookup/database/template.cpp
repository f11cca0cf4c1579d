#include "daemons/common/lookup/database/template.h"
#include <algorithm>
#include <fmt/format.h>

namespace tables {

namespace {

std::optional<std::string_view> local_part_of(std::string_view address) {
    const auto at = address.rfind('@');
    if (at == address.npos) return address.empty() ? std::nullopt : std::optional(address);
    return at == 0 ? std::nullopt : std::optional(address.substr(0, at));
}

std::optional<std::string_view> domain_part_of(std::string_view address) {
    const auto at = address.rfind('@');
    if (at == address.npos || at + 1 == address.size()) return std::nullopt;
    return address.substr(at + 1);
}

// 1: the last one.
std::optional<std::string_view> domain_component(std::string_view address, unsigned number) {
    const auto domain = domain_part_of(address);
    if (!domain) return std::nullopt;
    auto rest = *domain;
    for (;; --number) {
        const auto dot = rest.rfind('.');
        const auto component = dot == rest.npos ? rest : rest.substr(dot + 1);
        if (number == 1) return component.empty() ? std::nullopt : std::optional(component);
        if (dot == rest.npos) return std::nullopt;
        rest = rest.substr(0, dot);
    }
}

constexpr std::string_view known_placeholders = "sudSUD123456789";

} // namespace

std::optional<std::string_view> part_of(char placeholder, std::string_view value, std::string_view key) {
    switch (placeholder) {
    case 's': return value.empty() ? std::nullopt : std::optional(value);
    case 'S': return key.empty() ? std::nullopt : std::optional(key);
    case 'u': return local_part_of(value);
    case 'U': return local_part_of(key);
    case 'd': return domain_part_of(value);
    case 'D': return domain_part_of(key);
    default: return domain_component(key, static_cast<unsigned>(placeholder - '0'));
    }
}

std::expected<Template, smtp::Malformed> Template::parse(std::string_view text) {
    Template out;
    out.pieces_.clear();
    std::string plain;
    std::size_t begin = 0;
    const auto finish = [&] {
        if (!plain.empty()) out.pieces_.push_back({std::move(plain), 0, begin});
        plain.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (plain.empty()) begin = i;
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        const char c = i + 1 < text.size() ? text[i + 1] : '\0';
        if (c != '%' && (c == '\0' || known_placeholders.find(c) == known_placeholders.npos))
            return std::unexpected(smtp::Malformed{fmt::format(
                "\"{}\" is not a placeholder: expected %s, %u, %d, %S, %U, %D, %1 … %9, or %% for a percent "
                "sign",
                smtp::printable(text.substr(i, 2), 10))});
        ++i;
        if (c == '%') {
            plain += '%';
            continue;
        }
        finish();
        out.pieces_.push_back({"", c, i - 1});
    }
    finish();
    return out;
}

std::optional<std::string> Template::expand(std::string_view value, std::string_view key, const Quote& quote) const {
    std::string out;
    for (const auto& piece : pieces_) {
        if (piece.placeholder == 0) {
            out += piece.text;
            continue;
        }
        const auto part = part_of(piece.placeholder, value, key);
        if (!part) return std::nullopt;
        out += quote ? quote(*part) : std::string(*part);
    }
    return out;
}

bool Template::suits(std::string_view key) const {
    return std::ranges::all_of(pieces_, [&](const Piece& piece) {
        const bool of_the_value = piece.placeholder == 's' || piece.placeholder == 'u' || piece.placeholder == 'd';
        return piece.placeholder == 0 || of_the_value || part_of(piece.placeholder, "", key).has_value();
    });
}

bool Template::has_placeholders() const {
    return std::ranges::any_of(pieces_, [](const Piece& piece) { return piece.placeholder != 0; });
}

} // namespace tables
