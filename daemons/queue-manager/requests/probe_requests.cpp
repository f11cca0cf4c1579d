#include "daemons/queue-manager/requests/probe_requests.h"
#include "daemons/common/proto/control.h"
#include "daemons/queue-manager/control/control_json.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
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
    const auto number = deps_.probes.begin(
        std::move(order),
        {[this, request](const ProbeLine& line) { replies_.send(request, json_of(line)); },
         [this, request] { replies_.finish(request); },
         [this, request](std::string_view error) { replies_.refuse(request, error, code::unavailable); }});
    replies_.on_disconnect(request, [this, number] { deps_.probes.cancel(number); });
}

// ---- verified addresses ----

void ProbeRequests::verify(const Request& request, const nlohmann::json& body) {
    const auto address = text_field(body, "address");
    const auto mailbox = smtp::Mailbox::parse(address);
    if (!mailbox || mailbox->bare())
        return replies_.refuse(request, fmt::format("\"{}\" is not an address with a domain", address),
                               proto::control::code::bad_request);
    if (text_field(body, "action") == "forget") return forget(request, address);
    deps_.verification.ask(address,
                           [this, request, address](const auto& result) { send_result(request, address, result); });
}

void ProbeRequests::forget(const Request& request, const std::string& address) {
    with_user_name(deps_.pool, request, [this, request, address](const std::string& who) {
        const bool known = deps_.verification.forget(address);
        if (known) deps_.log.info("verify: <{}> forgotten by {}", smtp::printable(address, 320), who);
        replies_.send(request, {{"address", address}, {"forgotten", known}});
        replies_.finish(request);
    });
}

void ProbeRequests::send_result(const Request& request, const std::string& address,
                                const AddressVerification::Result& result) {
    const auto seconds = [](smtp::WallTime when) {
        return std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count();
    };
    const auto remembered = deps_.verification.remembered(address);
    replies_.send(request, {{"address", address},
                            {"result", decide::verification::name_of(result.what)},
                            {"text", result.text},
                            {"host", result.host},
                            {"checked", remembered ? seconds(remembered->entry.checked) : 0},
                            {"expires", remembered ? seconds(remembered->expires) : 0},
                            {"doubted", remembered && remembered->entry.doubted}});
    replies_.finish(request);
}

} // namespace queue_manager
