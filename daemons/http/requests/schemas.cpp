#include "daemons/http/requests/schemas.h"
#include "daemons/http/requests/integration_schemas.h"
#include "daemons/http/requests/schema_terms.h"
#include <string>
#include <utility>

namespace http {

using nlohmann::json;
using namespace terms;

namespace {

// ---- submission and errors ----

json recipient_result() {
    return object({{"address", text()},
                   {"state", one_of({"queued", "suppressed", "refused"})},
                   {"code", number()},
                   {"status", text()},
                   {"text", text()}});
}

json problem() {
    return described(object({{"type", text()},
                             {"title", text()},
                             {"status", number()},
                             {"code", described(text(), "One word for programs.")},
                             {"detail", described(text(), "What happened, and what to do.")}},
                            {{"recipients", list(recipient_result())}}),
                     "An error, RFC 9457.");
}

json attachment() {
    return object({{"content", described(text(), "Its bytes, in Base64.")}},
                  {{"name", text()},
                   {"type", described(text(), "By default application/octet-stream.")},
                   {"cid", described(text(), "It is shown where html refers to cid: and this.")}});
}

json submission() {
    json fields = {{"type", "object"}, {"additionalProperties", any_of({text(), texts()})}};
    return described(object({{"from", described(text(), "Sender of the envelope; empty: the null one.")},
                             {"to", any_of({text(), texts()})}},
                            {{"raw", described(text(), "The message, RFC 5322; or the next five members.")},
                             {"subject", text()},
                             {"text", text()},
                             {"html", text()},
                             {"headers", described(std::move(fields), "Further header fields.")},
                             {"attachments", list(attachment())},
                             {"not_before", text()},
                             {"expires", text()},
                             {"lane", one_of({"high", "normal", "bulk"})},
                             {"policy", text()},
                             {"pool", text()},
                             {"meta", values()}}),
                     "See postrider-submission(7).");
}

// ---- messages ----

json attempt() {
    return object({{"first", time()},
                   {"last", time()},
                   {"count", number()},
                   {"host", text()},
                   {"outcome", one_of({"delivered", "deferred", "failed"})},
                   {"stage", text()},
                   {"code", number()},
                   {"status", text()},
                   {"text", text()},
                   {"in_doubt", flag()},
                   {"tls", text()},
                   {"source", text()}});
}

json queued_recipient() {
    return object({{"address", text()},
                   {"original", text()},
                   {"state", text()},
                   {"queue", text()},
                   {"link", text()},
                   {"failures", number()},
                   {"next_attempt", time()},
                   {"reason", text()},
                   {"since", time()},
                   {"waiting_for", text()}});
}

json recipient_in_detail() {
    return with(queued_recipient(), object({{"tries", number()},
                                            {"in_doubt", flag()},
                                            {"user", text()},
                                            {"target", text()},
                                            {"transport", text()},
                                            {"attempts", list(attempt())},
                                            {"advice", text()},
                                            {"link_failures", list(named("LinkFailure"))}}));
}

json queued_message(json recipient) {
    return object({{"id", text()},
                   {"state", text()},
                   {"arrival", time()},
                   {"expiry", time()},
                   {"size", number()},
                   {"lane", one_of({"high", "normal", "bulk"})},
                   {"sender", text()},
                   {"subject", text()},
                   {"message_id", text()},
                   {"submitter", text()},
                   {"pool", text()},
                   {"policy", text()},
                   {"recipients", described(list(std::move(recipient)), "Some of them.")},
                   {"recipients_total", number()}});
}

// Where the rest of a list begins; null: there is none.
json next_part() { return {{"type", {"string", "null"}}}; }

json message_in_detail() {
    return with(queued_message(recipient_in_detail()), object({{"next", next_part()},
                                                               {"location", one_of({"incoming", "messages"})},
                                                               {"client", text()},
                                                               {"helo", text()},
                                                               {"protocol", text()},
                                                               {"envelope_id", text()},
                                                               {"lane_chosen_by", text()},
                                                               {"pool_chosen_by", text()},
                                                               {"idempotency_key", text()},
                                                               {"policy_values", text()},
                                                               {"problem_message", flag()},
                                                               {"held_by", text()},
                                                               {"held_reason", text()},
                                                               {"rerouted_to", text()},
                                                               {"content_filter", text()}},
                                                              {{"deliver_by", time()}, {"late_mail", text()}}));
}

json finished_message() {
    auto recipient =
        object({{"recipient", text()}, {"outcome", text()}},
               {{"time", text()}, {"link", text()}, {"reply", text()}, {"class", text()}, {"attempts", number()}});
    return described(object({{"id", text()},
                             {"sender", text()},
                             {"outcome", text()},
                             {"finished", flag()},
                             {"last_time", text()},
                             {"recipients", list(std::move(recipient))},
                             {"recipients_total", number()},
                             {"events_total", number()}},
                            {{"message_id", text()},
                             {"submitter", text()},
                             {"accepted", text()},
                             {"size", number()},
                             {"events", list(named("Event"))}}),
                     "From the journal.");
}

json summary_members() {
    auto group =
        object({{"name", text()},
                {"events", number()},
                {"accepted", number()},
                {"delivered", number()},
                {"deferred", number()},
                {"failed", number()},
                {"left_out", described(number(), "Events that were not recorded, because there were too many.")}});
    return object({{"by", text()}, {"groups", list(std::move(group))}, {"groups_total", number()}});
}

json settings() {
    auto setting = object({{"section", text()},
                           {"key", text()},
                           {"value", described(json{{"type", {"string", "null"}}}, "As TOML; null: it is hidden.")},
                           {"hidden", described(flag(), "It may be a secret: administrators see it.")},
                           {"origin", described(text(), "default, or FILE:LINE.")},
                           {"line", {{"type", {"integer", "null"}}}}});
    auto certificate = object(
        {{"file", text()}, {"subject", text()}, {"use", one_of({"server", "verifies clients"})}, {"expires", time()}});
    return object(
        {{"file", text()}, {"settings", list(std::move(setting))}, {"certificates", list(std::move(certificate))}});
}

json explained_recipient() {
    auto gate = object({{"gate", text()},
                        {"open", flag()},
                        {"text", text()},
                        {"origin", text()},
                        {"by", text()},
                        {"since", time()},
                        {"until", time()},
                        {"advice", text()}});
    return object({{"id", text()},
                   {"address", text()},
                   {"queue", text()},
                   {"link", text()},
                   {"gates", list(std::move(gate))},
                   {"blocked_by", described(text(), "The first closed gate; empty: none.")},
                   {"next_attempt", time()},
                   {"state", text()},
                   {"lane", text()},
                   {"lane_chosen_by", text()},
                   {"pool", text()},
                   {"pool_chosen_by", text()},
                   {"backing_off", list(named("BackingOff"))}});
}

json event() {
    auto out = object({{"v", number()},
                       {"seq", number()},
                       {"node", text()},
                       {"time", {{"type", "string"}, {"format", "date-time"}}},
                       {"type", text()}},
                      {{"id", text()}});
    out["additionalProperties"] = true;
    return described(std::move(out), "An event of the journal, postrider-journal(5).");
}

// ---- state of the system ----

json link_members() {
    auto address =
        object({{"address", text()}, {"connections", number()}, {"this_link", number()}, {"limit", number()}});
    return object({{"link", text()},          {"kind", one_of({"mx", "configured", "local"})},
                   {"state", text()},         {"pool", text()},
                   {"paused", flag()},        {"failures", number()},
                   {"failing_since", time()}, {"next_attempt", time()},
                   {"last_error", text()},    {"last_error_status", text()},
                   {"connections", number()}, {"window", number()},
                   {"limit", number()},       {"at_address_limit", flag()},
                   {"queues", number()},      {"addresses", list(std::move(address))},
                   {"deliveries", number()},  {"due", number()},
                   {"in_flight", number()},   {"waiting", number()},
                   {"waiting_for", text()},   {"waiting_for_status", text()},
                   {"oldest", time()},        {"transaction_ms", number()},
                   {"idle_reason", text()},   {"backing_off", list(named("BackingOff"))}});
}

json queue_members() {
    return object({{"queue", text()},
                   {"link", text()},
                   {"state", text()},
                   {"pool", text()},
                   {"paused", flag()},
                   {"link_failing", flag()},
                   {"failures", number()},
                   {"failing_since", time()},
                   {"next_attempt", time()},
                   {"last_error", text()},
                   {"last_error_status", text()},
                   {"deliveries", number()},
                   {"due", number()},
                   {"in_flight", number()},
                   {"problem_messages", number()},
                   {"oldest", time()},
                   {"idle_reason", text()}});
}

json status() {
    auto states = object({{"new", number()},
                          {"scheduled", number()},
                          {"held", number()},
                          {"paused", number()},
                          {"routing", number()},
                          {"retrying", number()},
                          {"due", number()},
                          {"active", number()},
                          {"report", number()}});
    auto unrouted = object({{"gate", text()},
                            {"queue", text()},
                            {"deliveries", number()},
                            {"failures", number()},
                            {"failing_since", time()},
                            {"next_attempt", time()},
                            {"last_error", text()},
                            {"last_error_status", text()},
                            {"waiting_for", text()}});
    return object(
        {{"messages", number()},
         {"loading", flag()},
         {"accepting", flag()},
         {"accepting_reason", text()},
         {"delivering", flag()},
         {"delivering_reason", text()},
         {"rates", object({{"in", decimal()}, {"out", decimal()}})},
         {"oldest", object({{"id", text()}, {"arrival", time()}})},
         {"states", std::move(states)},
         {"drain_seconds", number()},
         {"uncategorized", number()},
         {"waiting", number()},
         {"due", number()},
         {"active", number()},
         {"held", number()},
         {"reports", number()},
         {"retained",
          list(object({{"directory", text()}, {"messages", number()}, {"bytes", number()}, {"deleted", number()}}))},
         {"connections", number()},
         {"services", {{"type", "object"}, {"additionalProperties", flag()}}},
         {"links", list(named("Link"))},
         {"other_links",
          object({{"links", number()}, {"due", number()}, {"waiting", number()}, {"deliveries", number()}})},
         {"unrouted", list(std::move(unrouted))},
         {"pauses", list(named("Pause"))},
         {"suppression",
          object({{"entries", number()}, {"automatic_today", number()}, {"loading", flag()}, {"error", text()}})},
         {"problems", texts()}});
}

// ---- operations and suppression ----

json order() {
    return described(object({{"op", one_of({"force", "hold", "release", "requeue", "reroute", "reprioritise", "restore",
                                            "remove", "expire", "pause", "resume", "schedule"})}},
                            {{"ids", texts()},
                             {"filter", texts()},
                             {"selection", described(text(), "Of a dry run, in place of its filter.")},
                             {"scope", one_of({"everything", "link", "queue", "pool"})},
                             {"name", text()},
                             {"to", text()},
                             {"lane", text()},
                             {"policy", text()},
                             {"after", number()},
                             {"at", described(text(), "For schedule: a time as in RFC 3339, or now.")},
                             {"permanently", flag()},
                             {"why", text()},
                             {"dry_run", flag()}}),
                     "One of ids, filter and selection; or scope and name.");
}

json order_result() {
    auto of_messages =
        object({{"matched", number()}, {"changed", number()}, {"skipped", number()}},
               {{"in_flight", number()},
                {"still_paused", number()},
                {"would_change", number()},
                {"dry_run", flag()},
                {"not_changed", list(object({{"id", text()}, {"why", text()}}))},
                {"selection", {{"type", {"string", "null"}}, {"description", "Null: there is none to be used."}}}});
    return any_of({std::move(of_messages), object({{"scope", text()}, {"name", text()}, {"has_mail", flag()}}),
                   object({{"has_mail", flag()}, {"paused_by", text()}})});
}

json trial_step() {
    return object({{"at_us", described(number(), "Microseconds since it was asked for.")},
                   {"step", text()},
                   {"finding", one_of({"good", "notice", "temporary", "permanent"})},
                   {"host", text()},
                   {"recipient", text()},
                   {"code", number()},
                   {"status", text()},
                   {"text", text()},
                   {"advice", text()},
                   {"rule", described(text(), "Of a route: the pattern of the [route] that decides; empty: none.")}});
}

json suppression() {
    return object({{"recipient", text()},
                   {"sender", text()},
                   {"pool", text()},
                   {"lane", text()},
                   {"reason", text()},
                   {"reply", text()},
                   {"added_by", text()},
                   {"automatic", flag()},
                   {"added", time()},
                   {"expires", time()}});
}

} // namespace

json schema_reference(std::string_view name) { return {{"$ref", "#/components/schemas/" + std::string(name)}}; }

json schemas() {
    json out;
    put(out, schema::problem, problem());
    put(out, schema::submission, submission());
    put(out, schema::transfer_result, object({{"id", text()}, {"duplicate", flag()}}));
    put(out, schema::submission_result,
        object({{"id", text()},
                {"message_id", text()},
                {"recipients", list(recipient_result())},
                {"duplicate", described(flag(), "A message of the same Idempotency-Key was accepted before.")}},
               {{"node", described(text(), "Of a duplicate: the other node that accepted the message of that id.")}}));
    put(out, schema::messages, page("messages", queued_message(queued_recipient())));
    put(out, schema::message, any_of({message_in_detail(), with(finished_message(), object({{"next", next_part()}}))}));
    put(out, schema::explanation, page("recipients", explained_recipient()));
    put(out, schema::event, event());
    put(out, schema::events, page("events", named("Event")));
    put(out, schema::removal, object({{"id", text()}, {"removed", flag()}}));
    put(out, schema::history,
        object({{"messages", list(any_of({finished_message(), named("Event")}))},
                {"more", flag()},
                {"next", next_part()},
                {"damaged", number()}}));
    put(out, "Summary", summary_members());
    const auto counted = object({{"complete", described(flag(), "Everything since then was counted, within the time.")},
                                 {"counted_from", time()},
                                 {"damaged", number()}});
    put(out, schema::history_summary, with(summary_members(), counted));
    put(out, schema::senders,
        with(counted, object({{"submitters", named("Summary")},
                              {"pools", named("Summary")},
                              {"lanes", named("Summary")},
                              {"classes", named("Summary")}})));
    put(out, schema::door,
        with(counted,
             object({{"types", named("Summary")},
                     {"rules", named("Summary")},
                     {"networks", named("Summary")},
                     {"limits", named("Summary")},
                     {"filters", named("Summary")},
                     {"left_out", described(number(), "Events that were not recorded: all kinds together.")}})));
    put(out, schema::settings, settings());
    put(out, schema::order, order());
    put(out, schema::order_result, order_result());
    put(out, schema::status, status());
    auto change = object(
        {{"time", time()}, {"type", text()}, {"name", text()}, {"who", text()}, {"why", text()}, {"count", number()}});
    put(out, schema::recent,
        object({{"changes", described(list(std::move(change)), "The latest first.")},
                {"left_out", described(number(), "Earlier changes of the last hour that are not listed.")},
                {"in", described(list(number()), "Messages accepted, by minute, the oldest first.")},
                {"out", described(list(number()), "Messages that have left the queue, likewise.")}}));
    put(out, "Link", link_members());
    put(out, "LinkFailure", object({{"time", time()}, {"phase", text()}, {"status", text()}, {"text", text()}}));
    put(out, "BackingOff", object({{"source", text()}, {"until", time()}, {"reason", text()}}));
    put(out, schema::links, page("links", named("Link")));
    put(out, schema::link,
        with(
            link_members(),
            object({{"history", list(named("LinkFailure"))},
                    {"limits", list(object({{"name", text()},
                                            {"value", number()},
                                            {"setting", described(text(), "That it comes from: queue.link_share.")}}))},
                    {"queues_of_link", list(named("Queue"))},
                    {"next", next_part()}})));
    put(out, schema::queue, queue_members());
    put(out, schema::queues, page("queues", named("Queue")));
    put(out, "Pause",
        object({{"scope", text()}, {"name", text()}, {"by", text()}, {"reason", text()}, {"since", time()}}));
    put(out, schema::pauses, page("pauses", named("Pause")));
    put(out, schema::new_suppression,
        object({{"recipient", described(text(), "An address, or \"@\" and a domain.")}}, {{"sender", text()},
                                                                                          {"pool", text()},
                                                                                          {"lane", text()},
                                                                                          {"reason", text()},
                                                                                          {"reply", text()},
                                                                                          {"expires", time()}}));
    put(out, schema::suppression, suppression());
    put(out, schema::suppressions, page("suppressions", named("Suppression")));
    put(out, schema::suppressed, object({{"added", number()}, {"replaced", number()}, {"dry_run", flag()}}));
    put(out, schema::allowed, object({{"removed", number()}, {"not_found", number()}, {"dry_run", flag()}}));
    put(out, schema::trial,
        object({{"address", text()}}, {{"from", text()},
                                       {"host", described(text(), "In place of the route's.")},
                                       {"every_host", flag()},
                                       {"dialogue", flag()}}));
    put(out, schema::trial_step, trial_step());
    add_integration_schemas(out);
    put(out, schema::description, of_type("object"));
    out[std::string(schema::description)]["additionalProperties"] = true;
    return out;
}

} // namespace http
