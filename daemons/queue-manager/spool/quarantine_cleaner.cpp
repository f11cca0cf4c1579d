#include "daemons/queue-manager/spool/quarantine_cleaner.h"
#include <algorithm>
#include <chrono>

namespace queue_manager {

using namespace std::chrono_literals;
using common::Loop;

namespace {

constexpr smtp::Duration interval = 10min, shortest_rest = 1s;
constexpr int share = 10; // the next check starts after at least this many times the duration of the last one
constexpr std::uint64_t deleted_at_once = 1000; // files

} // namespace

QuarantineCleaner::QuarantineCleaner(common::Loop& loop, common::Log& log, spool::RealDisk& disk,
                                     spool::CommitPool& pool, std::function<void(std::string)> report_problem)
    : log_(log), disk_(disk), pool_(pool), report_problem_(std::move(report_problem)),
      places_{{{"bad", {}}, {"quarantine", {}}, {"quarantine/incomplete", {}}, {"removed", {}}, {"failed", {}}}},
      timer_(loop, [this] { look(); }) {}

void QuarantineCleaner::limit(const config::Spool& spool, const config::History& history) {
    const auto seconds = [](smtp::Duration age) { return std::chrono::ceil<std::chrono::seconds>(age); };
    places_[0].limits = {seconds(spool.bad_age), spool.bad_size};
    places_[1].limits = places_[2].limits = {seconds(spool.quarantine_age), spool.quarantine_size};
    const auto at_least = [&](smtp::Duration age) { return std::max(seconds(age), std::chrono::seconds(1)); };
    places_[3].limits = {at_least(spool.removed_age), spool.removed_size}; // "0s": the rest is deleted
    const bool keeps_failed = history.keep_failed > smtp::Duration::zero();
    places_[4].limits = {at_least(history.keep_failed), keeps_failed ? history.keep_failed_size : 1}; // else nothing
    for (auto& place : places_) place.limits.at_once = deleted_at_once;
}

void QuarantineCleaner::soon() {
    if (looking_) {
        again_ = true;
        return;
    }
    const auto now = Loop::now().monotonic;
    timer_.start(std::max<smtp::Duration>(not_before_ - now, 1ms));
}

void QuarantineCleaner::look() {
    looking_ = true;
    again_ = false;
    pool_.post([this, places = places_, now = Loop::now().wall] {
        const auto began = std::chrono::steady_clock::now();
        Kept kept;
        for (std::size_t n = 0; n < places.size(); ++n)
            kept[n] = spool::enforce_retention(disk_, places[n].directory, places[n].limits, now);
        const auto took = std::chrono::duration_cast<smtp::Duration>(std::chrono::steady_clock::now() - began);
        pool_.complete([this, kept = std::move(kept), took]() mutable { looked(std::move(kept), took); });
    });
}

void QuarantineCleaner::looked(Kept kept, smtp::Duration took) {
    std::string problem;
    bool more = false;
    for (std::size_t n = 0; n < places_.size(); ++n) {
        auto& place = places_[n];
        auto& now = kept[n];
        if (!now || now->error.code != 0) problem = now ? now->error.what : now.error().what;
        if (!now) continue;
        more = more || now->more;
        if (now->removed > 0 && n == 3)
            log_.info("removed/: {} messages removed by operators can no longer be restored, {} bytes", now->removed,
                      now->removed_bytes);
        else if (now->removed > 0 && n == 4)
            log_.info("failed/: {} messages can no longer be sent again, {} bytes (history.keep_failed)", now->removed,
                      now->removed_bytes);
        else if (now->removed > 0)
            log_.warning("{}/: {} deleted, {} bytes: too old, or too large in total (spool.{}_age, spool.{}_size)",
                         place.directory, now->removed, now->removed_bytes, n == 0 ? "bad" : "quarantine",
                         n == 0 ? "bad" : "quarantine");
        now->removed += place.kept.removed;
        now->removed_bytes += place.kept.removed_bytes;
        place.kept = *now;
    }
    report_problem_(problem.empty() ? "" : "quarantined files cannot be kept within their limits: " + problem);
    looking_ = false;
    not_before_ = Loop::now().monotonic + (more ? took : std::max<smtp::Duration>(shortest_rest, share * took));
    if (again_ || more) return soon();
    timer_.start(std::max<smtp::Duration>(interval, share * took));
}

} // namespace queue_manager
