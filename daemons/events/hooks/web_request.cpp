#include "daemons/events/hooks/web_request.h"
#include <cassert>
#include <fmt/format.h>

namespace events {

std::vector<std::string> signed_fields(const std::string& id, const std::string& body, const webhook::Secrets& secrets,
                                       std::int64_t time) {
    return {"webhook-id: " + id, fmt::format("webhook-timestamp: {}", time),
            "webhook-signature: " + secrets.signature(id, time, body)};
}

WebRequest web_request(const std::string& node, const std::deque<decide::hooks::HookEvent>& events, std::size_t count,
                       bool batch, const webhook::Secrets& secrets, std::int64_t time) {
    assert(count > 0 && count <= events.size() && (batch || count == 1));
    WebRequest out;
    if (batch) {
        out.id = fmt::format("{}.{}-{}", node, events.front().number, events[count - 1].number);
        out.body = R"({"type":"batch","data":[)";
        for (std::size_t i = 0; i < count; ++i) out.body.append(i == 0 ? "" : ",").append(events[i].line);
        out.body += "]}";
    } else {
        out.id = fmt::format("{}.{}", node, events.front().number);
        out.body = events.front().line;
    }
    out.fields = signed_fields(out.id, out.body, secrets, time);
    return out;
}

} // namespace events
