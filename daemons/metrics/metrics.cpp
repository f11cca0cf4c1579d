#include "daemons/metrics/metrics.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/sections/system/metrics.h"
#include "daemons/metrics/prometheus_text.h"
#include <algorithm>

namespace metrics {

using common::MetricId;
using proto::Role;
using namespace std::chrono_literals;

namespace {

constexpr web::ServerLimits limits{.connections = 32, .header = 10s, .idle = 10s, .grace = 10s};
constexpr std::uint64_t most_memory = 1 << 20; // for bodies, which are ignored

} // namespace

spool::Result<std::unique_ptr<Metrics>> Metrics::create(common::DaemonContext& context,
                                                        common::DaemonConfig daemon_config) {
    auto self = std::make_unique<Metrics>(context);
    self->reconfigure(std::move(daemon_config));
    return self;
}

Metrics::Metrics(common::DaemonContext& context)
    : context_(context), process_(Role::metrics, context.log, context.metrics),
      collection_(context.loop, aggregator_, context.metrics, [this] { process_.measure(); }), memory_(most_memory),
      pages_(makers(), [this](auto done) { collection_.request(std::move(done)); }),
      text_readers_(
          context.loop, [this](auto done) { collection_.request(std::move(done)); },
          [this] { return prometheus_text(aggregator_, POSTRIDER_VERSION); }) {}

void Metrics::reconfigure(common::DaemonConfig daemon_config) {
    aggregator_.limit_links(daemon_config.config.metrics.links, common::Loop::now().monotonic);
    if (listener_) {
        listener_->expect(daemon_config.expected);
    } else {
        listener_ = std::make_unique<ipc::Listener>(context_.loop, context_.log, daemon_config.take("metrics"),
                                                    daemon_config.expected);
        listener_->serve<proto::metrics::Message>(
            proto::metrics::conversation,
            {Role::smtpd, Role::pickup, Role::categorizer, Role::router, Role::queue_manager, Role::smtp_client,
             Role::local, Role::bounce, Role::events, Role::http, Role::transfer, Role::maps, Role::fleet},
            [this](ipc::Peer peer, auto channel) { collection_.attach(peer, std::move(channel)); });
        listener_->serve<proto::metrics_text::Message>(
            proto::metrics_text::conversation, {Role::http},
            [this](ipc::Peer, auto channel) { text_readers_.attach(std::move(channel)); });
    }
    serve(std::move(daemon_config.listeners), daemon_config.config.metrics);
}

// What is already served continues unchanged.
void Metrics::serve(std::vector<common::InheritedListener> handed, const config::Metrics& settings) {
    auto former = std::exchange(servers_, {});
    std::string missing;
    for (const auto& endpoint : settings.listen) {
        const auto address = endpoint.to_string();
        if (auto old = former.extract(address)) {
            servers_.insert(std::move(old));
            continue;
        }
        const auto socket = std::ranges::find_if(
            handed, [&](const auto& each) { return each.name == "http" && each.address == address; });
        if (socket == handed.end()) {
            missing += (missing.empty() ? "" : ", ") + address;
            continue;
        }
        auto server = web::Server::open(context_.loop, std::move(socket->fd), pages_, memory_, limits);
        if (server) {
            servers_[address] = *std::move(server);
        } else {
            context_.log.error("metrics are not served at {}: {}", address, server.error().what);
            missing += (missing.empty() ? "" : ", ") + address;
        }
    }
    context_.loop.defer([this, missing] { // reported before we are ready, it would not be kept
        context_.report_problem(
            missing.empty() ? "" : "metrics.listen: nothing is served at " + missing + "; the log says why");
    });
}

Pages::Makers Metrics::makers() {
    return {{"/metrics",
             [this] {
                 return Page{.type = std::string(content_type),
                             .text = prometheus_text(aggregator_, POSTRIDER_VERSION)};
             }},
            {"/healthz", [this] { return healthz(health()); }},
            {"/readyz", [this] { return readyz(health()); }}};
}

ServiceHealth Metrics::health() const {
    const auto value = [this](MetricId id) { return aggregator_.value(common::first_cell(id)); };
    return {.queue_manager_answers = collection_.answered(Role::queue_manager),
            .accepting = value(MetricId::accepting) > 0,
            .listeners = value(MetricId::listeners)};
}

void Metrics::stop(smtp::Duration, std::function<void()> done) {
    servers_.clear();
    done();
}

void Metrics::process_ended(const std::string& role, std::uint32_t, bool crashed) {
    for (int i = 0; i <= static_cast<int>(Role::last_); ++i) {
        const auto each = static_cast<Role>(i);
        if (proto::name_of(each) != role) continue;
        context_.metrics.count(MetricId::restarts, each);
        if (crashed) context_.metrics.count(MetricId::crashes, each);
    }
}

} // namespace metrics
