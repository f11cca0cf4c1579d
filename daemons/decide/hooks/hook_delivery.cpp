#include "daemons/decide/hooks/hook_delivery.h"
#include <algorithm>
#include <cassert>
#include <utility>

namespace decide::hooks {

using Change = DeliveryReport::Change;

HookDelivery::HookDelivery(DeliverySettings settings, HookProgress progress)
    : settings_(std::move(settings)), progress_(std::move(progress)), read_from_(progress_.next) {
    assert(!settings_.retries.empty());
}

void HookDelivery::add(HookEvent event) {
    assert(event.number >= read_from_);
    read_from_ = event.number + 1;
    bytes_ += event.line.size();
    events_.push_back(std::move(event));
}

void HookDelivery::read_through(std::uint64_t number) {
    read_from_ = std::max(read_from_, number + 1);
    if (events_.empty()) progress_.next = read_from_;
}

// What was sent and not answered is sent again as it was: its identifier is that of the request.
std::size_t HookDelivery::next_size() const {
    std::size_t count = 0, bytes = 0;
    if (progress_.through != 0) {
        while (count < events_.size() && events_[count].number <= progress_.through) ++count;
        if (count > 0) return count;
    }
    const bool smaller = smaller_through_ != 0 && events_.front().number <= smaller_through_;
    const auto most = smaller ? smaller_batch_ : settings_.batch;
    while (count < events_.size() && count < most) {
        bytes += events_[count].line.size();
        if (count > 0 && bytes > largest_request_) break;
        if (smaller && count > 0 && events_[count].number > smaller_through_) break;
        ++count;
    }
    return count;
}

std::size_t HookDelivery::begin(smtp::Monotonic now) {
    if (in_flight_ > 0 || events_.empty() || progress_.state != HookState::delivering) return 0;
    if (retry_at_ && now < *retry_at_) return 0;
    if (read_from_ <= progress_.through && has_room()) return 0; // after a restart: not all of it has been read
    retry_at_.reset();
    in_flight_ = next_size();
    return in_flight_;
}

void HookDelivery::drop_first() {
    bytes_ -= events_.front().line.size();
    events_.pop_front();
    progress_.next = events_.empty() ? read_from_ : events_.front().number;
}

void HookDelivery::accept(std::size_t count) {
    for (; count > 0; --count) drop_first();
    progress_.failures = 0;
    progress_.failing_since = 0;
    progress_.refusals = 0;
    progress_.set_aside = 0;
}

bool HookDelivery::acknowledge(std::uint64_t number) {
    std::size_t count = 0;
    while (count < in_flight_ && events_[count].number <= number) ++count;
    if (count == 0 || events_[count - 1].number != number) return false;
    accept(count);
    in_flight_ -= count;
    if (in_flight_ == 0) progress_.through = 0;
    return true;
}

smtp::Duration HookDelivery::wait_after(unsigned attempts, double random) const {
    const auto& waits = settings_.retries;
    const auto wait = waits[std::min<std::size_t>(attempts, waits.size()) - 1];
    return wait + std::chrono::duration_cast<smtp::Duration>(wait * (jitter * random));
}

DeliveryReport HookDelivery::finish(const EndpointAnswer& answer, smtp::Now now, double random) {
    assert(in_flight_ > 0);
    const auto verdict = verdict_of(answer);
    switch (verdict) {
    case Verdict::accepted: {
        const bool failing = progress_.failures > 0;
        accept(std::exchange(in_flight_, 0));
        progress_.through = 0;
        return {failing ? Change::recovered : Change::delivered, {}};
    }
    case Verdict::gone: return stop(HookState::switched_off, "the endpoint answered " + text_of(answer));
    case Verdict::not_permitted: return stop(HookState::paused, "the endpoint answered " + text_of(answer));
    case Verdict::too_large:
    case Verdict::refused: return refused(verdict == Verdict::too_large, answer, now, random);
    case Verdict::later: return failed(now, std::clamp(*answer.retry_after, shortest_wait, longest_wait));
    case Verdict::failed: return failed(now, wait_after(progress_.failures + 1, random));
    }
    return {};
}

DeliveryReport HookDelivery::failed(smtp::Now now, smtp::Duration wait) {
    progress_.through = events_[in_flight_ - 1].number;
    in_flight_ = 0;
    retry_at_ = now.monotonic + wait;
    if (++progress_.failures > 1) return {};
    progress_.failing_since = std::chrono::floor<std::chrono::seconds>(now.wall).time_since_epoch().count();
    return {Change::failing, {}};
}

DeliveryReport HookDelivery::stop(HookState state, std::string reason) {
    in_flight_ = 0;
    progress_.state = state;
    progress_.reason = std::move(reason);
    return {state == HookState::paused ? Change::paused : Change::switched_off, {}};
}

// Of many events, which one is refused is found by halving. Of two that are refused one after the other, the endpoint
// is the cause: the first of them is not given up after all.
DeliveryReport HookDelivery::refused(bool too_large, const EndpointAnswer& answer, smtp::Now now, double random) {
    const auto count = std::exchange(in_flight_, 0);
    const auto number = events_.front().number;
    if (count > 1) {
        smaller_batch_ = count / 2;
        smaller_through_ = events_[count - 1].number;
        progress_.through = events_[smaller_batch_ - 1].number;
        if (!too_large) return {};
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < count; ++i) bytes += events_[i].line.size();
        largest_request_ = bytes / 2;
        return {};
    }
    if (progress_.set_aside != 0) {
        const auto first = progress_.set_aside;
        auto report = stop(HookState::paused, "the endpoint refused events " + std::to_string(first) + " and " +
                                                  std::to_string(number) + ": " + text_of(answer));
        restart_at(first);
        return report;
    }
    if (++progress_.refusals < most_refusals) {
        progress_.through = number;
        retry_at_ = now.monotonic + wait_after(progress_.refusals, random);
        return {};
    }
    DeliveryReport report{Change::none, events_.front()};
    drop_first();
    progress_.through = 0;
    progress_.refusals = 0;
    progress_.set_aside = number;
    return report;
}

void HookDelivery::pause(std::string reason) {
    progress_.state = HookState::paused;
    progress_.reason = std::move(reason);
}

void HookDelivery::resume() {
    progress_.state = HookState::delivering;
    progress_.reason.clear();
    progress_.failures = 0;
    progress_.failing_since = 0;
    progress_.refusals = 0;
    progress_.set_aside = 0;
    retry_at_.reset();
}

std::optional<HookEvent> HookDelivery::skip() {
    assert(in_flight_ == 0);
    if (events_.empty()) return {};
    auto event = events_.front();
    drop_first();
    progress_.through = 0;
    progress_.refusals = 0;
    progress_.set_aside = 0;
    retry_at_.reset();
    return event;
}

void HookDelivery::read_again() {
    assert(in_flight_ == 0);
    events_.clear();
    bytes_ = 0;
    read_from_ = progress_.next;
    smaller_through_ = 0;
    largest_request_ = most_bytes;
}

void HookDelivery::restart_at(std::uint64_t number) {
    progress_.next = number;
    read_again();
    progress_.through = 0;
    progress_.refusals = 0;
    progress_.set_aside = 0;
    retry_at_.reset();
}

} // namespace decide::hooks
