// The queue-manager's side of the control socket (run/control): facts for `postrider status`, and "try everything
// now" for `sendmail -q`.
#include "daemons/queue-manager/queue_manager.h"
#include <nlohmann/json.hpp>

namespace queue_manager {

namespace {

std::string_view word_of(decide::queue::Health health) {
    switch (health) {
    case decide::queue::Health::ready: return "ready";
    case decide::queue::Health::glitch: return "glitch";
    case decide::queue::Health::retry: return "retry";
    }
    return "";
}

std::int64_t seconds_of(smtp::WallTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

constexpr std::size_t most_links_shown = 20;

} // namespace

nlohmann::json QueueManager::status() const {
    const auto now = common::Loop::now();
    const auto counts = engine_.counts();
    nlohmann::json links = nlohmann::json::array();
    for (const auto& link : engine_.links(now)) {
        if (link.health == decide::queue::Health::ready || links.size() == most_links_shown) continue;
        links.push_back({{"link", link.name},
                         {"state", word_of(link.health)},
                         {"failures", link.failures},
                         {"due", link.due},
                         {"next_attempt", seconds_of(link.next_attempt)},
                         {"failing_since", seconds_of(link.failing_since)},
                         {"last_error", link.last_error.text}});
    }
    nlohmann::json troubles = nlohmann::json::array();
    for (const auto& [about, text] : troubles_) troubles.push_back(text);
    return {
        {"messages", counts.messages},
        {"loading", loader_.loading()},
        {"delivering", !stopping_ && static_cast<bool>(listener_)},
        {"uncategorized", counts.uncategorized},
        {"waiting", counts.waiting},
        {"due", counts.due},
        {"active", counts.active},
        {"held", counts.held},
        {"reports", counts.reports},
        {"connections", counts.connections},
        {"services",
         {{"categorizer", categorizer_.present()}, {"router", router_.present()}, {"bounce", bounce_.present()}}},
        {"links", std::move(links)},
        {"troubles", std::move(troubles)},
    };
}

void QueueManager::control(const ipc::JsonServer::Request& request, const nlohmann::json& body) {
    const auto op = body.value("op", "");
    if (op == "status") {
        control_->send(request.peer, status());
        control_->finish(request.peer);
    } else if (op == "flush") {
        log_.info("flush: everything is tried now, asked for by uid={}", request.credentials.uid);
        tell([&](smtp::Now now, auto& out) { engine_.force(decide::queue::Scope::everything, "", now, out); });
        control_->finish(request.peer);
    } else {
        control_->refuse(request.peer, "the queue-manager knows no operation \"" + op + "\": it knows status and flush");
    }
}

} // namespace queue_manager
