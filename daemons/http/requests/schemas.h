// What bodies of requests and answers look like, as JSON Schema (the dialect of OpenAPI 3.1), by name. Objects may get
// further members in later versions. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace http {

// For Route: names of schemas.
namespace schema {
inline constexpr std::string_view problem = "Problem", submission = "Submission",
                                  submission_result = "SubmissionResult", transfer_result = "TransferResult",
                                  messages = "MessageList", message = "Message", explanation = "Explanation",
                                  events = "EventList", event = "Event", removal = "Removal", history = "HistoryList",
                                  history_summary = "HistorySummary", senders = "Senders", door = "Door",
                                  settings = "Settings", order = "Order", order_result = "OrderResult",
                                  status = "Status", links = "LinkList", link = "LinkWithQueues", queues = "QueueList",
                                  queue = "Queue", pauses = "PauseList", recent = "Recent",
                                  new_suppression = "NewSuppression", suppression = "Suppression",
                                  suppressions = "SuppressionList", suppressed = "SuppressionAdded",
                                  allowed = "SuppressionRemoved", trial = "Trial", trial_step = "TrialStep",
                                  hooks = "HookList", hook_replay = "HookReplay", hook_result = "HookResult",
                                  outbox = "Outbox", outbox_message = "OutboxMessage",
                                  outbox_deletion = "OutboxDeletion", description = "Description";
} // namespace schema

// {name: schema}: "components/schemas" of the description.
nlohmann::json schemas();
// {"$ref":"#/components/schemas/NAME"}
nlohmann::json schema_reference(std::string_view name);

} // namespace http
