#include "daemons/queue-manager/transfers/transfers.h"
#include "daemons/common/runtime/crash_point.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace queue_manager {

using namespace std::chrono_literals;
using proto::transfer::Send;
using proto::transfer::Sent;

namespace {

constexpr smtp::Duration longest_transfer_pause = 60s;

smtp::Duration pause_after(unsigned attempts) {
    return std::min<smtp::Duration>(1s * (1u << std::min(attempts - 1, 10u)), longest_transfer_pause);
}

} // namespace

Transfers::Transfers(const Dependencies& dependencies)
    : deps_(dependencies), service_(deps_.loop, {[this] { send_some(); }, [this] { connection_lost(); },
                                                 [this](proto::transfer::Message&& message) {
                                                     if (const auto* sent = std::get_if<Sent>(&message))
                                                         answered(*sent);
                                                 }}),
      retry_(deps_.loop, [this] { send_some(); }) {}

void Transfers::begin(spool::QueueId id, const spool::Transferring& how) {
    CRASH_POINT("queue-manager.transfer_recorded");
    if (!entries_.try_emplace(id, Entry{.how = how, .error = {}}).second) return;
    // Another command may have released it while this was written.
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.hold(id, now, out); });
    const auto info = deps_.driver.engine().message(id, common::Loop::now());
    if (info && info->active) return give_back(id, "it is being delivered", {});
    ready_.push_back(id);
    send_some();
}

void Transfers::found(spool::QueueId id, const spool::Transferring& how) {
    if (!entries_.try_emplace(id, Entry{.how = how, .in_doubt = true, .error = {}}).second) return;
    doubtful_.push_back(id);
    send_some();
    report();
}

std::size_t Transfers::in_doubt() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(entries_, [](const auto& each) { return each.second.in_doubt; }));
}

std::string Transfers::text_of(spool::QueueId id) const {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return "";
    const auto& entry = found->second;
    return fmt::format("being moved to node {}{}{}{}", entry.how.node,
                       entry.in_doubt ? ", and in doubt: it may be there already, so the node is asked until it answers"
                                      : "",
                       entry.error.empty() ? "" : "; the last attempt: ", entry.error);
}

// ---- asking ----

void Transfers::send_some() {
    const auto now = common::Loop::now();
    while (!waiting_.empty() && waiting_.begin()->first <= now.monotonic) {
        const auto id = waiting_.begin()->second;
        waiting_.erase(waiting_.begin());
        if (const auto found = entries_.find(id); found != entries_.end())
            (found->second.in_doubt ? doubtful_ : ready_).push_back(id);
    }
    while (service_.present() && asked_ < most_asked && (!doubtful_.empty() || !ready_.empty())) {
        auto& queue = doubtful_.empty() ? ready_ : doubtful_;
        const auto id = queue.front();
        queue.pop_front();
        const auto found = entries_.find(id);
        if (found == entries_.end() || found->second.asked || found->second.ending) continue;
        auto& entry = found->second;
        // The node has forgotten by now what it took: an operator must decide.
        if (entry.in_doubt && now.wall - entry.how.time > asked_for) continue;
        if (service_.ask(Send{id, entry.how.node, entry.how.generation}) != ipc::SendResult::yes) {
            queue.push_front(id);
            break;
        }
        entry.asked = true;
        ++entry.attempts;
        ++asked_;
    }
    if (!waiting_.empty()) retry_.start(std::max<smtp::Duration>(waiting_.begin()->first - now.monotonic, 1ms));
}

void Transfers::connection_lost() {
    for (auto& [id, entry] : entries_) {
        if (!std::exchange(entry.asked, false)) continue;
        entry.in_doubt = true;
        doubtful_.push_back(id);
    }
    asked_ = 0;
    report();
}

void Transfers::retry(spool::QueueId id, Entry& entry) {
    waiting_.emplace(common::Loop::now().monotonic + pause_after(entry.attempts), id);
}

void Transfers::answered(const Sent& sent) {
    const auto id = sent.queue_id;
    const auto found = entries_.find(id);
    if (found == entries_.end() || !found->second.asked || found->second.how.generation != sent.generation) return;
    auto& entry = found->second;
    entry.asked = false;
    --asked_;
    if (!deps_.driver.engine().message(id, common::Loop::now())) { // quarantined meanwhile
        end({.id = id, .node = entry.how.node, .moved = false, .why = "it has left the queue"});
    } else if (sent.result == proto::transfer::Result::taken) {
        entry.ending = true;
        taken(id, spool::QueueId{sent.its_id});
    } else {
        entry.error = sent.text;
        const bool first = entry.attempts == 1;
        entry.in_doubt = entry.in_doubt || sent.result == proto::transfer::Result::unknown;
        const bool hopeless = sent.result == proto::transfer::Result::refused || entry.attempts >= most_attempts;
        if (first) deps_.log.warning("{}: not moved to node {} yet: {}", id.text(), entry.how.node, sent.text);
        if (!entry.in_doubt && hopeless)
            give_back(id, sent.text, {});
        else
            retry(id, entry);
        report();
    }
    send_some();
}

// ---- the node has it ----

void Transfers::taken(spool::QueueId id, spool::QueueId its_id) {
    CRASH_POINT("queue-manager.transfer_taken");
    deps_.loader.read(
        id, spool::Location::messages,
        [this, id, its_id](const spool::MessageState& state, std::uint64_t) {
            moved(id, its_id, spool::journal::facts_of(state.envelope));
        },
        [this, id, its_id](const MessageLoader::Failure&) { moved(id, its_id, {}); });
}

// The file goes when the journal has the event, and no sooner.
void Transfers::moved(spool::QueueId id, spool::QueueId its_id, const spool::journal::MessageFacts& about) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    const auto how = found->second.how;
    deps_.log.info("{}: moved to node {} as {}, by {}{}{}", id.text(), how.node, its_id.text(), how.who,
                   how.why.empty() ? "" : ": ", how.why);
    deps_.events.transferred_out(id, about, how, its_id.text());
    CRASH_POINT("queue-manager.transfer_journaled");
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.forget(id, now, out); });
    deps_.files.remove_by_operator(id, MessageFiles::Removal::permanently);
    end({.id = id, .node = how.node, .moved = true, .why = {}});
    CRASH_POINT("queue-manager.transfer_removed");
}

// ---- it stays here ----

void Transfers::cancel(spool::QueueId id, Doubt doubt, std::function<void(std::string)> done) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return done("is not being moved to another node");
    const auto& entry = found->second;
    if (entry.asked || entry.ending) return done("is being sent now: try again");
    if (entry.in_doubt && doubt == Doubt::respected)
        return done(fmt::format("may be on node {} already: --in-doubt keeps it here nevertheless", entry.how.node));
    give_back(id, "canceled", std::move(done));
}

void Transfers::give_back(spool::QueueId id, std::string why, std::function<void(std::string)> done) {
    auto& entry = entries_.at(id);
    entry.ending = true;
    auto ended = entry.how;
    ended.under_way = false;
    ended.time = common::Loop::now().wall;
    deps_.files.record_durably(
        id, spool::Location::messages, {ended},
        [this, id, why = std::move(why), done = std::move(done)](const spool::Result<>& written) {
            const auto found = entries_.find(id);
            if (found == entries_.end()) return;
            if (!written) { // it is still being moved
                deps_.files.failed(id, written.error());
                found->second.ending = false;
                retry(id, found->second);
                send_some();
                if (done) done(written.error().what);
                return;
            }
            deps_.loader.read(
                id, spool::Location::messages,
                [this, id, why, done](const spool::MessageState& state, std::uint64_t) {
                    given_back(id, why, state.held);
                    if (done) done("");
                },
                [this, id, why, done](const MessageLoader::Failure&) {
                    given_back(id, why, false);
                    if (done) done("");
                });
        });
}

void Transfers::given_back(spool::QueueId id, const std::string& why, bool held) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    const auto node = found->second.how.node;
    deps_.log.warning("{}: stays here, not moved to node {}: {}", id.text(), node, why);
    if (!held) deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.release(id, now, out); });
    end({.id = id, .node = node, .moved = false, .why = why});
}

void Transfers::end(const Ended& how) {
    entries_.erase(how.id);
    report();
    if (ended_) ended_(how);
}

void Transfers::report() {
    const auto doubtful = in_doubt();
    if (doubtful == 0) {
        if (deps_.problems.contains("transfer")) deps_.problems.report("transfer", "");
        return;
    }
    const auto one = std::ranges::find_if(entries_, [](const auto& each) { return each.second.in_doubt; });
    deps_.problems.report(
        "transfer",
        fmt::format("{} may have been moved to other nodes or not, such as {} to {}: the nodes are asked until they "
                    "answer",
                    doubtful == 1 ? "1 message" : fmt::format("{} messages", doubtful), one->first.text(),
                    one->second.how.node));
}

} // namespace queue_manager
