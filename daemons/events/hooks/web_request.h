// Events as the body of a request, with the header fields of Standard Webhooks 1.0. Pure.
#pragma once
#include "daemons/common/crypto/webhook/signing.h"
#include "daemons/decide/hooks/hook_delivery.h"
#include <deque>
#include <string>
#include <vector>

namespace events {

struct WebRequest {
    std::string id;                  // of the webhook: the same whenever it is repeated
    std::string body;                // JSON
    std::vector<std::string> fields; // "webhook-id: …"
};

// `batch`: in the form {"type":"batch","data":[…]}, whose id names the first and the last event. `time`: seconds since
// 1970.
WebRequest web_request(const std::string& node, const std::deque<decide::hooks::HookEvent>& events, std::size_t count,
                       bool batch, const webhook::Secrets& secrets, std::int64_t time);
// The fields for any id and body.
std::vector<std::string> signed_fields(const std::string& id, const std::string& body, const webhook::Secrets& secrets,
                                       std::int64_t time);

} // namespace events
