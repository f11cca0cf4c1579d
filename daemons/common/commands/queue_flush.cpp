#include "daemons/common/commands/queue_flush.h"
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/proto/control.h"
#include <cerrno>
#include <nlohmann/json.hpp>
#include <sysexits.h>

namespace common {

FlushResult flush_queue(const config::Spool& spool, const config::Mta& mta, const FlushRequest& flush) {
    namespace control = proto::control;
    nlohmann::json request{{"op", control::op::flush}};
    if (!flush.message.empty())
        request = {{"op", control::op::force}, {"ids", nlohmann::json::array({flush.message})}, {"reason", flush.why}};
    if (!flush.site.empty()) {
        const char* key = flush.site.contains('@') ? "recipient=" : "domain=";
        request = {
            {"op", control::op::force}, {"filter", nlohmann::json::array({key + flush.site})}, {"reason", flush.why}};
    }
    auto client = ipc::JsonClient::connect(spool.directory + "/run/control");
    if (!client) {
        if (client.error().code == EACCES) return {EX_NOPERM, "only members of " + mta.admin_group + " may do this"};
        return {EX_UNAVAILABLE, "Cannot flush mail queue - mail system is down"};
    }
    const auto done = client->ask(request, [](const nlohmann::json&) {});
    if (done || client->refusal() == control::code::no_match || client->refusal() == control::code::already) return {};
    const bool ours = client->refusal() == control::code::unknown || client->refusal() == control::code::bad_request;
    return {ours ? EX_DATAERR : EX_UNAVAILABLE, done.error().what};
}

} // namespace common
