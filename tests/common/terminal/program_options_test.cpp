#include "daemons/common/terminal/program_options.h"
#include <doctest/doctest.h>

using namespace postrider;

namespace {

constexpr Option some[] = {{"--reason", "TEXT", ""}, {"--dry-run", "", ""}, {"-o", "FILE", ""}};

// What the program reads of what the command passes on.
Arguments passed_on(const Arguments& arguments) {
    const auto line = command_line(arguments, some);
    const auto read = parse_arguments({line.begin(), line.end()}, some);
    REQUIRE(read);
    return *read;
}

} // namespace

TEST_CASE("a program reads what its command was given") {
    for (const std::vector<std::string_view>& given : std::vector<std::vector<std::string_view>>{
             {},
             {"--json", "-c", "file", "one", "two"},
             {"--reason", "--json", "--dry-run"},
             {"--reason=", "-o", "-"},
             {"-ofile", "--", "--reason", "-o"},
         }) {
        const auto arguments = parse_arguments(given, some);
        REQUIRE(arguments);
        const auto read = passed_on(*arguments);
        CHECK(read.config == arguments->config);
        CHECK(read.json == arguments->json);
        CHECK(read.options == arguments->options);
        CHECK(read.words == arguments->words);
        CHECK(!read.help);
        CHECK(!read.version);
    }
}

TEST_CASE("a program that is run directly wants what its command passes on") {
    CHECK(program_arguments("dance", {"--reason", "fun", "--", "polka"}, some, 1));
    CHECK(!program_arguments("dance", {}, some, 1));
    CHECK(!program_arguments("dance", {"polka"}, some, 0));
    CHECK(!program_arguments("dance", {"--bogus", "polka"}, some, 1));
    CHECK(!program_arguments("dance", {"--help", "polka"}, some, 1));
    CHECK(!program_arguments("dance", {"--version", "polka"}, some, 1));
}
