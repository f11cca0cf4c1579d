// When a client's conversation has waited long enough: silence in its stage, a message that moves too slowly, or a
// transaction that takes too long. Computes; knows no clock.
#pragma once
#include "libsmtp/delivery/stage.h"
#include "libsmtp/session/client/client_options.h"
#include "libsmtp/session/client/transaction_pipeline.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

class SessionDeadline {
public:
    explicit SessionDeadline(const ClientTimeouts& timeouts) : timeouts_(timeouts) {} // must outlive it

    void clear();
    // From now on, in that stage.
    void set(Stage stage, const TransactionPipeline::Progress& progress, Monotonic now);
    std::optional<Monotonic> at() const { return at_; }

    bool by_silence() const { return bound_ == Bound::silence; }
    // What has happened when it has passed; `peer`: "NAME[IP]".
    std::string text(std::string_view peer, Stage stage, const TransactionPipeline::Progress& progress,
                     Monotonic now) const;

private:
    enum class Bound : std::uint8_t { silence, rate, transaction };
    std::optional<Duration> silence_in(Stage stage) const;
    Duration content_time(std::uint64_t bytes) const; // that minimum_rate allows for them
    void no_later(Monotonic at, Bound bound);

    const ClientTimeouts& timeouts_;
    std::optional<Monotonic> at_;
    Bound bound_ = Bound::silence; // what at_ is
};

} // namespace smtp
