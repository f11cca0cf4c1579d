// A node is emptied: it takes no mail, and every message that a filter selects is moved to one of some other nodes, in
// turns. What is in flight ends first. The drain is in a file before it is answered, and continues after a restart,
// until it is canceled. Knows how messages are selected and moved; must not know how they are sent.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/queue-manager/control/drain_state.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/engine_driver/message_intake.h"
#include "daemons/queue-manager/requests/message_selection.h"
#include "daemons/queue-manager/requests/replies.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/problem_list.h"
#include "daemons/queue-manager/transfers/transfers.h"
#include "libspool/disk/commit_pool.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace queue_manager {

class DrainRequests {
public:
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        std::function<bool(const std::string&)> is_node; // the configuration has a section for it
        EngineDriver& driver;
        spool::CommitPool& pool;
        MessageFiles& files;
        const MessageIntake& intake;
        const MessageSelection& selection;
        Transfers& transfers;
        ProblemList& problems;
        std::function<void(const std::string&)> refuse_mail; // and why; "" it is taken
        std::function<bool()> loading;                       // the spool is still being read
    };
    static constexpr std::size_t most_under_way = 64; // to one node, of those not in doubt
    static constexpr std::size_t most_refused = 10'000;

    // Continues what the spool remembers.
    DrainRequests(Dependencies dependencies, Replies replies);
    DrainRequests(const DrainRequests&) = delete;

    void begin(const Request& request, const nlohmann::json& body);
    void cancel(const Request& request);
    void show(const Request& request) const;

private:
    using Walk = std::shared_ptr<MessageWalk>;
    struct Candidate {
        spool::QueueId id;
        std::uint32_t generation = 0;
        bool held = false; // by an operator
    };
    void after_saving(std::function<void()> then);
    void save(std::function<void(const spool::Result<>&)> done);
    void use(std::optional<DrainState> drain);
    void work();
    void look_for_more();
    void take(const Walk& walk, const std::vector<SelectedMessage>& selected);
    void start_walk();
    bool start_walk_of_stopped();
    void begin_walk();
    void move(const Candidate& candidate, const DrainTarget& target);
    void release(spool::QueueId id);
    void release_stopped();
    bool usable(const DrainTarget& target) const;
    DrainTarget* next_target();
    void ended(const Transfers::Ended& how);
    void finish();

    Dependencies deps_;
    Replies replies_;
    std::optional<DrainState> drain_;
    bool saving_ = false, unsaved_ = false, walking_ = false, walk_over_ = false, finished_ = false;
    Walk walk_;
    std::deque<Candidate> candidates_;
    std::set<spool::QueueId> stopped_;            // held here until what is in flight has ended
    std::set<spool::QueueId> refused_;            // not offered again by this drain
    std::map<spool::QueueId, std::string> begun_; // by this drain, and not ended; to which node
    std::vector<std::function<void()>> after_saving_;
    std::uint64_t seen_ = 0, left_ = 0;              // by this walk: selected; of these, not moved now
    std::size_t turn_ = 0;                           // the target of the next message
    std::map<std::string, smtp::Monotonic> resting_; // targets that failed, until then
    double allowance_ = 0;                           // messages that the rate lets begin
    smtp::Monotonic counted_{};                      // up to when
    common::Timer timer_;
};

} // namespace queue_manager
