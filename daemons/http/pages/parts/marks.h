// Words that stand out, as good or bad as what they name: they say it, their colour only repeats it. Pure.
#pragma once
#include "daemons/http/html/html.h"
#include <cstdint>
#include <string_view>

namespace http::pages {

enum class Mark : std::uint8_t { none, good, near, bad }; // near: it will soon be bad

inline html::Html marked(Mark mark, std::string_view text) {
    switch (mark) {
    case Mark::none: break;
    case Mark::good: return html::element("strong", {{"class", "mark-good"}}, text);
    case Mark::near: return html::element("strong", {{"class", "mark-near"}}, text);
    case Mark::bad: return html::element("strong", {{"class", "mark-bad"}}, text);
    }
    return text;
}

} // namespace http::pages
