#include "daemons/http/pages/parts/sparkline.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

namespace http::pages {

namespace {

constexpr std::int64_t step = 4, height = 32; // of the drawing's own units

} // namespace

html::Html sparkline(std::span<const std::int64_t> numbers, std::string_view label) {
    if (numbers.size() < 2) return {};
    const auto most = std::max<std::int64_t>(*std::ranges::max_element(numbers), 1);
    std::string points;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto share = static_cast<double>(std::max<std::int64_t>(numbers[i], 0)) / static_cast<double>(most);
        fmt::format_to(std::back_inserter(points), "{}{},{:.1f}", i == 0 ? "" : " ",
                       static_cast<std::int64_t>(i) * step, static_cast<double>(height) * (1 - share));
    }
    const auto width = static_cast<std::int64_t>(numbers.size() - 1) * step;
    return html::element("svg",
                         {{"class", "sparkline"},
                          {"viewbox", fmt::format("-1 -1 {} {}", width + 2, height + 2)},
                          {"preserveaspectratio", "none"},
                          {"role", "img"},
                          {"aria-label", label}},
                         html::element("polyline", {{"points", points}}));
}

} // namespace http::pages
