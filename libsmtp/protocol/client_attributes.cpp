#include "libsmtp/protocol/client_attributes.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <utility>

namespace smtp {

namespace {

using Kind = ClientAttribute::Kind;

constexpr std::size_t most_value = 255;

bool any(std::string&) { return true; }
bool is_port(std::string& value) { return value.size() <= 5 && parse_number(value, 65535).has_value(); }
bool is_protocol(std::string& value) { return value == "SMTP" || value == "ESMTP"; }
bool is_source(std::string& value) { return value == "LOCAL" || value == "REMOTE"; }
// "IPV6:2001:db8::1", or an IPv4 address as it is.
bool is_address(std::string& value) {
    constexpr std::string_view ipv6 = "IPV6:";
    const bool has_prefix = starts_with_ignoring_case(value, ipv6);
    if (has_prefix) value.erase(0, ipv6.size());
    return has_prefix == (value.find(':') != value.npos);
}

struct AttributeRow {
    std::string_view name;
    std::optional<ClientAttribute> ClientAttributes::* place;
    bool xclient, xforward;
    bool (*sound)(std::string& value); // may put it into its usual form
};

constexpr AttributeRow rows[] = {
    {"NAME", &ClientAttributes::name, true, true, any},
    {"ADDR", &ClientAttributes::address, true, true, is_address},
    {"PORT", &ClientAttributes::port, true, true, is_port},
    {"PROTO", &ClientAttributes::protocol, true, false, is_protocol},
    {"PROTO", &ClientAttributes::protocol, false, true, any},
    {"HELO", &ClientAttributes::helo, true, true, any},
    {"LOGIN", &ClientAttributes::login, true, false, any},
    {"DESTADDR", &ClientAttributes::dest_address, true, false, is_address},
    {"DESTPORT", &ClientAttributes::dest_port, true, false, is_port},
    {"REVERSE_NAME", &ClientAttributes::reverse_name, true, false, any},
    {"IDENT", &ClientAttributes::ident, false, true, any},
    {"SOURCE", &ClientAttributes::source, false, true, is_source},
};

std::unexpected<Reply> malformed_attribute(std::string text) {
    return std::unexpected(Reply{501, {5, 5, 4}, std::move(text)});
}

} // namespace

std::expected<ClientAttributes, Reply> parse_client_attributes(ClientCommand command, std::string_view argument) {
    ClientAttributes out;
    if (argument.empty())
        return malformed_attribute(command == ClientCommand::xclient ? "Syntax: XCLIENT attribute=value..."
                                                                     : "Syntax: XFORWARD attribute=value...");
    while (!argument.empty()) {
        const auto pair = argument.substr(0, argument.find(' '));
        argument.remove_prefix(std::min(argument.find_first_not_of(' ', pair.size()), argument.size()));
        const auto equals = pair.find('=');
        const auto name = pair.substr(0, equals);
        const auto row = std::ranges::find_if(rows, [&](const AttributeRow& r) {
            return same_ignoring_case(r.name, name) && (command == ClientCommand::xclient ? r.xclient : r.xforward);
        });
        if (row == std::end(rows) || equals == pair.npos)
            return malformed_attribute("Error: \"" + printable(name, 64) +
                                       "\" is not a valid "
                                       "attribute=value of this command");
        auto& place = out.*row->place;
        if (place) return malformed_attribute("Error: " + std::string(row->name) + " is given twice");
        const auto text = pair.substr(equals + 1);
        if (same_ignoring_case(text, "[UNAVAILABLE]")) {
            place.emplace(Kind::unavailable, "");
        } else if (same_ignoring_case(text, "[TEMPUNAVAIL]")) {
            place.emplace(Kind::unknown, "");
        } else {
            auto value = decode_xtext(text);
            if (!value || value->empty() || value->size() > most_value || !row->sound(*value))
                return malformed_attribute("Error: bad value of " + std::string(row->name));
            place.emplace(Kind::given, *std::move(value));
        }
    }
    return out;
}

std::string xforward_commands(const ClientAttributes& attributes, std::string_view offered) {
    constexpr std::string_view command = "XFORWARD";
    constexpr std::size_t most_line = 510; // without its end
    std::string out;
    std::size_t line = 0; // where it begins
    unsigned said = 0;    // a bit per row
    while (!offered.empty()) {
        const auto name = offered.substr(0, offered.find(' '));
        offered.remove_prefix(std::min(name.size() + 1, offered.size()));
        const auto row = std::ranges::find_if(
            rows, [&](const AttributeRow& r) { return r.xforward && same_ignoring_case(r.name, name); });
        if (row == std::end(rows) || !(attributes.*row->place)) continue;
        const auto bit = 1U << (row - std::begin(rows));
        if ((std::exchange(said, said | bit) & bit) != 0) continue;
        const auto& given = *(attributes.*row->place);
        const bool ipv6 = row->sound == is_address && given.value.find(':') != given.value.npos;
        auto value = encode_xtext((ipv6 ? "IPV6:" : "") + given.value);
        if (given.kind != Kind::given || given.value.empty() || given.value.size() > most_value)
            value = "[UNAVAILABLE]";
        if (value.size() > most_line / 2) value = "[UNAVAILABLE]"; // every second character encoded
        if (out.empty() || out.size() - line + 1 + row->name.size() + 1 + value.size() > most_line) {
            if (!out.empty()) out += "\r\n";
            line = out.size();
            out += command;
        }
        out.append(" ").append(row->name).append("=").append(value);
    }
    if (!out.empty()) out += "\r\n";
    return out;
}

std::string_view offer_of(ClientCommand command) {
    return command == ClientCommand::xclient ? "XCLIENT NAME ADDR PORT PROTO HELO LOGIN DESTADDR DESTPORT REVERSE_NAME"
                                             : "XFORWARD NAME ADDR PORT PROTO HELO IDENT SOURCE";
}

} // namespace smtp
