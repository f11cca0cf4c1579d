// Lists of networks: those that are "own" without main.cf, and lists without repetitions.
#pragma once
#include <string>
#include <vector>

namespace postrider {

class Import;

// The default of mynetworks: the addresses of this host, or the networks they are in, as mynetworks_style has it.
std::vector<std::string> own_networks(Import& import);
// Each network once, however it is written; check would reject it twice.
std::vector<std::string> without_duplicates(const std::vector<std::string>& networks);

} // namespace postrider
