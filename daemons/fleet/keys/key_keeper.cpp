#include "daemons/fleet/keys/key_keeper.h"
#include "daemons/common/proto/key_claims.h"
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

bool is_cursor(const std::string& text) {
    constexpr std::size_t longest = 20; // 64 bits
    return !text.empty() && text.size() <= longest &&
           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

KeyKeeper::KeyKeeper(Dependencies dependencies)
    : deps_(std::move(dependencies)), look_timer_(deps_.loop, [this] { look(); }), offer_timer_(deps_.loop, [this] {
          if (!pass_) wanted_ = true;
          go_on_offering();
      }) {}

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
    if (pass_) pass_->begun = false; // asks whether it is the same store
    go_on_offering();
}

void KeyKeeper::not_confirmed() {
    if (std::exchange(soon_, true) || pass_) return;
    plan();
}

void KeyKeeper::restart() {
    ++round_;
    asked_.clear();
    seen_.clear();
    former_.clear();
    cursor_ = "0";
    waits_ = false;
    asked_keys_ = 0; // an answer that is still to come counts no longer
    failures_ = 0;
    if (pass_) pass_->begun = false;
    look_timer_.stop();
    offer_timer_.stop();
    if (!present_ || !peer_) return;
    look_timer_.start(look_interval);
    if (pass_)
        go_on_offering();
    else
        plan();
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
    deps_.store.run(pledges_script(), {pledges_key(node_), std::string(offered_key)}, {cursor_, node_},
                    [this, round = round_](const redis::Result& result) {
                        if (round != round_) return;
                        if (result)
                            looked(*result);
                        else
                            cursor_ = "0"; // it may be one that the store does not take
                    });
}

void KeyKeeper::looked(const Reply& reply) {
    if (reply.elements.size() != 3 || !reply.elements[0].is_text() || !reply.elements[1].is_list()) return;
    if (reply.elements[2].number == 0 && !pass_) offer(); // it was emptied
    const auto& found = reply.elements[1].elements;
    const auto prefix = deps_.store.key("");
    records::AskAttempts question{.number = asked_attempts_ = ++number_, .attempts = {}};
    for (std::size_t n = 0; n + 1 < found.size(); n += 2) {
        const auto &field = found[n].text, &tail = found[n + 1].text;
        const auto key = field.starts_with(prefix) ? field.substr(prefix.size()) : std::string();
        const auto name = name_in(key);
        const auto entry = KeyEntry::parse("P " + tail);
        if (name.size() != proto::key_claims::name_size || !entry || entry->node != node_) continue; // not ours
        seen_[key] = tail;
        const auto before = former_.find(key);
        if (before == former_.end() || before->second != tail || asked_.size() >= records::most) continue;
        asked_.push_back({key, *entry});
        question.attempts.push_back({name, entry->id});
    }
    cursor_ = reply.elements[0].text;
    if (!is_cursor(cursor_) || seen_.size() > most_seen) cursor_ = "0";
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
    const redis::Command keys{pledge.key, pledges_key(node_)};
    const auto life = ms_until(found.expires);
    if (found.fate == Fate::open) return;
    if (found.fate == Fate::accepted && !life.empty())
        deps_.store.run(confirm_script(), keys, {pledge.entry.tail(), life}, [](const redis::Result&) {});
    else
        deps_.store.run(release_script(), keys, {pledge.entry.tail()}, [](const redis::Result&) {});
}

// ---- all keys

// When the next pass begins.
void KeyKeeper::plan() {
    if (!present_ || !peer_) return;
    if (wanted_) return go_on_offering();
    const auto passed = end_ ? common::Loop::now().monotonic - *end_ : smtp::Duration{};
    offer_timer_.start(std::max<smtp::Duration>((soon_ ? offer_soon : offer_every) - passed, first_pause));
}

void KeyKeeper::go_on_offering() {
    if (!present_ || !peer_ || waits_) return;
    if (!pass_) {
        if (!wanted_) return;
        wanted_ = soon_ = false;
        pass_ = Pass{.word = fmt::format("{}-{}", common::Loop::now().wall.time_since_epoch().count(), ++number_)};
    }
    if (!pass_->begun)
        return call(begin_offer_script(), {std::string(offered_key)}, {node_, pass_->word}, [this](const Reply& reply) {
            if (reply.kind != Reply::Kind::integer) return false;
            begun(reply.number == 1);
            return true;
        });
    waits_ = true;
    if (!deps_.send(records::AskAccepted{.number = asked_keys_ = ++number_, .after = pass_->after}))
        offer_failed("the queue-manager cannot be asked");
}

void KeyKeeper::call(const redis::Script& script, const redis::Command& keys, const redis::Command& arguments,
                     std::function<bool(const Reply&)> then) {
    waits_ = true;
    deps_.store.run(script, keys, arguments,
                    [this, round = round_, then = std::move(then)](const redis::Result& result) {
                        if (round != round_) return;
                        waits_ = false;
                        if (!result) return offer_failed(result.error().text);
                        if (!then(*result)) offer_failed("the store answers with something else");
                    });
}

void KeyKeeper::begun(bool same_store) {
    pass_->begun = true;
    if (!same_store) pass_->after.clear();
    go_on_offering();
}

void KeyKeeper::offered(const records::Accepted& answer) {
    if (!pass_ || !waits_ || !present_ || answer.number != asked_keys_) return;
    waits_ = false;
    if (!answer.error.empty()) return offer_failed(answer.error);
    redis::Command keys, arguments;
    for (const auto& each : answer.keys) {
        const KeyEntry entry{.state = {}, .digest = each.digest, .id = each.id, .node = node_};
        auto life = ms_until(each.expires);
        if (life.empty() || !KeyEntry::parse(entry.text())) continue;
        keys.push_back(entry_key(each.name, each.of_program ? origin_ : ""));
        arguments.insert(arguments.end(), {entry.tail(), std::move(life)});
    }
    const auto next = [this, after = answer.after, last = answer.last] {
        failures_ = 0;
        pass_->after = after;
        if (last)
            end_pass();
        else
            go_on_offering();
    };
    if (keys.empty()) return next();
    call(offer_script(), keys, arguments, [this, next](const Reply& reply) {
        if (reply.elements.size() != 2) return false;
        const auto count = [&](std::size_t which) {
            return static_cast<std::uint64_t>(std::clamp<std::int64_t>(reply.elements[which].number, 0, records::most));
        };
        pass_->restored += count(0);
        pass_->left_out += count(1);
        next();
        return true;
    });
}

void KeyKeeper::end_pass() {
    call(end_offer_script(), {std::string(offered_key)}, {node_, pass_->word}, [this](const Reply& reply) {
        if (reply.kind != Reply::Kind::integer) return false;
        if (reply.number != 1 || !pass_->begun) { // the store was emptied, or is another one
            pass_->begun = false;
            go_on_offering();
            return true;
        }
        if (pass_->restored > 0)
            deps_.log.info("idempotency keys: {} keys of this node were missing in the store", pass_->restored);
        if (pass_->left_out > 0) soon_ = true; // their nodes will have said what became of them
        pass_.reset();
        end_ = common::Loop::now().monotonic;
        plan();
        return true;
    });
}

void KeyKeeper::offer_failed(const std::string& why) {
    constexpr std::uint64_t logged_at = 4;
    waits_ = false;
    if (++failures_ == logged_at)
        deps_.log.warning("idempotency keys of this node are not written into the store: {}; tried again", why);
    offer_timer_.start(
        std::min<smtp::Duration>(first_pause * (1 << std::min<std::uint64_t>(failures_ - 1, 5)), longest_pause));
}

} // namespace fleet
