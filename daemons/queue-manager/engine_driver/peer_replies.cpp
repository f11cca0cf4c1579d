// What the other daemons answer: the categorizer, the router, the bounce daemon, the delivery agents. Each
// answer is made the engine's own words and told to it; what must be durable first is written first.
#include "daemons/common/config/config.h"
#include "daemons/common/config/sections/delivery/pools.h"
#include "daemons/common/text/units.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/failure_mapping.h"
#include "daemons/queue-manager/engine_driver/queue_manager.h"
#include "daemons/queue-manager/conversion/soft_bounce.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <memory>
#include <optional>
#include <utility>

namespace queue_manager {

using common::Loop;

namespace {

// In the same words for routes by which we authenticate in the same way; "" the usual one.
std::string authentication_by(std::string_view rule, const config::Config& config) {
    const auto route = std::ranges::find(config.routes, rule, &decide::RouteRule::pattern);
    if (route == config.routes.end() || route->auth == decide::AuthRule{}) return {};
    return fmt::format("{}{} {}", route->auth.never ? "never " : "", route->auth.without_tls ? "without TLS" : "",
                       fmt::join(route->auth.mechanisms, ","));
}

} // namespace

// ---- the categorizer, the router, the bounce daemon ----

void QueueManager::categorized(const proto::categorize::Categorized& answer) {
    if (route_query_.answered(answer)) return;
    const spool::QueueId id{answer.request};
    auto subject = subjects_.extract(id);
    if (!subject) return; // forgotten meanwhile
    CategorizationInput& asked = subject.mapped();
    const bool soft = config_->bounce.soft_bounce;
    auto judgement = judge(asked, soft ? softened(answer) : answer, Loop::now().wall);
    if (!judgement)
        return not_categorized(id, answer.refused.empty() ? "the categorizer's answer does not fit the question"
                                                          : answer.refused);
    // Those that an expansion has brought are in the file only when that is written.
    if (judgement->records.empty()) {
        log_categorized(id, judgement->recipients);
        return settle(id, *judgement, asked);
    }
    // An expansion is durable before its first attempt: a changed alias file must not be found after a crash.
    CRASH_POINT("queue-manager.expanded");
    pending_records_.add(id, std::exchange(judgement->unchanged, {}));
    auto records = std::exchange(judgement->records, {});
    if (auto unchanged = pending_records_.take(id)) records.insert(records.begin(), *std::move(unchanged));
    store_.append(id, spool::Location::incoming, std::move(records),
                  judgement->expanded ? spool::Sync::yes : spool::Sync::no,
                  [this, id, judgement = *std::move(judgement),
                   asked = std::move(asked)](spool::Result<> written) {
                      if (written) {
                          log_categorized(id, judgement.recipients);
                          return settle(id, judgement, asked);
                      }
                      failed_on_disk(id, written.error());
                      not_categorized(id, fmt::format("cannot be recorded: {}", written.error().what));
                  });
    turn_.schedule();
}

void QueueManager::settle(spool::QueueId id, const Judgement& judgement, const CategorizationInput& subject) {
    const auto final = final_recipients(judgement.recipients, subject.rerouted_to);
    pending_records_.add(id, judgement.unchanged);
    if (!pending_records_.empty() && !pending_records_timer_.armed()) pending_records_timer_.start(PendingRecords::delay);
    const Categorization categorization{subject, judgement};
    const auto* outer = std::exchange(categorization_, &categorization);
    with_engine([&](smtp::Now now, auto& out) { engine_.categorized({id, final, judgement.told}, now, out); });
    categorization_ = outer;
}

void QueueManager::routed(const proto::route::Routed& said) {
    if (route_query_.answered(said)) return;
    std::optional<proto::route::Routed> soft;
    if (config_->bounce.soft_bounce) soft = softened(said);
    const auto& answer = soft ? *soft : said;
    const decide::queue::Reason reason{
        .status = answer.status, .text = answer.text, .at = answer.records_of, .by_srv = answer.by_srv};
    using decide::RouteKind;
    const bool reached = answer.kind == RouteKind::mx || answer.kind == RouteKind::configured;
    if (reached) links_[answer.link] = hosts_of(answer);
    if (reached) domains_.routed(answer);
    const auto auth = authentication_by(answer.rule, *config_);
    with_engine([&](smtp::Now now, auto& out) {
        engine_.routed({answer.domain, answer.asked_pool, answer.kind, answer.link,
                        std::chrono::seconds(answer.valid_seconds), reached ? nullptr : &reason, answer.connections,
                        answer.rule, auth, answer.secure},
                       now, out);
    });
}

void QueueManager::reported(const proto::report::Reported& answer) {
    auto asked = reports_.extract(answer.request);
    if (!asked) return;
    using proto::report::Outcome;
    const bool later = answer.outcome == Outcome::try_later;
    if (later) {
        log_.warning("{}: no report could be made: {}: trying again", asked.mapped().text(), answer.text);
        release_reserve();
    }
    reported_how_ = answer.outcome == Outcome::submitted    ? spool::Reported::submitted
                    : answer.outcome == Outcome::not_wanted ? spool::Reported::not_wanted
                                                            : spool::Reported::kept_in_bad;
    if (answer.outcome == Outcome::kept_in_bad) cleaner_.soon();
    with_engine([&](smtp::Now now, auto& out) {
        engine_.reported(
            {answer.request,
             later ? decide::queue::ReportOutcome::try_later : decide::queue::ReportOutcome::done,
             answer.outcome == Outcome::submitted ? answer.report_id : spool::QueueId{}, answer.text},
            now, out);
    });}

// ---- agents ----

void QueueManager::handle_agent_message(decide::queue::AgentId agent, AgentKind kind, proto::delivery::Message&& message) {
    using namespace proto::delivery;
    if (auto* asks = std::get_if<ConnectRequest>(&message)) {
        bool granted = false;
        with_engine([&](smtp::Now now, auto& out) {
            using decide::queue::AddressRequest;
            granted = engine_.may_connect(asks->connection, asks->address,
                                          asks->in_parallel ? AddressRequest::add : AddressRequest::replace, now, out);
        });
        agents_.send(agent, ConnectReply{asks->connection, granted});
    } else if (auto* left = std::get_if<AddressReleased>(&message))
        with_engine([&](smtp::Now now, auto& out) { engine_.left_address(left->connection, left->address, now, out); });
    else if (auto* connected = std::get_if<Connected>(&message)) {
        if (!connected->source.empty())
            source_taken(connected->link, connected->source, decide::SourceBackoff::Of::connections);
        with_engine([&](smtp::Now now, auto& out) { engine_.connected(connected->connection, now, out); });
    } else if (auto* refused = std::get_if<SourceRefused>(&message))
        source_refused(*refused);
    else if (auto* taken = std::get_if<SourceAccepted>(&message))
        source_taken(taken->link, taken->source, decide::SourceBackoff::Of::mail);
    else if (auto* finished = std::get_if<Done>(&message))
        done(agent, kind, *finished);
    else if (auto* ended = std::get_if<Closed>(&message))
        closed(*ended);
    else if (auto* back = std::get_if<Returned>(&message))
        returned(*back);
    else if (auto* late = std::get_if<TooLateToCancel>(&message))
        stops_.too_late(late->queue_id);
    else if (auto* step = std::get_if<ProbeStep>(&message))
        probes_.said(agent, *step);
    else if (auto* tried = std::get_if<ProbeResult>(&message))
        probes_.said(agent, *tried);
}

// Other connections of the link go out from other addresses of the pool, for as long as it says.
void QueueManager::source_refused(const proto::delivery::SourceRefused& refused) {
    using By = proto::delivery::SourceRefused::By;
    const auto* known = config_->pool(decide::pool_of_link(refused.link));
    const auto rest = refused.by == By::us ? config::Pool::backoff_when_unusable
                      : known              ? known->backoff
                                           : config::Pool().backoff;
    using Of = decide::SourceBackoff::Of;
    const auto of = refused.by == By::mail ? Of::mail : Of::connections;
    if (refused.by != By::us)
        context_.metrics.count(common::MetricId::source_refusals,
                              of == Of::mail ? common::RefusedStage::mail : common::RefusedStage::connection);
    if (!resting_.begin(refused.link, refused.source, rest, refused.why, Loop::now(), of)) return; // it was said
    log_.warning("link {}: {} rests for {}: {}", refused.link, refused.source, config::print_duration(rest),
                 refused.why);
}

void QueueManager::source_taken(std::string_view link, std::string_view source, decide::SourceBackoff::Of what) {
    if (resting_.end(link, source, what)) log_.info("link {}: {} is taken again and rests no longer", link, source);
}

void QueueManager::done(decide::queue::AgentId agent, AgentKind kind, const proto::delivery::Done& said) {
    std::optional<proto::delivery::Done> soft;
    if (config_->bounce.soft_bounce) soft = softened(said);
    const auto& done = soft ? *soft : said;
    const auto id = done.queue_id;
    if (scanner_.loading() && !engine_.message(id, Loop::now())) {
        early_.emplace(id, Early{agent, kind, done}); // told by an agent before the spool was read so far
        return;
    }
    if (done.gone) return look_for_file(agent, kind, done);
    // Acknowledged when everything it leads to is written: until then the agent keeps it.
    acknowledgement_ = std::shared_ptr<void>(nullptr, [this, agent, delivery = done.delivery](void*) {
        agents_.send(agent, proto::delivery::Acknowledged{delivery});
    });
    Result result(done, kind);
    if (done.unreadable) {
        put_in_quarantine(id, "found damaged when it was to be delivered");
        with_engine([&](smtp::Now now, auto& out) { engine_.forget(id, now, out); });
    } else if (auto failed = result.failed_attempts(); !failed.empty()) {
        record(id, std::move(failed));
        suppress_refused(done);
    }
    result_ = &result;
    with_engine([&](smtp::Now now, auto& out) { engine_.done(result.event(), now, out); });
    result_ = nullptr;
    acknowledgement_.reset();
}

// That an agent finds no file says something of the agent as well: it may have come between two places, or have lost its
// way. Only what is not found here either has gone.
void QueueManager::look_for_file(decide::queue::AgentId agent, AgentKind kind, const proto::delivery::Done& said) {
    auto tried = said;
    tried.gone = false;
    const auto as_said = [this, agent, kind, tried](const std::string& found) {
        log_.warning("{}: a delivery agent did not find its file; here {}: it is tried again", tried.queue_id.text(), found);
        done(agent, kind, tried);
    };
    readings_.read(
        said.queue_id, spool::Location::messages,
        [as_said](const spool::MessageState&, std::uint64_t) { as_said("it is found"); },
        [this, as_said, agent, kind, tried](const MessageLoader::Failure& failure) {
            using How = MessageLoader::Failure::How;
            if (failure.how == How::failed) return as_said("it cannot be read: " + failure.why);
            if (failure.how == How::damaged) {
                auto damaged = tried;
                damaged.unreadable = true;
                damaged.results.clear();
                return done(agent, kind, damaged);
            }
            log_.critical("{}: its file has gone, nothing was delivered: forgotten", tried.queue_id.text());
            with_engine([&](smtp::Now now, auto& out) { engine_.forget(tried.queue_id, now, out); });
            agents_.send(agent, proto::delivery::Acknowledged{tried.delivery});
        });
}

void QueueManager::closed(const proto::delivery::Closed& closed) {
    const auto reason = reason_of(closed.reason, closed.host);
    decide::queue::Closed event{.connection = closed.connection, .was_up = closed.was_up};
    if (closed.failed)
        event = decide::queue::failed(closed.connection, closed.was_up,
                                      {closed.reason.stage, closed.reason.code, closed.reason.status}, reason);
    event.at_address_limit = closed.at_address_limit;
    with_engine([&](smtp::Now now, auto& out) { engine_.closed(event, now, out); });
}

void QueueManager::returned(const proto::delivery::Returned& back) {
    with_engine([&](smtp::Now now, auto& out) { engine_.returned({back.connection, back.deliveries}, now, out); });
    turn_.schedule();
}

DeliveryStops::Dependencies QueueManager::stop_dependencies() {
    return {.in_flight =
                [this](spool::QueueId id) {
                    const auto info = engine_.message(id, Loop::now());
                    return info && info->active;
                },
            .stop =
                [this](spool::QueueId id) {
                    with_engine([&](smtp::Now now, auto& out) {
                        engine_.hold(id, now, out);
                        engine_.cancel(id, now, out);
                    });
                },
            .go_on =
                [this](spool::QueueId id) {
                    with_engine([&](smtp::Now now, auto& out) { engine_.release(id, now, out); });
                }};
}

} // namespace queue_manager
