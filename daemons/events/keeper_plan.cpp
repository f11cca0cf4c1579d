#include "daemons/events/keeper_plan.h"
#include <algorithm>
#include <ranges>
#include <span>

namespace events {

namespace {

std::uint64_t size_of(const std::vector<KeptSegment>& segments) {
    std::uint64_t bytes = 0;
    for (const auto& each : segments) bytes += each.bytes;
    return bytes;
}

bool is_too_much(const std::vector<KeptSegment>& segments, const KeepLimits& limits, std::int64_t now) {
    if (limits.bytes != 0 && size_of(segments) > limits.bytes) return true;
    const auto newest = segments.front().newest;
    return limits.seconds != 0 && newest != 0 && newest < now - limits.seconds;
}

bool is_needed(const KeptSegment& segment, const KeepLimits& limits, std::int64_t now) {
    return std::ranges::any_of(limits.needs, [&](const Need& need) {
        const bool young = segment.newest == 0 || segment.newest >= now - need.seconds;
        return need.seconds > 0 && segment.segment.end > need.next && young;
    });
}

} // namespace

std::optional<std::int64_t> time_that_fits(const std::vector<KeptSegment>& segments, const KeepLimits& limits,
                                           std::int64_t now) {
    if (segments.empty() || limits.bytes == 0 || limits.seconds == 0) return {};
    const auto oldest = segments.front().newest, age = now - oldest;
    const auto bytes = size_of(segments);
    if (oldest == 0 || age <= 0 || bytes < limits.bytes / 10 * 9) return {};
    const auto fits = static_cast<std::int64_t>(static_cast<double>(age) * static_cast<double>(limits.bytes) /
                                                static_cast<double>(bytes));
    return fits < limits.seconds ? std::optional(fits) : std::nullopt;
}

std::optional<KeeperStep> next_step(const std::vector<KeptSegment>& segments, std::uint64_t published,
                                    const KeepLimits& limits, std::int64_t now,
                                    const std::vector<std::uint64_t>& not_indexable) {
    if (segments.empty()) return {};
    for (const auto& each : segments)
        if (each.segment.plain && each.segment.sealed) return KeeperStep{KeeperWork::drop_plain, each.segment.first};
    // The newest is being written.
    const auto older = std::span(segments).first(segments.size() - 1);
    if (older.empty()) return {};
    if (is_too_much(segments, limits, now) && !is_needed(segments.front(), limits, now))
        return KeeperStep{KeeperWork::remove, older.front().segment.first};
    for (const auto& each : older)
        if (!each.segment.sealed && each.segment.end <= published + 1)
            return KeeperStep{KeeperWork::seal, each.segment.first};
    // Recent mail is asked about most.
    for (const auto& each : older | std::views::reverse)
        if (each.segment.sealed && !each.segment.indexed &&
            std::ranges::find(not_indexable, each.segment.first) == not_indexable.end())
            return KeeperStep{KeeperWork::index, each.segment.first};
    return {};
}

} // namespace events
