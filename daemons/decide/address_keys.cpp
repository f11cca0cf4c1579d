#include "daemons/decide/address_keys.h"
#include "libsmtp/text.h"
#include <algorithm>
#include <array>

namespace decide {

namespace {

using Match = AddressKey::Match;

// Where the extension of a local part begins; npos: it has none. What begins with the delimiter has no name.
std::size_t extension_at(std::string_view local, char delimiter) {
    return delimiter ? local.find(delimiter, 1) : local.npos;
}

std::string with_extension(std::string address, std::string_view extension) {
    const auto at = address.rfind('@');
    address.insert(at == address.npos ? address.size() : at, extension);
    return address;
}

} // namespace

AddressParts AddressParts::of(std::string_view address) {
    const auto at = address.rfind('@');
    if (at == address.npos) return {address, {}};
    return {address.substr(0, at), address.substr(at + 1)};
}

std::string_view AddressParts::name(char delimiter) const { return local.substr(0, extension_at(local, delimiter)); }

std::string_view AddressParts::extension(char delimiter) const {
    const auto at = extension_at(local, delimiter);
    return at == local.npos ? std::string_view() : local.substr(at);
}

std::vector<AddressKey> address_keys(std::string_view address, char delimiter, BareNames bare) {
    const auto parts = AddressParts::of(address);
    const auto local = smtp::lowered(parts.local), domain = smtp::lowered(parts.domain);
    const auto name = smtp::lowered(parts.name(delimiter));
    const bool extended = name.size() != local.size();
    std::vector<AddressKey> out;
    out.reserve(5);
    out.push_back({std::string(address), Match::whole});
    if (extended) out.push_back({name + "@" + domain, Match::without_extension});
    if (bare == BareNames::yes) {
        if (extended) out.push_back({local, Match::whole});
        out.push_back({name, Match::name});
    }
    out.push_back({"@" + domain, Match::domain});
    return out;
}

std::vector<AddressKey> transport_keys(std::string_view address, char delimiter) {
    auto out = address_keys(address, delimiter, BareNames::no);
    const auto domain = out.back().text.substr(1);
    out.back().text = domain;
    if (!domain.starts_with('['))
        for (auto dot = domain.find('.', 1); dot != domain.npos; dot = domain.find('.', dot + 1))
            out.push_back({domain.substr(dot), Match::domain});
    out.push_back({"*", Match::domain});
    return out;
}

bool has_patterns(std::string_view table) {
    constexpr std::array kinds = {"regexp:", "pcre:", "cidr:", "tcp:"};
    return std::ranges::any_of(kinds, [&](auto kind) { return table.starts_with(kind); });
}

std::vector<std::string> addresses_of(std::string_view value, std::string_view looked_up, Match match,
                                      char delimiter, std::string_view origin, std::size_t limit) {
    const auto parts = AddressParts::of(looked_up);
    const bool left_out = match == Match::without_extension || match == Match::name;
    const auto extension = left_out ? parts.extension(delimiter) : std::string_view();
    std::vector<std::string> out;
    std::string word;
    const auto finish = [&] {
        if (word.starts_with('@'))
            word.insert(0, parts.local);
        else if (!word.empty())
            word = with_extension(word.rfind('@') == word.npos ? word + "@" + std::string(origin) : word, extension);
        if (!word.empty()) out.push_back(std::move(word));
        word.clear();
    };
    bool quoted = false;
    for (std::size_t i = 0; i < value.size() && out.size() <= limit; ++i) {
        const char c = value[i];
        if (c == '"') quoted = !quoted;
        if (!quoted && (c == ',' || c == ' ' || c == '\t')) {
            finish();
            continue;
        }
        word += c;
        if (quoted && c == '\\' && i + 1 < value.size()) word += value[++i];
    }
    if (out.size() <= limit) finish();
    return out;
}

} // namespace decide
