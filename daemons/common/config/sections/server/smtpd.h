// Limits and checks of the SMTP server: [smtpd]. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/net/network.h"
#include <cstdint>
#include <vector>

namespace config {

enum class BareNewlines { normalise, reject };

struct Smtpd {
    std::uint32_t workers = 0; // never 0 after parse(): half the processors, 1 to 8
    std::uint64_t message_size = 50 * MiB;
    std::uint32_t recipients = 1000;
    std::uint32_t command_line = 2048;
    std::uint64_t header_size = 2 * MiB;  // more: 552 5.3.4
    std::uint32_t header_fields = 10'000; // more: 5.6.0
    std::uint32_t received_fields = 50;   // more: 554 5.4.6
    std::uint32_t commands = 10'000;      // without a message in between
    std::uint32_t soft_errors = 10;       // from here on every error costs error_delay
    std::uint32_t hard_errors = 20;       // 421
    Duration error_delay = 1s;
    Duration command_timeout = 5min;
    Duration data_timeout = 3min;
    std::uint64_t minimum_rate = 64; // bytes a second while content is sent, measured over a minute; 0 none
    std::uint32_t sessions = 5000;   // per worker
    BareNewlines bare_newlines = BareNewlines::normalise;
    std::vector<common::Network> bare_newline_networks; // a bare LF ends a line of these, commands too
    // Whose, on relay listeners, too.
    std::vector<common::Network> complete_headers = {*common::Network::parse("127.0.0.0/8"),
                                                     *common::Network::parse("::1")};
    bool check_recipients = true; // unknown recipients are refused at RCPT
    bool reverse_names = true;    // look up the client's name (PTR, confirmed by A/AAAA)
    Duration reverse_name_timeout = 5s;
    Duration proxy_timeout = 5s;          // for the header of the PROXY protocol
    Duration greeting_delay = 0s;         // before the banner, for strangers; who speaks first is refused
    std::uint32_t dns_list_threshold = 1; // weights that add up to this: 554 5.7.1
    ClientLimits limits;
    std::uint32_t etrn_per_hour = 60; // of one client network, per process; 0 no limit
};

} // namespace config
