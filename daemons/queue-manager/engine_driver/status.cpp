// What the queue-manager tells its control side of itself, and what it lends it.
#include "daemons/common/config/config.h"
#include "daemons/common/submission/address_map.h"
#include "daemons/common/config/local_listener.h"
#include "daemons/decide/routing/failover_route.h"
#include "daemons/queue-manager/engine_driver/queue_manager.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include <algorithm>
#include <fmt/format.h>

namespace queue_manager {

namespace {

// From any pool that there is.
bool routed_to(std::string_view link, const config::Config& config) {
    const auto pool = decide::pool_of_link(link);
    if (!pool.empty() && !config.pool(pool)) return false;
    for (const auto& route : config.routes)
        for (const auto& equals : route.next_hops) {
            const bool named = equals.front().kind == decide::NextHop::Kind::host;
            if (named && decide::configured(equals, route.tls_wrap).link == decide::link_to(link)) return true;
        }
    return false;
}

std::string bad_next_hop(std::string_view text, const config::Config& config) {
    if (std::ranges::count(config.routes, text, &decide::RouteRule::pattern) > 0) return "";
    const auto hop = decide::NextHop::parse(text);
    const bool no_domain = hop && hop->kind == decide::NextHop::Kind::mx_of && !hop->name.contains('.');
    if (!hop || hop->kind == decide::NextHop::Kind::recipient || no_domain)
        return fmt::format(
            "\"{}\" is no next hop: say [host]:port, [address]:port, lmtp:/path, a domain for its MX hosts, or "
            "the name of a [route]",
            text);
    if (config::local_listener(config, *hop))
        return fmt::format("{} is this system itself: the mail would come back for ever", text);
    return "";
}

} // namespace

void QueueManager::begin_control(common::Fd fd) {
    auto pauses = load_pauses(*disk_);
    if (!pauses) {
        log_.critical("pauses: {}: everything is paused; say again what is to be, then resume everything",
                      pauses.error().what);
        report_problem("pauses", "what was paused is not known (" + pauses.error().what + "): everything is paused");
        pauses = Pauses{{decide::queue::Scope::everything, "", "queue-manager", pauses.error().what,
                         common::Loop::now().wall}};
    }
    for (const Pause& each : *pauses)
        with_engine([&](smtp::Now now, auto& out) { engine_.pause(each.scope, each.name, now, out); });
    control_ = std::make_unique<Control>(
        Control::Dependencies{
            .loop = context_.loop,
            .log = log_,
            .pool = pool_,
            .store = store_,
            .engine = engine_,
            .suppressions = suppressions_,
            .own_postmaster =
                [this](std::string_view address) { return common::is_own_postmaster(address, config_->local.domains); },
            .with_engine =
                [this](const auto& what) {
                    with_engine([&](smtp::Now now, auto& out) { what(engine_, now, out); });
                },
            .queue_status = [this] { return queue_status(); },
            .written = [this] { turn_.schedule(); },
            .write_pending_records = [this](spool::QueueId id) {
                if (auto unchanged = pending_records_.take(id)) record(id, {*std::move(unchanged)});
            },
            .removed =
                [this](spool::QueueId id, Control::Dependencies::Removal how) {
                    scanner_.finished(id);
                    log_.info("{}: removed", id.text());
                    const bool kept = how == Control::Dependencies::Removal::may_be_restored &&
                                      config_->spool.removed_age > smtp::Duration{};
                    idempotency_keys_.when_stored(id, [this, id, kept] {
                        kept ? move_to_removed(id) : remove_file(id, spool::Location::messages);
                    });
                },
            .restore_removed =
                [this](spool::QueueId id, std::string who, spool::Store::Done done) {
                    restore_removed(id, std::move(who), std::move(done));
                },
            .stop_delivery =
                [this](const decide::queue::MessageInfo& info, DeliveryStops::Then then) {
                    using Before = DeliveryStops::Before;
                    stops_.stop(info.id, info.held ? Before::held : Before::free, std::move(then));
                },
            .foreign = [this](spool::QueueId id) { return locked_.contains(id); },
            .bad_next_hop = [this](std::string_view text) { return bad_next_hop(text, *config_); },
            .policy_named = [this](std::string_view name) { return policy_named(name, config_->queue.policies); },
            .routed = [this](std::string_view link) { return routed_to(link, *config_); },
            .knows_pool = [this](std::string_view name) { return config_->pool(name) != nullptr; },
            .resting = [this](std::string_view link) { return resting_.of(link, common::Loop::now()); },
            .query_route = [this](const std::string& address,
                              RouteQuery::Done done) { route_query_.ask(address, "", std::move(done)); },
            .attempt = [this](DeliveryProbes::Order order,
                              DeliveryProbes::Listener who) { return probes_.begin(std::move(order), std::move(who)); },
            .cancel = [this](std::uint64_t number) { probes_.cancel(number); },
            .agent_user = [this] { return agent_user(); },
            .config = [this]() -> const config::Config& { return *config_; },
        },
        *std::move(pauses));
    if (fd) control_->listen(std::move(fd), operators_);
}

DeliveryProbes::Dependencies QueueManager::probe_dependencies() {
    return {
        .query_route =
            [this](const std::string& address, const std::string& reverse_path, RouteQuery::Done done) {
                const auto* pool = common::find_by_address(config_->pool_choice.by_sender, reverse_path,
                                                      config_->local.recipient_delimiter);
                route_query_.ask(address, pool ? *pool : "", std::move(done));
            },
        .connect =
            [this](const proto::route::Routed& route) {
                return connect_to(route.link, hosts_of(route), common::Loop::now());
            },
        .send =
            [this](const proto::delivery::Probe& order) {
                const auto agent = agents_.any(AgentKind::smtp);
                const bool sent = agent && agents_.send(*agent, order) == ipc::SendResult::yes;
                return sent ? agent : std::nullopt;
            },
        .end = [this](DeliveryProbes::AgentId agent,
                      const proto::delivery::EndProbe& order) { agents_.send(agent, order); },
        .obstacles =
            [this](const proto::route::Routed& route) {
                return control_ ? control_->obstacles(route) : std::vector<std::string>();
            },
        .agent_user = [this] { return agent_user(); },
    };
}

std::string QueueManager::agent_user() const { return config_->mta.users ? config_->mta.user : std::string(); }

void QueueManager::update_gauges(common::Metrics& metrics) {
    const auto queue_status = this->queue_status();
    using common::MetricId;
    metrics.set(MetricId::queue_loading, queue_status.loading);
    metrics.set(MetricId::accepting, queue_status.not_accepting.empty());
    metrics.set(MetricId::delivering, queue_status.not_delivering.empty());
    if (const auto space = disk_->space()) {
        metrics.set(MetricId::spool_free_bytes, static_cast<std::int64_t>(space->bytes_free));
        metrics.set(MetricId::spool_size_bytes, static_cast<std::int64_t>(space->bytes_total));
        metrics.set(MetricId::spool_free_inodes, static_cast<std::int64_t>(space->files_free));
    }
    for (std::size_t n = 0; n < cleaner_.places().size(); ++n) {
        const auto& kept = cleaner_.places()[n].kept;
        const auto place = static_cast<common::SetAsideDirectory>(n);
        metrics.set(MetricId::put_aside_bytes, static_cast<std::int64_t>(kept.bytes), place);
        metrics.add(MetricId::put_aside_removed, kept.removed - removed_counted_[n], place);
        removed_counted_[n] = kept.removed;
    }
    queue_metrics_.take(engine_, config_->metrics.links, metrics);
}

QueueStatus QueueManager::queue_status() {
    const auto now = common::Loop::now();
    QueueStatus out;
    out.loading = scanner_.loading();
    out.stopping = stopping_;
    out.in = in_.per_second(now.monotonic);
    out.out = out_.per_second(now.monotonic);
    out.services = {{"categorizer", categorizer_.present()},
                    {"router", router_.present()},
                    {"bounce", bounce_.present()}};
    for (const auto& [about, text] : problems_) out.problems.push_back(text);
    for (const auto& place : cleaner_.places()) out.put_aside.push_back(place);
    const auto space = disk_->space();
    bool writer = false;
    for (const auto& [slot, each] : writers_) writer = writer || each.channel != nullptr;
    if (stopping_)
        out.not_accepting = out.not_delivering = "postrider is stopping";
    else if (!writer)
        out.not_accepting = "nobody who takes mail in is connected (smtpd, pickup)";
    else if (!space)
        out.not_accepting = space.error().what;
    else if (disk_->read_only())
        out.not_accepting = "the spool's file system is read-only";
    else if (space->bytes_free < config_->spool.minimum_free)
        out.not_accepting =
            fmt::format("{} bytes are free on the spool's disk, {} must be (spool.minimum_free)",
                        space->bytes_free, config_->spool.minimum_free);
    else if (space->files_total > 0 && space->files_free < config_->spool.minimum_free_inodes)
        out.not_accepting =
            fmt::format("{} inodes are free on the spool's disk, {} must be (spool.minimum_free_inodes)",
                        space->files_free, config_->spool.minimum_free_inodes);
    if (out.not_accepting.empty()) out.not_accepting = obstacle_of_writers();
    if (out.not_delivering.empty() && control_ && control_->everything_paused())
        out.not_delivering = *control_->everything_paused();
    if (out.not_delivering.empty() && agents_.empty()) out.not_delivering = "no delivery agent is connected";
    if (out.not_delivering.empty() && !router_.present()) out.not_delivering = "the router is not connected";
    if (out.not_delivering.empty() && !categorizer_.present())
        out.not_delivering = "the categorizer is not connected";
    return out;
}

std::string QueueManager::status_text() {
    const auto now = queue_status();
    const auto counts = engine_.counts();
    std::string text = fmt::format("{} message{} queued{}", counts.messages, counts.messages == 1 ? "" : "s",
                                   now.loading ? " so far, reading the spool" : "");
    if (counts.active > 0) text += fmt::format(", {} being delivered", counts.active);
    if (!now.not_accepting.empty()) text += "; accepting no mail: " + now.not_accepting;
    if (!now.not_delivering.empty()) text += "; delivering nothing: " + now.not_delivering;
    return text;
}

} // namespace queue_manager
