#include "daemons/decide/queue/model/step.h"

namespace decide::queue {

namespace {
constexpr auto step_noticed = std::chrono::seconds(2); // more than that between the clocks is a step
}

std::uint32_t to_seconds(smtp::WallTime t) {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(t.time_since_epoch().count() / 1'000'000, 0, 0xffffffff));
}

std::uint32_t whole_seconds(smtp::Duration d) {
    return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(d).count());
}

Step::Step(const Settings& settings, std::uint64_t seed, smtp::Now now)
    : settings_(settings), random_(seed), start_(now.monotonic),
      offset_(now.wall.time_since_epoch() - now.monotonic.time_since_epoch()), now_(now) {}

smtp::Duration Step::begin(smtp::Now now, Actions& out) {
    now_ = now;
    out_ = &out;
    kept_.clear();
    const smtp::Duration offset = now.wall.time_since_epoch() - now.monotonic.time_since_epoch();
    const smtp::Duration by = offset - offset_;
    offset_ = offset;
    return by > step_noticed || by < -step_noticed ? by : smtp::Duration{};
}

std::uint32_t Step::wall_seconds() const {
    return static_cast<std::uint32_t>(std::chrono::floor<std::chrono::seconds>(now_.wall.time_since_epoch()).count());
}

Seconds Step::seconds(smtp::Monotonic t) const {
    return static_cast<Seconds>(std::chrono::floor<std::chrono::seconds>(t - start_).count() + 1);
}

smtp::Monotonic Step::after(smtp::Duration wait) { return now_.monotonic + jittered(settings_.jitter, wait, random_); }

Numbers Step::numbers(const std::vector<Entry>& list) {
    const auto first = static_cast<std::uint32_t>(out_->numbers.size());
    for (const Entry& each : list) out_->numbers.push_back(each.number);
    return Numbers{first, static_cast<std::uint32_t>(list.size())};
}

Numbers Step::number(RecipientNumber number) {
    const auto first = static_cast<std::uint32_t>(out_->numbers.size());
    out_->numbers.push_back(number);
    return Numbers{first, 1};
}

std::uint32_t Step::reason(const Reason& reason) {
    const auto place = static_cast<std::uint32_t>(out_->reasons.size());
    out_->reasons.push_back(reason);
    return place;
}

} // namespace decide::queue
