#include "daemons/local/mailbox/local_text.h"
#include <doctest/doctest.h>

using namespace local;

static std::string run(std::string_view text, FromLines from, std::size_t step) {
    LocalText local(from);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += step) local.append(text.substr(at, step), out);
    local.finish(out);
    return out;
}

TEST_CASE("CRLF becomes LF, and From lines are quoted for mbox only") {
    struct Case {
        std::string_view text, plain, mbox;
    };
    const Case cases[] = {
        {"", "", ""},
        {"a\r\nb\r\n", "a\nb\n", "a\nb\n"},
        {"a\r\n\r\n.\r\n", "a\n\n.\n", "a\n\n.\n"},
        {"no end", "no end\n", "no end\n"},
        {"From x\r\n", "From x\n", ">From x\n"},
        {"a\r\nFrom \r\n", "a\nFrom \n", "a\n>From \n"},
        {"From", "From\n", "From\n"},
        {"From\r\nFro\r\n", "From\nFro\n", "From\nFro\n"},
        {"Fromage\r\nFrom:\r\n from x\r\n", "Fromage\nFrom:\n from x\n", "Fromage\nFrom:\n from x\n"},
        {">From x\r\n", ">From x\n", ">From x\n"},
        {"aFrom x\r\nFrom a From b\r\n", "aFrom x\nFrom a From b\n", "aFrom x\n>From a From b\n"},
        {"odd\rone\r\r\nend\r", "odd\rone\r\nend\n", "odd\rone\r\nend\n"},
        {"From\rx\r\n", "From\rx\n", "From\rx\n"},
        {"lf\nonly\n", "lf\nonly\n", "lf\nonly\n"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.text);
        for (std::size_t step : {c.text.size() + 1, std::size_t{1}, std::size_t{7}}) {
            CHECK(run(c.text, FromLines::as_they_are, step) == c.plain);
            CHECK(run(c.text, FromLines::quoted, step) == c.mbox);
        }
    }
}
