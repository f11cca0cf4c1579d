#include "daemons/http/html/html.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <cassert>

namespace html {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD
constexpr std::string_view of_addresses[] = {"action", "formaction", "href", "src"};

// Nothing: as it is.
std::string_view escape_of(char c) {
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return {};
    }
}

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

// What is neither valid UTF-8 nor a printable character is replaced.
void append_escaped(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const auto length = smtp::utf8_length(text);
        const auto escape = escape_of(text.front());
        const bool is_c1 = length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
        if (length == 0 || is_c1 || is_control(text.front()))
            out += replacement;
        else
            out += escape.empty() ? text.substr(0, length) : escape;
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
}

bool is_for_text(std::string_view attribute) {
    return std::ranges::find(of_addresses, attribute) == std::end(of_addresses) && attribute != "style" &&
           !attribute.starts_with("on");
}

} // namespace

Attribute::Attribute(Name name, std::string_view value) : name(name), value(value), has_value(true) {
    assert(is_for_text(name.text()));
}

void Html::add_text(std::string_view text) { append_escaped(markup_, text); }

Writer::Writer(Name name, Attributes attributes) {
    auto& out = out_.markup_;
    out += '<';
    out += name.text();
    for (const auto& each : attributes) {
        out += ' ';
        out += each.name.text();
        if (!each.has_value) continue;
        out += "=\"";
        append_escaped(out, each.value);
        out += '"';
    }
    out += '>';
}

Html Writer::close(Name name) && {
    auto& out = out_.markup_;
    out += "</";
    out += name.text();
    out += '>';
    return std::move(out_);
}

std::string document(const Html& root) { return "<!DOCTYPE html>\n" + root.markup() + "\n"; }

} // namespace html
