// Parts that pages are made of: text from outside, times, sizes, tables, fields and links to further pages. Pure.
#pragma once
#include "daemons/http/html/html.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace http::pages {

// Text that others chose: it cannot reorder what is around it.
html::Html foreign(std::string_view text);
// As foreign(), in a fixed width: replies, reasons.
html::Html verbatim(std::string_view text);

// "2026-11-27 10:05:01 UTC", of RFC 3339; "–" for "".
html::Html time_of(std::string_view rfc3339);
// "3 h 5 min ago", "in 20 s", with the time itself as its title; "–" for "".
html::Html distance_to(std::string_view rfc3339, smtp::WallTime now);
// "3 h 5 min"; two units at most.
std::string span_text(std::chrono::seconds span);
std::string size_text(std::uint64_t bytes);                                              // "1.2 MiB"
std::string count_text(std::int64_t count);                                              // "1,234,567"
std::string count_text(std::int64_t count, std::string_view one, std::string_view many); // "1 message"

using Row = std::vector<html::Html>;
struct Table {
    std::string_view caption;
    std::vector<std::string_view> columns; // those that end in "#" hold numbers
    std::vector<Row> rows;                 // the first cell names its row
};
html::Html table_of(const Table& table);

// Facts with their names; those without content are left out.
html::Html facts_of(const std::vector<std::pair<std::string_view, html::Html>>& facts);

html::Html heading(std::string_view text);
html::Html note(const html::Html& text);
html::Html warning(const html::Html& text);
html::Html link_to(const html::Url& where, const html::Html& text);
// A link that looks like a button: to a page that asks before it does something.
html::Html action_link(const html::Url& where, std::string_view text);

struct Field {
    std::string_view name, label, value = {}, hint = {};
    bool required = false;
};
html::Html text_field(const Field& field);
html::Html hidden_field(std::string_view name, std::string_view value);
html::Html choice(std::string_view name, std::string_view label,
                  const std::vector<std::pair<std::string_view, std::string_view>>& values);
html::Html button(std::string_view text);

// Links below a list, to its beginning and on; nothing: there is none.
struct PagerWords {
    std::string_view first = "First", next = "Next";
};
html::Html pager(const std::optional<html::Url>& first, const std::optional<html::Url>& next, PagerWords words = {});

} // namespace http::pages
