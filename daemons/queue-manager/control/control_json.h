// What the control socket says, as JSON: values in, values out. Pure; the words are those of proto/control.h.
#pragma once
#include "daemons/decide/queue/filter.h"
#include "daemons/decide/queue/listing.h"
#include "daemons/queue-manager/control/pauses.h"
#include "daemons/queue-manager/control/recipient_part.h"
#include "daemons/queue-manager/probe/delivery_probe.h"
#include "daemons/queue-manager/probe/route_query.h"
#include "libspool/message/message_state.h"
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

namespace queue_manager {

// A member of a request that is a text; "" if there is none.
std::string text_field(const nlohmann::json& body, const char* key);

std::int64_t seconds_of(smtp::WallTime time);
std::string_view word_of(decide::queue::Waiting waiting);
std::string_view word_of(decide::queue::Lane lane);
std::string_view word_of(decide::queue::Gate gate);
// What has put the message into its lane: "X-Postrider-Lane", "sender_rules.rules[2]"; "" nothing.
std::string lane_chosen_by(const spool::MessageState& state);

nlohmann::json json_of(const decide::queue::LinkInfo& link);
nlohmann::json json_of(const decide::queue::Unrouted& mail);
nlohmann::json json_of(const decide::queue::QueueInfo& queue);
// Those not before `since`.
nlohmann::json json_of(const std::vector<decide::queue::LinkFailure>& failures, smtp::WallTime since);
nlohmann::json json_of(const Pause& pause);
nlohmann::json json_of(const RouteQuery::RecipientRoute& recipient_route);
nlohmann::json json_of(const ProbeLine& line);
nlohmann::json json_of(const std::vector<decide::queue::LinkLimit>& limits);

// What a message's own header says, as a person reads it; "" nothing.
struct HeaderFacts {
    std::string subject, message_id;
};

enum class Detail : std::uint8_t { line, everything };
nlohmann::json json_of(const decide::queue::MessageInfo& info, const spool::MessageState& state,
                       const HeaderFacts& header, const ChosenRecipients& chosen, Detail detail,
                       const std::string& user = {});
HeaderFacts facts_of(std::string_view header);
inline constexpr std::uint64_t longest_header = 256 * 1024; // in which a subject is looked for

// The message as filter words see it; without a state: as far as the queue itself knows.
decide::queue::Facts facts_of(const decide::queue::MessageInfo& info, const spool::MessageState* state,
                              smtp::WallTime now, const HeaderFacts& header = {});

} // namespace queue_manager
