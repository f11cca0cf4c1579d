// What has changed in the last hour, for an operator: links, pauses, the configuration, problems, the suppression list.
// Bounded, and forgotten at a restart, which is the first change of the next list: the journal has all of it but the
// problems. Told the time. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

class RecentChanges {
public:
    static constexpr std::size_t most = 100;
    static constexpr auto age = std::chrono::hours(1);

    struct Change {
        smtp::WallTime time{};     // of the last one, if there were several
        std::string type;          // as the journal's events: "link.down"; also started, problem.appeared, problem.gone
        std::string name;          // of the link, of what is paused; or the problem's text
        std::string who, why = {}; // "" not known
        std::uint64_t count = 1;   // how often: changes of one type and name are one, and so are all of suppressions
    };

    // The first change is that it starts.
    explicit RecentChanges(smtp::WallTime now) { add({.time = now, .type = "started", .name = {}, .who = {}}); }

    void add(Change change);
    // The problems that there are from now on: what has come and gone since the last call is a change.
    void set_problems(const std::vector<std::string>& texts, smtp::WallTime now);
    // The latest first.
    std::vector<Change> list(smtp::WallTime now);
    std::uint64_t left_out() const { return left_out_; } // older ones of the last hour, since the list was last full

private:
    void forget(smtp::WallTime now);

    std::deque<Change> changes_; // in the order of their times
    std::set<std::string> problems_;
    std::uint64_t left_out_ = 0;
    smtp::WallTime left_out_last_{};
};

} // namespace queue_manager
