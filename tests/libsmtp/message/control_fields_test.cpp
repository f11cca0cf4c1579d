#include "libsmtp/message/control_fields.h"
#include <doctest/doctest.h>
#include <string>

using smtp::ControlFields;

namespace {

constexpr std::string_view names[] = {"X-Control", "X-Other"};

struct Outcome {
    std::string content, control, other;
    bool operator==(const Outcome&) const = default;
};

Outcome run(std::string_view content, std::size_t step) {
    ControlFields fields(names);
    Outcome out;
    for (std::size_t at = 0; at < content.size(); at += step) fields.feed(content.substr(at, step), out.content);
    fields.finish(out.content);
    out.control = fields.value(0);
    out.other = fields.value(1);
    return out;
}

void check(std::string_view content, const Outcome& expected) {
    CAPTURE(content);
    for (const std::size_t step : {content.size() + 1, std::size_t{1}, std::size_t{7}}) {
        const auto got = run(content, step);
        CHECK(got.content == expected.content);
        CHECK(got.control == expected.control);
        CHECK(got.other == expected.other);
    }
}

} // namespace

TEST_CASE("control fields are taken out and told, everything else stays") {
    check("", {"", "", ""});
    check("Subject: x\r\n\r\nX-Control: body\r\n", {"Subject: x\r\n\r\nX-Control: body\r\n", "", ""});
    check("X-Control: bulk\r\nSubject: x\r\n\r\nbody", {"Subject: x\r\n\r\nbody", "bulk", ""});
    check("A: 1\r\nx-CONTROL:bulk  \r\nB: 2\r\nX-Other: \t y z \r\n\r\n", {"A: 1\r\nB: 2\r\n\r\n", "bulk", "y z"});
    check("A: 1\r\nX-Control:\r\n  folded\r\n\tmore\r\nB: 2\r\n folded\r\n\r\n",
          {"A: 1\r\nB: 2\r\n folded\r\n\r\n", "folded\tmore", ""});
    check("X-Control : blank before\r\n\r\n", {"\r\n", "blank before", ""});
    check("X-Control: first\r\nX-Control: second\r\n and more\r\n\r\n", {"\r\n", "first", ""});
    check("X-Controls: 1\r\nX-Contro: 2\r\nAX-Control: 3\r\n\r\n",
          {"X-Controls: 1\r\nX-Contro: 2\r\nAX-Control: 3\r\n\r\n", "", ""});
    check("A: X-Control: not a field\r\n X-Control: neither\r\n\r\n",
          {"A: X-Control: not a field\r\n X-Control: neither\r\n\r\n", "", ""});
    check("no field\r\nX-Control: body by now\r\n", {"no field\r\nX-Control: body by now\r\n", "", ""});
    check("Subject: ends here", {"Subject: ends here", "", ""});
    check("Subjec", {"Subjec", "", ""});
    check("X-Control: ends here", {"", "ends here", ""});
    check("X-Control:\r\n\r\n", {"\r\n", "", ""});
}

TEST_CASE("fields of a name are counted, whatever they hold") {
    ControlFields fields(names);
    std::string rest;
    fields.feed("X-Control: a\r\nX-Other:\r\nx-control:\r\nX-Controls: no\r\n\r\nX-Control: body\r\n", rest);
    CHECK(fields.count(0) == 2);
    CHECK(fields.count(1) == 1);
}

TEST_CASE("a value is bounded, its field is taken out to its end") {
    const std::string many(5000, 'v');
    check("X-Control: " + many + "\r\n " + many + "\r\nA: 1\r\n\r\n",
          {"A: 1\r\n\r\n", many.substr(0, ControlFields::longest_value - 1), ""});
}

TEST_CASE("fields whose names continue as the submitter likes") {
    const std::string content = "x-control-tag-Campaign: spring\r\nX-Control-Tag-: 1\r\nSubject: x\r\n"
                                "X-Control-Tag-b:\r\n folded\r\nX-Control: bulk\r\n\r\nX-Control-Tag-c: body\r\n";
    for (const std::size_t step : {content.size(), std::size_t{1}, std::size_t{5}}) {
        ControlFields fields(names, "X-Control-Tag-");
        std::string rest;
        for (std::size_t at = 0; at < content.size(); at += step)
            fields.feed(std::string_view(content).substr(at, step), rest);
        fields.finish(rest);
        CHECK(rest == "X-Control-Tag-: 1\r\nSubject: x\r\n\r\nX-Control-Tag-c: body\r\n");
        const auto chosen = fields.chosen();
        REQUIRE(chosen.size() == 2);
        CHECK(chosen[0].name == "Campaign");
        CHECK(chosen[0].value == "spring");
        CHECK(chosen[1].name == "b");
        CHECK(chosen[1].value == "folded");
        CHECK(fields.value(0) == "bulk");
        CHECK(fields.chosen_count() == 2);
    }
}

TEST_CASE("too many of them are taken out and counted") {
    ControlFields fields(names, "X-Control-Tag-");
    std::string rest;
    const auto many = ControlFields::most_chosen + 3;
    for (std::size_t n = 0; n < many; ++n) fields.feed("X-Control-Tag-" + std::to_string(n) + ": v\r\n", rest);
    fields.feed("X-Other: last\r\n\r\n", rest);
    CHECK(rest == "\r\n");
    CHECK(fields.chosen().size() == ControlFields::most_chosen);
    CHECK(fields.chosen_count() == many);
    CHECK(fields.value(1) == "last");
}
