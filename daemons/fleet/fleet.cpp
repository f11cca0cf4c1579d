#include "daemons/fleet/fleet.h"
#include "daemons/common/config/sections/system/origin.h"
#include "daemons/common/runtime/destroy_later.h"
#include "daemons/fleet/fleet_json.h"
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace fleet {

using namespace std::chrono_literals;
using common::MetricId;
using common::NodePresence;
using redis::Availability;

namespace {

constexpr smtp::Duration watch_interval = 1s;
constexpr smtp::Duration largest_clock_difference = 2s;
constexpr smtp::Duration between_lines = 1min; // about silent nodes
constexpr std::string_view works_alone =
    "this node works alone: it does not see the others, nor their changes of the suppression list";

// They are counted to 1000.
std::string count_text(std::uint64_t waiting) {
    constexpr std::uint64_t most_counted = 1000;
    return waiting < most_counted ? fmt::format("{}", waiting) : fmt::format("{} or more", most_counted);
}

std::string part_text(std::uint32_t nodes) { return nodes == 0 ? "its part" : fmt::format("1/{}", nodes); }

std::vector<NodeCount::Seen> seen_in(const NodeList& list) {
    const auto now = common::Loop::now().monotonic;
    std::vector<NodeCount::Seen> out;
    for (const auto& each : list.nodes())
        out.push_back({each.name, list.age_of(each, now), each.facts.stopped, list.is_silent(each, now)});
    return out;
}

std::vector<KeySharing::Node> running_in(const NodeList& list) {
    const auto now = common::Loop::now().monotonic;
    std::vector<KeySharing::Node> out;
    for (const auto& each : list.nodes()) out.push_back({each.name, !each.facts.stopped && !list.is_silent(each, now)});
    return out;
}

} // namespace

spool::Result<std::unique_ptr<Fleet>> Fleet::create(common::DaemonContext& context,
                                                    common::DaemonConfig daemon_config) {
    auto self = std::make_unique<Fleet>(context, config::fleet_of(daemon_config.config).node);
    self->reconfigure(std::move(daemon_config));
    return self;
}

Fleet::Fleet(common::DaemonContext& context, const std::string& node)
    : context_(context), problems_(context.report_problem), node_(node),
      heartbeat_(std::make_unique<Heartbeat>(
          node_, Heartbeat::Dependencies{.loop = context.loop,
                                         .facts = [this] { return facts(); },
                                         .facts_wanted =
                                             [this] {
                                                 if (queue_manager_) queue_manager_->send(proto::fleet::AskFacts{});
                                             },
                                         .list_received =
                                             [this] {
                                                 keys_.heard(running_in(heartbeat_->list()));
                                                 count_.heard(seen_in(heartbeat_->list()),
                                                              common::Loop::now().monotonic);
                                                 report();
                                             }})),
      suppressions_(std::make_unique<SuppressionSync>(
          SuppressionSync::Dependencies{.loop = context.loop,
                                        .log = context.log,
                                        .metrics = context.metrics,
                                        .report_problem = problems_.reporter("suppressions"),
                                        .send =
                                            [this](const proto::fleet::Message& message) {
                                                return std::visit(
                                                    [this](const auto& each) {
                                                        if constexpr (ipc::AlwaysFits<std::decay_t<decltype(each)>>)
                                                            return queue_manager_->send(each);
                                                        else
                                                            return queue_manager_->send(each) == ipc::SendResult::yes;
                                                    },
                                                    message);
                                            }})),
      keys_(context, {.run = [this](const auto& script, const auto& keys, const auto& arguments,
                                    auto done) { store_->run(script, keys, arguments, std::move(done)); },
                      .key = [this](std::string_view name) { return store_->key(name); }}),
      tokens_(std::make_unique<RateTokens>(RateTokens::Dependencies{
          .metrics = context.metrics,
          .run =
              [this](const redis::Script& script, const redis::Command& keys, const redis::Command& arguments,
                     redis::Session::Done done) {
                  if (store_->availability().state() != Availability::State::present) return false;
                  store_->run(script, keys, arguments, std::move(done));
                  return true;
              },
          .answer = [this](const proto::fleet::Tokens& answer) { queue_manager_->send(answer); }})),
      watch_(context.loop, [this] { report(); }) {
    watch_.start(watch_interval);
}

void Fleet::reconfigure(common::DaemonConfig daemon_config) {
    StoreClient::Settings settings{.fleet = config::fleet_of(daemon_config.config),
                                   .secrets = daemon_config.secrets_as<proto::secrets::Fleet>()};
    const auto same_store = [&] {
        auto former = store_->settings();
        former.fleet.expected_nodes = settings.fleet.expected_nodes;
        former.fleet.node = settings.fleet.node;
        former.fleet.keys = settings.fleet.keys;
        former.fleet.shares_rates = settings.fleet.shares_rates;
        return former == settings;
    };
    node_ = settings.fleet.node;
    expected_nodes_ = settings.fleet.expected_nodes;
    shares_rates_ = settings.fleet.shares_rates;
    heartbeat_->rename(node_);
    keys_.reconfigure(settings.fleet, config::origin_of(daemon_config.config), daemon_config.take("fleet-keys"),
                      std::move(daemon_config.expected));
    if (!store_ || !same_store()) use_store(std::move(settings));
    if (auto socket = daemon_config.take("fleet"); socket && !control_)
        control_ = std::make_unique<Control>(context_, std::move(socket), daemon_config.operators, [this] {
            return lines_of({.address = store_->settings().fleet.store,
                             .version = store_->version(),
                             .effect = effect(),
                             .node = node_,
                             .expected_nodes = expected_nodes_,
                             .availability = store_->availability()},
                            heartbeat_->list(), common::Loop::now().monotonic);
        });
    if (!queue_manager_) connect_queue_manager();
}

void Fleet::use_store(StoreClient::Settings settings) {
    heartbeat_->use(nullptr);
    suppressions_->use(nullptr);
    keys_.use("the store is not connected yet");
    tokens_->start_over();
    if (store_) was_away_ = true; // not all nodes change to another store at once
    if (store_) common::destroy_later(context_.loop, std::move(store_));
    store_ = std::make_unique<StoreClient>(context_.loop, context_.log, context_.metrics, std::move(settings),
                                           StoreClient::Callbacks{.ready =
                                                                      [this] {
                                                                          suppressions_->connected_anew();
                                                                          keys_.connected_anew();
                                                                          heartbeat_->beat();
                                                                      },
                                                                  .changed = [this] { report(); }});
    heartbeat_->use(store_.get());
}

void Fleet::connect_queue_manager() {
    queue_manager_ = std::make_unique<ipc::Connector<proto::fleet::Message>>(
        context_.loop, context_.log, context_.run_directory + "/private/queue-manager", proto::fleet::conversation,
        context_.identity,
        ipc::Connector<proto::fleet::Message>::Callbacks{.on_message =
                                                             [this](proto::fleet::Message&& message) {
                                                                 if (const auto* question =
                                                                         std::get_if<proto::fleet::AskTokens>(&message))
                                                                     return tokens_->ask(*question);
                                                                 const auto* facts =
                                                                     std::get_if<proto::fleet::Facts>(&message);
                                                                 if (!facts) return suppressions_->received(message);
                                                                 const bool first = !std::exchange(facts_, *facts);
                                                                 if (first) heartbeat_->beat();
                                                             },
                                                         .on_up =
                                                             [this] {
                                                                 queue_manager_->send(proto::fleet::AskFacts{});
                                                                 suppressions_->connected();
                                                                 sharing_.reset();
                                                                 report();
                                                             },
                                                         .on_down =
                                                             [this](const std::string&) {
                                                                 facts_.reset();
                                                                 suppressions_->disconnected();
                                                             }});
}

NodeFacts Fleet::facts() const {
    NodeFacts out;
    if (facts_) {
        out.messages = static_cast<std::int64_t>(facts_->messages);
        out.accepting = facts_->accepting;
        out.delivering = facts_->delivering;
    }
    if (const auto lag = suppressions_->lag()) out.lag = static_cast<std::int64_t>(*lag);
    out.waiting = static_cast<std::int64_t>(suppressions_->waiting());
    return out;
}

std::string Fleet::effect() const {
    if (!store_->availability().away()) return {};
    const auto waiting = suppressions_->waiting();
    return std::string(works_alone) + (waiting == 0 ? "" : fmt::format("; {} of its own wait", count_text(waiting))) +
           meaning();
}

// What the store being away means for keys and rates that all nodes share; "" nothing.
std::string Fleet::meaning() const {
    const auto keys = keys_.effect();
    return (keys.empty() ? "" : fmt::format("; {}", keys)) +
           (shares_rates_ ? fmt::format("; it keeps to {} of shared rates", part_text(count_.nodes(expected_nodes_)))
                          : "");
}

void Fleet::share_rates(smtp::Monotonic now) {
    const auto state = store_->availability().state();
    if (state == Availability::State::starting) return; // the queue-manager waits a little for what it will be
    const bool present = state == Availability::State::present;
    if (present && std::exchange(was_away_, false)) count_.store_back(node_, now);
    if (!present) was_away_ = true;
    const proto::fleet::Sharing sharing{
        .store = present, .nodes = count_.nodes(expected_nodes_), .missing = present ? count_.missing(now) : 0};
    if (!queue_manager_ || sharing_ == sharing) return;
    if (queue_manager_->send(sharing)) sharing_ = sharing;
}

void Fleet::report() {
    if (!store_) return; // it is being made
    const auto now = common::Loop::now().monotonic;
    const auto& availability = store_->availability();
    const bool present = availability.state() == Availability::State::present;
    suppressions_->use(present ? store_.get() : nullptr);
    // Of two nodes with one name, each would take the other's messages for its own.
    const bool namesake = heartbeat_->list().has_namesake();
    keys_.use(!present ? "the store is away" : namesake ? "another node has the name of this one" : "");
    share_rates(now);
    // Master logs each change of it: it has nothing that changes while the store is away.
    problems_.set("store", availability.away()
                               ? fmt::format("store {} is away: {}; this node works alone{}",
                                             store_->settings().fleet.store, availability.away_reason(), meaning())
                               : "");
    if (present) report_eviction();
    if (present) report_nodes(now);
    watch_.start(watch_interval);
}

void Fleet::report_eviction() {
    const auto policy = store_->eviction_policy();
    if (policy == std::exchange(eviction_policy_, policy)) return;
    const auto text = policy.empty() ? std::string()
                                     : fmt::format("the store removes keys when its memory is full ({}): set "
                                                   "maxmemory-policy to noeviction, or idempotency keys and "
                                                   "suppressions may be lost",
                                                   policy);
    if (!text.empty()) context_.log.warning("{}", text);
    problems_.set("eviction", text);
}

void Fleet::report_nodes(smtp::Monotonic now) {
    const auto& list = heartbeat_->list();
    // After an outage of the store all others look silent until they have found it again.
    const bool settled = now - store_->availability().since().monotonic > NodeList::silent_after;
    if (!settled) return;
    const auto expected = expected_nodes_;
    const auto silent = list.silent_names(now);
    const auto present = list.count_present(now);
    if (silent != silent_ && now >= next_line_) {
        next_line_ = silent_.empty() || silent.empty() ? now : now + between_lines;
        if (!silent.empty())
            context_.log.warning("nodes without a heartbeat for {} s: {}",
                                 std::chrono::floor<std::chrono::seconds>(NodeList::silent_after).count(), silent);
        else
            context_.log.info("all nodes are heard again");
        silent_ = silent;
    }
    problems_.set("nodes", present < expected ? fmt::format("{} of {} expected nodes are present{}", present, expected,
                                                            silent_.empty() ? "" : "; silent: " + silent_)
                                              : "");
    if (list.has_namesake() != namesake_) {
        namesake_ = list.has_namesake();
        const auto text = fmt::format("another node has the name {}: set mta.node to different names", node_);
        if (namesake_) context_.log.error("{}", text);
        problems_.set("name", namesake_ ? text : "");
    }
    const auto difference = list.clock_difference();
    const bool wrong = std::chrono::abs(difference) > largest_clock_difference;
    if (wrong != clock_wrong_) {
        clock_wrong_ = wrong;
        const auto text = wrong
                              ? fmt::format("the clock of this host differs from the store's by {:.1f} s: synchronize "
                                            "the clocks of all nodes",
                                            std::chrono::duration<double>(difference).count())
                              : std::string();
        if (wrong) context_.log.warning("{}", text);
        problems_.set("clock", text);
    }
}

void Fleet::stop(smtp::Duration, std::function<void()> done) {
    control_.reset();
    heartbeat_->stop(std::move(done));
}

std::string Fleet::status_text() {
    const auto& list = heartbeat_->list();
    switch (store_->availability().state()) {
    case Availability::State::starting: return "connecting to the store";
    case Availability::State::away:
        return "the store is away: this node works alone" +
               (suppressions_->waiting() == 0 ? ""
                                              : fmt::format(", {} changes wait", count_text(suppressions_->waiting())));
    case Availability::State::present: break;
    }
    const auto present = list.count_present(common::Loop::now().monotonic);
    return fmt::format("{} node{} present", present, present == 1 ? "" : "s");
}

void Fleet::update_gauges(common::Metrics& metrics) {
    const auto now = common::Loop::now().monotonic;
    const auto& list = heartbeat_->list();
    const auto silent =
        std::ranges::count_if(list.nodes(), [&](const auto& node) { return list.is_silent(node, now); });
    metrics.set(MetricId::fleet_nodes, static_cast<std::int64_t>(list.count_present(now)), NodePresence::present);
    metrics.set(MetricId::fleet_nodes, silent, NodePresence::silent);
    metrics.set(MetricId::fleet_changes_waiting, static_cast<std::int64_t>(suppressions_->waiting()));
    metrics.set(MetricId::fleet_store_away, store_->availability().away());
}

} // namespace fleet
