// The categorizer: tells the queue-manager who the recipients of a message really are, and smtpd whether a
// recipient would be accepted. Keeps nothing between questions but what it has read.
#pragma once
#include "daemons/categorizer/sources.h"
#include "daemons/categorizer/suppressions.h"
#include "daemons/categorizer/trails.h"
#include "daemons/common/daemon.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/timer.h"
#include "daemons/common/troubles.h"
#include "daemons/decide/expansion.h"
#include "daemons/decide/notebook.h"
#include <cstdint>
#include <map>
#include <memory>
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
    // A question that waits for answers, and those it has got.
    struct Waiting {
        std::variant<proto::categorize::Categorize, Check> question;
        std::set<decide::Need> needed = {};
        decide::Notebook notebook = {};
    };

    Categorizer(common::Surroundings& surroundings, const config::Config& config);
    void apply(const config::Config& config);
    void listen(common::Orders& orders);
    void welcome(std::unique_ptr<Visitors> visitor);
    // Answers the question, or has it wait for what it needs.
    void answer(Waiting&& asked);
    std::set<decide::Need> categorize(const proto::categorize::Categorize& question,
                                      const decide::ExpansionTables& tables);
    std::set<decide::Need> check(const Check& question, const decide::ExpansionTables& tables);
    void fetch(const decide::Need& need);
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
    std::map<std::uint64_t, Waiting> waiting_;
    std::map<decide::Need, std::vector<std::uint64_t>> wanted_; // by which of those that wait
    std::uint64_t last_waiting_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Visitors>> visitors_;
    std::uint64_t last_visitor_ = 0;
    std::unique_ptr<ipc::Listener> listener_;
    std::function<void()> stopped_;
    ipc::Connector<proto::categorize::Message> queue_manager_;
};

} // namespace categorizer
