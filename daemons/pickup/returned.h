// A dropped submission that cannot be accepted. sendmail has reported it as accepted, and its program has gone: so it
// becomes a message all of whose recipients have failed, and its sender, or else the postmaster, gets a report with
// the reason and with the message or its header. Pure.
#pragma once
#include "daemons/common/config/sections/system/mta.h"
#include "libsmtp/text/time_types.h"
#include "libspool/format/envelope.h"
#include "libspool/format/queue_id.h"
#include <chrono>
#include <string>
#include <string_view>

namespace pickup {

class ReturnedSubmission {
public:
    // `reason`: "5.6.0 header larger than …": a status and one line.
    explicit ReturnedSubmission(std::string reason) : reason_(std::move(reason)) {}

    const std::string& reason() const { return reason_; }
    static constexpr std::size_t max_kept = 64 * 1024; // of the message: as much of a header as a report shows

    // The message as the program wrote it, from its first byte; what exceeds max_kept is not kept.
    void keep(std::string_view bytes);
    // The first bytes of a message of `of` bytes.
    void keep(std::string_view beginning, std::uint64_t of);
    // All of it is in the message that was made from it.
    bool whole() const { return whole_; }

    struct Made {
        spool::Envelope envelope;
        std::string content;
    };
    // `known`: what was understood of the envelope. With `complete` the message ends here; without, more was to come.
    Made make(const config::Mta& mta, spool::Envelope known, spool::QueueId id, smtp::WallTime now,
              std::chrono::minutes zone, bool complete);

private:
    std::string reason_, kept_;
    bool whole_ = true;
};

} // namespace pickup
