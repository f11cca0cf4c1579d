#include "daemons/decide/screening/screening.h"
#include <algorithm>
#include <utility>

namespace decide::screening {

namespace {

constexpr char passes_version = '\1';
constexpr std::size_t time_size = 8;

} // namespace

smtp::WallTime Passes::last() const { return *std::ranges::max_element(until); }

// Seconds are enough; big-endian, after the version.
std::string encode(const Passes& passes) {
    std::string out(1, passes_version);
    for (const auto until : passes.until) {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(until).time_since_epoch().count();
        for (int shift = 8 * (static_cast<int>(time_size) - 1); shift >= 0; shift -= 8)
            out.push_back(static_cast<char>(static_cast<std::uint64_t>(seconds) >> shift));
    }
    return out;
}

std::optional<Passes> decode(std::string_view bytes) {
    if (bytes.size() != 1 + time_size * test_count || bytes.front() != passes_version) return {};
    Passes passes;
    for (std::size_t n = 0; n < test_count; ++n) {
        std::uint64_t seconds = 0;
        for (const char c : bytes.substr(1 + n * time_size, time_size))
            seconds = seconds << 8 | static_cast<unsigned char>(c);
        constexpr std::uint64_t latest = 1ULL << 40;
        if (seconds > latest) return {};
        passes.until[n] = smtp::WallTime(std::chrono::seconds(static_cast<std::int64_t>(seconds)));
    }
    return passes;
}

// A pass that is valid for longer than the settings allow dates from other settings, or from a clock that was wrong.
Screening::Screening(const Settings& settings, const std::optional<Passes>& remembered, smtp::WallTime now)
    : settings_(settings), passes_(remembered.value_or(Passes())), known_(remembered.has_value()) {
    for (const auto test : all_tests) {
        auto& until = passes_.until[index_of(test)];
        until = std::min(until, now + settings_.lifetimes[index_of(test)]);
        if (settings_.action(test) == Action::off || until > now) continue;
        state(test) = State::due;
        made_ = true;
    }
}

bool Screening::any_due_in_session() const {
    return std::ranges::any_of(all_tests, [this](Test test) { return is_deep(test) && due(test); });
}

Action Screening::failed(Test test) {
    state(test) = State::failed;
    any_failed_ = true;
    const auto action = settings_.action(test);
    if (action == Action::enforce && !enforced_) enforced_ = test;
    return action;
}

void Screening::passed(Test test, smtp::WallTime now) {
    state(test) = State::passed;
    passes_.until[index_of(test)] = now + settings_.lifetimes[index_of(test)];
    changed_ = true;
}

Action Screening::scored(std::int64_t sum, smtp::Duration valid, smtp::WallTime now) {
    if (sum >= settings_.threshold) return failed(Test::dns_lists);
    const auto longest = settings_.lifetimes[index_of(Test::dns_lists)];
    const auto until = now + std::min(std::max(valid, settings_.shortest_of_dns_lists), longest);
    state(Test::dns_lists) = State::passed;
    passes_.until[index_of(Test::dns_lists)] = until;
    changed_ = true;
    if (settings_.allow_threshold > 0 && sum <= -settings_.allow_threshold)
        for (const auto test : all_tests) // as long as the lists vouch for it
            if (due(test)) {
                state(test) = State::passed;
                passes_.until[index_of(test)] = until;
            }
    return Action::off;
}

bool Screening::all_passed() const {
    return made_ &&
           std::ranges::all_of(states_, [](State each) { return each == State::passed || each == State::not_made; });
}

std::optional<Passes> Screening::changed() {
    if (any_failed_ || !std::exchange(changed_, false)) return {};
    return passes_;
}

} // namespace decide::screening
