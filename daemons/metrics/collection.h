// Rounds in which all daemons are asked for their metrics: a round begins on request, and ends when all have answered
// or on a timeout. A late process keeps its last values. Without requests nothing happens here.
#pragma once
#include "daemons/common/ipc/listener.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/metrics.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/metrics/aggregator.h"
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace metrics {

class Collection {
public:
    using Channel = ipc::Channel<proto::metrics::Message>;

    static constexpr smtp::Duration patience = std::chrono::milliseconds(500);
    // Between the beginnings of two rounds: however often metrics are scraped, the daemons are not asked more often.
    static constexpr smtp::Duration interval = std::chrono::milliseconds(250);

    // `own`: metrics of this process, which go to the aggregator like those of all others; `measure` sets its gauges.
    Collection(common::Loop& loop, Aggregator& aggregator, common::Metrics& own, std::function<void()> measure);

    void attach(ipc::Peer peer, std::unique_ptr<Channel> channel);
    // `done` is called in a later turn, when a round that began after this is over.
    void request(std::function<void()> done);
    // Whether a process of that role answered in the last round.
    bool answered(proto::Role role) const;

private:
    struct Peer {
        proto::Role role;
        std::unique_ptr<Channel> channel;
        std::uint64_t answered = 0; // the last round
    };
    void begin();
    void on_answer(Aggregator::PeerId id, const proto::metrics::Report& handed);
    void on_disconnect(Aggregator::PeerId id);
    void finish_if_all_answered();
    void finish();

    common::Loop& loop_;
    Aggregator& aggregator_;
    common::Metrics& own_;
    std::function<void()> measure_;
    std::map<Aggregator::PeerId, Peer> peers_;
    Aggregator::PeerId last_peer_ = 0; // 0 is ourselves
    std::uint64_t round_ = 0;
    bool asking_ = false;
    smtp::Monotonic began_{};
    std::vector<std::function<void()>> waiting_, next_; // for this round; for the one after it
    common::Timer timer_;                               // timeout while asking, else until the next round may begin
};

} // namespace metrics
