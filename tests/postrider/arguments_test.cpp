#include "daemons/postrider/arguments.h"
#include <doctest/doctest.h>

using postrider::parse_arguments;

TEST_CASE("options stand before or behind the verb, glued or apart") {
    for (const std::vector<std::string_view>& given : std::vector<std::vector<std::string_view>>{
             {"status", "-c", "file", "--json"},
             {"-cfile", "--json", "status"},
             {"--config=file", "status", "--json"},
             {"--json", "--config", "file", "--", "status"},
         }) {
        const auto parsed = parse_arguments(given);
        REQUIRE(parsed);
        CHECK(parsed->config == "file");
        CHECK(parsed->json);
        CHECK(parsed->words == std::vector<std::string>{"status"});
    }
}

TEST_CASE("what is not understood is named") {
    CHECK(parse_arguments({"status", "-c"}).error() == "-c needs the name of a file");
    CHECK(parse_arguments({"status", "--jsn"}).error() == "unknown option --jsn");
    CHECK(parse_arguments({"-x"}).error() == "unknown option -x");
    CHECK(parse_arguments({"--", "-x"})->words == std::vector<std::string>{"-x"});
    CHECK(parse_arguments({})->words.empty());
    CHECK(parse_arguments({"-h"})->help);
}
