// The script by which bash completes `postrider`, made from the command's own table: a verb or an option that is added
// there is known to it. Pure.
#pragma once
#include "daemons/postrider/command/command.h"
#include <span>
#include <string>

namespace postrider {

std::string completion_script(std::span<const Verb> verbs);

// What may stand at each place behind a verb, from its synopsis: "queue|link|pool NAME, or all" becomes
// {"queue,link,pool,all", "@name"}; words in capitals are kinds of things, "..." at the end of the last place means that
// more of the same may follow.
std::vector<std::string> places_of(std::string_view synopsis);

} // namespace postrider
