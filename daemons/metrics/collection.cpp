#include "daemons/metrics/collection.h"
#include "daemons/common/runtime/destroy_later.h"
#include <algorithm>
#include <utility>

namespace metrics {

using common::MetricId;
using proto::metrics::Report;

Collection::Collection(common::Loop& loop, Aggregator& aggregator, common::Metrics& own, std::function<void()> measure)
    : loop_(loop), aggregator_(aggregator), own_(own), measure_(std::move(measure)),
      timer_(loop, [this] { asking_ ? finish() : begin(); }) {}

void Collection::attach(ipc::Peer who, std::unique_ptr<Channel> channel) {
    const auto id = ++last_peer_;
    auto& peer = peers_.try_emplace(id, Peer{who.role, std::move(channel)}).first->second;
    peer.channel->set_callbacks({[this, id](proto::metrics::Message&& message) {
                                     if (const auto* handed = std::get_if<Report>(&message)) on_answer(id, *handed);
                                 },
                                 [this, id](const std::string&) { on_disconnect(id); }});
}

void Collection::request(std::function<void()> done) {
    next_.push_back(std::move(done));
    if (asking_ || timer_.armed()) return;
    const auto since = common::Loop::now().monotonic - began_;
    if (began_ == smtp::Monotonic{} || since >= interval)
        begin();
    else
        timer_.start(interval - since);
}

void Collection::begin() {
    waiting_ = std::exchange(next_, {});
    asking_ = true;
    began_ = common::Loop::now().monotonic;
    ++round_;
    for (auto& [id, peer] : peers_)
        if (!peer.channel->congested()) peer.channel->send(proto::metrics::Ask{round_});
    timer_.start(patience);
    finish_if_all_answered();
}

void Collection::on_answer(Aggregator::PeerId id, const Report& handed) {
    aggregator_.add(id, handed, common::Loop::now().monotonic);
    const auto peer = peers_.find(id);
    if (peer == peers_.end() || handed.round != round_) return; // a final report, or too late
    peer->second.answered = round_;
    finish_if_all_answered();
}

bool Collection::answered(proto::Role role) const {
    return std::ranges::any_of(
        peers_, [&](const auto& each) { return each.second.role == role && each.second.answered == round_; });
}

// The closure that is running belongs to the channel, which must not be destroyed before the turn ends.
void Collection::on_disconnect(Aggregator::PeerId id) {
    aggregator_.remove_peer(id);
    auto node = peers_.extract(id);
    common::destroy_later(loop_, std::move(node.mapped().channel));
    finish_if_all_answered();
}

void Collection::finish_if_all_answered() {
    if (!asking_) return;
    for (const auto& [id, peer] : peers_)
        if (peer.answered != round_) return;
    timer_.start(smtp::Duration::zero()); // in a later turn, even if there was no process to ask
}

void Collection::finish() {
    asking_ = false;
    for (const auto& [id, peer] : peers_)
        if (peer.answered != round_) own_.count(MetricId::late_answers, peer.role);
    own_.count(MetricId::scrapes);
    measure_();
    const auto now = common::Loop::now().monotonic;
    aggregator_.add(0, own_.take(), now);
    if (!next_.empty()) timer_.start(std::max(smtp::Duration::zero(), interval - (now - began_)));
    for (const auto& done : std::exchange(waiting_, {})) done();
}

} // namespace metrics
