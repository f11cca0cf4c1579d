#include "daemons/decide/rewriting/address_keys.h"
#include "daemons/decide/rewriting/written_addresses.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace decide {

namespace {

using Match = AddressKey::Match;

// Where the extension of a local part begins; npos: it has none. What begins with the delimiter has no name.
std::size_t extension_at(std::string_view local, char delimiter) {
    return delimiter ? local.find(delimiter, 1) : local.npos;
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

BareNames bare_names_for(std::string_view address, bool is_local, std::string_view origin) {
    return is_local || smtp::same_ignoring_case(AddressParts::of(address).domain, origin) ? BareNames::yes
                                                                                          : BareNames::no;
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
    constexpr std::array kinds = {"regexp:", "pcre:", "cidr:", "tcp:", "patterns:"};
    return std::ranges::any_of(kinds, [&](auto kind) { return table.starts_with(kind); });
}

TableAddresses addresses_of(std::string_view value, std::string_view looked_up, Match match, char delimiter,
                            std::string_view origin, std::size_t limit) {
    const auto key = smtp::Mailbox::parse(looked_up);
    const auto local = key ? key->local_part : std::string(AddressParts::of(looked_up).local);
    const bool left_out = match == Match::without_extension || match == Match::name;
    const auto extension = left_out ? AddressParts{local, {}}.extension(delimiter) : std::string_view();
    TableAddresses out;
    const auto add = [&](std::string local_part, std::string_view domain) {
        const auto text = smtp::Mailbox{std::move(local_part), std::string(domain.empty() ? origin : domain)}.text();
        if (const auto mailbox = smtp::Mailbox::parse(text); !mailbox)
            out.error =
                fmt::format("\"{}\" is not a valid address: {}", smtp::printable(text, 100), mailbox.error().why);
        else
            out.addresses.push_back(text);
    };
    while (!value.empty() && out.addresses.size() <= limit) {
        const auto item = take_list_item(value);
        const auto first = item.find_first_not_of(" \t");
        if (first != item.npos && item[first] == '@') {
            auto domain = item.substr(first + 1, item.find_last_not_of(" \t") - first);
            if (domain.ends_with('.')) domain.remove_suffix(1);
            if (domain.empty())
                out.error = "\"@\" is not a valid address: the domain is missing";
            else
                add(local, domain);
            continue;
        }
        const auto written = addresses_in_item(item);
        if (!written) {
            out.error = written.error().why;
            continue;
        }
        for (const auto& each : *written) {
            const auto mailbox = smtp::Mailbox::parse_bare_allowed(each);
            if (mailbox && out.addresses.size() <= limit)
                add(mailbox->local_part + std::string(extension), mailbox->domain);
        }
    }
    if (out.addresses.empty() && out.error.empty()) out.error = "it contains no address";
    return out;
}

} // namespace decide
