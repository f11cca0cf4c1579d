#include "daemons/queue-manager/transfers/transfers.h"
#include "daemons/common/runtime/crash_point.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace queue_manager {

using namespace std::chrono_literals;
using proto::transfer::Send;
using proto::transfer::Sent;

namespace {

constexpr smtp::Duration longest_transfer_pause = 60s, longest_node_rest = 10s;

smtp::Duration pause_after(unsigned attempts, smtp::Duration longest = longest_transfer_pause) {
    return std::min<smtp::Duration>(1s * (1u << std::min(attempts - 1, 10u)), longest);
}

std::string count_of_messages(std::size_t count) {
    return count == 1 ? "1 message" : fmt::format("{} messages", count);
}

} // namespace

Transfers::Transfers(const Dependencies& dependencies)
    : deps_(dependencies), service_(deps_.loop, {[this] { send_some(); }, [this] { connection_lost(); },
                                                 [this](proto::transfer::Message&& message) {
                                                     if (const auto* sent = std::get_if<Sent>(&message))
                                                         answered(*sent);
                                                 }}),
      retry_(deps_.loop, [this] { send_some(); }) {}

bool Transfers::reserve(spool::QueueId id) {
    return !entries_.contains(id) && !changing_.contains(id) && reserved_.insert(id).second;
}

void Transfers::change_ends(spool::QueueId id) {
    const auto found = changing_.find(id);
    if (found == changing_.end() || --found->second.count > 0) return;
    const auto gone = changing_.extract(found);
    for (const auto& then : gone.mapped().then) then();
}

void Transfers::begin(spool::QueueId id, const spool::Transferring& how) {
    CRASH_POINT("queue-manager.transfer_recorded");
    assert(reserved_.contains(id));
    reserved_.erase(id);
    entries_.try_emplace(id, Entry{.how = how, .error = {}, .back = {}});
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.hold(id, now, out); });
    const auto info = deps_.driver.engine().message(id, common::Loop::now());
    if (info && info->active) return give_back(id, {.why = "it is being delivered", .done = {}});
    peers_[how.node].ready.push_back(id);
    send_some();
}

void Transfers::found(spool::QueueId id, const spool::Transferring& how) {
    const auto [place, fresh] = entries_.try_emplace(id, Entry{.how = how, .error = {}, .back = {}});
    if (!fresh) return;
    set_doubt(id, place->second);
    peers_[how.node].doubtful.push_back(id);
    send_some();
}

void Transfers::set_doubt(spool::QueueId id, const Entry& entry) {
    if (!doubts_.insert(id).second) return;
    ++peers_[entry.how.node].in_doubt;
    report();
}

std::string Transfers::text_of(spool::QueueId id) const {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return reserved_.contains(id) ? "being moved to another node" : "";
    const auto& entry = found->second;
    if (entry.back)
        return fmt::format("not moved to node {}, and about to stay here: {}", entry.how.node, entry.back->why);
    const auto* doubt = !doubts_.contains(id) ? ""
                        : entry.forgotten
                            ? ", and in doubt: it may be there already, and the node is not asked any longer"
                            : ", and in doubt: it may be there already, so the node is asked until it answers";
    return fmt::format("being moved to node {}{}{}{}", entry.how.node, doubt,
                       entry.error.empty() ? "" : "; the last attempt: ", entry.error);
}

// One at a time while it has trouble, and after a rest; what is in doubt is asked about meanwhile.
std::size_t Transfers::room(const std::string& node, std::size_t most) const {
    const auto found = peers_.find(node);
    if (found == peers_.end()) return std::min(most, 2 * first_asked);
    const auto& peer = found->second;
    if (peer.in_doubt >= most_in_doubt) return 0;
    if (peer.failures == 0) return std::min(most, 2 * peer.may_ask);
    return common::Loop::now().monotonic < peer.next_ready ? 0 : std::min<std::size_t>(most, 1);
}

// ---- asking ----

void Transfers::configured() {
    send_some();
    report();
}

void Transfers::send_some() {
    const auto now = common::Loop::now();
    while (!waiting_.empty() && waiting_.begin()->first <= now.monotonic) {
        const auto id = waiting_.begin()->second;
        waiting_.erase(waiting_.begin());
        const auto found = entries_.find(id);
        if (found == entries_.end()) continue;
        if (found->second.back) {
            found->second.back->written ? read_returned(id) : write_return(id);
            continue;
        }
        auto& peer = peers_[found->second.how.node];
        (doubts_.contains(id) ? peer.doubtful : peer.ready).push_back(id);
    }
    for (auto& [node, peer] : peers_)
        if (!deps_.is_node(node)) {
            const auto why = fmt::format("there is no node \"{}\" in the configuration", node);
            for (const auto id : std::exchange(peer.ready, {})) {
                const auto found = entries_.find(id);
                if (found != entries_.end() && !found->second.back)
                    give_back(id, {.why = why, .outcome = Outcome::failed, .done = {}});
            }
        }
    if (service_.present())
        for (auto& [node, peer] : peers_)
            if (deps_.is_node(node) && !send_some_to(peer, now)) break;
    wake_later(now);
}

// False: nothing can be sent now.
bool Transfers::send_some_to(Peer& peer, smtp::Now now) {
    while (peer.asked < peer.may_ask) {
        const bool rests = peer.failures > 0 && now.monotonic < peer.next_ready;
        if (peer.doubtful.empty() && (rests || peer.ready.empty())) return true;
        auto& queue = peer.doubtful.empty() ? peer.ready : peer.doubtful;
        const auto id = queue.front();
        queue.pop_front();
        const auto found = entries_.find(id);
        if (found == entries_.end() || found->second.asked || found->second.ending) continue;
        auto& entry = found->second;
        // The node has forgotten by now what it took: an operator must decide.
        if (doubts_.contains(id) && now.wall - entry.how.time > asked_for) {
            entry.forgotten = true;
            ++forgotten_;
            report();
            continue;
        }
        if (service_.ask(Send{id, entry.how.node, entry.how.generation}) != ipc::SendResult::yes) {
            queue.push_front(id);
            return false;
        }
        entry.asked = true;
        ++entry.attempts;
        ++peer.asked;
    }
    return true;
}

void Transfers::wake_later(smtp::Now now) {
    std::optional<smtp::Monotonic> next;
    if (!waiting_.empty()) next = waiting_.begin()->first;
    for (const auto& [node, peer] : peers_)
        if (!peer.ready.empty() && peer.failures > 0 && now.monotonic < peer.next_ready)
            next = next ? std::min(*next, peer.next_ready) : peer.next_ready;
    if (next) retry_.start(std::max<smtp::Duration>(*next - now.monotonic, 1ms));
}

void Transfers::connection_lost() {
    for (auto& [id, entry] : entries_) {
        if (!std::exchange(entry.asked, false)) continue;
        set_doubt(id, entry);
        peers_[entry.how.node].doubtful.push_back(id);
    }
    for (auto& [node, peer] : peers_) peer.asked = 0;
}

void Transfers::retry(spool::QueueId id, unsigned attempts) {
    waiting_.emplace(common::Loop::now().monotonic + pause_after(attempts), id);
}

void Transfers::answered(const Sent& sent) {
    using proto::transfer::Result;
    const auto id = sent.queue_id;
    const auto found = entries_.find(id);
    if (found == entries_.end() || !found->second.asked || found->second.how.generation != sent.generation) return;
    auto& entry = found->second;
    auto& peer = peers_[entry.how.node];
    entry.asked = false;
    --peer.asked;
    if (sent.result == Result::taken || sent.result == Result::refused) {
        peer.failures = 0;
        peer.may_ask = std::min(2 * peer.may_ask, most_asked);
    }
    if (!deps_.driver.engine().message(id, common::Loop::now())) { // quarantined meanwhile
        end(id, Outcome::kept);
    } else if (sent.result == Result::taken) {
        entry.ending = true;
        taken(id, spool::QueueId{sent.its_id});
    } else {
        entry.error = sent.text;
        if (entry.attempts == 1)
            deps_.log.warning("{}: not moved to node {} yet: {}", id.text(), entry.how.node, sent.text);
        if (sent.result == Result::unknown) set_doubt(id, entry);
        const bool refused = sent.result == Result::refused;
        if (!doubts_.contains(id) && (refused || entry.attempts >= most_attempts))
            give_back(id, {.why = sent.text, .outcome = refused ? Outcome::refused : Outcome::failed, .done = {}});
        else
            retry(id, entry.attempts);
        if (!refused) node_failed(peer, sent.text);
    }
    send_some();
}

// What it never had does not wait for it for long. Failures at the same time are one.
void Transfers::node_failed(Peer& peer, const std::string& why) {
    const auto now = common::Loop::now().monotonic;
    peer.may_ask = 1;
    if (peer.failures > 0 && now < peer.next_ready) return;
    peer.next_ready = now + pause_after(++peer.failures, longest_node_rest);
    if (peer.failures < most_attempts) return;
    for (const auto id : std::exchange(peer.ready, {}))
        if (const auto found = entries_.find(id); found != entries_.end() && !found->second.ending)
            give_back(id, {.why = why, .outcome = Outcome::failed, .done = {}});
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
    end(id, Outcome::moved);
    CRASH_POINT("queue-manager.transfer_removed");
}

// ---- it stays here ----

void Transfers::cancel(spool::QueueId id, Doubt doubt, std::function<void(std::string)> done) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return done("is not being moved to another node");
    const auto& entry = found->second;
    if (entry.asked || entry.ending) return done("is being sent now: try again");
    if (doubts_.contains(id) && doubt == Doubt::respected)
        return done(fmt::format("may be on node {} already: --in-doubt keeps it here nevertheless", entry.how.node));
    give_back(id, {.why = "canceled", .outcome = Outcome::refused, .done = std::move(done)});
}

void Transfers::give_back(spool::QueueId id, Return back) {
    auto& entry = entries_.at(id);
    entry.ending = true;
    entry.back = std::move(back);
    write_return(id);
}

// Until its file says that it stays here, it does not: an operator learns that, and else it is tried again.
void Transfers::write_return(spool::QueueId id) {
    auto& entry = entries_.at(id);
    ++entry.back->attempts;
    auto ended = entry.how;
    ended.under_way = false;
    ended.time = common::Loop::now().wall;
    deps_.files.record_durably(id, spool::Location::messages, {ended}, [this, id](const spool::Result<>& written) {
        const auto found = entries_.find(id);
        if (found == entries_.end()) return;
        auto& its = found->second;
        if (written) {
            its.back->written = true;
            its.back->attempts = 0;
            return read_returned(id);
        }
        deps_.files.failed(id, written.error());
        if (const auto done = std::exchange(its.back->done, {})) {
            its.back.reset();
            its.ending = false;
            retry(id, std::max(its.attempts, 1U));
            done(written.error().what);
        } else {
            retry(id, its.back->attempts);
        }
        send_some();
    });
}

// Whether it was held before. Not known yet: it stays held meanwhile.
void Transfers::read_returned(spool::QueueId id) {
    ++entries_.at(id).back->attempts;
    deps_.loader.read(
        id, spool::Location::messages,
        [this, id](const spool::MessageState& state, std::uint64_t) { given_back(id, state.held); },
        [this, id](const MessageLoader::Failure& failure) {
            if (failure.how != MessageLoader::Failure::How::failed) return given_back(id, false);
            const auto found = entries_.find(id);
            if (found == entries_.end()) return;
            retry(id, found->second.back->attempts);
            if (const auto done = std::exchange(found->second.back->done, {})) done("");
            send_some();
        });
}

void Transfers::given_back(spool::QueueId id, bool held) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    const auto back = *std::move(found->second.back);
    deps_.log.warning("{}: stays here, not moved to node {}: {}", id.text(), found->second.how.node, back.why);
    if (!held) deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.release(id, now, out); });
    end(id, back.outcome);
    if (back.done) back.done("");
}

void Transfers::end(spool::QueueId id, Outcome outcome) {
    const auto gone = entries_.extract(id);
    const auto& node = gone.mapped().how.node;
    if (doubts_.erase(id) > 0) {
        --peers_[node].in_doubt;
        if (gone.mapped().forgotten) --forgotten_;
        report();
    }
    deps_.metrics.count(common::MetricId::transfers, static_cast<std::size_t>(outcome));
    if (ended_) ended_({.id = id, .node = node, .outcome = outcome});
}

void Transfers::report() {
    if (!std::exchange(reporting_, true)) deps_.loop.defer([this] { report_now(); });
}

void Transfers::report_now() {
    reporting_ = false;
    if (doubts_.empty()) {
        if (deps_.problems.contains("transfer")) deps_.problems.report("transfer", "");
        return;
    }
    const auto id_of_one = *doubts_.begin();
    auto text = fmt::format("{} may have been moved to other nodes or not, such as {} to {}: the nodes are asked until "
                            "they answer",
                            count_of_messages(doubts_.size()), id_of_one.text(), entries_.at(id_of_one).how.node);
    if (forgotten_ > 0)
        text += fmt::format(
            "; {} of them for more than 14 days, so that the nodes are not asked any longer: look there, and end it "
            "with \"postrider message move --cancel --in-doubt\"",
            forgotten_);
    for (const auto& [node, peer] : peers_)
        if (peer.in_doubt > 0 && !deps_.is_node(node))
            text += fmt::format("; {} of them to {}, which the configuration has no section for any longer: it is not "
                                "asked",
                                peer.in_doubt, node);
    deps_.problems.report("transfer", text);
}

} // namespace queue_manager
