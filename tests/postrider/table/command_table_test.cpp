#include "daemons/common/terminal/exit_status.h"
#include "daemons/postrider/table/command_table.h"
#include <doctest/doctest.h>
#include <set>

using namespace postrider;

TEST_CASE("every command has a name of its own, a summary, and options that need no other meaning elsewhere") {
    std::set<std::string_view> names;
    std::map<std::string_view, std::string_view> values;
    for (const auto& command : commands()) {
        CAPTURE(command.name);
        CHECK(names.insert(command.name).second);
        CHECK(!command.summary.empty());
        CHECK((command.run != nullptr));
        CHECK(command.min_parameters <= command.max_parameters);
        CHECK((command.max_parameters > 0) == !command.parameters.empty());
        for (const auto& option : command.options)
            if (option.name != "--to") // who or where: an address, a node, as the command says
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
             {"status", "--reason", "x"},
             {"queue", "show"},
             {"queue", "show", "a", "b"},
             {"message", "hold", "--limit", "5", "all"},
             {"message", "list", "--behind", "05A1B2C3D4E5F6"}, // former names
             {"message", "hold", "--why", "x", "all"},
             {"message", "remove", "--for-good", "all"},
             {"explain"},
             {"explain", "neither-id-nor-address"},
             {"help", "dance"},
             {"pause"},
             {"simulate", "now"},
             {"import-postfix"},
             {"import-postfix", "a", "b"},
             {"import-postfix", "--seed", "1", "a"},
         })
        CHECK(run_command_line(given) == usage);
    CHECK(run_command_line({"--help"}) == ok);
    CHECK(run_command_line({"message", "--help"}) == ok);
    CHECK(run_command_line({"message", "hold", "--help"}) == ok);
    CHECK(run_command_line({"help"}) == ok);
    CHECK(run_command_line({"help", "words"}) == ok);
    CHECK(run_command_line({"help", "message"}) == ok);
    CHECK(run_command_line({"help", "message", "hold"}) == ok);
}
