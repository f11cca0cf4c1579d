// An agent's result in the form for the engine, and the engine's decisions as records for the message's file. Pure.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "daemons/decide/queue/actions.h"
#include "daemons/decide/queue/events.h"
#include "libspool/format/property.h"
#include "libspool/message/message_state.h"
#include <optional>
#include <string>
#include <vector>

namespace queue_manager {

using decide::queue::AgentKind;

// One Done of an agent, classified. The engine's event points into it.
class Result {
public:
    Result(const proto::delivery::Done& done, AgentKind agent);
    Result(const Result&) = delete;

    const decide::queue::Done& event() const { return event_; }
    const proto::delivery::Done& report() const { return done_; }
    // The attempt as a record, for those of `numbers` (all with the same outcome).
    std::optional<spool::Attempt> attempt(std::span<const decide::queue::RecipientNumber> numbers) const;
    // The attempts that failed permanently, one record for each reply: the reasons must survive a restart, because the
    // report may be sent later.
    std::vector<spool::Property> failed_attempts() const;

private:
    const proto::delivery::RecipientResult* result_of(decide::queue::RecipientNumber number) const;
    spool::SuccessReport success(const proto::delivery::RecipientResult& result) const;
    spool::Attempt record(const proto::delivery::RecipientResult& result) const;

    const proto::delivery::Done& done_;
    AgentKind agent_;
    std::vector<decide::queue::Reason> reasons_;
    std::vector<decide::queue::Result> results_;
    decide::queue::Done event_;
};

// These failed without a delivery attempt. Written to the file before their sender can be notified; otherwise they
// would, after a restart, be looked up again, reported twice, or delivered after all.
spool::StatusChanged failed_untried(std::vector<std::uint32_t> recipients, const decide::queue::Reason& reason,
                                    std::string_view who, smtp::WallTime now);

// The reply as a reason, attributed to the delivery's host if the host sent it.
decide::queue::Reason reason_of(smtp::RemoteReply reply, const std::string& host);
// Did it fail because its address is on the suppression list?
bool is_suppressed(const spool::RecipientState& recipient);
// "mx.example.org" of "mx.example.org[192.0.2.1]:25".
std::string host_name_of(const std::string& host);

smtp::WallTime from_wire(std::int64_t microseconds);
std::int64_t to_wire(smtp::WallTime time);

} // namespace queue_manager
