// Limits of mail submitted by programs of this system: [submit]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <cstdint>
#include <string>

namespace config {

struct Submit { // pickup: the submit socket and the drop directory
    std::uint64_t message_size = 50 * MiB;
    std::uint32_t recipients = 10'000;
    std::uint32_t connections = 200;
    std::uint32_t connections_per_user = 50;
    std::uint32_t user_messages_per_hour = 0; // 0 no limit
    std::uint64_t user_bytes_per_hour = 0;    // the same
    Duration timeout = 5min;
    Duration drop_interval = 1min;
    std::uint64_t drop_user_bytes = 100 * MiB; // left by one user while nothing runs
    std::uint32_t drop_user_messages = 1000;
    std::string pickup_directory; // of .eml files; "" none
    std::string content_filter;   // next hop of all mail submitted here, which comes back; "" none
};

} // namespace config
