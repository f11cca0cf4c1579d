// Rounds of asking all daemons for their figures: begun when somebody wants to know, over when all have answered or
// when patience ends. Who is late is left with what he said last. Without anybody who asks nothing happens here.
#pragma once
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/proto/metrics.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/metrics/aggregator.h"
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace metrics {

class Rounds {
public:
    using Channel = ipc::Channel<proto::figures::Message>;

    static constexpr smtp::Duration patience = std::chrono::milliseconds(500);
    // Between the beginnings of two rounds: however much is scraped, the daemons are asked no oftener.
    static constexpr smtp::Duration interval = std::chrono::milliseconds(250);

    // `own`: figures of this process, which hands them over to the ledger as everybody does; `measure` sets its gauges.
    Rounds(common::Loop& loop, Ledger& ledger, common::Figures& own, std::function<void()> measure);

    void attach(ipc::Peer peer, std::unique_ptr<Channel> channel);
    // `done` is called in a later turn, when a round that began after this is over.
    void want(std::function<void()> done);

private:
    struct Peer {
        proto::Role role;
        std::unique_ptr<Channel> channel;
        std::uint64_t answered = 0; // the last round
    };
    void begin();
    void heard(Ledger::PeerId id, const proto::figures::Handed& handed);
    void lost(Ledger::PeerId id);
    void over_if_all_answered();
    void over();

    common::Loop& loop_;
    Ledger& ledger_;
    common::Figures& own_;
    std::function<void()> measure_;
    std::map<Ledger::PeerId, Peer> peers_;
    Ledger::PeerId last_peer_ = 0; // 0 is ourselves
    std::uint64_t round_ = 0;
    bool asking_ = false;
    smtp::Monotonic began_{};
    std::vector<std::function<void()>> waiting_, next_; // for this round; for the one after it
    common::Timer timer_; // patience while asking, else until the next round may begin
};

} // namespace metrics
