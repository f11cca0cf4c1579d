// Rates that the engine shares with other nodes, and a store that grants tokens for them, late, few, none or too many,
// and goes away. Judges the questions: one at a time for each rate, not too many, and only while there is a store.
// Dice of its own: the worlds are otherwise what they were.
#include "tests/sim/world.h"
#include <algorithm>

namespace sim {

void World::make_fleet() {
    if (calm_ || life_ == Life::month || settings_.routes.empty() || !fleet_dice_.chance(40)) return;
    settings_.in_fleet = true;
    settings_.expected_nodes = static_cast<std::uint32_t>(fleet_dice_.between(0, 3));
    for (auto& [name, route] : settings_.routes) route.share_rates = fleet_dice_.chance(60);
    fleet_ = {.store = true, .nodes = static_cast<std::uint32_t>(fleet_dice_.between(1, 4))};
}

// A while after the engine has begun.
void World::introduce_fleet() {
    fleet_known_ = false;
    tokens_asked_.clear();
    if (!settings_.in_fleet || fleet_dice_.chance(5)) return;
    later(fleet_dice_.between(0, 7 * second), [this, i = incarnation_] {
        if (i == incarnation_) tell_fleet();
    });
}

void World::tell_fleet() {
    fleet_known_ = true;
    engine_->fleet_changed(fleet_, now(), out_);
}

void World::plan_fleet(std::int64_t span) {
    if (!settings_.in_fleet) return;
    for (auto n = fleet_dice_.between(0, 6); n > 0; --n)
        later(fleet_dice_.between(0, span), [this] {
            fleet_.store = fleet_dice_.chance(60);
            fleet_.nodes = static_cast<std::uint32_t>(fleet_dice_.between(1, 4));
            fleet_.missing = static_cast<std::uint32_t>(fleet_dice_.between(0, 4)); // may be more than there are
            say(fleet_.store ? "the store is back" : "the store is away");
            if (fleet_known_) tell_fleet();
        });
}

void World::does(const q::AskTokens& a) {
    if (!settings_.in_fleet) wrong("tokens are asked for without a fleet");
    if (!fleet_known_ || !fleet_.store) wrong("tokens are asked for while there is no store");
    if (a.count == 0 || a.gap.count() <= 0) wrong("no tokens are asked for");
    if (a.count > 1 && a.count * a.gap.count() > second) wrong("more than a second's tokens are asked for");
    auto& former = tokens_asked_[std::pair(std::string(a.link), a.rate)];
    if (former.open && time_ - former.times.back() < 2 * second) wrong("tokens are asked for again before the answer");
    former.open = true;
    former.times.push_back(time_);
    while (time_ - former.times.front() > second) former.times.pop_front();
    if (former.times.size() > 15) wrong("tokens are asked for too often");
    say("ask for " + std::to_string(a.count) + " tokens for " + std::string(a.link));
    if (!healed_ && fleet_dice_.chance(4)) return; // no answer
    q::RateLease::Answer answer{.number = a.number, .known = healed_ || !fleet_dice_.chance(4)};
    answer.count = healed_ ? a.count : static_cast<std::uint32_t>(fleet_dice_.between(0, a.count));
    if (!healed_ && fleet_dice_.chance(2)) answer.count = a.count + 1;
    answer.delay = smtp::Duration(fleet_dice_.between(0, second));
    answer.wait = smtp::Duration(fleet_dice_.between(0, 2 * second));
    later(fleet_dice_.chance(10) ? fleet_dice_.between(0, 3 * second) : fleet_dice_.between(200, 50'000),
          [this, answer, key = std::pair(std::string(a.link), a.rate), i = incarnation_] {
              if (i != incarnation_) return;
              tokens_asked_[key].open = false;
              say("grant " + std::to_string(answer.count) + " tokens for " + key.first);
              engine_->tokens_granted({answer}, now(), out_);
          });
}

} // namespace sim
