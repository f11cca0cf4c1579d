// How mail for users of this system is delivered: .forward
// files, mailboxes, commands. Part of Config's section [local].
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <string>
#include <vector>

namespace config {

struct LocalDelivery {
    // Where a user's .forward lies, asked in this order: with {home}, {user}; those with {extension} hold for
    // addresses that have one. Empty: there are none.
    std::vector<std::string> forward = {"{home}/.forward+{extension}", "{home}/.forward"};
    std::string mailbox_command; // runs instead of writing users' mailboxes; "" none
    smtp::Duration command_timeout = std::chrono::seconds(1000);
    std::uint64_t mailbox_size = 0; // bytes of an mbox: what would make it larger is refused; 0 no limit
};

} // namespace config
