#include "daemons/queue-manager/peers/delivery_results.h"
#include "daemons/common/config/config.h"
#include "daemons/common/text/units.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/failure_mapping.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace queue_manager {

void DeliveryResults::attached(decide::queue::AgentId agent, AgentKind kind) {
    const auto& queue = deps_.config->queue;
    const auto capacity = kind == AgentKind::local ? queue.connections_local : queue.connections_total;
    deps_.driver.tell(
        [&](auto& engine, smtp::Now now, auto& out) { engine.agent_attached(agent, kind, capacity, now, out); });
}

void DeliveryResults::gone(decide::queue::AgentId agent, decide::queue::AgentExit how) {
    deps_.probes.gone(agent);
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.agent_gone(agent, how, now, out); });
}

void DeliveryResults::handle(decide::queue::AgentId agent, AgentKind kind, proto::delivery::Message&& message) {
    using namespace proto::delivery;
    if (auto* asks = std::get_if<ConnectRequest>(&message))
        connect(agent, *asks);
    else if (auto* left = std::get_if<AddressReleased>(&message))
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
            engine.left_address(left->connection, left->address, now, out);
        });
    else if (auto* up = std::get_if<Connected>(&message))
        connected(*up);
    else if (auto* refused = std::get_if<SourceRefused>(&message))
        source_refused(*refused);
    else if (auto* taken = std::get_if<SourceAccepted>(&message))
        source_accepted(taken->link, taken->source, decide::SourceBackoff::Of::mail);
    else if (auto* finished = std::get_if<Done>(&message))
        done(agent, kind, described(std::move(*finished)));
    else if (auto* ended = std::get_if<Closed>(&message))
        closed(*ended);
    else if (auto* back = std::get_if<Returned>(&message))
        returned(*back);
    else if (auto* late = std::get_if<TooLateToCancel>(&message))
        deps_.too_late_to_cancel(late->queue_id);
    else if (auto* step = std::get_if<ProbeStep>(&message))
        deps_.probes.said(agent, *step);
    else if (auto* tried = std::get_if<ProbeResult>(&message))
        deps_.probes.said(agent, *tried);
}

// ---- connections ----

void DeliveryResults::connect(decide::queue::AgentId agent, const proto::delivery::ConnectRequest& request) {
    using decide::queue::AddressRequest;
    bool granted = false;
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
        granted = engine.may_connect(request.connection, request.address,
                                     request.in_parallel ? AddressRequest::add : AddressRequest::replace, now, out);
    });
    deps_.agents.send(agent, proto::delivery::ConnectReply{request.connection, granted});
}

void DeliveryResults::connected(const proto::delivery::Connected& connected) {
    if (!connected.source.empty())
        source_accepted(connected.link, connected.source, decide::SourceBackoff::Of::connections);
    deps_.driver.tell(
        [&](auto& engine, smtp::Now now, auto& out) { engine.connected(connected.connection, now, out); });
}

// During the pool's backoff time, other connections of the link use its other addresses.
void DeliveryResults::source_refused(const proto::delivery::SourceRefused& refused) {
    using By = proto::delivery::SourceRefused::By;
    const auto* known = deps_.config->pool(decide::pool_of_link(refused.link));
    const auto rest = refused.by == By::us ? config::Pool::backoff_when_unusable
                      : known              ? known->backoff
                                           : config::Pool().backoff;
    using Of = decide::SourceBackoff::Of;
    const auto of = refused.by == By::mail ? Of::mail : Of::connections;
    if (refused.by != By::us)
        deps_.metrics.count(common::MetricId::source_refusals,
                            of == Of::mail ? common::RefusedStage::mail : common::RefusedStage::connection);
    if (!deps_.resting.begin(refused.link, refused.source, rest, refused.why, common::Loop::now(), of))
        return; // already reported
    deps_.log.warning("link {}: {} backs off for {}: {}", refused.link, refused.source, config::print_duration(rest),
                      refused.why);
}

void DeliveryResults::source_accepted(std::string_view link, std::string_view source, decide::SourceBackoff::Of what) {
    if (deps_.resting.end(link, source, what))
        deps_.log.info("link {}: {} is accepted again and no longer backs off", link, source);
}

void DeliveryResults::closed(const proto::delivery::Closed& closed) {
    const auto reason = reason_of(closed.reason, closed.host);
    decide::queue::Closed event{.connection = closed.connection, .was_up = closed.was_up};
    if (closed.failed)
        event = decide::queue::failed(closed.connection, closed.was_up,
                                      {closed.reason.stage, closed.reason.code, closed.reason.status}, reason);
    event.at_address_limit = closed.at_address_limit;
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.closed(event, now, out); });
}

void DeliveryResults::returned(const proto::delivery::Returned& back) {
    deps_.driver.tell(
        [&](auto& engine, smtp::Now now, auto& out) { engine.returned({back.connection, back.deliveries}, now, out); });
    deps_.returned();
}

// ---- deliveries ----

proto::delivery::Done DeliveryResults::described(proto::delivery::Done done) const {
    const auto known = deps_.driver.engine().in_flight(done.delivery);
    if (!known || done.connection == 0) return done;
    done.queue = known->queue;
    done.route = known->rule;
    done.pause = known->waits.pause;
    done.backoff = known->waits.link;
    return done;
}

void DeliveryResults::done(decide::queue::AgentId agent, AgentKind kind, const proto::delivery::Done& said) {
    std::optional<proto::delivery::Done> soft;
    if (deps_.config->bounce.soft_bounce) soft = softened(said);
    const auto& done = soft ? *soft : said;
    const auto id = done.queue_id;
    if (deps_.scanner.loading() && !deps_.driver.engine().message(id, common::Loop::now())) {
        early_.emplace(id, EarlyResult{agent, kind, done}); // by an agent, before the scan of the spool had found it
        return;
    }
    if (done.gone) return look_for_file(agent, kind, done);
    // Sent when everything that follows from it is written: until then the agent keeps the result.
    const auto acknowledgement = acknowledgements_.of(agent, done.delivery);
    const Result result(done, kind);
    if (done.unreadable) {
        deps_.files.quarantine(id, "found damaged when it was to be delivered");
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.forget(id, now, out); },
                          {.acknowledgement = acknowledgement});
    } else if (auto failed = result.failed_attempts(); !failed.empty()) {
        deps_.files.record(id, std::move(failed), spool::Sync::no, acknowledgement);
        deps_.suppressions.add_refused(done);
    }
    // A result that is repeated may be of a message that is finished.
    if (done.connection != 0 || deps_.driver.engine().message(id, common::Loop::now())) deps_.events.ended(done);
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.done(result.event(), now, out); },
                      {.result = &result, .acknowledgement = acknowledgement});
}

// If an agent finds no file, the cause may be the agent: it may have looked while the file was between two places, or
// in the wrong place. Only a file that is not found here either has gone.
void DeliveryResults::look_for_file(decide::queue::AgentId agent, AgentKind kind, const proto::delivery::Done& said) {
    auto tried = said;
    tried.gone = false;
    const auto as_said = [this, agent, kind, tried](const std::string& found) {
        deps_.log.warning("{}: a delivery agent did not find its file; here {}: will be retried", tried.queue_id.text(),
                          found);
        done(agent, kind, tried);
    };
    deps_.loader.read(
        said.queue_id, spool::Location::messages,
        [as_said](const spool::MessageState&, std::uint64_t) { as_said("it exists"); },
        [this, as_said, agent, kind, tried](const MessageLoader::Failure& failure) {
            using How = MessageLoader::Failure::How;
            if (failure.how == How::failed) return as_said("it cannot be read: " + failure.why);
            if (failure.how == How::damaged) {
                auto damaged = tried;
                damaged.unreadable = true;
                damaged.results.clear();
                return done(agent, kind, damaged);
            }
            deps_.log.critical("{}: its file is gone, nothing was delivered: dropped from the queue",
                               tried.queue_id.text());
            deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.forget(tried.queue_id, now, out); });
            deps_.agents.send(agent, proto::delivery::Acknowledged{tried.delivery});
        });
}

void DeliveryResults::message_known(spool::QueueId id) {
    std::vector<EarlyResult> told;
    while (auto early = early_.extract(id)) told.push_back(std::move(early.mapped()));
    for (const auto& each : told) done(each.agent, each.kind, each.done);
}

void DeliveryResults::spool_loaded() {
    for (const auto& [id, early] : std::exchange(early_, {}))
        deps_.agents.send(early.agent, proto::delivery::Acknowledged{early.done.delivery});
}

} // namespace queue_manager
