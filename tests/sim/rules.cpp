// What routes say of queueing: ladders, rates and limits of domains that may share a link. Judges by the settings
// alone: of each number the strictest of those in use holds. Dice of its own: the worlds are otherwise what they were.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

using namespace std::chrono_literals;

void World::make_rules() {
    if (calm_ || life_ == Life::month || !rule_dice_.chance(35)) return;
    for (auto n = rule_dice_.between(2, 4); n > 0; --n) {
        const std::string name = "own" + std::to_string(n);
        q::RouteSettings& its = settings_.routes[name];
        const auto number = [&](unsigned percent, std::int64_t low, std::int64_t high) {
            return rule_dice_.chance(percent) ? static_cast<std::uint32_t>(rule_dice_.between(low, high)) : 0u;
        };
        limits_[name] = number(50, 1, 6);
        its.messages_per_second = number(30, 1, 20);
        its.messages_per_hour = number(30, 600, 3600);
        its.connections_per_second = number(30, 1, 5);
        its.glitch_interval = std::chrono::seconds(number(30, 5, 120));
        its.glitch_count = number(30, 1, 5);
        its.retry_interval = std::chrono::seconds(number(30, 120, 900)); // no rung is shorter than the one before
        its.retry_count = number(30, 1, 5);
        its.retry_interval_after = std::chrono::seconds(number(30, 1200, 1800));
        its.failures_before_problem = number(30, 1, 4);
        its.by_backlog = rule_dice_.chance(20);
    }
    for (Domain& d : domains_)
        if (rule_dice_.chance(70))
            d.rule = "own" + std::to_string(rule_dice_.between(1, static_cast<std::int64_t>(limits_.size())));
}

// The configuration is read again, with other rates.
void World::plan_reloads(std::int64_t span) {
    if (limits_.empty()) return;
    for (auto n = rule_dice_.between(0, 3); n > 0; --n)
        later(rule_dice_.between(0, span), [this] {
            say("reload");
            for (const auto& [name, limit] : limits_) {
                q::RouteSettings& its = settings_.routes.at(name);
                if (its.messages_per_second > 0 && rule_dice_.chance(50))
                    its.messages_per_second = static_cast<std::uint32_t>(rule_dice_.between(1, 20));
                for (q::RetryPolicy& each : settings_.policies) each.interval += 1s; // nothing to what is queued
                if (its.connections_per_second > 0 && rule_dice_.chance(50)) its.connections_per_second = 0;
            }
            engine_->configure(settings_, now(), out_);
        });
}

const q::RouteSettings& World::settings_of(std::string_view rule) const {
    static const q::RouteSettings nothing;
    const auto known = settings_.routes.find(rule);
    return known == settings_.routes.end() ? nothing : known->second;
}

std::uint32_t World::connections_by(std::string_view rule) const {
    const auto known = limits_.find(rule);
    return known == limits_.end() ? 0 : known->second;
}

// Of the queues that go over it now; which these are, the engine says.
std::vector<const q::RouteSettings*> World::rules_in_use(const Host& host) const {
    if (limits_.empty()) return {&settings_of(host.rule)};
    std::vector<const q::RouteSettings*> out;
    for (const auto& each : engine_->queues(now()))
        if (const auto book = queues_.find(each.name); each.link == host.name && book != queues_.end())
            out.push_back(&settings_of(book->second.rule));
    return out;
}

std::uint32_t World::strictest_limit(const Host& host) const {
    const std::uint32_t usual = host.mx ? settings_.connections_mx : settings_.connections_route;
    if (limits_.empty()) return usual;
    std::optional<std::uint32_t> out;
    for (const auto& each : engine_->queues(now())) {
        const auto book = queues_.find(each.name);
        if (each.link != host.name || book == queues_.end()) continue;
        const std::uint32_t its = connections_by(book->second.rule);
        out = std::min(out.value_or(UINT32_MAX), its > 0 ? its : usual);
    }
    return out.value_or(usual);
}

void World::check_limit(const Host& host, std::size_t index) {
    std::uint32_t mine = 0;
    for (const auto& [id, each] : connections_)
        if (!each.local && each.host == index && each.incarnation == incarnation_) ++mine;
    if (mine > 1 && mine > strictest_limit(host)) wrong("a link over its limit");
}

// Each rung is waited out; jitter lengthens it.
void World::check_rung(smtp::Duration wait, smtp::Duration rung, const std::string& what) {
    const auto most = std::chrono::duration_cast<smtp::Duration>(rung * (1.0 + settings_.jitter)) + 1ms;
    if (wait < rung || wait > most) wrong(what + "'s next try is off its ladder");
}

namespace {

std::int64_t gap(std::uint32_t per_second, std::uint32_t per_hour) {
    return std::max(per_second > 0 ? second / per_second : 0, per_hour > 0 ? 3600 * second / per_hour : 0);
}

// Each of a rate has its moment, a gap behind the one before; up to a tenth of a second late moves none: that much of
// a burst there may be, and no more.
void move_on(std::int64_t& next, std::int64_t time, std::int64_t by) {
    next = (time - next <= second / 10 ? next : time) + by;
}

} // namespace

void World::check_rate(Host& host) {
    std::int64_t longest = 0;
    for (const auto* each : rules_in_use(host))
        if (!shares(*each)) longest = std::max(longest, gap(each->messages_per_second, each->messages_per_hour));
    if (time_ < host.next_moment) wrong("mail faster than the route's rate");
    move_on(host.next_moment, time_, longest);
}

// Where a link is not ready its ladder says when it is tried; after a restart the engine may remember that it is not.
void World::check_connection_rate(Host& host) {
    std::int64_t longest = 0;
    for (const auto* each : rules_in_use(host))
        if (!shares(*each)) longest = std::max(longest, gap(each->connections_per_second, 0));
    const bool ready = host.health == q::Health::ready && (host.announced || incarnation_ == 1);
    if (time_ < host.next_connection && ready) wrong("connections faster than the route's rate");
    move_on(host.next_connection, time_, longest);
}

} // namespace sim
