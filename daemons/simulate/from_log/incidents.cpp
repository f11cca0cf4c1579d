#include "daemons/simulate/from_log/incidents.h"
#include <algorithm>
#include <utility>

namespace postrider::simulate::from_log {

using namespace std::chrono_literals;

namespace {

// An incident is over after this period, or this many successes in a row, without another failure.
constexpr smtp::Duration quiet = 10min;
constexpr std::uint64_t good_in_a_row = 20;
// Failures that are fewer and shorter than this are sporadic.
constexpr std::uint64_t few = 3;
constexpr smtp::Duration brief = 1min;

struct Episode {
    smtp::Duration from{}, last{}, until{};
    std::uint64_t failures = 0, passes = 0; // between the first failure and the last
};

} // namespace

std::vector<Incident> find_incidents(const HostRecord& record, smtp::Duration whole) {
    std::vector<Incident> out;
    for (std::uint16_t kind = 0; kind < record.kinds.size(); ++kind) {
        const Failure& failure = record.kinds[kind];
        Fault like;
        like.kind = failure.kind;
        like.at = failure.at;
        like.reply = failure.reply;
        std::uint64_t sporadic = 0, tries = 0;
        Episode now;
        std::uint64_t passes = 0;  // since the last failure
        smtp::Duration passed{-1}; // last
        const auto close = [&] {
            if (now.failures == 0) return;
            const auto duration = now.until - now.from;
            if (now.failures < few && duration < brief) {
                sporadic += now.failures;
            } else {
                Incident found{like, now.failures};
                found.fault.from = std::chrono::floor<std::chrono::seconds>(now.from);
                found.fault.duration = std::max<smtp::Duration>(std::chrono::ceil<std::chrono::seconds>(duration), 1s);
                found.fault.share = static_cast<double>(now.failures) / static_cast<double>(now.failures + now.passes);
                out.push_back(std::move(found));
            }
            now = {};
        };
        for (const auto& attempt : record.attempts) {
            if (attempt.kind == kind) {
                ++tries;
                if (now.failures > 0 && passes > 0 && (attempt.at - now.last > quiet || passes >= good_in_a_row))
                    close();
                if (now.failures++ == 0)
                    now.from = passed >= 0s ? passed + (attempt.at - passed) / 2
                                            : std::max<smtp::Duration>(attempt.at - 1s, 0s);
                else
                    now.passes += passes;
                now.last = attempt.at;
                now.until = whole;
                passes = 0;
            } else if (attempt.kind == Attempt::passed || record.kinds[attempt.kind].at > failure.at) {
                ++tries;
                passed = attempt.at;
                if (passes++ == 0 && now.failures > 0) now.until = now.last + (attempt.at - now.last) / 2;
            }
        }
        close();
        if (sporadic == 0) continue;
        like.from = 0s;
        like.duration = whole;
        like.share = static_cast<double>(sporadic) / static_cast<double>(tries);
        out.push_back({like, sporadic});
    }
    // A simulated server applies the first fault that matches: short ones come first.
    std::ranges::stable_sort(out, {}, [](const Incident& each) { return each.fault.duration; });
    return out;
}

} // namespace postrider::simulate::from_log
