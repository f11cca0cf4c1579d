#include "daemons/queue-manager/requests/probe_requests.h"
#include "daemons/common/proto/control.h"
#include "daemons/queue-manager/control/control_json.h"
#include "libsmtp/message/address.h"
#include <fmt/format.h>
#include <string>
#include <utility>

namespace queue_manager {

namespace code = proto::control::code;

void ProbeRequests::attempt(const Request& request, const nlohmann::json& body) {
    const auto wrong = [&](const std::string& text) { replies_.refuse(request, text, code::bad_request); };
    DeliveryProbes::Order order;
    std::string from, host;
    try {
        order.address = body.value("address", "");
        from = body.value("from", "");
        host = body.value("host", "");
        order.every_host = body.value("every_host", false);
        order.dialogue = body.value("dialogue", false);
    } catch (const nlohmann::json::exception&) {
        return wrong("a field of \"try\" has the wrong type");
    }
    if (!smtp::Mailbox::parse(order.address)) return wrong(fmt::format("\"{}\" is not an address", order.address));
    if (!from.empty() && !smtp::Mailbox::parse(from))
        return wrong(fmt::format("\"{}\" is not a valid sender address", from));
    order.reverse_path = std::move(from);
    if (!host.empty()) order.host = host_named(host);
    if (!host.empty() && !order.host)
        return wrong(fmt::format("\"{}\" is not a host: expected HOST, HOST:PORT, ADDRESS or [ADDRESS]:PORT", host));
    const auto number = probes_.begin(
        std::move(order),
        {[this, request](const ProbeLine& line) { replies_.send(request, json_of(line)); },
         [this, request] { replies_.finish(request); },
         [this, request](std::string_view error) { replies_.refuse(request, error, code::unavailable); }});
    replies_.on_disconnect(request, [this, number] { probes_.cancel(number); });
}

} // namespace queue_manager
