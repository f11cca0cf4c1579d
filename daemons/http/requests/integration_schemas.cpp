#include "daemons/http/requests/integration_schemas.h"
#include "daemons/http/requests/schema_terms.h"
#include "daemons/http/requests/schemas.h"

namespace http {

using nlohmann::json;
using namespace terms;

namespace {

json hook() {
    return object({{"hook", text()},
                   {"target", described(text(), "Its path or arguments are left out without the scope admin.")},
                   {"state", one_of({"starting", "delivering", "failing", "paused", "off"})},
                   {"reason", text()},
                   {"next", number()},
                   {"published", number()},
                   {"behind", number()},
                   {"event", described(number(), "The event that is sent next; 0: none waits.")},
                   {"oldest", time()},
                   {"failures", number()},
                   {"failing_since", time()},
                   {"next_attempt", time()},
                   {"last_answer", text()},
                   {"problem", text()},
                   {"pushed", number()},
                   {"failed", number()},
                   {"dead", number()}});
}

json outbox_message() {
    auto error = object({{"message", text()}}, {{"statusCode", number()}});
    return object(
        {{"queueId", text()},
         {"messageId", text()},
         {"envelope", object({{"from", text()}, {"to", texts()}})},
         {"subject", text()},
         {"created", time()},
         {"scheduled", time()},
         {"nextAttempt", time()},
         {"attemptsMade", number()},
         {"attempts", described(number(), "One more than were made: there are tries until it expires.")},
         {"progress", object({{"status", one_of({"queued", "processing", "error"})}}, {{"error", std::move(error)}})}});
}

} // namespace

void add_integration_schemas(json& schemas) {
    put(schemas, "Hook", hook());
    put(schemas, schema::hooks, page("hooks", named("Hook")));
    put(schemas, schema::hook_replay,
        object({{"start_at", described(number(), "Number of an event.")}}, {{"why", text()}}));
    put(schemas, schema::hook_result,
        object({{"hook", text()}}, {{"accepted", described(flag(), "Of the event hook.test.")},
                                    {"answer", text()},
                                    {"skipped", described(number(), "Number of the event that was given up.")}}));
    put(schemas, schema::outbox_message, outbox_message());
    put(schemas, schema::outbox,
        object({{"total", number()},
                {"page", number()},
                {"pageSize", number()},
                {"pages", number()},
                {"messages", list(named("OutboxMessage"))}}));
    put(schemas, schema::outbox_deletion, object({{"deleted", flag()}}));
}

} // namespace http
