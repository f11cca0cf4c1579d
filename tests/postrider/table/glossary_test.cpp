// The words of Postrider: in order, wrapped for the terminal, and the same in the manual.
#include "daemons/postrider/table/glossary.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>

using namespace postrider;

namespace {

// The terms of the manual's list, as one text: "name: meaning" lines without formatting.
std::string terms_of_the_manual() {
    std::ifstream in(SOURCE_ROOT "/man/postrider-glossary.7");
    std::string line, out;
    bool list = false;
    while (std::getline(in, line)) {
        if (line.starts_with(".Bl ")) {
            list = true;
        } else if (line == ".El") {
            list = false;
        } else if (list && line.starts_with(".It ")) {
            out += "\n" + line.substr(4) + ":";
        } else if (list && line.starts_with(".Xr ")) { // ".Xr postrider 1 ."
            const auto section = line.find(' ', 4);
            out += " " + line.substr(4, section - 4) + "(" + line.substr(section + 1, 1) + ")" +
                   (line.ends_with(" .") ? "." : "");
        } else if (list) {
            out += " " + line;
        }
    }
    return out;
}

} // namespace

TEST_CASE("the manual and the program define the same words") {
    std::string expected;
    for (const auto& term : glossary()) expected += "\n" + std::string(term.name) + ": " + std::string(term.meaning);
    CHECK(terms_of_the_manual() == expected);
}

TEST_CASE("each word once, in alphabetical order") {
    const auto lower = [](std::string_view text) {
        std::string out(text);
        std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
        return out;
    };
    for (std::size_t i = 1; i < glossary().size(); ++i)
        CHECK(lower(glossary()[i - 1].name) < lower(glossary()[i].name));
}

TEST_CASE("wrapped for the terminal") {
    const auto text = glossary_text(40);
    CHECK(text.starts_with("agent\n    A process that delivers mail:\n    smtp-client or local.\nattempt\n"));
    std::size_t widest = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find('\n', at);
        widest = std::max(widest, end - at);
        at = end + 1;
    }
    CHECK(widest <= 40);
}
