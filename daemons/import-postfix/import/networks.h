// Lists of networks: those that are "own" without main.cf, those of a table of rules, and lists without repetitions.
#pragma once
#include "daemons/import-postfix/postfix/files.h"
#include <expected>
#include <string>
#include <vector>

namespace postrider {

class Import;

// The default of mynetworks: the addresses of this host, or the networks they are in, as mynetworks_style has it.
std::vector<std::string> own_networks(Import& import);
// Each network once, however it is written; check would reject it twice.
std::vector<std::string> without_duplicates(const std::vector<std::string>& networks);
// The networks for which a cidr_table(5) has a value, whatever that is: "!", "if" and "endif" are worked out. The error
// says why that is not possible.
std::expected<std::vector<std::string>, std::string> networks_of_rules(const std::vector<postfix::LogicalLine>& rules);

} // namespace postrider
