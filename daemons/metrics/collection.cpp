#include "daemons/metrics/collection.h"
#include <utility>

namespace metrics {

using common::Family;
using proto::figures::Handed;

Rounds::Rounds(common::Loop& loop, Ledger& ledger, common::Figures& own, std::function<void()> measure)
    : loop_(loop), ledger_(ledger), own_(own), measure_(std::move(measure)),
      timer_(loop, [this] { asking_ ? over() : begin(); }) {}

void Rounds::attach(ipc::Peer who, std::unique_ptr<Channel> channel) {
    const auto id = ++last_peer_;
    auto& peer = peers_.try_emplace(id, Peer{who.role, std::move(channel)}).first->second;
    peer.channel->set_callbacks({[this, id](proto::figures::Message&& message) {
                                     if (const auto* handed = std::get_if<Handed>(&message)) heard(id, *handed);
                                 },
                                 [this, id](const std::string&) { lost(id); }});
}

void Rounds::want(std::function<void()> done) {
    next_.push_back(std::move(done));
    if (asking_ || timer_.armed()) return;
    const auto since = common::Loop::now().monotonic - began_;
    if (began_ == smtp::Monotonic{} || since >= interval)
        begin();
    else
        timer_.start(interval - since);
}

void Rounds::begin() {
    waiting_ = std::exchange(next_, {});
    asking_ = true;
    began_ = common::Loop::now().monotonic;
    ++round_;
    for (auto& [id, peer] : peers_)
        if (!peer.channel->congested()) peer.channel->send(proto::figures::Ask{round_});
    timer_.start(patience);
    over_if_all_answered();
}

void Rounds::heard(Ledger::PeerId id, const Handed& handed) {
    ledger_.take(id, handed, common::Loop::now().monotonic);
    const auto peer = peers_.find(id);
    if (peer == peers_.end() || handed.round != round_) return; // last words, or too late
    peer->second.answered = round_;
    over_if_all_answered();
}

// The closure that is running belongs to the channel: it may only go when the turn ends.
void Rounds::lost(Ledger::PeerId id) {
    ledger_.gone(id);
    auto node = peers_.extract(id);
    loop_.later([keep = std::shared_ptr<Channel>(std::move(node.mapped().channel))] {});
    over_if_all_answered();
}

void Rounds::over_if_all_answered() {
    if (!asking_) return;
    for (const auto& [id, peer] : peers_)
        if (peer.answered != round_) return;
    timer_.start(smtp::Duration::zero()); // in a later turn, also where nobody was to be asked
}

void Rounds::over() {
    asking_ = false;
    for (const auto& [id, peer] : peers_)
        if (peer.answered != round_) own_.count(Family::late_answers, peer.role);
    own_.count(Family::scrapes);
    measure_();
    const auto now = common::Loop::now().monotonic;
    ledger_.take(0, own_.take(), now);
    if (!next_.empty()) timer_.start(std::max(smtp::Duration::zero(), interval - (now - began_)));
    for (const auto& done : std::exchange(waiting_, {})) done();
}

} // namespace metrics
