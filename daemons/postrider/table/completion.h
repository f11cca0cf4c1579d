// The script by which bash completes `postrider`, made from the command's own table: a command or an option that is
// added there is known to it. Pure.
#pragma once
#include "daemons/postrider/table/command_table.h"
#include <span>
#include <string>

namespace postrider {

std::string completion_script(std::span<const Command> commands);

// The kinds of words that each parameter of a command accepts, from its synopsis: "queue|link|pool NAME, or all"
// becomes
// {"queue,link,pool,all", "@name"}; words in capitals are kinds of things, "..." at the end of the last place means
// that more of the same may follow.
std::vector<std::string> parameter_kinds(std::string_view synopsis);

} // namespace postrider
