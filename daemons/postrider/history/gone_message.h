// A message that is no longer queued, from the journal: for message show and explain.
#pragma once
#include "daemons/common/terminal/arguments.h"
#include <cstdint>
#include <string>

namespace postrider {

enum class GoneView : std::uint8_t {
    message,     // what became of each recipient
    explanation, // everything that happened to it
};

// Prints what the journal has of the message. `refusal`: the answer of the queue, printed if the journal has nothing
// either. Returns the exit status.
int show_gone_message(const Arguments& arguments, const std::string& id, const std::string& refusal, GoneView view);

} // namespace postrider
