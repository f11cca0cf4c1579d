// Fields of forms that show what was chosen before. Pure.
#pragma once
#include "daemons/http/html/html.h"
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace http::pages {

// As choice() of parts.h; `chosen`: one of the values.
inline html::Html choice_of(std::string_view name, std::string_view label,
                            const std::vector<std::pair<std::string_view, std::string_view>>& values,
                            std::string_view chosen) {
    using html::element;
    const auto id = "field-" + std::string(name);
    html::Html options;
    for (const auto& [value, text] : values)
        options += value == chosen ? element("option", {{"value", value}, {"selected"}}, text)
                                   : element("option", {{"value", value}}, text);
    return element("div", {{"class", "field"}}, element("label", {{"for", id}}, label),
                   element("select", {{"id", id}, {"name", name}}, options));
}

} // namespace http::pages
