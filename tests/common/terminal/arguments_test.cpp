#include "daemons/common/terminal/arguments.h"
#include <doctest/doctest.h>

using postrider::parse_arguments;

namespace {
constexpr postrider::Option some[] = {{"--reason", "TEXT", ""}, {"--dry-run", "", ""}, {"--limit", "N", ""}};
}

TEST_CASE("options before or after the command, joined with their values or apart") {
    for (const std::vector<std::string_view>& given : std::vector<std::vector<std::string_view>>{
             {"status", "-c", "file", "--json"},
             {"-cfile", "--json", "status"},
             {"--config=file", "status", "--json"},
             {"--json", "--config", "file", "--", "status"},
         }) {
        const auto parsed = parse_arguments(given, some);
        REQUIRE(parsed);
        CHECK(parsed->config == "file");
        CHECK(parsed->json);
        CHECK(parsed->words == std::vector<std::string>{"status"});
    }
}

TEST_CASE("what is not understood is named") {
    CHECK(parse_arguments({"status", "-c"}, some).error() == "-c needs FILE");
    CHECK(parse_arguments({"status", "--jsn"}, some).error() == "unknown option --jsn");
    CHECK(parse_arguments({"-x"}, some).error() == "unknown option -x");
    CHECK(parse_arguments({"--", "-x"}, some)->words == std::vector<std::string>{"-x"});
    CHECK(parse_arguments({}, some)->words.empty());
    CHECK(parse_arguments({"-h"}, some)->help);
}

TEST_CASE("options of commands, with and without a value") {
    const auto parsed =
        parse_arguments({"message", "--reason", "too big", "hold", "--dry-run", "--limit=5", "-"}, some);
    REQUIRE(parsed);
    CHECK(parsed->option("--reason") == "too big");
    CHECK(parsed->has("--dry-run"));
    CHECK(parsed->number("--limit") == 5);
    CHECK(!parsed->number("--reason"));
    CHECK(parsed->words == std::vector<std::string>{"message", "hold", "-"});
    CHECK(parse_arguments({"--dry-run=yes"}, some).error() == "--dry-run takes no value");
    CHECK(parse_arguments({"--reason"}, some).error() == "--reason needs TEXT");
    constexpr postrider::RenamedOption renamed[] = {{"--why", "--reason"}};
    CHECK(parse_arguments({"--why=x"}, some, renamed).error() == "--why is now called --reason");
    CHECK(parse_arguments({"--why", "x"}, some).error() == "unknown option --why");
    CHECK(parse_arguments({"-hx"}, some).error() == "unknown option -hx");
}
