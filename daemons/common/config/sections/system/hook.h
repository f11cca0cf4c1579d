// Where the events of the journal are pushed to: a web server or a command. Values.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include <cstdint>
#include <string>
#include <vector>

namespace config {

struct Hook { // [hook.<name>]
    static constexpr std::size_t most = 16, longest_name = 64;
    static constexpr std::size_t most_retries = 20, most_headers = 20;

    std::string name;
    std::string url; // "": a command
    bool allow_http = false;
    std::string secret_file;
    std::vector<std::string> command; // program and arguments
    std::vector<std::string> events = {"*"};
    std::vector<std::string> filter;
    std::uint32_t batch = 0; // 0: one event in a request, and not in a list
    std::vector<std::string> headers;
    Duration timeout = 20s;
    std::vector<Duration> retry = {5s, 5min, 30min, 2h, 5h, 10h, 14h, 20h, 24h};
    Duration hold = 24h * 7;
    bool operator==(const Hook&) const = default;
};

} // namespace config
