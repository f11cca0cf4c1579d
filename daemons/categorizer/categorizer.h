// The categorizer: tells the queue-manager who the recipients of a message really are, and smtpd whether a
// recipient would be accepted. Keeps nothing between questions but what it has read. Fair to those who ask: a large list
// is worked on a little in each turn of the loop, and what it must find out takes turns with what others must.
#pragma once
#include "daemons/categorizer/answer_splitter.h"
#include "daemons/categorizer/lookup/lookup_sources.h"
#include "daemons/categorizer/lookup/suppressions.h"
#include "daemons/categorizer/lookup/delivered_to_lookup.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/logging/problems.h"
#include "daemons/decide/addressing/expansion.h"
#include "daemons/decide/addressing/answer_memo.h"
#include "daemons/decide/addressing/fair_lookup_queue.h"
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
    static spool::Result<std::unique_ptr<Categorizer>> create(common::Surroundings& surroundings,
                                                              common::Orders orders);
    void reconfigure(common::Orders orders) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    using Visitors = ipc::Channel<proto::recipient_check::Message>;
    struct Check {
        std::uint64_t visitor = 0;
        proto::recipient_check::Check check;
    };
    // A question, while it waits for answers or is worked on, and the answers it has got.
    struct Asked {
        std::variant<proto::categorize::Categorize, Check> question;
        std::set<decide::Need> needed = {};
        decide::Notebook notebook = {};
        std::optional<decide::Expansion> expansion = {}; // of a message, while it is worked on
    };
    using Work = std::unique_ptr<Asked>; // its notebook is referred to

    Categorizer(common::Surroundings& surroundings, const config::Config& config);
    void apply(const config::Config& config);
    void listen(common::Orders& orders);
    void welcome(std::unique_ptr<Visitors> visitor);
    // Answers the question, or goes on in later turns of the loop, or has it wait for what it needs.
    void answer(Work asked);
    void asked(proto::categorize::Categorize&& part);
    void ask(decltype(Asked::question) question) { answer(std::make_unique<Asked>(std::move(question))); }
    bool worked_on(Asked& asked); // true: to its end
    void work();
    void settle(Work asked);
    void reply();
    std::set<decide::Need> check(const Check& question, const decide::ExpansionTables& tables);
    void fetch();
    void known(const decide::Need& need);
    void tell_troubles();
    void tell_of_suppressions();
    void check_stopped();

    common::Surroundings& surroundings_;
    common::Troubles troubles_;
    common::Timer look_again_; // while something is wrong: it may be mended, and nobody asks
    Sources sources_;
    Suppressions suppressions_;
    Trails trails_;
    decide::ExpansionSettings settings_;
    std::deque<Work> working_; // expansions not at their end; whose turn is next first
    common::Timer next_turn_;
    std::map<std::uint64_t, Work> waiting_;
    decide::QuestionTurns turns_;
    std::map<decide::Need, std::vector<std::uint64_t>> wanted_; // by which of those that wait
    std::uint64_t last_waiting_ = 0;
    using Questions = ipc::Joined<proto::categorize::Categorize, &proto::categorize::Categorize::recipients>;
    Questions questions_{proto::categorize::largest_questions}; // of which parts have come
    Replies replies_;
    std::map<std::uint64_t, std::unique_ptr<Visitors>> visitors_;
    std::uint64_t last_visitor_ = 0;
    std::unique_ptr<ipc::Listener> listener_;
    std::function<void()> stopped_;
    ipc::Connector<proto::categorize::Message> queue_manager_;
};

} // namespace categorizer
