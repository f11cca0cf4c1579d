#include "daemons/postrider/simulate/from_log/troubles.h"
#include <algorithm>
#include <utility>

namespace postrider::simulate::from_log {

using namespace std::chrono_literals;

namespace {

// A trouble is over when it has not been met with for so long, or so often, though there were tries.
constexpr smtp::Duration quiet = 10min;
constexpr std::uint64_t good_in_a_row = 20;
// What is less than both is one of the failures that come now and then.
constexpr std::uint64_t few = 3;
constexpr smtp::Duration brief = 1min;

struct Episode {
    smtp::Duration from{}, last{}, until{};
    std::uint64_t failures = 0, passes = 0; // between the first failure and the last
};

} // namespace

std::vector<Told> troubles_of(const Conduct& conduct, smtp::Duration whole) {
    std::vector<Told> out;
    for (std::uint16_t kind = 0; kind < conduct.kinds.size(); ++kind) {
        const Failing& failing = conduct.kinds[kind];
        Trouble like;
        like.how = failing.how;
        like.at = failing.at;
        like.reply = failing.reply;
        std::uint64_t now_and_then = 0, tries = 0;
        Episode now;
        std::uint64_t passes = 0; // since the last failure
        smtp::Duration passed{-1}; // last
        const auto close = [&] {
            if (now.failures == 0) return;
            const auto lasts = now.until - now.from;
            if (now.failures < few && lasts < brief) {
                now_and_then += now.failures;
            } else {
                Told told{like, now.failures};
                told.trouble.from = std::chrono::floor<std::chrono::seconds>(now.from);
                told.trouble.lasts = std::max<smtp::Duration>(std::chrono::ceil<std::chrono::seconds>(lasts), 1s);
                told.trouble.share = static_cast<double>(now.failures) / static_cast<double>(now.failures + now.passes);
                out.push_back(std::move(told));
            }
            now = {};
        };
        for (const auto& attempt : conduct.attempts) {
            if (attempt.kind == kind) {
                ++tries;
                if (now.failures > 0 && passes > 0 && (attempt.at - now.last > quiet || passes >= good_in_a_row)) close();
                if (now.failures++ == 0)
                    now.from = passed >= 0s ? passed + (attempt.at - passed) / 2 : std::max<smtp::Duration>(attempt.at - 1s, 0s);
                else
                    now.passes += passes;
                now.last = attempt.at;
                now.until = whole;
                passes = 0;
            } else if (attempt.kind == Attempt::passed || conduct.kinds[attempt.kind].at > failing.at) {
                ++tries;
                passed = attempt.at;
                if (passes++ == 0 && now.failures > 0) now.until = now.last + (attempt.at - now.last) / 2;
            }
        }
        close();
        if (now_and_then == 0) continue;
        like.from = 0s;
        like.lasts = whole;
        like.share = static_cast<double>(now_and_then) / static_cast<double>(tries);
        out.push_back({like, now_and_then});
    }
    // Those that come and go are asked about first.
    std::ranges::stable_sort(out, {}, [](const Told& each) { return each.trouble.lasts; });
    return out;
}

} // namespace postrider::simulate::from_log
