#include "daemons/postrider/command/command.h"
#include <doctest/doctest.h>
#include <set>

using namespace postrider;

TEST_CASE("every verb has a name of its own, a summary, and options that need no other meaning elsewhere") {
    std::set<std::string_view> names;
    std::map<std::string_view, std::string_view> values;
    for (const auto& verb : verbs()) {
        CAPTURE(verb.name);
        CHECK(names.insert(verb.name).second);
        CHECK(!verb.summary.empty());
        CHECK((verb.run != nullptr));
        CHECK(verb.least <= verb.most);
        CHECK((verb.most > 0) == !verb.words.empty());
        for (const auto& option : verb.options)
            CHECK(values.try_emplace(option.name, option.value).first->second == option.value);
    }
}

TEST_CASE("what makes no sense is a usage error") {
    for (const std::vector<std::string_view>& given : std::vector<std::vector<std::string_view>>{
             {},
             {"--bogus"},
             {"dance"},
             {"queue"},
             {"queue", "dance"},
             {"status", "now"},
             {"status", "--why", "x"},
             {"queue", "show"},
             {"queue", "show", "a", "b"},
             {"message", "hold", "--limit", "5", "all"},
             {"explain"},
             {"explain", "neither-id-nor-address"},
             {"help", "dance"},
             {"pause"},
             {"simulate"},
         })
        CHECK(run_command(given) == usage);
    CHECK(run_command({"--help"}) == ok);
    CHECK(run_command({"message", "--help"}) == ok);
    CHECK(run_command({"message", "hold", "--help"}) == ok);
    CHECK(run_command({"help"}) == ok);
    CHECK(run_command({"help", "words"}) == ok);
    CHECK(run_command({"help", "message"}) == ok);
    CHECK(run_command({"help", "message", "hold"}) == ok);
}
