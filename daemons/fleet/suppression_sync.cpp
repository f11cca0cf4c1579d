#include "daemons/fleet/suppression_sync.h"
#include "daemons/common/runtime/random.h"
#include "daemons/fleet/number_text.h"
#include "daemons/fleet/suppression_scripts.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace fleet {

using common::ChangeDirection;
using common::MetricId;
using proto::fleet::Change;
using redis::Reply;

namespace {

constexpr std::size_t looked_at_once = 100;
constexpr std::size_t scanned_at_once = 200;

std::string fresh_id() {
    std::string out;
    for (const unsigned char byte : common::random_bytes(16)) out += fmt::format("{:02x}", byte);
    return out;
}

// "…P0001795309200000000…": the time in µs behind the 17th byte; 0: never.
bool has_expired(std::string_view value, smtp::WallTime now) {
    constexpr std::size_t place = 17, digits = 16;
    constexpr smtp::Duration remembered = std::chrono::hours(30 * 24); // as erasures are: it has replaced others
    const auto time =
        value.size() < place + digits ? std::nullopt : number_of_digits<std::uint64_t>(value.substr(place, digits));
    if (!time || *time == 0) return false;
    const auto kept = value[place - 1] == 'E' ? smtp::Duration::zero() : remembered;
    return std::cmp_less_equal(*time, (now.time_since_epoch() - kept).count());
}

// A store that does not answer is reported as away; what it refuses, here.
std::string refusal_in(const redis::Result& result) {
    return result.error().kind == redis::CallError::Kind::refused ? "the store refuses it: " + result.error().text : "";
}

// Messages to the queue-manager are limited, whatever the store holds.
bool is_possible(const Change& change) {
    constexpr std::size_t longest_key = 400, longest_value = 4096;
    return !change.key.empty() && change.key.size() <= longest_key && change.value.size() <= longest_value;
}

} // namespace

SuppressionSync::SuppressionSync(Dependencies dependencies)
    : deps_(std::move(dependencies)), timer_(deps_.loop, [this] { following_ ? look() : begin(); }),
      own_timer_(deps_.loop, [this] { ask_own(); }), daily_(deps_.loop, [this] {
          compare_ = true;
          restart();
      }) {
    daily_.start(compare_interval);
}

void SuppressionSync::use(StoreClient* store) {
    if (store == store_) return;
    store_ = store;
    restart();
}

void SuppressionSync::connected() {
    peer_ = true;
    ask_own();
    restart();
}

void SuppressionSync::disconnected() {
    peer_ = false;
    asked_ = Asked::nothing;
    asked_own_ = false;
    restart();
}

// What is under way is over: the connection of the queue-manager answers in order, so a late answer is recognized by
// `asked_`.
void SuppressionSync::restart() {
    ++round_;
    following_ = sharing_ = looking_ = known_ = false;
    merged_ = nullptr;
    timer_.start(smtp::Duration::zero());
}

void SuppressionSync::again_later(const std::string& why) {
    const auto pause = note(following_trouble_, why);
    restart();
    timer_.start(pause);
}

smtp::Duration SuppressionSync::note(Trouble& trouble, const std::string& why) {
    if (why.empty()) return retry; // the store's own state is reported
    const auto text = "suppression list: not in step with the other nodes: " + why;
    if (trouble.why.empty()) {
        deps_.log.warning("{}", text);
        deps_.report_problem(text);
        trouble.why = why;
    }
    return std::exchange(trouble.pause, std::min(trouble.pause * 2, longest_retry));
}

void SuppressionSync::works(Trouble& trouble) {
    if (trouble.why.empty()) return;
    trouble = {};
    if (!following_trouble_.why.empty() || !sharing_trouble_.why.empty()) return;
    deps_.log.info("suppression list: in step with the other nodes again");
    deps_.report_problem("");
}

// A store whose answers contradict each other does not keep us busy.
void SuppressionSync::start_over() {
    restart();
    timer_.start(retry);
}

void SuppressionSync::begin() {
    if (!store_ || !peer_) return;
    if (asked_ != Asked::nothing) return timer_.start(retry); // its answer belongs to an earlier round
    asked_ = Asked::position;
    if (!deps_.send(proto::fleet::AskPosition{})) asked_ = Asked::nothing;
}

void SuppressionSync::received(const proto::fleet::Message& message) {
    if (std::holds_alternative<proto::fleet::News>(message)) {
        own_news_ = true;
        ask_own();
        return;
    }
    if (const auto* own = std::get_if<proto::fleet::Own>(&message)) {
        asked_own_ = false;
        share(*own);
        return;
    }
    const auto asked = std::exchange(asked_, Asked::nothing);
    if (const auto* position = std::get_if<proto::fleet::Position>(&message); position && asked == Asked::position)
        positioned(*position);
    if (const auto* all = std::get_if<proto::fleet::All>(&message); all && asked == Asked::all) offered(*all);
    if (const auto* answer = std::get_if<proto::fleet::Merged>(&message); answer && asked == Asked::merge)
        merged(*answer);
}

void SuppressionSync::run(const redis::Script& script, redis::Command arguments,
                          std::function<void(const Reply&)> then) {
    if (!store_) return;
    store_->run(script, suppression_keys(), arguments,
                [this, round = round_, then = std::move(then)](const redis::Result& result) {
                    if (round != round_) return;
                    if (!result) return again_later(refusal_in(result));
                    then(*result);
                });
}

// ---- where to begin ----

void SuppressionSync::positioned(const proto::fleet::Position& position) {
    if (!store_ || following_) return;
    if (!position.error.empty()) return again_later(position.error);
    former_store_ = position.store;
    cursor_ = position.cursor;
    run(state_script(), {fresh_id()}, [this](const Reply& reply) {
        const auto last =
            reply.elements.size() == 2 ? number_of_digits<std::uint64_t>(reply.elements[1].text) : std::nullopt;
        if (!last || reply.elements[0].text.empty()) return again_later("the store holds something else");
        // A store that was started again may have less than it had.
        const auto run_id = store_->run_id();
        store_id_ = reply.elements[0].text;
        start_ = *last;
        const auto identity = store_id_ + "/" + run_id;
        const bool same = identity == former_store_ && !run_id.empty() && cursor_ <= *last;
        former_store_ = identity;
        known_ = true;
        ask_own(); // to the store they can go at once
        if (same && !compare_) return follow();
        compare();
    });
}

// ---- everything, in both directions ----

void SuppressionSync::compare() {
    compared_ = 0;
    copy_from_store("0");
}

void SuppressionSync::copy_from_store(const std::string& cursor) {
    store_->call({"HSCAN", store_->key(suppression_keys()[0]), cursor, "COUNT", fmt::format("{}", scanned_at_once)},
                 [this, round = round_](const redis::Result& result) {
                     if (round != round_) return;
                     if (!result) return again_later(refusal_in(result));
                     copied(*result);
                 });
}

void SuppressionSync::copied(const Reply& reply) {
    const bool valid = reply.elements.size() == 2 && reply.elements[1].is_list() && !reply.elements[0].text.empty();
    if (!valid) return again_later("the store holds something else");
    const auto now = common::Loop::now().wall;
    std::deque<Changes> batches;
    redis::Command expired;
    const auto& found = reply.elements[1].elements;
    for (std::size_t n = 0; n + 1 < found.size(); n += 2) {
        Change change{found[n].text, found[n + 1].text};
        if (has_expired(change.value, now)) {
            expired.insert(expired.end(), {change.key, change.value});
            continue;
        }
        if (!is_possible(change)) continue;
        if (batches.empty() || batches.back().size() == proto::fleet::most_changes) batches.emplace_back();
        batches.back().push_back(std::move(change));
    }
    if (!expired.empty()) run(remove_script(), std::move(expired), [](const Reply&) {});
    take_copies(std::move(batches), reply.elements[0].text);
}

void SuppressionSync::take_copies(std::deque<Changes> batches, std::string cursor) {
    if (batches.empty()) return cursor == "0" ? copy_to_store("") : copy_from_store(cursor);
    auto first = std::move(batches.front());
    batches.pop_front();
    compared_ += first.size();
    merge(std::move(first), {},
          [this, batches = std::move(batches), cursor = std::move(cursor)] { take_copies(batches, cursor); });
}

void SuppressionSync::copy_to_store(const std::string& after) {
    asked_ = Asked::all;
    if (!deps_.send(proto::fleet::AskAll{after})) asked_ = Asked::nothing;
}

void SuppressionSync::offered(const proto::fleet::All& all) {
    if (!store_ || following_) return;
    if (!all.error.empty()) return again_later(all.error);
    if (all.last)
        return merge({}, start_, [this] {
            deps_.log.info("suppression list: compared with the other nodes: {} entries in the store", compared_);
            compare_ = false;
            daily_.start(compare_interval);
            cursor_ = start_;
            follow();
        });
    put(all.changes, [this, after = all.after](const Reply& reply) {
        if (reply.kind != Reply::Kind::integer) return again_later("the store holds something else");
        if (reply.number < 0) return again_later("the store was emptied");
        copy_to_store(after);
    });
}

void SuppressionSync::put(const Changes& changes, std::function<void(const Reply&)> then) {
    redis::Command arguments{store_id_, fmt::format("{}", kept_changes)};
    for (const auto& each : changes) arguments.insert(arguments.end(), {each.key, each.value});
    run(put_script(), std::move(arguments), std::move(then));
}

void SuppressionSync::merge(Changes changes, std::optional<std::uint64_t> cursor, std::function<void()> then) {
    merged_ = std::move(then);
    asked_ = Asked::merge;
    if (!deps_.send(proto::fleet::Merge{
            .changes = std::move(changes), .store = cursor ? former_store_ : "", .cursor = cursor.value_or(0)})) {
        asked_ = Asked::nothing;
        again_later("");
    }
}

void SuppressionSync::merged(const proto::fleet::Merged& answer) {
    const auto then = std::exchange(merged_, nullptr);
    if (!then) return; // of an earlier round
    if (!answer.error.empty()) return again_later(answer.error);
    deps_.metrics.add(MetricId::fleet_changes, answer.applied, ChangeDirection::received);
    if (answer.future > 0 && !std::exchange(future_, true))
        deps_.log.warning(
            "suppression list: changes of other nodes lie more than a day in the future and are not taken: "
            "synchronize the clocks of all nodes");
    if (following_) works(following_trouble_);
    then();
}

// ---- change by change ----

void SuppressionSync::follow() {
    following_ = true;
    ask_own();
    look();
}

void SuppressionSync::look() {
    if (!store_ || !peer_ || std::exchange(looking_, true)) return;
    run(look_script(), {fmt::format("{}", cursor_ + 1), fmt::format("{}", looked_at_once)},
        [this](const Reply& reply) { looked(reply); });
}

void SuppressionSync::looked(const Reply& reply) {
    const auto last =
        reply.elements.size() == 3 ? number_of_digits<std::uint64_t>(reply.elements[1].text) : std::nullopt;
    if (!last || !reply.elements[2].is_list()) return again_later("the store holds something else");
    if (reply.elements[0].text != store_id_ || *last < cursor_)
        return start_over(); // emptied, or it has less than it had
    lag_ = *last - cursor_;
    if (lag_ == 0) {
        looking_ = false;
        works(following_trouble_);
        return timer_.start(look_interval);
    }
    Changes changes;
    auto reached = cursor_;
    for (const auto& each : reply.elements[2].elements) {
        const auto number =
            each.elements.size() == 2
                ? number_of_digits<std::uint64_t>(
                      std::string_view(each.elements[0].text).substr(0, each.elements[0].text.find('-')))
                : std::nullopt;
        if (!number || *number != reached + 1) break; // others are no longer there
        reached = *number;
        const auto& fields = each.elements[1].elements;
        if (fields.size() != 4) continue;
        if (Change change{fields[1].text, fields[3].text}; is_possible(change)) changes.push_back(std::move(change));
    }
    if (reached == cursor_) {
        compare_ = true;
        return start_over();
    }
    merge(std::move(changes), reached, [this, reached] {
        lag_ -= reached - cursor_;
        cursor_ = reached;
        looking_ = false;
        lag_ > 0 ? look() : timer_.start(look_interval);
    });
}

// ---- changes of this node ----

void SuppressionSync::ask_own() {
    if (!peer_ || asked_own_ || sharing_) return;
    own_news_ = false;
    own_timer_.stop();
    asked_own_ = deps_.send(proto::fleet::AskOwn{});
}

void SuppressionSync::share(const proto::fleet::Own& own) {
    if (!own.error.empty()) return own_timer_.start(note(sharing_trouble_, own.error));
    waiting_ = own.waiting;
    if (!known_ || !store_ || own.changes.empty() || sharing_) {
        if (own_news_) ask_own();
        return;
    }
    if (own.changes == std::exchange(sent_last_, {})) return own_timer_.start(retry); // that did not clear them
    sharing_ = true;
    redis::Command arguments{store_id_, fmt::format("{}", kept_changes)};
    for (const auto& each : own.changes) arguments.insert(arguments.end(), {each.key, each.value});
    store_->run(put_script(), suppression_keys(), arguments,
                [this, round = round_, changes = own.changes](const redis::Result& result) {
                    if (round == round_) shared(changes, result);
                });
}

void SuppressionSync::shared(const Changes& changes, const redis::Result& result) {
    sharing_ = false;
    const bool odd = result && result->kind != Reply::Kind::integer;
    if (!result || odd)
        return own_timer_.start(note(sharing_trouble_, odd ? "the store holds something else" : refusal_in(result)));
    if (result->number < 0) return start_over(); // the store was emptied: everything is compared
    works(sharing_trouble_);
    deps_.metrics.add(MetricId::fleet_changes, changes.size(), ChangeDirection::sent);
    sent_last_ = changes;
    deps_.send(proto::fleet::Shared{changes});
    ask_own(); // it comes behind the answer above
    if (following_) timer_.start(smtp::Duration::zero());
}

} // namespace fleet
