#include "daemons/queue-manager/requests/message_changes.h"
#include "daemons/common/config/config.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/submission/sender_requests.h"
#include "daemons/queue-manager/control/configured_names.h"
#include "daemons/queue-manager/conversion/content_filter.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include "libsmtp/text/date.h"
#include "libspool/journal/json_object.h"
#include "libspool/message/schedule.h"
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

namespace {

constexpr std::size_t most_named = 20; // of those skipped
constexpr std::string_view being_delivered = "is being delivered now", being_moved = "is being moved to another node",
                           waits_for_report = "waits for a report to its sender";

} // namespace

struct MessageChanges::Change {
    struct Skipped {
        spool::QueueId id;
        std::string why;
    };
    Request request;
    std::string op, who, why, lane, to;
    std::optional<decide::queue::RetryPolicy> policy; // requeue
    smtp::Duration after{};                           // expire: at this age; {}: now
    smtp::WallTime at{};                              // schedule: to this time; in the past: now
    bool dry_run = false;
    bool permanently = false; // remove: it cannot be restored
    bool in_doubt = false;    // move_back: also what the other node may have
    std::uint64_t matched = 0, changed = 0, skipped = 0;
    std::uint64_t in_flight = 0;  // of those skipped: not removed, because they are being delivered
    std::uint64_t kept = 0;       // of those changed: to be tried when a pause ends
    std::vector<Skipped> why_not; // of the first that were skipped
    std::string failure;          // of the disk
    std::size_t open = 0;         // of the batch at hand
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

// A held message may be scheduled besides.
bool is_scheduled(const SelectedMessage& selected) {
    return is_scheduled(selected.info) ||
           (selected.info.held && selected.state && spool::schedule_end(*selected.state) > common::Loop::now().wall);
}

bool waits(const decide::queue::MessageInfo& info) {
    return std::ranges::any_of(info.deliveries, [](const auto& each) { return each.waiting != Waiting::report; });
}

bool awaits_report(const decide::queue::MessageInfo& info) {
    return std::ranges::any_of(info.deliveries, [](const auto& each) { return each.waiting == Waiting::report; });
}

// Why it cannot be sent at that time; "": it can.
std::string deadline_before(smtp::WallTime at, const std::optional<spool::MessageState>& state) {
    if (!state) return "";
    if (const auto& by = state->envelope.deliver_by; by && at >= *by)
        return fmt::format("must be delivered by {}", smtp::rfc3339_date(*by));
    if (state->expiry && at >= *state->expiry && !spool::expiry_from(*state, at))
        return fmt::format("expires at {}: \"postrider message expire --after\" changes that",
                           smtp::rfc3339_date(*state->expiry));
    return "";
}

// The change as records of the message's file. `open`: its recipients that are left. `expiry`: of a scheduled message
// from now on; {}: as before.
std::vector<spool::Property> records_of(const auto& change, const std::vector<std::uint32_t>& open, bool held,
                                        smtp::WallTime expiry, const spool::Transferring& transfer) {
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
    } else if (change.op == op::move) {
        out.emplace_back(transfer);
    } else if (change.op == op::schedule) {
        spool::Rescheduled moved{.free_from = std::max(change.at, now)};
        out.emplace_back(std::move(moved));
        if (expiry != smtp::WallTime{}) out.emplace_back(spool::ExpiryChanged{expiry, "", now, change.who, change.why});
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
    change->in_doubt = body.value("in_doubt", false);
    if (const auto wrong = error_in(*change, body); !wrong.empty())
        return replies_.refuse(request, wrong, code::bad_request);
    change->after = std::chrono::seconds(after);
    change->at = smtp::WallTime(std::chrono::seconds(body.value("at", std::int64_t{0})));
    auto walk = deps_.selection.select(request, body, MessageSelection::Filter::required);
    if (!walk) return;
    // of forced messages, only scheduled ones are written; whether others can be scheduled depends on their files
    walk->read_files = change->op == op::schedule || (!change->dry_run && change->op != op::force);
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
    const auto after = body.value("after", std::int64_t{0}), at = body.value("at", std::int64_t{0});
    if (change.op == op::reprioritise && !lane_of(change.lane)) return "\"lane\": expected high, normal or bulk";
    if (!policy.empty() && !change.policy) return fmt::format("there is no retry policy \"{}\"", policy);
    if (after < 0 || after > longest_lifetime.count())
        return fmt::format("\"after\": {} is not a number of seconds, at most {}", after, longest_lifetime.count());
    const auto latest = std::chrono::ceil<std::chrono::seconds>(common::Loop::now().wall + common::longest_schedule);
    if (at < 0 || at > latest.time_since_epoch().count())
        return fmt::format("\"at\": {} is not a time, at most 90 days ahead", at);
    if (change.op == op::move &&
        std::ranges::find(deps_.config->nodes, change.to, &config::Node::name) == deps_.config->nodes.end())
        return fmt::format("there is no node \"{}\": expected the name of a section [node.<name>]", change.to);
    if (change.op == op::reroute && !change.to.empty()) return next_hop_error(change.to, *deps_.config);
    return "";
}

void MessageChanges::take(const Shared& change, const Walk& walk, std::vector<SelectedMessage> selected) {
    change->matched += selected.size();
    change->open = 1; // this loop
    for (auto& each : selected) {
        const auto id = each.info.id;
        if (auto why = why_not(*change, each); !why.empty()) {
            skip(*change, id, why);
            if (change->op == op::schedule && each.info.active) ++change->in_flight;
        } else if (change->dry_run) {
            ++change->changed;
        } else if (change->op == op::move_back) {
            ++change->open;
            move_back(change, walk, id);
        } else if (change->op == op::force && !is_scheduled(each.info)) {
            execute(*change, {.id = id});
        } else if (change->op == op::schedule) {
            ++change->open;
            hold_and_write(change, walk, each);
        } else if ((change->op == op::remove || change->op == op::move) &&
                   (each.info.active || !each.info.held)) { // it may begin meanwhile
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
    const bool moves = deps_.transfers.moves(info.id);
    if (change.op == op::move_back) return moves ? "" : "is not being moved to another node";
    if (moves) return std::string(being_moved);
    if (change.op == op::move && deps_.transfers.full())
        return "has to wait until others have been moved: \"postrider drain\" moves any number";
    if (change.op == op::move) return std::string(awaits_report(info) ? waits_for_report : "");
    if (change.op == op::hold) return info.held ? "is already held" : "";
    if (change.op == op::release) return info.held ? "" : "is not held";
    if (change.op == op::force) return info.held ? "is held: release it first" : "";
    if (change.op == op::schedule && info.active) return std::string(being_delivered);
    if (change.op == op::schedule && !waits(info)) return "has no recipient that waits";
    if (change.op == op::schedule && change.at <= common::Loop::now().wall)
        return is_scheduled(selected) ? "" : "is not scheduled: it is sent as soon as possible";
    if (change.op == op::schedule) return deadline_before(change.at, selected.state);
    if (change.op == op::reprioritise && word_of(info.lane) == change.lane)
        return fmt::format("is already in the lane {}", change.lane);
    if (change.op == op::reroute &&
        std::ranges::all_of(info.deliveries, [](const auto& each) { return each.waiting == Waiting::categorizer; }))
        return "has no recipients to reroute yet: the categorizer has not determined them";
    if (change.op == op::reroute && selected.state && !change.to.empty())
        if (const auto filter =
                content_filter_of(selected.state->envelope, deps_.config->listeners, deps_.config->submit);
            !filter.empty())
            return fmt::format("goes through the content filter {} first: where its recipients are is not known yet",
                               filter);
    if (change.op == op::reroute && selected.state && selected.state->rerouted_to == change.to)
        return change.to.empty() ? "already uses the usual route" : fmt::format("is already rerouted to {}", change.to);
    return "";
}

void MessageChanges::skip(Change& change, spool::QueueId id, std::string_view why) {
    ++change.skipped;
    if (change.why_not.size() < most_named) change.why_not.push_back({id, std::string(why)});
}

void MessageChanges::move_back(const Shared& change, const Walk& walk, spool::QueueId id) {
    const auto doubt = change->in_doubt ? Transfers::Doubt::ignored : Transfers::Doubt::respected;
    deps_.transfers.cancel(id, doubt, [this, change, walk, id](const std::string& why) {
        if (why.empty())
            ++change->changed;
        else
            skip(*change, id, why);
        through(change, walk);
    });
}

// Its time may come while it is written.
void MessageChanges::hold_and_write(const Shared& change, const Walk& walk, const SelectedMessage& selected) {
    const auto id = selected.info.id;
    if (!selected.info.held)
        deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.hold(id, now, out); });
    auto info = deps_.driver.engine().message(id, common::Loop::now());
    if (info && !info->active) return write(change, walk, {*std::move(info), selected.state}, {}, !selected.info.held);
    if (info) {
        ++change->in_flight;
        go_on(id);
    }
    skip(*change, id, info ? being_delivered : "has just left the queue");
    through(change, walk);
}

void MessageChanges::go_on(spool::QueueId id) {
    if (deps_.transfers.moves(id)) return;
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.release(id, now, out); });
}

// It was to be removed, and is kept from being delivered. Recipients delivered meanwhile are not among those removed.
void MessageChanges::stopped(const Shared& change, const Walk& walk, const SelectedMessage& selected,
                             bool stopped_all) {
    const auto id = selected.info.id;
    if (change->op == op::move && deps_.transfers.changes(id)) // which may end it, or release it
        return deps_.transfers.when_unchanged(
            id, [this, change, walk, selected, stopped_all] { stopped(change, walk, selected, stopped_all); });
    auto info = deps_.driver.engine().message(id, common::Loop::now());
    // The attempt that has just ended may have failed.
    if (change->op == op::move && stopped_all && info && (awaits_report(*info) || info->active)) {
        skip(*change, id, info->active ? being_delivered : waits_for_report);
        if (!selected.info.held) go_on(id);
        return through(change, walk);
    }
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
    ++change->in_flight;
    skip(*change, id,
         stopped_all ? "was being delivered and is now complete"
                     : "is being delivered now and can no longer be stopped");
    through(change, walk);
}

void MessageChanges::write(const Shared& change, const Walk& walk, const SelectedMessage& selected,
                           const std::vector<std::uint32_t>& open, bool goes_on) {
    const auto id = selected.info.id;
    const bool moves = change->op == op::move;
    if (deps_.transfers.moves(id) || (moves && !deps_.transfers.reserve(id))) { // since this was begun
        skip(*change, id, deps_.transfers.moves(id) ? being_moved : "is being changed by another command");
        return through(change, walk);
    }
    if (!moves) deps_.transfers.change_begins(id);
    Written what{.id = id, .about = facts_of(selected.state)};
    if (change->op == op::schedule && selected.state)
        what.expiry = spool::expiry_from(*selected.state, std::max(change->at, common::Loop::now().wall))
                          .value_or(smtp::WallTime{});
    if (change->op == op::move && selected.state)
        what.transfer = {.under_way = true,
                         .node = change->to,
                         .generation = selected.state->transfer.generation + 1,
                         .time = common::Loop::now().wall,
                         .who = change->who,
                         .why = change->why};
    auto records = records_of(*change, open, selected.info.held, what.expiry, what.transfer);
    deps_.files.record_durably(
        id, selected.info.location, std::move(records),
        [this, change, walk, id, moves, goes_on, what = std::move(what)](spool::Result<> written) {
            if (moves && !written) deps_.transfers.free(id);
            if (written)
                execute(*change, what);
            else if (written.error().code == ENOENT)
                ++change->skipped; // finished meanwhile
            else
                change->failure = written.error().what;
            if (goes_on && (!moves || !written)) go_on(id); // unless it has just been removed
            if (!moves) deps_.transfers.change_ends(id);
            through(change, walk);
        });
}

void MessageChanges::execute(Change& change, const Written& written) {
    const bool done = apply(change, written);
    ++(done ? change.changed : change.skipped);
    if (done && change.op == op::force && paused(written.id)) ++change.kept;
}

bool MessageChanges::apply(const Change& change, const Written& written) {
    const auto id = written.id;
    bool done = false;
    if (change.op == op::move) {
        done = deps_.driver.engine().message(id, common::Loop::now()).has_value();
        done ? deps_.transfers.begin(id, written.transfer) : deps_.transfers.free(id);
    }
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
        if (change.op == op::force) done = engine.force(id, now, out);
        if (change.op == op::hold) done = engine.hold(id, now, out);
        if (change.op == op::release) done = engine.release(id, now, out);
        if (change.op == op::remove) done = engine.forget(id, now, out);
        if (change.op == op::expire)
            done = change.after > smtp::Duration{} ? engine.change_lifetime(id, change.after, now, out)
                                                   : engine.expire(id, now, out);
        if (change.op == op::reprioritise) done = engine.change_lane(id, *lane_of(change.lane), now, out);
        if (change.op == op::schedule) done = engine.reschedule(id, change.at, written.expiry, now, out);
        if (change.op == op::reroute) done = engine.requeue(id, now, out);
        if (change.op == op::requeue) done = engine.requeue(id, now, out, change.policy ? &*change.policy : nullptr);
    });
    if (done && change.op != op::force)
        deps_.log.info("{}: {} by {}{}{}", id.text(), change.op, change.who, change.why.empty() ? "" : ": ",
                       change.why);
    if (done) record_in_journal(change, written);
    if (done && change.op == op::remove) {
        using Removal = MessageFiles::Removal;
        const bool kept = !change.permanently && deps_.config->spool.removed_age > smtp::Duration{};
        deps_.files.remove_by_operator(id, kept ? Removal::may_be_restored : Removal::permanently);
    }
    return done;
}

void MessageChanges::record_in_journal(const Change& change, const Written& written) {
    const auto& [id, about, expiry, transfer] = written;
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
    if (change.op == op::schedule) {
        std::string at;
        spool::journal::append_time(at, std::max(change.at, common::Loop::now().wall));
        changed(EventType::message_rescheduled, "not_before", at);
    }
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

// Of what was skipped. Whether a message can be scheduled depends on itself; else the reason of the first is that of
// all.
std::string MessageChanges::reasons(const Change& change) {
    if (change.why_not.empty()) return "it has just left the queue";
    std::string out;
    std::size_t named = 0;
    for (const auto& each : change.why_not) {
        if (named > 0 && change.op != op::schedule) break;
        out += fmt::format("{}{} {}", named++ > 0 ? "; " : "", each.id.text(), each.why);
    }
    if (change.skipped <= named) return out;
    const auto more = change.skipped - named;
    return out + (change.op == op::schedule ? fmt::format("; and {} more", more)
                                            : fmt::format(", and the same applies to {} more", more));
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
        return replies_.refuse(request, reasons(change) + ": nothing was changed",
                               change.in_flight > 0 ? code::in_delivery : code::already);
    nlohmann::json answer = {{"matched", change.matched},   {"changed", change.dry_run ? 0 : change.changed},
                             {"skipped", change.skipped},   {"in_flight", change.in_flight},
                             {"still_paused", change.kept}, {"would_change", change.changed},
                             {"dry_run", change.dry_run}};
    if (change.op == op::schedule || (change.op == op::move && !change.why_not.empty())) {
        auto& named = answer["not_changed"] = nlohmann::json::array();
        for (const auto& each : change.why_not) named.push_back({{"id", each.id.text()}, {"why", each.why}});
    }
    replies_.send(request, answer);
    replies_.finish(request);
}

} // namespace queue_manager
