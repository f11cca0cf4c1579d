#include "daemons/decide/access/names.h"
#include "daemons/decide/rewriting/address_keys.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide::access {

namespace {

void add_domain(std::string_view name, bool parent_domains, bool whole, std::vector<Key>& keys) {
    const bool numeric = is_address(name);
    while (!name.empty()) {
        keys.push_back({name, whole});
        whole = false;
        const auto dot = name.find('.', 1);
        if (numeric || dot == name.npos) return;
        name.remove_prefix(parent_domains ? dot + 1 : dot);
        if (name == ".") return;
    }
}

} // namespace

std::vector<Key> domain_keys(std::string_view name, bool parent_domains) {
    std::vector<Key> keys;
    add_domain(name, parent_domains, true, keys);
    return keys;
}

std::vector<Key> network_keys(std::string_view address) {
    const char delimiter = address.find(':') == address.npos ? '.' : ':';
    std::vector<Key> keys;
    for (bool whole = true;; whole = false) {
        if (!address.empty()) keys.push_back({address, whole});
        const auto last = address.rfind(delimiter);
        if (last == address.npos) return keys;
        address = address.substr(0, last);
    }
}

std::vector<Key> mail_keys(std::string_view address, char delimiter, bool parent_domains, std::string& bare) {
    const auto parts = AddressParts::of(address);
    const auto name = delimiter == 0 ? parts.local : parts.name(delimiter);
    const auto at = [](std::string_view text) { return text.substr(0, text.rfind('@') + 1); };
    const bool extended = name.size() != parts.local.size();
    std::vector<Key> keys = {{address, true}};
    if (extended) {
        bare = fmt::format("{}@{}", name, parts.domain);
        keys.push_back({bare, false});
    }
    add_domain(parts.domain, parent_domains, false, keys);
    keys.push_back({at(address), false});
    if (extended) keys.push_back({at(bare), false});
    return keys;
}

std::string_view domain_in(std::string_view address) {
    const auto at = address.rfind('@');
    return at == address.npos ? address : address.substr(at + 1);
}

bool is_address(std::string_view text) {
    return smtp::valid_literal(fmt::format("[{}{}]", text.find(':') == text.npos ? "" : "IPv6:", text));
}

bool is_hostname(std::string_view text) {
    if (text.ends_with('.')) text.remove_suffix(1);
    if (text.empty() || text.size() > 253) return false;
    bool digits_only = true;
    std::size_t label = 0;
    char before = '.';
    for (const char c : text) {
        if (c == '.') {
            if (label == 0 || before == '-') return false;
            label = 0;
        } else {
            if (!smtp::is_letter(c) && !smtp::is_digit(c) && c != '_' && c != '-') return false;
            if ((c == '-' && label == 0) || ++label > 63) return false;
            digits_only = digits_only && smtp::is_digit(c);
        }
        before = c;
    }
    return label > 0 && before != '-' && !digits_only;
}

std::string address_in_brackets(std::string_view text) {
    if (text.size() < 3 || !text.starts_with('[') || !text.ends_with(']')) return "";
    text = text.substr(1, text.size() - 2);
    constexpr std::string_view ipv6 = "IPv6:";
    const bool tagged = smtp::starts_with_ignoring_case(text, ipv6);
    if (tagged) text.remove_prefix(ipv6.size());
    if (!is_address(text) || tagged != (text.find(':') != text.npos)) return "";
    return std::string(text);
}

static std::vector<std::string_view> parts_of(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const auto end = std::min(text.find(separator), text.size());
        parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

// The 32 digits of an IPv6 address.
static std::string digits_of(std::string_view address) {
    const auto gap = address.find("::");
    const auto digits = [](std::string_view groups) {
        std::string out;
        for (const auto group : parts_of(groups, ':')) out += fmt::format("{:0>4}", group);
        return out;
    };
    if (gap == address.npos) return digits(address);
    const auto before = digits(address.substr(0, gap)), after = digits(address.substr(gap + 2));
    return before + std::string(32 - before.size() - after.size(), '0') + after;
}

std::string reversed(std::string_view address) {
    if (!is_address(address)) return "";
    std::string out;
    const auto add = [&](std::string_view part) {
        if (!out.empty()) out += '.';
        out += part;
    };
    if (address.find(':') == address.npos) {
        const auto parts = parts_of(address, '.');
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) add(*part);
        return out;
    }
    if (address.find('.') != address.npos) return ""; // an IPv4 address in it
    const auto digits = smtp::lowered(digits_of(address));
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) add({&*digit, 1});
    return out;
}

} // namespace decide::access
