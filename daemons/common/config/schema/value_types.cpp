#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/text/idn.h"
#include "daemons/common/text/units.h"
#include <fmt/ranges.h>

namespace config {

TextKey any_text(std::string& value) {
    return {[&](std::string_view text) -> Refusal {
                if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
                    return "control characters are not allowed";
                value = text;
                return std::nullopt;
            },
            [&] { return value; }};
}

TextKey non_empty_text(std::string& value) {
    return {[&](std::string_view text) -> Refusal {
                const auto odd = [](unsigned char c) { return c <= 0x20 || c >= 0x7f || c == ':' || c == '['; };
                if (text.empty() || std::any_of(text.begin(), text.end(), odd))
                    return "expected one word of ASCII characters, without \":\" and \"[\"";
                value = text;
                return std::nullopt;
            },
            [&] { return value; }};
}

TextKey domain(std::string& value) {
    return {[&](std::string_view text) -> Refusal {
                const auto name = domain_name(text);
                if (name.empty() || (name.find('.') == name.npos && name != "localhost"))
                    return fmt::format("\"{}\" is not a fully qualified host name: expected one such as "
                                       "\"mail.example.com\"",
                                       text);
                value = name;
                return std::nullopt;
            },
            [&] { return value; }};
}

TextKey service_address(common::ServiceAddress& value) {
    return {[&](std::string_view text) -> Refusal {
                const auto read = common::ServiceAddress::parse(text);
                if (!read && text.size() > common::longest_socket_name &&
                    (text.starts_with('/') || text.starts_with("unix:/")))
                    return fmt::format("socket path too long: expected at most {} bytes, of these at most {} in its "
                                       "last part",
                                       common::longest_socket_path, common::longest_socket_name);
                if (!read)
                    return fmt::format("\"{}\" is not a valid service address: expected one such as "
                                       "\"unix:/run/x.sock\" or \"inet:127.0.0.1:10023\"",
                                       text);
                value = *read;
                return std::nullopt;
            },
            [&] { return value.to_string(); }};
}

TextKey duration_or_never(Duration& value, Duration min, Duration max) {
    return {
        [&value, min, max](std::string_view text) -> Refusal {
            if (text == "never") {
                value = decide::queue::Settings::never;
                return std::nullopt;
            }
            const auto read = parse_duration(text);
            if (!read || *read < min || *read > max)
                return fmt::format("\"{}\" is not valid: expected a duration from \"{}\" to \"{}\", or \"never\"", text,
                                   print_duration(min), print_duration(max));
            value = *read;
            return std::nullopt;
        },
        [&value] { return value == decide::queue::Settings::never ? std::string("never") : print_duration(value); }};
}

ListKey networks(std::vector<common::Network>& values) {
    return list_of<common::Network>(values, [](std::string_view text, common::Network& value) -> Refusal {
        const auto read = common::Network::parse(text);
        if (!read)
            return fmt::format(
                "\"{}\" is not a valid network: expected one such as \"192.0.2.0/24\" or \"2001:db8::/32\"{}", text,
                text.find('/') == text.npos ? "" : " (bits beyond the prefix must be zero)");
        value = *read;
        return std::nullopt;
    });
}

ListKey endpoints(std::vector<common::Endpoint>& values, std::uint16_t default_port) {
    return list_of<common::Endpoint>(values, [=](std::string_view text, common::Endpoint& value) -> Refusal {
        std::string plain(text);
        if (default_port == 0 && text.starts_with("*:")) plain = "[::]" + plain.substr(1);
        const auto read = common::Endpoint::parse(plain, default_port);
        if (!read)
            return fmt::format("\"{}\" is not a valid address{}: expected one such as \"127.0.0.1:{}\" or \"[::1]:{}\"",
                               text, default_port == 0 ? " with a port" : "", default_port == 0 ? 25 : default_port,
                               default_port == 0 ? 25 : default_port);
        value = *read;
        return std::nullopt;
    });
}

static Refusal read_domain(std::string_view text, std::string& value) {
    value = domain_name(text);
    return value.empty() ? Refusal(fmt::format("\"{}\" is not a valid domain", text)) : std::nullopt;
}

ListKey domains(std::vector<std::string>& values) { return list_of<std::string>(values, read_domain); }

ListKey domain_set(std::set<std::string, std::less<>>& values) {
    return {[&] { values.clear(); },
            [&](std::string_view text) -> Refusal {
                const bool below = text.starts_with('.');
                auto name = domain_name(text.substr(below ? 1 : 0));
                if (name.empty()) return fmt::format("\"{}\" is not a valid domain", text);
                if (!values.insert((below ? "." : "") + name).second)
                    return fmt::format("\"{}\" is listed twice", text);
                return std::nullopt;
            },
            [&] { return std::vector<std::string>(values.begin(), values.end()); }};
}

ListKey one_of_list(std::vector<std::string>& values, std::span<const std::string_view> words) {
    return list_of<std::string>(values, [words](std::string_view text, std::string& value) -> Refusal {
        if (std::ranges::find(words, text) == words.end())
            return fmt::format("\"{}\" is not a valid value: expected one of {}", text, fmt::join(words, ", "));
        value = text;
        return std::nullopt;
    });
}

ListKey non_empty_texts(std::vector<std::string>& values) {
    return list_of<std::string>(values, [](std::string_view text, std::string& value) -> Refusal {
        const auto odd = [](unsigned char c) { return c <= 0x20 || c == 0x7f || c == '/' || c == ':'; };
        if (text.empty() || text == "." || text == ".." || std::any_of(text.begin(), text.end(), odd))
            return fmt::format("\"{}\" is not a valid name", text);
        value = text;
        return std::nullopt;
    });
}

ListKey paths(std::vector<std::string>& values) {
    return list_of<std::string>(values, [](std::string_view text, std::string& value) -> Refusal {
        if (text.empty() || text.find('\0') != text.npos) return "expected a file name";
        value = text;
        return std::nullopt;
    });
}

std::string domain_name(std::string_view as_written) {
    const auto text = idn::ascii_domain(as_written);
    std::string out;
    if (text.empty() || text.size() > 253) return "";
    std::size_t label = 0;
    for (const char c : text) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (!letter && !((c == '-' || c == '.') && label > 0)) return "";
        label = c == '.' ? 0 : label + 1;
        if (label > 63) return "";
        out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
    }
    return label == 0 || out.back() == '-' ? "" : out;
}

} // namespace config
