#include "libsmtp/message/header.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <algorithm>

namespace smtp {
namespace {

bool blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_line_end(std::string_view line) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

// Length of the field name that starts `line`; 0 when the line starts no field. Blanks before the colon are
// obsolete and taken (RFC 5322, 4.5).
std::size_t name_length(std::string_view line, std::size_t& colon) {
    std::size_t n = 0;
    while (n < line.size() && line[n] > ' ' && line[n] < 127 && line[n] != ':') ++n;
    colon = n;
    while (colon < line.size() && blank(line[colon])) ++colon;
    return colon < line.size() && line[colon] == ':' ? n : 0;
}

} // namespace

std::string_view first_line(std::string_view text) {
    const std::size_t end = text.find('\n');
    return end == text.npos ? text : text.substr(0, end + 1);
}

bool HeaderField::is(std::string_view other) const { return same_ignoring_case(name, other); }

std::string HeaderField::unfolded() const {
    std::string out;
    out.reserve(value.size());
    for (char c : value)
        if (c != '\r' && c != '\n') out.push_back(c);
    return std::string(trimmed(out));
}

HeaderBlock scan_header(std::string_view message) {
    HeaderBlock block;
    std::size_t at = 0;
    while (at < message.size()) {
        const std::string_view line = first_line(message.substr(at));
        if (without_line_end(line).empty()) {
            block.length = at;
            block.body = at + line.size();
            block.end = HeaderEnd::blank_line;
            return block;
        }
        if (blank(line.front()) && !block.fields.empty()) { // folded
            HeaderField& field = block.fields.back();
            const char* start = field.raw.data();
            field.raw = {start, field.raw.size() + line.size()};
            field.value = without_line_end(
                {field.value.data(), static_cast<std::size_t>(start + field.raw.size() - field.value.data())});
            at += line.size();
            continue;
        }
        std::size_t colon = 0;
        const std::size_t length = name_length(line, colon);
        if (length == 0) {
            block.length = block.body = at;
            block.end = HeaderEnd::not_a_field;
            return block;
        }
        block.fields.push_back({line, line.substr(0, length), without_line_end(line.substr(colon + 1))});
        at += line.size();
    }
    block.length = block.body = at;
    return block;
}

Header::Field Header::make(std::string_view name, std::string_view value) {
    Field field{std::string(name) + ":", name.size()};
    if (!value.empty() && !blank(value.front())) field.text.push_back(' ');
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (value[i] == '\r') continue;
        const bool folds = value[i] == '\n' && i + 1 < value.size() && blank(value[i + 1]);
        if (folds) field.text += "\r\n";
        if (value[i] != '\n') field.text.push_back(value[i]);
    }
    field.text += "\r\n";
    return field;
}

Header::Header(const HeaderBlock& block) {
    fields_.reserve(block.fields.size());
    for (const HeaderField& field : block.fields) fields_.push_back(make(field.name, field.value));
}

std::string_view Header::name(std::size_t i) const {
    return std::string_view(fields_[i].text).substr(0, fields_[i].name_length);
}

std::string_view Header::raw_value(std::size_t i) const {
    std::string_view text = fields_[i].text;
    text.remove_prefix(fields_[i].name_length + 1);
    text.remove_suffix(2);
    return text;
}

bool Header::has(std::string_view name) const { return count(name) > 0; }

std::size_t Header::count(std::string_view wanted) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < fields_.size(); ++i) n += same_ignoring_case(name(i), wanted);
    return n;
}

std::string Header::value(std::string_view wanted) const {
    for (std::size_t i = 0; i < fields_.size(); ++i)
        if (same_ignoring_case(name(i), wanted)) return HeaderField{{}, {}, raw_value(i)}.unfolded();
    return {};
}

std::size_t Header::remove(std::string_view name) {
    return std::erase_if(fields_, [&](const Field& field) {
        return same_ignoring_case(std::string_view(field.text).substr(0, field.name_length), name);
    });
}

void Header::prepend(std::string_view name, std::string_view value) {
    fields_.insert(fields_.begin(), make(name, value));
}

void Header::append(std::string_view name, std::string_view value) { fields_.push_back(make(name, value)); }

void Header::replace(std::size_t i, std::string_view value) { fields_[i] = make(std::string(name(i)), value); }

std::string Header::text() const {
    std::string out;
    std::size_t size = 0;
    for (const Field& field : fields_) size += field.text.size();
    out.reserve(size);
    for (const Field& field : fields_) out += field.text;
    return out;
}

} // namespace smtp
