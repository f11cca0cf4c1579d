// How long to wait before what died is started again. Pure.
#pragma once
#include "libsmtp/text/time_types.h"
#include <algorithm>

namespace master {

class Backoff {
public:
    static constexpr smtp::Duration stable_after = std::chrono::seconds(2);
    static constexpr unsigned quick_restarts = 3;

    // `served`: how long it had been ready; zero if it never was. The first few deaths in a row cost `delay`
    // each, further ones twice as much each time, up to `limit`. Who served well starts with a clean sheet.
    smtp::Duration died(smtp::Duration served, smtp::Duration delay, smtp::Duration limit) {
        if (served >= stable_after) in_a_row_ = 0;
        ++in_a_row_;
        smtp::Duration wait = delay;
        for (unsigned n = quick_restarts; n < in_a_row_ && wait < limit; ++n) wait *= 2;
        return std::min(wait, limit);
    }
    unsigned in_a_row() const { return in_a_row_; }

private:
    unsigned in_a_row_ = 0;
};

} // namespace master
