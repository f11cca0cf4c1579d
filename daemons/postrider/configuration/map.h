// map: compiles, queries and checks lookup tables; and what tables make of an address, for other commands.
#pragma once
#include "daemons/common/terminal/arguments.h"
#include <string>

namespace postrider {

int map(const Arguments&);

// What other systems see in place of an address, by masquerading and the generic tables.
struct OutwardAddress {
    std::string as_sender, as_recipient; // "" as it is
    std::string in_from, in_to; // in the header of our own mail, as it is stored: among senders, among recipients
    std::string error;          // a table that could not be asked; "" none
};
OutwardAddress outward_address(const Arguments& arguments, const std::string& address);

} // namespace postrider
