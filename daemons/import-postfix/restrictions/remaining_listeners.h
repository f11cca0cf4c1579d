// Listeners that are left in the draft: those where no client could send are removed from it again.
#pragma once
#include <string>
#include <vector>

namespace postrider {

class Import;

bool listens(const Import& import, const std::string& name);
std::vector<std::string> relay_listeners(const Import& import);
// Removes the others from the names.
bool some_are_left(const Import& import, std::vector<std::string>& names);

} // namespace postrider
