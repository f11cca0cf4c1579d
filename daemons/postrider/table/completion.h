// The scripts by which shells complete `postrider`, made from the command's own table: a command or an option that is
// added there is known to them. Pure.
#pragma once
#include "daemons/postrider/table/command_table.h"
#include <map>
#include <span>
#include <string>
#include <vector>

namespace postrider {

std::string bash_completion(std::span<const Command> commands);
std::string zsh_completion(std::span<const Command> commands);
std::string fish_completion(std::span<const Command> commands);

// The kinds of words that each parameter of a command accepts, from its synopsis: "queue|link|pool NAME, or all"
// becomes
// {"queue,link,pool,all", "@name"}; words in capitals are kinds of things, "..." at the end of the last place means
// that more of the same may follow.
std::vector<std::string> parameter_kinds(std::string_view synopsis);
// The same of one of the commands; where it begins other commands' names, as "history" does, with their second words.
std::vector<std::string> parameter_kinds(const Command& command, std::span<const Command> commands);
bool repeats_last_parameter(const Command& command);

// Every option that has a value, with the name of its value: {"--config", "FILE"}.
std::map<std::string_view, std::string_view> option_values(std::span<const Command> commands);

// The words that may follow "postrider", with what a shell shows beside them: the summary of a command, or the second
// words of a group such as "queue".
struct FirstWord {
    std::string_view word;
    std::string description;
};
std::vector<FirstWord> first_words(std::span<const Command> commands);

} // namespace postrider
