// Which server of a table is tried, and when: UNIX sockets before hosts, hosts in their turn; one that failed is left
// alone for a while that grows with each failure. Pure.
#pragma once
#include "daemons/common/lookup/database/table_file.h"
#include <cstddef>
#include <string>
#include <vector>

namespace maps {

class ServerChoice {
public:
    using Time = std::chrono::steady_clock::time_point;
    // `turn`: which host is the first to be tried.
    ServerChoice(const std::vector<tables::DatabaseServer>& servers, std::chrono::microseconds longest_pause,
                 std::size_t turn);

    // Those to try now, in this order. Empty: all have failed recently.
    std::vector<std::size_t> order(Time now);
    // True: it had not failed before.
    bool failed(std::size_t server, std::string why, Time now);
    // True: it had failed.
    bool works(std::size_t server);
    // Why there is none to try: "db1: …; db2: …".
    std::string problem() const;

    static constexpr std::chrono::seconds first_pause{1};

private:
    struct State {
        std::string name, why; // why it failed last; "": it works, or has not been tried
        bool local = false;
        Time until{};
        std::chrono::microseconds pause{};
    };
    std::vector<State> servers_;
    std::chrono::microseconds longest_pause_;
    std::size_t turn_;
};

} // namespace maps
