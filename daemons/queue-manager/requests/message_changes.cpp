#include "daemons/queue-manager/requests/message_changes.h"
#include "daemons/common/config/config.h"
#include "daemons/common/proto/control.h"
#include "daemons/queue-manager/control/configured_names.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace queue_manager {

namespace op = proto::control::op;
namespace code = proto::control::code;
using decide::queue::Lane;
using decide::queue::Waiting;

struct MessageChanges::Change {
    Request request;
    std::string op, who, why, lane, to;
    std::optional<decide::queue::RetryPolicy> policy; // requeue
    smtp::Duration after{};                           // expire: at this age; {}: now
    bool dry_run = false;
    bool permanently = false; // remove: it cannot be restored
    std::uint64_t matched = 0, changed = 0, skipped = 0;
    std::uint64_t in_flight = 0; // of those skipped: not removed, because they are being delivered
    std::uint64_t kept = 0;      // of those changed: to be tried when a pause ends
    std::string why_not;         // of the first one that was skipped
    std::string failure;         // of the disk
    std::size_t open = 0;        // of the batch at hand
};

namespace {

constexpr std::chrono::seconds longest_lifetime = std::chrono::hours(24 * 365); // as queue.expiry

std::optional<Lane> lane_of(std::string_view word) {
    for (const auto lane : {Lane::high, Lane::normal, Lane::bulk})
        if (word_of(lane) == word) return lane;
    return {};
}

std::vector<std::uint32_t> open_recipients(const std::optional<spool::MessageState>& state) {
    std::vector<std::uint32_t> out;
    if (!state) return out;
    for (std::uint32_t number = 0; number < state->recipients.size(); ++number)
        if (!state->recipients[number].accounted_for()) out.push_back(number);
    return out;
}

spool::journal::MessageFacts facts_of(const std::optional<spool::MessageState>& state) {
    return state ? spool::journal::facts_of(state->envelope) : spool::journal::MessageFacts();
}

bool is_scheduled(const decide::queue::MessageInfo& info) {
    return std::ranges::any_of(info.deliveries, [](const auto& each) { return each.waiting == Waiting::scheduled; });
}

// The change as records of the message's file. `open`: its recipients that are left.
std::vector<spool::Property> records_of(const auto& change, const std::vector<std::uint32_t>& open, bool held) {
    const auto now = common::Loop::now().wall;
    std::vector<spool::Property> out;
    if (change.op == op::hold || change.op == op::release) {
        out.emplace_back(spool::Held{change.op == op::hold, now, change.who, change.why});
    } else if (change.op == op::remove) {
        out.emplace_back(
            spool::StatusChanged{open, spool::Status::removed, now, {.status = {}, .text = change.why}, change.who});
    } else if (change.op == op::expire && change.after > smtp::Duration{}) {
        spool::ExpiryChanged changed{.time = now, .who = change.who, .why = change.why};
        changed.lifetime = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(change.after).count());
        out.emplace_back(std::move(changed));
    } else if (change.op == op::expire) {
        out.emplace_back(spool::ExpiryChanged{now, "", now, change.who, change.why});
        if (held) out.emplace_back(spool::Held{false, now, change.who, change.why});
    } else if (change.op == op::reprioritise) {
        out.emplace_back(spool::PriorityChanged{0, change.lane, now, change.who, change.why});
    } else if (change.op == op::reroute) {
        out.emplace_back(spool::Rerouted{change.to, now, change.who, change.why});
        out.emplace_back(spool::Rescheduled{open, {}, 0});
    } else if (change.op == op::requeue) {
        spool::Requeued requeued{open, "", now, change.who, change.why};
        if (change.policy) {
            requeued.policy = change.policy->name;
            requeued.retry_values = values_of(*change.policy);
        }
        requeued.redo = true;
        out.emplace_back(std::move(requeued));
    } else if (change.op == op::force) { // else it would wait for its time again after a restart
        spool::Rescheduled now_free{.free_from = now};
        out.emplace_back(std::move(now_free));
    }
    return out;
}

} // namespace

void MessageChanges::change(const Request& request, const nlohmann::json& body, std::string operation) {
    auto change = std::make_shared<Change>();
    change->request = request;
    change->op = std::move(operation);
    change->why = text_field(body, "reason");
    change->lane = text_field(body, "lane");
    if (const auto policy = text_field(body, "policy"); !policy.empty())
        change->policy = policy_named(policy, deps_.config->queue.policies);
    const auto after = body.value("after", std::int64_t{0});
    change->to = text_field(body, "to");
    change->dry_run = body.value("dry_run", false);
    change->permanently = body.value("permanently", false);
    if (const auto wrong = error_in(*change, body); !wrong.empty())
        return replies_.refuse(request, wrong, code::bad_request);
    change->after = std::chrono::seconds(after);
    auto walk = deps_.selection.select(request, body, MessageSelection::Filter::required);
    if (!walk) return;
    walk->read_files =
        !change->dry_run && change->op != op::force; // of forced messages, only scheduled ones are written
    walk->take = [this, change](const Walk& self, std::vector<SelectedMessage> selected) {
        take(change, self, std::move(selected));
    };
    with_user_name(deps_.pool, request, [this, change, walk](std::string who) {
        change->who = std::move(who);
        deps_.selection.step(walk);
    });
}

std::string MessageChanges::error_in(const Change& change, const nlohmann::json& body) const {
    const auto policy = text_field(body, "policy");
    const auto after = body.value("after", std::int64_t{0});
    if (change.op == op::reprioritise && !lane_of(change.lane)) return "\"lane\": expected high, normal or bulk";
    if (!policy.empty() && !change.policy) return fmt::format("there is no retry policy \"{}\"", policy);
    if (after < 0 || after > longest_lifetime.count())
        return fmt::format("\"after\": {} is not a number of seconds, at most {}", after, longest_lifetime.count());
    if (change.op == op::reroute && !change.to.empty()) return next_hop_error(change.to, *deps_.config);
    return "";
}

void MessageChanges::take(const Shared& change, const Walk& walk, std::vector<SelectedMessage> selected) {
    change->matched += selected.size();
    change->open = 1; // this loop
    for (auto& each : selected) {
        const auto id = each.info.id;
        if (auto why = why_not(*change, each); !why.empty()) {
            if (++change->skipped == 1) change->why_not = fmt::format("{} {}", id.text(), why);
        } else if (change->dry_run) {
            ++change->changed;
        } else if (change->op == op::force && !is_scheduled(each.info)) {
            execute(*change, id, {});
        } else if (change->op == op::remove && each.info.active) {
            ++change->open;
            using Before = DeliveryStops::Before;
            const auto before = each.info.held ? Before::held : Before::free;
            deps_.stops.stop(id, before, [this, change, walk, each = std::move(each)](bool stopped_all) {
                stopped(change, walk, each, stopped_all);
            });
        } else {
            ++change->open;
            write(change, walk, each, open_recipients(each.state), false);
        }
    }
    through(change, walk);
}

std::string MessageChanges::why_not(const Change& change, const SelectedMessage& selected) const {
    const auto& info = selected.info;
    if (deps_.intake.with_earlier_agent(info.id))
        return "is still being delivered by an agent from before the queue-manager's restart";
    if (change.op == op::hold) return info.held ? "is already held" : "";
    if (change.op == op::release) return info.held ? "" : "is not held";
    if (change.op == op::force) return info.held ? "is held: release it first" : "";
    if (change.op == op::reprioritise && word_of(info.lane) == change.lane)
        return fmt::format("is already in the lane {}", change.lane);
    if (change.op == op::reroute &&
        std::ranges::all_of(info.deliveries, [](const auto& each) { return each.waiting == Waiting::categorizer; }))
        return "has no recipients to reroute yet: the categorizer has not determined them";
    if (change.op == op::reroute && selected.state && selected.state->rerouted_to == change.to)
        return change.to.empty() ? "already uses the usual route" : fmt::format("is already rerouted to {}", change.to);
    return "";
}

// It was in flight when it was to be removed. Recipients delivered meanwhile are not among those removed.
void MessageChanges::stopped(const Shared& change, const Walk& walk, const SelectedMessage& selected,
                             bool stopped_all) {
    const auto id = selected.info.id;
    auto info = deps_.driver.engine().message(id, common::Loop::now());
    if (stopped_all && info) {
        auto left = open_recipients(selected.state);
        std::erase_if(left, [&](std::uint32_t number) {
            return std::ranges::none_of(info->deliveries, [&](const auto& each) {
                return each.recipients.empty() || std::ranges::count(each.recipients, number) > 0;
            });
        });
        const bool goes_on = !selected.info.held;
        return write(change, walk, {*std::move(info), selected.state}, left, goes_on);
    }
    ++change->skipped;
    ++change->in_flight;
    if (change->skipped == 1)
        change->why_not = fmt::format("{} {}", id.text(),
                                      stopped_all ? "was being delivered and is now complete"
                                                  : "is being delivered now and can no longer be stopped");
    through(change, walk);
}

void MessageChanges::write(const Shared& change, const Walk& walk, const SelectedMessage& selected,
                           const std::vector<std::uint32_t>& open, bool goes_on) {
    const auto id = selected.info.id;
    deps_.files.record_durably(
        id, selected.info.location, records_of(*change, open, selected.info.held),
        [this, change, walk, id, goes_on, about = facts_of(selected.state)](spool::Result<> written) {
            if (!written && goes_on)
                deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.release(id, now, out); });
            if (written)
                execute(*change, id, about);
            else if (written.error().code == ENOENT)
                ++change->skipped; // finished meanwhile
            else
                change->failure = written.error().what;
            through(change, walk);
        });
}

void MessageChanges::execute(Change& change, spool::QueueId id, const Facts& about) {
    const bool done = apply(change, id, about);
    ++(done ? change.changed : change.skipped);
    if (done && change.op == op::force && paused(id)) ++change.kept;
}

bool MessageChanges::apply(const Change& change, spool::QueueId id, const Facts& about) {
    bool done = false;
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
        if (change.op == op::force) done = engine.force(id, now, out);
        if (change.op == op::hold) done = engine.hold(id, now, out);
        if (change.op == op::release) done = engine.release(id, now, out);
        if (change.op == op::remove) done = engine.forget(id, now, out);
        if (change.op == op::expire)
            done = change.after > smtp::Duration{} ? engine.change_lifetime(id, change.after, now, out)
                                                   : engine.expire(id, now, out);
        if (change.op == op::reprioritise) done = engine.change_lane(id, *lane_of(change.lane), now, out);
        if (change.op == op::reroute) done = engine.requeue(id, now, out);
        if (change.op == op::requeue) done = engine.requeue(id, now, out, change.policy ? &*change.policy : nullptr);
    });
    if (done && change.op != op::force)
        deps_.log.info("{}: {} by {}{}{}", id.text(), change.op, change.who, change.why.empty() ? "" : ": ",
                       change.why);
    if (done) record_in_journal(change, id, about);
    if (done && change.op == op::remove) {
        using Removal = MessageFiles::Removal;
        const bool kept = !change.permanently && deps_.config->spool.removed_age > smtp::Duration{};
        deps_.files.remove_by_operator(id, kept ? Removal::may_be_restored : Removal::permanently);
    }
    return done;
}

void MessageChanges::record_in_journal(const Change& change, spool::QueueId id, const Facts& about) {
    using spool::journal::EventType;
    const auto changed = [&](EventType type, std::string_view name = {}, std::string_view what = {}) {
        deps_.events.changed(type, id, about, change.who, change.why, name, what);
    };
    if (change.op == op::remove) deps_.events.removed(id, about, change.who, change.why);
    if (change.op == op::hold) changed(EventType::message_held);
    if (change.op == op::release) changed(EventType::message_released);
    if (change.op == op::expire) changed(EventType::message_expiry_changed);
    if (change.op == op::reprioritise) changed(EventType::message_reprioritized, "lane", change.lane);
    if (change.op == op::reroute) changed(EventType::message_rerouted, "next_hop", change.to);
    if (change.op == op::requeue) changed(EventType::message_requeued);
}

bool MessageChanges::paused(spool::QueueId id) const {
    const auto info = deps_.driver.engine().message(id, common::Loop::now());
    return info && !info->deliveries.empty() &&
           std::ranges::all_of(info->deliveries, [](const auto& each) { return each.waiting == Waiting::paused; });
}

void MessageChanges::through(const Shared& change, const Walk& walk) {
    if (--change->open > 0) return;
    if (!walk->over && change->failure.empty()) return deps_.selection.step(walk);
    finish(*change, walk->ids.empty());
}

void MessageChanges::finish(const Change& change, bool by_filter) {
    const auto& request = change.request;
    if (!change.failure.empty())
        return replies_.refuse(request,
                               fmt::format("{} of {} messages were changed, then the disk failed: {}", change.changed,
                                           change.matched, change.failure),
                               code::failed);
    if (change.matched == 0 && by_filter)
        return replies_.refuse(request, "the filter matches no message: nothing was changed", code::no_match);
    if (change.changed == 0 && !by_filter)
        return replies_.refuse(
            request,
            fmt::format("{}{}: nothing was changed",
                        change.why_not.empty() ? "it has just left the queue" : change.why_not,
                        change.skipped > 1 ? fmt::format(", and the same applies to {} more", change.skipped - 1) : ""),
            change.in_flight > 0 ? code::in_delivery : code::already);
    replies_.send(request, {{"matched", change.matched},
                            {"changed", change.dry_run ? 0 : change.changed},
                            {"skipped", change.skipped},
                            {"in_flight", change.in_flight},
                            {"still_paused", change.kept},
                            {"would_change", change.changed},
                            {"dry_run", change.dry_run}});
    replies_.finish(request);
}

} // namespace queue_manager
