// Processes that the kernel killed because memory ran out: how many there were is all it says, for our cgroup
// (memory.events) or, where there is none of our own, for the machine (/proc/vmstat). A count that grew while one of
// our processes died by SIGKILL tells that death from an administrator's kill.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace master {

class OomKills {
public:
    // `root`: goes before /proc and /sys, for tests.
    explicit OomKills(std::string root = "");

    // One kill that no earlier answer was about.
    bool one_more();
    // Those before the last call of this were not of our processes (but of a user's command, another program).
    void forget_earlier();

private:
    std::optional<std::uint64_t> count() const;

    std::string root_;
    std::string events_;         // of our cgroup; "" none
    std::uint64_t answered_ = 0; // kills that were asked about, or are forgotten
    std::uint64_t seen_ = 0;     // by the last forget_earlier()
};

} // namespace master
