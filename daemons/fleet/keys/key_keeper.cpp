#include "daemons/fleet/keys/key_keeper.h"
#include "daemons/fleet/keys/key_scripts.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace fleet {

namespace records = proto::key_records;
using records::Fate;
using redis::Reply;

namespace {

// Until a time in µs since 1970, as an argument of the store; "": it is over.
std::string ms_until(std::int64_t expires) {
    const auto now = common::Loop::now().wall.time_since_epoch().count();
    return expires > now ? fmt::format("{}", std::max<std::int64_t>((expires - now) / 1000, 1)) : "";
}

} // namespace

KeyKeeper::KeyKeeper(Dependencies dependencies)
    : deps_(std::move(dependencies)), look_timer_(deps_.loop, [this] { look(); }),
      offer_timer_(deps_.loop, [this] { go_on_offering(); }) {}

void KeyKeeper::use(bool present, const std::string& node) {
    const bool same = present == present_ && node == node_;
    present_ = present;
    node_ = node;
    if (same) return;
    if (present_) wanted_ = true;
    restart();
}

void KeyKeeper::connected() {
    peer_ = true;
    restart();
}

void KeyKeeper::disconnected() {
    peer_ = false;
    restart();
}

void KeyKeeper::offer() {
    wanted_ = true;
    if (!offering_) offer_later();
}

void KeyKeeper::restart() {
    ++round_;
    offering_ = false;
    asked_.clear();
    seen_.clear();
    former_.clear();
    cursor_ = "0";
    after_.clear();
    if (!present_ || !peer_) {
        look_timer_.stop();
        offer_timer_.stop();
        return;
    }
    look_timer_.start(smtp::Duration::zero());
    offer_timer_.start(smtp::Duration::zero());
}

void KeyKeeper::received(const records::Message& message) {
    if (const auto* attempts = std::get_if<records::Attempts>(&message)) found(*attempts);
    if (const auto* accepted = std::get_if<records::Accepted>(&message)) offered(*accepted);
}

// ---- pledges: a writer needs but a moment from its pledge to the confirmation. One that is seen in two passes,
// seconds apart, may have been left by a writer that died, or by a confirmation that did not reach the store.

void KeyKeeper::look() {
    if (!present_ || !peer_) return;
    look_timer_.start(look_interval);
    if (!asked_.empty()) return; // the queue-manager has not answered yet
    deps_.store.run(pledges_script(), {pledges_key(node_)}, {cursor_},
                    [this, round = round_](const redis::Result& result) {
                        if (round == round_ && result) looked(*result);
                    });
}

void KeyKeeper::looked(const Reply& reply) {
    if (reply.elements.size() != 2 || !reply.elements[0].is_text() || !reply.elements[1].is_list()) return;
    const auto& found = reply.elements[1].elements;
    const auto prefix = deps_.store.key("key:");
    records::AskAttempts question{.number = asked_attempts_ = ++number_, .attempts = {}};
    for (std::size_t n = 0; n + 1 < found.size(); n += 2) {
        const auto &field = found[n].text, &tail = found[n + 1].text;
        const auto name = field.starts_with(prefix) ? bytes_of_hex(field.substr(prefix.size())) : std::nullopt;
        const auto entry = KeyEntry::parse("P " + tail);
        if (!name || name->empty() || !entry || entry->node != node_) continue; // not written by us
        seen_[*name] = tail;
        const auto before = former_.find(*name);
        if (before == former_.end() || before->second != tail || asked_.size() >= records::most) continue;
        asked_.push_back({*name, *entry});
        question.attempts.push_back({*name, entry->id});
    }
    cursor_ = reply.elements[0].text;
    if (cursor_ == "0") former_ = std::exchange(seen_, {});
    if (!asked_.empty() && !deps_.send(question)) asked_.clear();
}

void KeyKeeper::found(const records::Attempts& answer) {
    if (answer.number != asked_attempts_) return;
    const auto asked = std::exchange(asked_, {});
    if (!present_ || answer.found.size() != asked.size()) return;
    for (std::size_t n = 0; n < asked.size(); ++n) settle(asked[n], answer.found[n]);
}

void KeyKeeper::settle(const Pledge& pledge, const records::Found& found) {
    const redis::Command keys{entry_key(pledge.name), pledges_key(node_)};
    const auto life = ms_until(found.expires);
    if (found.fate == Fate::open) return;
    if (found.fate == Fate::accepted && !life.empty())
        deps_.store.run(confirm_script(), keys, {pledge.entry.tail(), life}, [](const redis::Result&) {});
    else
        deps_.store.run(release_script(), keys, {pledge.entry.tail()}, [](const redis::Result&) {});
}

// ---- all keys

void KeyKeeper::offer_later() {
    if (present_ && peer_) offer_timer_.start(offer_again);
}

void KeyKeeper::go_on_offering() {
    if (!present_ || !peer_ || (!wanted_ && !offering_)) return;
    if (!std::exchange(offering_, true)) {
        wanted_ = false;
        after_.clear();
        restored_ = 0;
    }
    if (deps_.send(records::AskAccepted{.number = asked_keys_ = ++number_, .after = after_})) return;
    offering_ = false;
    wanted_ = true;
    offer_later();
}

void KeyKeeper::offered(const records::Accepted& answer) {
    if (!offering_ || !present_ || answer.number != asked_keys_) return;
    const auto again = [this] {
        offering_ = false;
        wanted_ = true;
        offer_later();
    };
    if (!answer.error.empty()) return again();
    redis::Command keys, arguments;
    for (const auto& each : answer.keys) {
        const KeyEntry entry{.state = {}, .digest = each.digest, .id = each.id, .node = node_};
        auto life = ms_until(each.expires);
        if (life.empty() || !KeyEntry::parse(entry.text())) continue;
        keys.push_back(entry_key(each.name));
        arguments.insert(arguments.end(), {entry.tail(), std::move(life)});
    }
    after_ = answer.after;
    const auto next = [this, last = answer.last] {
        if (!last) return go_on_offering();
        offering_ = false;
        if (restored_ > 0)
            deps_.log.info("idempotency keys: {} keys of this node were missing in the store", restored_);
        if (wanted_) offer_later();
    };
    if (keys.empty()) return next();
    deps_.store.run(offer_script(), keys, arguments, [this, round = round_, next, again](const redis::Result& result) {
        if (round != round_) return;
        if (!result || result->kind != Reply::Kind::integer) return again();
        restored_ += static_cast<std::uint64_t>(std::clamp<std::int64_t>(result->number, 0, records::most));
        next();
    });
}

} // namespace fleet
