#include "daemons/metrics/metrics.h"
#include "daemons/metrics/prometheus_text.h"
#include <algorithm>

namespace metrics {

using common::Family;
using proto::Role;

spool::Result<std::unique_ptr<Metrics>> Metrics::create(common::Surroundings& surroundings, common::Orders orders) {
    auto self = std::make_unique<Metrics>(surroundings);
    self->reconfigure(std::move(orders));
    return self;
}

Metrics::Metrics(common::Surroundings& surroundings)
    : around_(surroundings), process_(Role::metrics, surroundings.log, surroundings.figures),
      rounds_(surroundings.loop, ledger_, surroundings.figures, [this] { process_.measure(); }) {}

void Metrics::reconfigure(common::Orders orders) {
    ledger_.limit_links(orders.config.metrics.links, common::Loop::now().monotonic);
    if (listener_) {
        listener_->expect(orders.expected);
    } else {
        listener_ = std::make_unique<ipc::Listener>(around_.loop, around_.log, orders.take("metrics"), orders.expected);
        listener_->serve<proto::figures::Message>(
            proto::figures::conversation,
            {Role::smtpd, Role::pickup, Role::categorizer, Role::router, Role::queue_manager, Role::smtp_client,
             Role::local, Role::bounce},
            [this](ipc::Peer peer, auto channel) { rounds_.attach(peer, std::move(channel)); });
    }
    serve(std::move(orders.listeners), orders.config.metrics);
}

// What is served already goes on as it is.
void Metrics::serve(std::vector<common::HandedListener> handed, const config::Metrics& settings) {
    auto former = std::exchange(webs_, {});
    std::string missing;
    for (const auto& endpoint : settings.listen) {
        const auto address = endpoint.to_string();
        if (auto old = former.extract(address)) {
            webs_.insert(std::move(old));
            continue;
        }
        const auto socket = std::ranges::find_if(
            handed, [&](const auto& each) { return each.name == "http" && each.address == address; });
        if (socket == handed.end()) {
            missing += (missing.empty() ? "" : ", ") + address;
            continue;
        }
        auto web = Web::open(around_.loop, std::move(socket->fd), std::string(content_type), [this](auto answer) {
            rounds_.want([this, answer = std::move(answer)] { answer(exposition(ledger_, POSTRIDER_VERSION)); });
        });
        if (web) {
            webs_[address] = *std::move(web);
        } else {
            around_.log.error("metrics are not served at {}: {}", address, web.error().what);
            missing += (missing.empty() ? "" : ", ") + address;
        }
    }
    around_.loop.later([this, missing] { // said before we are ready it would not be kept
        around_.trouble(missing.empty() ? "" : "metrics.listen: nothing is served at " + missing + "; the log says why");
    });
}

void Metrics::stop(smtp::Duration, std::function<void()> done) {
    webs_.clear();
    done();
}

void Metrics::died(const std::string& role, std::uint32_t, bool crashed) {
    for (int i = 0; i <= static_cast<int>(Role::last_); ++i) {
        const auto each = static_cast<Role>(i);
        if (proto::name_of(each) != role) continue;
        around_.figures.count(Family::restarts, each);
        if (crashed) around_.figures.count(Family::crashes, each);
    }
}

} // namespace metrics
