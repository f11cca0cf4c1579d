// Choosing messages by id or filter, listing them, and the operator's changes to them: each is written to the
// message's file and synced, then the engine is told.
#include "daemons/common/proto/control.h"
#include "daemons/queue-manager/control/control.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <fmt/format.h>

namespace queue_manager {

namespace op = proto::control::op;
namespace code = proto::control::code;
using decide::queue::Lane;
using decide::queue::MessageInfo;
using decide::queue::Order;
using decide::queue::Rank;
using decide::queue::Waiting;

namespace {

constexpr std::size_t batch = 128;       // messages read at a time
constexpr std::size_t looked_at = 2'000; // of which the queue itself can tell that they do not match
constexpr std::size_t ranked_at = 20'000; // whose order is found out at a time
constexpr std::chrono::seconds longest_lifetime = std::chrono::hours(24 * 365); // as queue.expiry

// The list of words under `key`; nullopt: something else is there.
std::optional<std::vector<std::string>> words(const nlohmann::json& body, const char* key) {
    std::vector<std::string> out;
    const auto found = body.find(key);
    if (found == body.end()) return out;
    if (!found->is_array()) return {};
    for (const auto& word : *found) {
        if (!word.is_string()) return {};
        out.push_back(word.get<std::string>());
    }
    return out;
}

std::optional<Order> order_of(std::string_view word) {
    if (word.empty() || word == "oldest") return Order::oldest;
    if (word == "newest") return Order::newest;
    if (word == "largest") return Order::largest;
    if (word == "next") return Order::next;
    return {};
}

std::optional<Lane> lane_of(std::string_view word) {
    for (const auto lane : {Lane::high, Lane::normal, Lane::bulk})
        if (word_of(lane) == word) return lane;
    return {};
}

std::vector<std::uint32_t> open_recipients(const spool::MessageState& state) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t number = 0; number < state.recipients.size(); ++number)
        if (!state.recipients[number].accounted_for()) out.push_back(number);
    return out;
}

bool scheduled(const MessageInfo& info) {
    return std::ranges::any_of(info.deliveries, [](const auto& each) { return each.waiting == Waiting::scheduled; });
}

} // namespace

std::shared_ptr<Control::Walk> Control::selection(const Request& request, const json& body, bool optional) {
    const auto ids = words(body, "ids"), filter = words(body, "filter");
    auto walk = std::make_shared<Walk>();
    walk->peer = request.peer;
    if (!ids || !filter || (!ids->empty() && !filter->empty()))
        return refuse(request, "expected either \"ids\" or \"filter\", a list of strings", code::bad_request),
               nullptr;
    if (!ids->empty()) {
        std::string unknown;
        for (const auto& word : *ids) {
            const auto id = spool::QueueId::parse(word);
            if (id && deps_.engine.message(*id, common::Loop::now()))
                walk->ids.push_back(*id);
            else
                unknown += (unknown.empty() ? "" : ", ") + word;
        }
        if (unknown.empty()) return walk;
        const bool loading = deps_.queue_status().loading;
        refuse(request,
               fmt::format("there is no message {}{}: nothing was changed", unknown,
                           loading ? " yet, because the spool is still being read" : ""),
               loading ? code::loading : code::unknown);
        return nullptr;
    }
    auto parsed =
        decide::queue::Filter::parse(filter->empty() && optional ? std::vector<std::string>{"all"} : *filter);
    if (!parsed) return refuse(request, parsed.error(), code::bad_request), nullptr;
    walk->filter = *std::move(parsed);
    return walk;
}

// The next batch: what the queue itself can rule out is left out, the rest is read on a thread.
void Control::step(const std::shared_ptr<Walk>& walk) {
    const auto now = common::Loop::now();
    std::vector<Selected> selected;
    if (!walk->ids.empty()) {
        while (walk->at < walk->ids.size() && selected.size() < batch)
            if (auto info = deps_.engine.message(walk->ids[walk->at++], now)) {
                set_pause_reasons(*info);
                selected.push_back({*std::move(info), {}, walk->read_files});
            }
        walk->over = walk->at == walk->ids.size();
    } else {
        for (std::size_t looked = 0; looked < looked_at && selected.size() < batch && !walk->over; ++looked) {
            if (walk->looked == walk->ranks.size()) {
                walk->ranks = deps_.engine.ranked(walk->order, walk->behind, ranked_at);
                walk->looked = 0;
                walk->over = walk->ranks.empty();
                if (walk->over) break;
                walk->behind = walk->ranks.back();
            }
            auto info = deps_.engine.message(spool::QueueId{walk->ranks[walk->looked++].id}, now);
            if (!info) continue; // it has just gone
            set_pause_reasons(*info);
            const auto facts = facts_of(*info, nullptr, now.wall);
            if (!walk->filter.ruled_out(facts))
                selected.push_back({*std::move(info), {}, walk->read_files || walk->filter.needs_file(facts)});
        }
    }
    const bool headers = walk->read_headers || walk->filter.needs_header();
    deps_.pool.post([this, walk, headers, selected = std::move(selected)]() mutable {
        for (auto& each : selected) {
            if (!each.read) continue;
            auto reader = spool::MessageReader::open(deps_.pool.disk(), each.info.id, each.info.location,
                                                     spool::ReadLock::none);
            if (!reader) continue; // it has just gone
            each.state = reader->state();
            if (!headers) continue;
            if (const auto header = reader->read_header(longest_header)) each.header = facts_of(*header);
        }
        deps_.pool.complete([this, walk, selected = std::move(selected)]() mutable {
            const auto wall = common::Loop::now().wall;
            std::erase_if(selected, [&](const Selected& each) {
                if (each.read && !each.state) return true;
                return !walk->filter.matches(facts_of(each.info, each.state ? &*each.state : nullptr, wall, each.header));
            });
            if (selected.empty() && !walk->over) return step(walk);
            walk->take(walk, std::move(selected));
        });
    });
}

void Control::send_messages(const Request& request, const json& body) {
    auto walk = selection(request, body, true);
    if (!walk) return;
    const auto order = order_of(text_field(body, "sort"));
    if (!order) return refuse(request, "\"sort\": expected oldest, newest, largest or next", code::bad_request);
    walk->order = *order;
    if (const auto last = text_field(body, "after_id"); !last.empty()) {
        const auto id = spool::QueueId::parse(last);
        if (id) walk->behind = deps_.engine.rank(*id, *order);
        if (id && !walk->behind && *order == Order::oldest)
            walk->behind = Rank{0, id->value}; // ids are in order, even if it has gone
        if (id && !walk->behind && *order == Order::newest)
            walk->behind = Rank{-static_cast<std::int64_t>(id->value), id->value};
        if (!walk->behind)
            return refuse(request, fmt::format("there is no message \"{}\" after which the list could continue", last),
                          code::unknown);
    }
    if (body.value("count", false)) return count_messages(request, walk);
    walk->read_files = walk->read_headers = true;
    const auto limit = body.value("limit", std::uint64_t{0});
    walk->take = [this, request, limit, said = std::uint64_t{0}](const std::shared_ptr<Walk>& self,
                                                                 std::vector<Selected> selected) mutable {
        for (const auto& each : selected) {
            if (limit != 0 && said == limit) break;
            ++said;
            if (!server_->send(request.peer, json_of(each.info, *each.state, each.header, Detail::line)))
                return; // hung up
        }
        if (self->over || (limit != 0 && said == limit)) {
            server_->finish(request.peer);
        } else if (server_->congested(request.peer)) {
            server_->on_writable(request.peer, [this, self] { step(self); });
        } else {
            step(self);
        }
    };
    step(walk);
}

void Control::count_messages(const Request& request, const std::shared_ptr<Walk>& walk) {
    walk->take = [this, request, count = std::uint64_t{0}](const std::shared_ptr<Walk>& self,
                                                           std::vector<Selected> selected) mutable {
        count += selected.size();
        if (!self->over) return step(self);
        server_->send(request.peer, {{"count", count}});
        server_->finish(request.peer);
    };
    step(walk);
}

// ---- changes ----

void Control::change_messages(const Request& request, const json& body, std::string what) {
    auto change = std::make_shared<Change>();
    change->request = request;
    change->op = std::move(what);
    change->why = text_field(body, "reason");
    change->lane = text_field(body, "lane");
    const auto policy = text_field(body, "policy");
    if (!policy.empty()) change->policy = deps_.policy_named(policy);
    const auto after = body.value("after", std::int64_t{0});
    change->to = text_field(body, "to");
    change->dry_run = body.value("dry_run", false);
    change->permanently = body.value("permanently", false);
    if (change->op == op::reprioritise && !lane_of(change->lane))
        return refuse(request, "\"lane\": expected high, normal or bulk", code::bad_request);
    if (!policy.empty() && !change->policy)
        return refuse(request, fmt::format("there is no retry policy \"{}\"", policy), code::bad_request);
    if (after < 0 || after > longest_lifetime.count())
        return refuse(
            request,
            fmt::format("\"after\": {} is not a number of seconds, at most {}", after, longest_lifetime.count()),
            code::bad_request);
    change->after = std::chrono::seconds(after);
    if (change->op == op::reroute && !change->to.empty())
        if (const auto wrong = deps_.bad_next_hop(change->to); !wrong.empty())
            return refuse(request, wrong, code::bad_request);
    auto walk = selection(request, body, false);
    if (!walk) return;
    walk->read_files = !change->dry_run && change->op != op::force; // of what is forced, only what is scheduled is written
    walk->take = [this, change](const std::shared_ptr<Walk>& self, std::vector<Selected> selected) {
        change_batch(change, self, std::move(selected));
    };
    with_name(request, [this, change, walk](std::string who) {
        change->who = std::move(who);
        step(walk);
    });
}

std::string Control::why_not(const Change& change, const Selected& selected) const {
    const auto& info = selected.info;
    if (deps_.foreign(info.id)) return "is still being delivered by an agent from before the queue-manager's restart";
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

bool Control::paused(spool::QueueId id) const {
    const auto info = deps_.engine.message(id, common::Loop::now());
    return info && !info->deliveries.empty() &&
           std::ranges::all_of(info->deliveries, [](const auto& each) { return each.waiting == Waiting::paused; });
}

std::vector<spool::Property> Control::records_of(const Change& change, const Selected& selected) const {
    const auto now = common::Loop::now().wall;
    std::vector<spool::Property> out;
    const auto open = selected.left    ? *selected.left
                      : selected.state ? open_recipients(*selected.state)
                                     : std::vector<std::uint32_t>{};
    if (change.op == op::hold || change.op == op::release) {
        out.emplace_back(spool::Held{change.op == op::hold, now, change.who, change.why});
    } else if (change.op == op::remove) {
        out.emplace_back(spool::StatusChanged{
            open, spool::Status::removed, now, {.status = {}, .text = change.why}, change.who});
    } else if (change.op == op::expire && change.after > smtp::Duration{}) {
        spool::ExpiryChanged changed{.time = now, .who = change.who, .why = change.why};
        changed.lifetime = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(change.after).count());
        out.emplace_back(std::move(changed));
    } else if (change.op == op::expire) {
        out.emplace_back(spool::ExpiryChanged{now, "", now, change.who, change.why});
        if (selected.info.held) out.emplace_back(spool::Held{false, now, change.who, change.why});
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
    } else if (change.op == op::force) { // else a restart would have it wait for its time again
        spool::Rescheduled now_free{.free_from = now};
        out.emplace_back(std::move(now_free));
    }
    return out;
}

bool Control::apply(const Change& change, spool::QueueId id) {
    bool done = false;
    deps_.with_engine([&](auto& engine, smtp::Now now, auto& out) {
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
    if (done && change.op == op::remove)
        deps_.removed(id, change.permanently ? Dependencies::Removal::permanently : Dependencies::Removal::may_be_restored);
    return done;
}

void Control::execute(Change& change, spool::QueueId id) {
    const bool done = apply(change, id);
    ++(done ? change.changed : change.skipped);
    if (done && change.op == op::force && paused(id)) ++change.kept;
}

void Control::change_batch(const std::shared_ptr<Change>& change, const std::shared_ptr<Walk>& walk,
                           std::vector<Selected> selected) {
    change->matched += selected.size();
    change->open = 1; // this loop
    for (auto& each : selected) {
        const auto id = each.info.id;
        if (auto why = why_not(*change, each); !why.empty()) {
            if (++change->skipped == 1) change->why_not = fmt::format("{} {}", id.text(), why);
        } else if (change->dry_run) {
            ++change->changed;
        } else if (change->op == op::force && !scheduled(each.info)) {
            execute(*change, id);
        } else if (change->op == op::remove && each.info.active) {
            ++change->open;
            deps_.stop_delivery(each.info, [this, change, walk, each = std::move(each)](bool stopped) {
                delivery_stopped(change, walk, each, stopped);
            });
        } else {
            ++change->open;
            write_change(change, walk, each);
        }
    }
    deps_.written();
    after_batch(change, walk);
}

void Control::write_change(const std::shared_ptr<Change>& change, const std::shared_ptr<Walk>& walk,
                           const Selected& selected) {
    const auto id = selected.info.id;
    deps_.write_pending_records(id);
    deps_.store.append(id, selected.info.location, records_of(*change, selected), spool::Sync::yes,
                        [this, change, walk, id, goes_on = selected.goes_on](spool::Result<> written) {
                            if (!written && goes_on)
                                deps_.with_engine(
                                    [&](auto& engine, smtp::Now now, auto& out) { engine.release(id, now, out); });
                            if (written)
                                execute(*change, id);
                            else if (written.error().code == ENOENT)
                                ++change->skipped; // finished meanwhile
                            else
                                change->failure = written.error().what;
                            after_batch(change, walk);
                        });
}

// It was in flight when it was to be removed. What has been delivered meanwhile is not among what is removed.
void Control::delivery_stopped(const std::shared_ptr<Change>& change, const std::shared_ptr<Walk>& walk, Selected selected,
                             bool stopped) {
    const auto id = selected.info.id;
    auto info = deps_.engine.message(id, common::Loop::now());
    if (stopped && info) {
        auto& left = selected.left.emplace();
        for (const auto number : open_recipients(*selected.state))
            if (std::ranges::any_of(info->deliveries, [&](const auto& each) {
                    return each.recipients.empty() || std::ranges::count(each.recipients, number) > 0;
                }))
                left.push_back(number);
        selected.goes_on = !selected.info.held;
        selected.info = *std::move(info);
        write_change(change, walk, selected);
        return deps_.written();
    }
    ++change->skipped;
    ++change->in_flight;
    auto why = stopped ? fmt::format("{} was being delivered and is now complete", id.text())
                       : fmt::format("{} is being delivered now and can no longer be stopped", id.text());
    if (change->skipped == 1) change->why_not = std::move(why);
    after_batch(change, walk);
}

void Control::after_batch(const std::shared_ptr<Change>& change, const std::shared_ptr<Walk>& walk) {
    if (--change->open > 0) return;
    if (!walk->over && change->failure.empty()) return step(walk);
    finish(change, walk->ids.empty());
}

void Control::finish(const std::shared_ptr<Change>& change, bool by_filter) {
    const auto& request = change->request;
    if (!change->failure.empty())
        return refuse(request,
                      fmt::format("{} of {} messages were changed, then the disk failed: {}", change->changed,
                                  change->matched, change->failure),
                      code::failed);
    if (change->matched == 0 && by_filter)
        return refuse(request, "the filter matches no message: nothing was changed", code::no_match);
    if (change->changed == 0 && !by_filter)
        return refuse(request,
                      fmt::format("{}{}: nothing was changed",
                                  change->why_not.empty() ? "it has just left the queue" : change->why_not,
                                  change->skipped > 1
                                      ? fmt::format(", and the same applies to {} more", change->skipped - 1)
                                      : ""),
                      change->in_flight > 0 ? code::in_delivery : code::already);
    server_->send(request.peer, {{"matched", change->matched},
                                 {"changed", change->dry_run ? 0 : change->changed},
                                 {"skipped", change->skipped},
                                 {"in_flight", change->in_flight},
                                 {"still_paused", change->kept},
                                 {"would_change", change->changed},
                                 {"dry_run", change->dry_run}});
    server_->finish(request.peer);
}

} // namespace queue_manager
