#include "daemons/http/html/url.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace html {

namespace {

bool is_unreserved(char c) {
    return smtp::is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~' || c == '@';
}

void append_encoded(std::string& out, std::string_view text) {
    for (const char c : text)
        if (is_unreserved(c))
            out += c;
        else
            fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
}

} // namespace

Url::Url(std::initializer_list<std::string_view> segments, const Parameters& parameters) {
    for (const auto segment : segments) add_segment(segment);
    add_query(parameters);
}

Url::Url(const std::vector<std::string>& segments, const Parameters& parameters) {
    for (const auto& segment : segments) add_segment(segment);
    add_query(parameters);
}

void Url::add_segment(std::string_view segment) {
    text_ += '/';
    append_encoded(text_, segment);
}

void Url::add_query(const Parameters& parameters) {
    if (text_.empty()) text_ = "/";
    char separator = '?';
    for (const auto& [name, value] : parameters) {
        if (value.empty()) continue;
        text_ += std::exchange(separator, '&');
        append_encoded(text_, name);
        text_ += '=';
        append_encoded(text_, value);
    }
}

Url Url::within(std::string_view id) {
    Url out;
    out.text_ = "#";
    append_encoded(out.text_, id);
    return out;
}

} // namespace html
