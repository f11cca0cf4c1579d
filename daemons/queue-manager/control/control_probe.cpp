// What an operator asks to be tried, and what is in its way on this side.
#include "daemons/common/proto/control.h"
#include "daemons/queue-manager/control/control.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/decide/hosts/mx.h"
#include "libsmtp/message/address.h"
#include <algorithm>
#include <fmt/format.h>

namespace queue_manager {

using decide::queue::Scope;

void Control::attempt(const Request& request, const json& body) {
    const auto wrong = [&](std::string text) { refuse(request, text, proto::control::code::bad_request); };
    DeliveryProbes::Order order;
    std::string from, host;
    try {
        order.address = body.value("address", "");
        from = body.value("from", "");
        host = body.value("host", "");
        order.every_host = body.value("every_host", false);
        order.dialogue = body.value("dialogue", false);
    } catch (const json::exception&) {
        return wrong("a field of \"try\" has the wrong type");
    }
    if (!smtp::Mailbox::parse(order.address))
        return wrong(fmt::format("\"{}\" is not an address", order.address));
    if (!from.empty() && !smtp::Mailbox::parse(from))
        return wrong(fmt::format("\"{}\" is not a valid sender address", from));
    order.reverse_path = std::move(from);
    if (!host.empty()) order.host = host_named(host);
    if (!host.empty() && !order.host)
        return wrong(fmt::format("\"{}\" is not a host: expected HOST, HOST:PORT, ADDRESS or [ADDRESS]:PORT", host));
    const auto number = deps_.attempt(
        std::move(order), {[this, peer = request.peer](const ProbeLine& line) { server_->send(peer, json_of(line)); },
                           [this, peer = request.peer] { server_->finish(peer); },
                           [this, request](std::string_view error) {
                               refuse(request, error, proto::control::code::unavailable);
                           }});
    server_->on_disconnect(request.peer, [this, number] { deps_.cancel(number); });
}

std::vector<std::string> Control::obstacles(const proto::route::Routed& route) const {
    std::vector<std::string> out;
    const auto paused = [&](Scope scope, std::string_view what, std::string_view name) {
        const auto* pause = find(pauses_, scope, name);
        if (pause == nullptr) return;
        out.push_back(fmt::format("mail would wait: {}{}{} is paused by {}{}{}", what, name.empty() ? "" : " ",
                                  name, pause->who, pause->why.empty() ? "" : ": ", pause->why));
    };
    paused(Scope::everything, "everything", "");
    paused(Scope::link, "link", route.link);
    const auto waits_in = decide::link_from(route.domain, route.asked_pool);
    paused(Scope::queue, "queue", waits_in);
    if (const auto pool = decide::pool_of_link(route.link); !pool.empty()) paused(Scope::pool, "pool", pool);
    const auto not_well = [&](std::string_view what, const std::string& name, const auto& info) {
        if (info.health == decide::queue::Health::ready || info.paused) return;
        out.push_back(fmt::format("mail would wait: {} {} backs off after {} failed attempts, the last: {}", what, name,
                                  info.failures, info.last_error.text));
    };
    const auto now = common::Loop::now();
    for (const auto& link : deps_.engine.links(now))
        if (link.name == route.link) not_well("link", link.name, link);
    for (const auto& queue : deps_.engine.queues(now))
        if (queue.name == waits_in) not_well("queue", queue.name, queue);
    return out;
}

} // namespace queue_manager
