#include "daemons/http/pages/parts/parts.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <fmt/format.h>

namespace http::pages {

using html::element;
using html::empty_element;
using html::Html;
using html::Url;

namespace {

constexpr std::string_view nothing = "–";

struct TimeUnit {
    std::int64_t seconds;
    std::string_view name;
};
constexpr TimeUnit time_units[] = {{86'400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};

// The journal's times have fractions of a second.
std::string whole_seconds(std::string_view rfc3339) {
    const auto point = std::min(rfc3339.find('.'), rfc3339.size());
    const auto zone = std::min(rfc3339.find_first_not_of("0123456789", point + 1), rfc3339.size());
    return std::string(rfc3339.substr(0, point)) + std::string(point < zone ? rfc3339.substr(zone) : "");
}

} // namespace

Html foreign(std::string_view text) { return element("bdi", {}, text); }

Html verbatim(std::string_view text) { return element("bdi", {{"class", "verbatim"}}, text); }

Html time_of(std::string_view rfc3339) {
    if (rfc3339.size() < 19) return nothing;
    return element("time", {{"datetime", rfc3339}},
                   fmt::format("{} {} UTC", rfc3339.substr(0, 10), rfc3339.substr(11, 8)));
}

std::string span_text(std::chrono::seconds span) {
    auto rest = std::max<std::int64_t>(span.count(), 0);
    std::string out;
    for (std::size_t i = 0; i < std::size(time_units); ++i) {
        const auto& unit = time_units[i];
        if (rest < unit.seconds && unit.seconds > 1) continue;
        out = fmt::format("{} {}", rest / unit.seconds, unit.name);
        rest %= unit.seconds;
        if (i + 1 == std::size(time_units)) break;
        const auto& smaller = time_units[i + 1];
        if (rest >= smaller.seconds) out += fmt::format(" {} {}", rest / smaller.seconds, smaller.name);
        break;
    }
    return out;
}

Html distance_to(std::string_view rfc3339, smtp::WallTime now) {
    const auto time = smtp::parse_rfc3339(whole_seconds(rfc3339));
    if (!time) return nothing;
    const auto seconds = std::chrono::round<std::chrono::seconds>(*time - now);
    const auto text = seconds.count() > 0 ? "in " + span_text(seconds) : span_text(-seconds) + " ago";
    return element("time", {{"datetime", rfc3339}, {"title", rfc3339}}, text);
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::string_view units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
    return unit == 0 ? fmt::format("{} {}", bytes, units[0]) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string count_text(std::int64_t count) {
    auto text = std::to_string(count);
    for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
        text.insert(static_cast<std::size_t>(at), ",");
    return text;
}

std::string count_text(std::int64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count_text(count), count == 1 ? one : many);
}

Html table_of(const Table& table) {
    std::vector<bool> numeric;
    Html head;
    for (auto column : table.columns) {
        numeric.push_back(column.ends_with('#'));
        if (numeric.back()) column.remove_suffix(1);
        head += numeric.back() ? element("th", {{"scope", "col"}, {"class", "number"}}, column)
                               : element("th", {{"scope", "col"}}, column);
    }
    Html body;
    for (const auto& row : table.rows) {
        Html cells;
        for (std::size_t i = 0; i < row.size(); ++i)
            if (i == 0)
                cells += element("th", {{"scope", "row"}}, row[i]);
            else if (numeric[i])
                cells += element("td", {{"class", "number"}}, row[i]);
            else
                cells += element("td", {}, row[i]);
        body += element("tr", {}, cells);
    }
    return element("div", {{"class", "scroll"}, {"role", "region"}, {"tabindex", "0"}, {"aria-label", table.caption}},
                   element("table", {}, element("caption", {}, table.caption),
                           element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)));
}

Html facts_of(const std::vector<std::pair<std::string_view, Html>>& facts) {
    Html out;
    for (const auto& [name, value] : facts)
        if (!value.empty()) out += element("div", {}, element("dt", {}, name), element("dd", {}, value));
    return element("dl", {}, out);
}

Html heading(std::string_view text) { return element("h2", {}, text); }

Html note(const Html& text) { return element("p", {{"class", "note"}}, text); }

Html warning(const Html& text) { return element("p", {{"class", "problem"}}, text); }

Html link_to(const Url& where, const Html& text) { return element("a", {{"href", where}}, text); }

Html action_link(const Url& where, std::string_view text) {
    return element("a", {{"href", where}, {"class", "button"}}, text);
}

Html text_field(const Field& field) {
    const std::string id = fmt::format("field-{}", field.name);
    Html out = element("label", {{"for", id}}, field.label);
    out +=
        field.required
            ? empty_element("input", {{"type", "text"},
                                      {"id", id},
                                      {"name", field.name},
                                      {"value", field.value},
                                      {"required"},
                                      {"maxlength", "1000"}})
            : empty_element(
                  "input",
                  {{"type", "text"}, {"id", id}, {"name", field.name}, {"value", field.value}, {"maxlength", "1000"}});
    if (!field.hint.empty()) out += element("small", {}, field.hint);
    return element("div", {{"class", "field"}}, out);
}

Html hidden_field(std::string_view name, std::string_view value) {
    return empty_element("input", {{"type", "hidden"}, {"name", name}, {"value", value}});
}

Html choice(std::string_view name, std::string_view label,
            const std::vector<std::pair<std::string_view, std::string_view>>& values) {
    const std::string id = fmt::format("field-{}", name);
    Html options;
    for (const auto& [value, text] : values) options += element("option", {{"value", value}}, text);
    return element("div", {{"class", "field"}}, element("label", {{"for", id}}, label),
                   element("select", {{"id", id}, {"name", name}}, options));
}

Html button(std::string_view text) { return element("button", {{"type", "submit"}}, text); }

Html pager(const std::optional<Url>& first, const std::optional<Url>& next, PagerWords words) {
    if (!first && !next) return {};
    Html out;
    if (first) out += link_to(*first, words.first);
    if (next) out += element("a", {{"href", *next}, {"rel", "next"}}, words.next);
    return element("nav", {{"class", "pager"}, {"aria-label", "Parts of the list"}}, out);
}

} // namespace http::pages
