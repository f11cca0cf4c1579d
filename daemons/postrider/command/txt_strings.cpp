#include "daemons/postrider/command/txt_strings.h"
#include <algorithm>

namespace postrider {

namespace {

constexpr std::size_t longest_string = 250;

} // namespace

std::string txt_strings(std::string_view text) {
    std::string out;
    do {
        const auto part = text.substr(0, longest_string);
        text.remove_prefix(part.size());
        out += out.empty() ? "\"" : " \"";
        for (const char c : part) {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
        out += '"';
    } while (!text.empty());
    return out;
}

} // namespace postrider
