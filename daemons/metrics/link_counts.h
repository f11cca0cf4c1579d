// Attempts by link, for as many links as may have a name among the metrics; all others are counted together. Counts
// never go down: a link that gets a name begins at 0, and what it had before stays with the others; one that loses
// its name to a busier one is gone. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace metrics {

using Attempts = std::array<std::uint64_t, 3>; // delivered, deferred, bounced

class LinkCounts {
public:
    struct NewAttempts {
        std::string link; // "": of links not reported individually
        Attempts attempts{};
    };

    // Links beyond the limit lose their names, the least active first.
    void limit(std::size_t most, smtp::Monotonic now);
    // Of one interval; the busiest ones of it get the names that are free, or that a much quieter link has.
    void add(std::vector<NewAttempts> fresh, smtp::Monotonic now);

    const std::map<std::string, Attempts>& named() const { return named_; }
    const Attempts& others() const { return others_; }

    // A link's activity decays with this half-life.
    static constexpr smtp::Duration half_life = std::chrono::minutes(10);

private:
    bool name(const NewAttempts& fresh, smtp::Monotonic now);
    double activity(const std::string& link, smtp::Monotonic now) const;
    std::map<std::string, Attempts>::iterator least_active(smtp::Monotonic now);

    struct Activity {
        double value = 0;
        smtp::Monotonic at{};
    };
    std::size_t most_ = 0;
    std::map<std::string, Attempts> named_;
    std::map<std::string, Activity> activity_; // of the named ones
    Attempts others_{};
};

} // namespace metrics
