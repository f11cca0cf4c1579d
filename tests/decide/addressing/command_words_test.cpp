// A program's words with what is known of the message: any character, no options by surprise.
#include "daemons/decide/addressing/command_words.h"
#include <doctest/doctest.h>

using decide::command_words;
using Words = std::vector<std::string>;

namespace {
const decide::CommandFacts facts{.recipient = "List+Join@Lists.Example",
                                 .original_recipient = "join@old.example",
                                 .sender = "ann@far.example",
                                 .delimiter = '+',
                                 .queue_id = "0C5A1",
                                 .size = 1234};
}

TEST_CASE("places are replaced, everything else stays as it is") {
    CHECK(command_words({"/bin/x", "{recipient}", "{local}|{user}|{extension}|{domain}", "-f{sender}", "a b;$(rm)",
                         "{original_recipient}", "{queue_id}/{size}"},
                        facts) == Words{"/bin/x", "List+Join@Lists.Example", "List+Join|List|Join|lists.example",
                                        "-fann@far.example", "a b;$(rm)", "join@old.example", "0C5A1/1234"});
    auto plain = facts;
    plain.delimiter = 0;
    CHECK(command_words({"{user}", "{extension}"}, plain) == Words{"List+Join", ""});
    plain.recipient = "root";
    CHECK(command_words({"{user}@{domain}"}, plain) == Words{"root@"});
}

TEST_CASE("what came from outside cannot become an option, and is not replaced a second time") {
    auto hostile = facts;
    hostile.recipient = "-oQ/tmp@lists.example";
    CHECK(command_words({"{recipient}"}, hostile).error() ==
          "recipient \"-oQ/tmp@lists.example\" begins with \"-\": the program would take it for an option");
    CHECK(!command_words({"{extension}{user}"}, hostile)); // the empty one before it does not help
    CHECK(command_words({"--to={recipient}"}, hostile) == Words{"--to=-oQ/tmp@lists.example"});
    hostile.recipient = "{sender}`x`$HOME'\"\\@lists.example";
    CHECK(command_words({"{local}"}, hostile) == Words{"{sender}`x`$HOME'\"\\"});
    hostile.sender = std::string_view("a\0b", 3);
    CHECK(command_words({"{sender}"}, hostile).error() == "sender has a NUL character");
}

TEST_CASE("a word with a place that has no meaning") {
    CHECK(!decide::unknown_place("{user}@{domain} {size}"));
    CHECK(decide::unknown_place("x{mailbox}") == "{mailbox}");
    CHECK(decide::unknown_place("x{user") == "{user");
    CHECK(decide::unknown_place("{}") == "{}");
}

TEST_CASE("a target that is a program") {
    CHECK(decide::name_of_command(decide::command_target("sympa")) == "sympa");
    CHECK(decide::name_of_command("|command:x") == "");
    CHECK(decide::name_of_command("command:") == "");
}
