// The categorizer: tells the queue-manager who the recipients of a message really are, and smtpd whether a
// recipient would be accepted. Keeps nothing between questions but what it has read.
#pragma once
#include "daemons/categorizer/aliases.h"
#include "daemons/categorizer/users.h"
#include "daemons/common/daemon.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/decide/expansion.h"
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
    // A question that waits for users to be looked up.
    struct Waiting {
        std::variant<proto::categorize::Categorize, Check> question;
        std::set<std::string> users;
    };

    Categorizer(common::Surroundings& surroundings, const config::Config& config);
    void apply(const config::Config& config);
    void listen(common::Orders& orders);
    void welcome(std::unique_ptr<Visitors> visitor);
    void categorize(proto::categorize::Categorize&& question);
    void check(Check&& question);
    void wait(Waiting&& waiting);
    void user_found(const std::string& name);
    void check_stopped();

    common::Surroundings& surroundings_;
    Aliases aliases_;
    Users users_;
    decide::ExpansionSettings settings_;
    decide::ExpansionTables tables_;
    std::vector<std::string> local_domains_;
    std::map<std::uint64_t, Waiting> waiting_;
    std::uint64_t last_waiting_ = 0;
    std::map<std::uint64_t, std::unique_ptr<Visitors>> visitors_;
    std::uint64_t last_visitor_ = 0;
    std::unique_ptr<ipc::Listener> listener_;
    std::function<void()> stopped_;
    ipc::Connector<proto::categorize::Message> queue_manager_;
};

} // namespace categorizer
