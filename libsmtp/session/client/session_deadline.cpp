#include "libsmtp/session/client/session_deadline.h"
#include "libsmtp/session/client/verdicts.h"
#include <fmt/format.h>

namespace smtp {

void SessionDeadline::clear() {
    at_.reset();
    bound_ = Bound::silence;
}

std::optional<Duration> SessionDeadline::silence_in(Stage stage) const {
    switch (stage) {
    case Stage::content: return timeouts_.block;
    case Stage::banner: return timeouts_.banner;
    case Stage::ehlo:
    case Stage::tls:
    case Stage::auth: return timeouts_.ehlo;
    case Stage::mail: return timeouts_.mail;
    case Stage::rcpt: return timeouts_.rcpt;
    case Stage::data: return timeouts_.data;
    case Stage::final_dot: return timeouts_.final_dot;
    default: return {};
    }
}

void SessionDeadline::set(Stage stage, const TransactionPipeline::Progress& progress, Monotonic now) {
    clear();
    if (const auto silence = silence_in(stage)) at_ = now + *silence;
    // What moves, but slowly.
    if (stage == Stage::content && timeouts_.minimum_rate != 0)
        no_later(progress.content_began + timeouts_.block + content_time(progress.content_bytes), Bound::rate);
    if (progress.started && stage != Stage::final_dot)
        no_later(*progress.started + timeouts_.transaction + content_time(progress.size), Bound::transaction);
}

void SessionDeadline::no_later(Monotonic at, Bound bound) {
    if (!at_ || *at_ <= at) return;
    at_ = at;
    bound_ = bound;
}

Duration SessionDeadline::content_time(std::uint64_t bytes) const {
    const auto rate = timeouts_.minimum_rate;
    return rate == 0 ? Duration{} : Duration(std::chrono::seconds(bytes / rate));
}

std::string SessionDeadline::text(std::string_view peer, Stage stage, const TransactionPipeline::Progress& progress,
                                  Monotonic now) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - progress.content_began).count();
    switch (bound_) {
    case Bound::rate:
        return fmt::format("{} accepts the message too slowly: {} bytes in {} s", peer, progress.content_bytes,
                           seconds);
    case Bound::transaction:
        return fmt::format("{} is too slow: the time limit for one message was reached while {}", peer,
                           activity_of(stage));
    case Bound::silence: break;
    }
    return fmt::format("conversation with {} timed out while {}", peer, activity_of(stage));
}

} // namespace smtp
