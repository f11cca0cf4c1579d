#include "daemons/queue-manager/control/pauses_in_force.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/decide/hosts/mx.h"
#include <fmt/format.h>
#include <string_view>

namespace queue_manager {

using decide::queue::Scope;

std::optional<std::string> PausesInForce::everything() const {
    if (find(all_, Scope::everything, "") == nullptr) return {};
    return pause_text({}, all_);
}

std::string PausesInForce::covering(Scope scope, const std::string& name, const decide::queue::Engine& engine) const {
    if (const auto all = everything()) return *all;
    if (find(all_, scope, name) != nullptr) return pause_text({scope, name}, all_);
    if (scope == Scope::queue)
        for (const auto& queue : engine.queues(common::Loop::now()))
            if (queue.name == name && queue.paused_by) return pause_text(*queue.paused_by, all_);
    return "";
}

void PausesInForce::set_reasons(decide::queue::MessageInfo& info) const {
    set_pause_reasons(info, all_);
    const auto moved = transfers_ ? transfers_(info.id) : "";
    if (moved.empty()) return;
    for (auto& delivery : info.deliveries) {
        delivery.reason = {};
        delivery.reason.text = moved;
    }
}

std::vector<std::string> PausesInForce::obstacles(const proto::route::Routed& route,
                                                  const decide::queue::Engine& engine) const {
    std::vector<std::string> out;
    const auto paused = [&](Scope scope, std::string_view what, std::string_view name) {
        const auto* pause = find(all_, scope, name);
        if (pause == nullptr) return;
        out.push_back(fmt::format("mail would wait: {}{}{} is paused by {}{}{}", what, name.empty() ? "" : " ", name,
                                  pause->who, pause->why.empty() ? "" : ": ", pause->why));
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
    if (const auto link = engine.link(route.link, now)) not_well("link", link->name, *link);
    if (const auto queue = engine.queue(waits_in, now)) not_well("queue", queue->name, *queue);
    return out;
}

} // namespace queue_manager
