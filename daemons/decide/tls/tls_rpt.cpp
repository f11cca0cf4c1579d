#include "daemons/decide/tls/tls_rpt.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/trim.h"
#include <algorithm>

namespace decide::tls_rpt {

namespace {

using smtp::trimmed;
using std::string_view;

constexpr string_view version = "v=TLSRPTv1";

// Everything up to the separator, taken away from `text` with it.
string_view next(string_view& text, char separator) {
    const auto end = std::min(text.find(separator), text.size());
    const auto part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return trimmed(part);
}

bool starts_with_scheme(string_view text, string_view scheme) {
    return text.size() > scheme.size() && std::ranges::equal(text.substr(0, scheme.size()), scheme, [](char a, char b) {
               return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b;
           });
}

// What %2C and the like stand for. False: a broken one.
bool decode_percent(string_view text, std::string& out) {
    const auto digit = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return false;
        out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
        i += 2;
    }
    return true;
}

bool parse_mailto(string_view rest, Destination& out) {
    std::string address;
    if (!decode_percent(rest.substr(0, rest.find('?')), address)) return false; // fields behind '?' are not ours
    const bool plain = std::ranges::all_of(address, [](char c) { return c > ' ' && c < 0x7f; });
    const auto mailbox = smtp::Mailbox::parse(address);
    if (!plain || address.size() > 254 || !mailbox) return false;
    out.mailbox = mailbox->text();
    return true;
}

bool parse_https(string_view rest, Destination& out) {
    const auto end = std::min(rest.find_first_of("/?#"), rest.size());
    auto authority = rest.substr(0, end);
    auto target = rest.substr(end);
    target = target.substr(0, target.find('#'));
    if (const auto colon = authority.find(':'); colon != string_view::npos) {
        const auto port = authority.substr(colon + 1);
        std::uint32_t number = 0;
        if (port.empty() || port.size() > 5) return false;
        for (const char c : port) {
            if (c < '0' || c > '9') return false;
            number = number * 10 + static_cast<std::uint32_t>(c - '0');
        }
        if (number == 0 || number > 65535) return false;
        out.port = static_cast<std::uint16_t>(number);
        authority = authority.substr(0, colon);
    }
    for (const char c : authority) { // letters, digits, hyphens, dots: nothing but a name
        const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        const bool good = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
        if (!good) return false;
        out.host.push_back(lower);
    }
    out.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
    return !out.host.empty() && out.host.size() <= 253 && out.target.size() <= 2000 &&
           std::ranges::all_of(out.target, [](char c) { return c > ' ' && c < 0x7f; });
}

} // namespace

bool parse_uri(string_view uri, Destination& out) {
    out = {};
    const string_view mail = "mailto:", web = "https://";
    if (starts_with_scheme(uri, mail)) return parse_mailto(uri.substr(mail.size()), out);
    return starts_with_scheme(uri, web) && parse_https(uri.substr(web.size()), out);
}

std::vector<Destination> find_destinations(std::span<const std::string> texts) {
    const auto about_tls = [](string_view text) {
        return text.starts_with(version) && trimmed(text.substr(version.size())).starts_with(';');
    };
    if (std::ranges::count_if(texts, about_tls) != 1) return {}; // RFC 8460, 3: several are as good as none
    string_view text = *std::ranges::find_if(texts, about_tls);
    next(text, ';');
    std::vector<Destination> out;
    while (!text.empty()) {
        auto field = next(text, ';');
        if (!field.starts_with("rua=")) continue;
        field.remove_prefix(4);
        while (!field.empty() && out.size() < most_destinations) {
            Destination destination;
            if (parse_uri(next(field, ','), destination)) out.push_back(std::move(destination));
        }
        return out;
    }
    return out;
}

} // namespace decide::tls_rpt
