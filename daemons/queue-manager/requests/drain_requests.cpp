#include "daemons/queue-manager/requests/drain_requests.h"
#include "daemons/common/proto/control.h"
#include "daemons/queue-manager/control/control_json.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

namespace queue_manager {

namespace code = proto::control::code;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr smtp::Duration drain_step = 50ms, drain_look_again = 1s, target_rest = 30s;
constexpr std::size_t most_candidates = 512;

std::vector<std::string> texts_under(const json& body, const char* key) {
    std::vector<std::string> out;
    const auto found = body.find(key);
    if (found == body.end() || !found->is_array()) return out;
    for (const auto& each : *found)
        if (each.is_string()) out.push_back(each.get<std::string>());
    return out;
}

std::string refusal_of(const DrainState& drain) {
    return fmt::format("this node is drained, by {}{}{}", drain.who, drain.why.empty() ? "" : ": ", drain.why);
}

} // namespace

DrainRequests::DrainRequests(Dependencies dependencies, Replies replies)
    : deps_(std::move(dependencies)), replies_(replies), timer_(deps_.loop, [this] { work(); }) {
    deps_.transfers.on_ended([this](const Transfers::Ended& how) { ended(how); });
    auto drain = load_drain(deps_.pool.disk());
    if (!drain) {
        deps_.log.critical("drain: {}: it is not known whether this node was being drained", drain.error().what);
        deps_.problems.report("drain", "it is not known whether this node was being drained: " + drain.error().what);
        return;
    }
    if (*drain) deps_.log.info("drain: continued after a start");
    use(*std::move(drain));
}

// ---- requests ----

void DrainRequests::begin(const Request& request, const json& body) {
    DrainState drain;
    for (const auto& node : texts_under(body, "to")) {
        if (!deps_.is_node(node))
            return replies_.refuse(
                request, fmt::format("there is no node \"{}\": expected the name of a section [node.<name>]", node),
                code::bad_request);
        drain.targets.push_back({.node = node});
    }
    if (drain.targets.empty()) return replies_.refuse(request, "\"to\": expected nodes", code::bad_request);
    drain.filter = texts_under(body, "filter");
    if (drain.filter.empty()) drain.filter = {"all"};
    if (const auto filter = decide::queue::Filter::parse(drain.filter); !filter)
        return replies_.refuse(request, filter.error(), code::bad_request);
    drain.rate = body.value("rate", std::uint32_t{0});
    drain.why = text_field(body, "reason");
    drain.since = common::Loop::now().wall;
    const auto refused = [this, request] {
        if (drain_) replies_.refuse(request, "this node is being drained already: --cancel ends that", code::already);
        return drain_.has_value();
    };
    if (refused()) return;
    with_user_name(deps_.pool, request, [this, request, refused, drain = std::move(drain)](std::string who) mutable {
        drain.who = std::move(who);
        after_saving([this, request, refused, drain = std::move(drain)] {
            if (refused()) return; // another one has begun meanwhile
            drain_ = drain;
            save([this, request](const spool::Result<>& saved) {
                if (!saved) {
                    drain_.reset();
                    return replies_.refuse(request, saved.error().what, code::failed);
                }
                std::string nodes;
                for (const auto& each : drain_->targets) nodes += (nodes.empty() ? "" : ", ") + each.node;
                deps_.log.info("drain: begun by {}, to {}{}{}", drain_->who, nodes, drain_->why.empty() ? "" : ": ",
                               drain_->why);
                use(std::exchange(drain_, {}));
                show(request);
            });
        });
    });
}

void DrainRequests::cancel(const Request& request) {
    if (saving_) return after_saving([this, request] { cancel(request); });
    if (!drain_) return replies_.refuse(request, "this node is not being drained", code::already);
    const auto ended = std::exchange(drain_, {});
    save([this, request, ended](const spool::Result<>& saved) {
        if (!saved) {
            drain_ = ended;
            timer_.start(drain_step);
            return replies_.refuse(request, saved.error().what, code::failed);
        }
        deps_.log.info("drain: canceled");
        use({});
        replies_.send(request, {{"draining", false}});
        replies_.finish(request);
    });
}

void DrainRequests::show(const Request& request) const {
    json line = {{"draining", drain_.has_value()}};
    if (drain_) {
        json targets = json::array();
        for (const auto& each : drain_->targets)
            targets.push_back({{"node", each.node}, {"moved", each.moved}, {"failed", each.failed}});
        line.update({{"to", std::move(targets)},
                     {"filter", drain_->filter},
                     {"rate", drain_->rate},
                     {"by", drain_->who},
                     {"reason", drain_->why},
                     {"since", seconds_of(drain_->since)},
                     {"finished", finished_},
                     {"under_way", deps_.transfers.under_way()},
                     {"in_doubt", deps_.transfers.in_doubt()},
                     {"left", deps_.driver.engine().counts().messages}});
    }
    replies_.send(request, line);
    replies_.finish(request);
}

// ---- its file ----

// One writing at a time; what has changed meanwhile is written again.
void DrainRequests::after_saving(std::function<void()> then) {
    if (!saving_) return then();
    after_saving_.push_back(std::move(then));
}

void DrainRequests::save(std::function<void(const spool::Result<>&)> done) {
    saving_ = true;
    unsaved_ = false;
    deps_.pool.post([this, &pool = deps_.pool, drain = drain_, done = std::move(done)] {
        auto saved = save_drain(pool.disk(), drain);
        pool.complete([this, done, saved = std::move(saved)] {
            saving_ = false;
            done(saved);
            for (auto& then : std::exchange(after_saving_, {})) after_saving(std::move(then));
        });
    });
}

// Nothing of an earlier drain is left.
void DrainRequests::use(std::optional<DrainState> drain) {
    drain_ = std::move(drain);
    finished_ = walk_over_ = walking_ = false;
    walk_.reset();
    allowance_ = 0;
    candidates_.clear();
    refused_.clear();
    begun_.clear();
    resting_.clear();
    release_stopped();
    deps_.refuse_mail(drain_ ? refusal_of(*drain_) : "");
    if (!drain_) return timer_.stop();
    counted_ = common::Loop::now().monotonic;
    timer_.start(drain_step);
}

// ---- the work ----

void DrainRequests::work() {
    if (!drain_) return;
    const auto now = common::Loop::now().monotonic;
    const auto passed = std::chrono::duration<double>(now - std::exchange(counted_, now)).count();
    allowance_ = std::min<double>(allowance_ + passed * drain_->rate, std::max(1U, drain_->rate));
    timer_.start(drain_step);
    if (unsaved_ && !saving_)
        save([this](const spool::Result<>& saved) {
            if (!saved) deps_.log.error("drain: its counts are not recorded: {}", saved.error().what);
        });
    while (!candidates_.empty() && (drain_->rate == 0 || allowance_ >= 1)) {
        auto* target = next_target();
        if (target == nullptr) break;
        const auto candidate = candidates_.front();
        candidates_.pop_front();
        move(candidate, *target);
    }
    // While no node takes anything, mail is not kept from being delivered here, and nothing is looked for.
    if (std::ranges::none_of(drain_->targets, [this](const auto& each) { return usable(each); })) {
        candidates_.clear();
        release_stopped();
        timer_.start(drain_look_again);
    } else if (!walking_ && candidates_.size() < most_candidates && !deps_.loading()) {
        look_for_more();
    }
}

void DrainRequests::look_for_more() {
    if (!walk_) return start_walk();
    if (!walk_over_) {
        walking_ = true;
        return deps_.selection.step(walk_);
    }
    if (!candidates_.empty() || (!walk_->named && start_walk_of_stopped())) return;
    if (seen_ == 0 && begun_.empty() && deps_.transfers.under_way() == 0) finish();
    timer_.start(seen_ == 0 || left_ > 0 ? drain_look_again : drain_step);
    start_walk();
}

void DrainRequests::start_walk() {
    walk_ = std::make_shared<MessageWalk>();
    walk_->filter = *decide::queue::Filter::parse(drain_->filter);
    seen_ = left_ = 0;
    begin_walk();
}

// What was kept from being delivered is moved, whether or not the filter still selects it.
bool DrainRequests::start_walk_of_stopped() {
    const auto now = common::Loop::now();
    std::vector<spool::QueueId> ids;
    for (auto it = stopped_.begin(); it != stopped_.end();) {
        const auto info = deps_.driver.engine().message(*it, now);
        if (info && !info->active) ids.push_back(*it);
        it = info ? std::next(it) : stopped_.erase(it);
    }
    if (ids.empty()) return false;
    walk_ = std::make_shared<MessageWalk>();
    walk_->named = true;
    walk_->ids = std::move(ids);
    begin_walk();
    return true;
}

void DrainRequests::begin_walk() {
    walk_->read_files = true;
    walk_->take = [this](const Walk& self, const std::vector<SelectedMessage>& selected) { take(self, selected); };
    walk_over_ = false;
    walking_ = true;
    deps_.selection.step(walk_);
}

void DrainRequests::take(const Walk& walk, const std::vector<SelectedMessage>& selected) {
    if (walk != walk_) return; // of an earlier drain
    walking_ = false;
    walk_over_ = walk->over;
    for (const auto& each : selected) {
        ++seen_;
        if (refused_.contains(each.info.id))
            ++left_;
        else if (each.state)
            candidates_.push_back({each.info.id, each.state->transfer.generation + 1, each.state->held});
    }
}

// What is in flight, or waits for a report, is moved by a later walk; nothing further of it is begun.
void DrainRequests::move(const Candidate& candidate, const DrainTarget& target) {
    const auto id = candidate.id;
    const auto info = deps_.driver.engine().message(id, common::Loop::now());
    if (!info || deps_.transfers.moves(id)) return;
    const bool reports = std::ranges::any_of(
        info->deliveries, [](const auto& each) { return each.waiting == decide::queue::Waiting::report; });
    if (reports || deps_.transfers.changes(id) || deps_.intake.with_earlier_agent(id)) {
        ++left_;
        if (stopped_.erase(id) > 0) release(id);
        return;
    }
    if (!info->held && !candidate.held) {
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.hold(id, now, out); });
        stopped_.insert(id);
    }
    if (info->active || !deps_.transfers.reserve(id)) {
        ++left_;
        return;
    }
    if (drain_->rate > 0) allowance_ -= 1;
    begun_.emplace(id, target.node);
    const bool ours = stopped_.erase(id) > 0;
    const spool::Transferring how{.under_way = true,
                                  .node = target.node,
                                  .generation = candidate.generation,
                                  .time = common::Loop::now().wall,
                                  .who = drain_->who,
                                  .why = drain_->why.empty() ? "drain" : "drain: " + drain_->why};
    deps_.files.record_durably(id, info->location, {how}, [this, id, how, ours](const spool::Result<>& written) {
        if (written && deps_.driver.engine().message(id, common::Loop::now())) return deps_.transfers.begin(id, how);
        deps_.transfers.free(id);
        begun_.erase(id);
        if (!written) deps_.files.failed(id, written.error());
        if (ours) release(id);
    });
}

void DrainRequests::release(spool::QueueId id) {
    if (deps_.transfers.moves(id)) return;
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.release(id, now, out); });
}

void DrainRequests::release_stopped() {
    for (const auto id : std::exchange(stopped_, {})) release(id);
}

bool DrainRequests::usable(const DrainTarget& target) const {
    const auto rests = resting_.find(target.node);
    if (rests != resting_.end() && common::Loop::now().monotonic < rests->second) return false;
    return deps_.transfers.room(target.node, most_under_way) > 0;
}

// In turns. Null: none of them can take more now.
DrainTarget* DrainRequests::next_target() {
    for (std::size_t n = 0; n < drain_->targets.size(); ++n) {
        auto& target = drain_->targets[turn_++ % drain_->targets.size()];
        if (!usable(target)) continue;
        const auto waiting = std::ranges::count_if(begun_, [&](const auto& each) {
            return each.second == target.node && !deps_.transfers.in_doubt(each.first);
        });
        if (static_cast<std::size_t>(waiting) < deps_.transfers.room(target.node, most_under_way)) return &target;
    }
    return nullptr;
}

void DrainRequests::ended(const Transfers::Ended& how) {
    using Outcome = Transfers::Outcome;
    begun_.erase(how.id);
    if (!drain_) return;
    const auto target = std::ranges::find(drain_->targets, how.node, &DrainTarget::node);
    if (target == drain_->targets.end()) return;
    ++(how.outcome == Outcome::moved ? target->moved : target->failed);
    if (how.outcome == Outcome::refused && refused_.size() < most_refused) refused_.insert(how.id);
    if (how.outcome == Outcome::failed) resting_[how.node] = common::Loop::now().monotonic + target_rest;
    unsaved_ = true;
}

void DrainRequests::finish() {
    if (std::exchange(finished_, true)) return;
    std::string counts;
    for (const auto& each : drain_->targets)
        counts += fmt::format("{}{} to {}", counts.empty() ? "" : ", ", each.moved, each.node);
    deps_.log.info("drain: finished: moved {}", counts);
}

} // namespace queue_manager
