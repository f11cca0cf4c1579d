// People who are put on a suppression list while their mail is on its way. Dice of its own: the worlds are
// otherwise what they were.
#include "tests/sim/world.h"

namespace sim {

namespace {
const q::Reason suppressed{"5.7.1", "suppressed", "", ""};
} // namespace

// Few different ones: two addresses may share a number.
std::uint32_t World::key_of(std::uint64_t id, q::RecipientNumber number) {
    return static_cast<std::uint32_t>((id / 4096 * 7 + number) % 50 + 1);
}

void World::plan_suppressions(std::int64_t span) {
    if (calm_ || !list_dice_.chance(30)) return;
    for (auto n = list_dice_.between(1, 40); n > 0; --n)
        later(list_dice_.between(0, span), [this] { suppress_somebody(); });
    later(list_dice_.between(0, span), [this] { list_unreadable_ = !healed_; });
    later(list_dice_.between(0, span), [this] { list_unreadable_ = false; });
}

void World::suppress_somebody() {
    if (messages_.empty() || healed_) return;
    const auto at = std::next(messages_.begin(), static_cast<std::ptrdiff_t>(list_dice_.below(messages_.size())));
    Message& m = at->second;
    const auto number = static_cast<q::RecipientNumber>(list_dice_.below(m.recipients.size()));
    m.recipients[number].suppressed = true;
    const std::uint32_t key = key_of(m.id, number);
    say("suppressed: recipient " + std::to_string(number) + " of " + spool::QueueId{m.id}.text());
    engine_->suppression_changed({.keys = std::span(&key, 1), .domains = {}}, now(), out_);
}

void World::does(const q::AskSuppressions& a) {
    std::vector<q::RecipientNumber> asked(out_.of(a.numbers).begin(), out_.of(a.numbers).end());
    later(list_dice_.between(100, list_dice_.chance(5) ? 5 * minute : second / 50),
          [this, id = a.id, delivery = a.delivery, asked, incarnation = incarnation_] {
              if (incarnation != incarnation_) return;
              const Message* m = message(id);
              std::vector<q::SuppressionsKnown::Suppressed> found;
              if (m && !m->gone)
                  for (auto n : asked)
                      if (m->recipients[n].suppressed) found.push_back({n, &suppressed});
              engine_->suppressions_known(
                  {.delivery = delivery,
                   .known = !list_unreadable_,
                   .suppressed = list_unreadable_ ? std::span<q::SuppressionsKnown::Suppressed>() : std::span(found)},
                  now(), out_);
          });
}

} // namespace sim
