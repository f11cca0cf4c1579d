// The categorizer: resolves the recipients of a message for the queue-manager, and tells smtpd whether a recipient
// would be accepted. Keeps nothing between questions but what it has read. Fair to its clients: a large list is
// processed a little in each turn of the loop, and its lookups take turns with those of others.
#pragma once
#include "daemons/categorizer/answer_splitter.h"
#include "daemons/categorizer/lookup/delivered_to_lookup.h"
#include "daemons/categorizer/lookup/lookup_sources.h"
#include "daemons/categorizer/lookup/suppressions.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/logging/problems.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/addressing/fair_lookup_queue.h"
#include "daemons/decide/rewriting/answer_memo.h"
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace categorizer {

class Categorizer final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Categorizer>> create(common::DaemonContext& context,
                                                              common::DaemonConfig daemon_config);
    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    using CheckChannel = ipc::Channel<proto::recipient_check::Message>;
    struct Check {
        std::uint64_t client = 0;
        proto::recipient_check::Check check;
    };
    // A question, while it waits for answers or is worked on, and the answers it has got.
    struct PendingQuestion {
        std::variant<proto::categorize::Categorize, Check> question;
        std::set<decide::LookupRequest> unanswered = {};
        decide::AnswerMemo memo = {};
        std::optional<decide::Expansion> expansion = {}; // of a message, while it is worked on
        smtp::Now since = common::Loop::now();
        // A recipient was unknown, and the answers that say so may be older than the question: they have to be newer.
        bool fresh = false;
    };
    using Work = std::unique_ptr<PendingQuestion>; // its memo is referred to

    Categorizer(common::DaemonContext& context, const config::Config& config);
    void apply(const config::Config& config);
    void listen(common::DaemonConfig& daemon_config);
    void add_client(std::unique_ptr<CheckChannel> client);
    // Answers the question, or continues in later turns of the loop, or makes it wait for what it needs.
    void answer(Work asked);
    decide::ExpansionTables tables_for(const PendingQuestion& asked);
    static void ask_afresh(PendingQuestion& asked);
    void begin_expansion(PendingQuestion& asked);
    void on_request_part(proto::categorize::Categorize&& part);
    void start(decltype(PendingQuestion::question) question) {
        answer(std::make_unique<PendingQuestion>(std::move(question)));
    }
    bool expand_step(PendingQuestion& asked); // true: to its end
    void continue_expansions();
    void wait_or_finish(Work asked);
    void reply();
    std::set<decide::LookupRequest> check(PendingQuestion& asked);
    void fetch();
    void on_known(const decide::LookupRequest& need);
    void update_problems();
    void announce_suppressions();
    void check_stopped();

    common::DaemonContext& context_;
    common::Problems problems_;
    common::Timer recheck_timer_; // while something is wrong: it may be fixed while no questions come
    LookupSources sources_;
    Suppressions suppressions_;
    DeliveredToLookup delivered_to_lookup_;
    decide::ExpansionSettings settings_;
    std::deque<Work> working_; // expansions not at their end; next in turn first
    common::Timer next_turn_;
    std::map<std::uint64_t, Work> waiting_;
    decide::FairLookupQueue lookup_queue_;
    std::map<decide::LookupRequest, std::vector<std::uint64_t>> waiting_for_; // by which of those that wait
    std::uint64_t last_waiting_ = 0;
    using Questions = ipc::PartAssembler<proto::categorize::Categorize, &proto::categorize::Categorize::recipients>;
    Questions questions_{proto::categorize::largest_questions}; // of which parts have come
    AnswerSplitter answers_to_send_;
    std::map<std::uint64_t, std::unique_ptr<CheckChannel>> check_channels_;
    std::uint64_t last_client_ = 0;
    std::unique_ptr<ipc::Listener> listener_;
    std::function<void()> stopped_;
    ipc::Connector<proto::categorize::Message> queue_manager_;
};

} // namespace categorizer
