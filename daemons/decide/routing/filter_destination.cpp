#include "daemons/decide/routing/filter_destination.h"
#include "daemons/decide/routing/route_name.h"
#include "daemons/decide/routing/transport_entry.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <algorithm>

namespace decide {

namespace {

constexpr std::size_t longest_filter = 512; // bytes: each message's file has it

std::optional<std::string> host_alone(std::string_view text) {
    const auto hop = NextHop::parse(text);
    if (!hop || hop->kind != NextHop::Kind::host) return {};
    return hop->to_string();
}

// "127.0.0.1:10024": Postfix needs no brackets around an address.
bool is_bare_address(std::string_view text) {
    const auto host = text.substr(0, text.find(':'));
    return std::ranges::count(host, '.') == 3 && host.find_first_not_of("0123456789.") == host.npos;
}

std::string in_brackets(std::string_view text) {
    if (!is_bare_address(text)) return std::string(text);
    const auto end = std::min(text.find(':'), text.size());
    return "[" + std::string(text.substr(0, end)) + "]" + std::string(text.substr(end));
}

} // namespace

std::optional<std::string> filter_destination(std::string_view text) {
    text = smtp::trimmed(text);
    // "$": what a pattern's groups would fill in, as the sender likes.
    if (text.size() > longest_filter || text.find_first_of(" \t$") != text.npos) return {};
    if (text.starts_with('[') || text.find("@[") != text.npos) return host_alone(text);
    const auto colon = text.find(':');
    const auto word = smtp::lowered(text.substr(0, colon));
    const auto rest = colon == text.npos ? std::string_view() : text.substr(colon + 1);
    if (word == "smtp" || word == "relay") return host_alone(in_brackets(rest));
    if (word == "lmtp") {
        const auto entry = rest.empty() ? std::nullopt : TransportEntry::parse("lmtp:" + std::string(rest));
        return entry ? host_alone(entry->value) : std::nullopt;
    }
    if (!is_route_name(word)) return {};
    if (rest.empty()) return word + ":"; // a bare word would be the name of a host
    const auto by = RouteName::parse(word + ":" + in_brackets(rest));
    if (!by || !by->hop || by->hop->kind != NextHop::Kind::host) return {};
    return by->to_string();
}

std::string_view route_of_filter(std::string_view destination) {
    const auto name = destination.substr(0, destination.find(':'));
    return is_route_name(name) ? name : std::string_view();
}

} // namespace decide
