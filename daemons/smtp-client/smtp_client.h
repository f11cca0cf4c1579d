// The daemon: does what the queue-manager's conversation "delivery" asks, and keeps every result until it is
// acknowledged, over restarts of the queue-manager as well. Knows which connections and results there are;
// not how mail is sent.
#pragma once
#include "daemons/common/process/daemon.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/in_order.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/smtp-client/session/connection.h"
#include "daemons/smtp-client/tls/tls_results.h"
#include "daemons/smtp-client/probe/delivery_probe.h"
#include "libspool/disk/real_disk.h"
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace smtp_client {

class SmtpClient final : public common::Daemon, Connection::Owner {
public:
    static spool::Result<std::unique_ptr<SmtpClient>> create(common::Surroundings& surroundings,
                                                             common::Orders orders);
    SmtpClient(common::Surroundings& surroundings, std::unique_ptr<spool::RealDisk> disk,
               const common::Orders& orders);

    void reconfigure(common::Orders orders) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    // A result that has not been acknowledged.
    struct Kept {
        proto::delivery::Done done;
        spool::Location location;
        std::optional<spool::MessageReader> lock; // while no queue-manager knows of it
    };

    void settle_pools(const config::Config& config);
    void settle_tls(const config::Config& config);
    void settle_accounts(const common::Orders& orders);
    void settle_reports(const config::Config& config);
    void settle_signing(const common::Orders& orders);
    void take(proto::delivery::Message&& message);
    void give_back(const proto::delivery::Recall& recall);
    void give_back(const proto::delivery::Cut& cut);
    void begin(proto::delivery::Try&& order);
    void end_trial(std::uint64_t attempt);
    void up();
    void down();
    using DoneParts = ipc::Parts<proto::delivery::Done, &proto::delivery::Done::replies>;
    ipc::Sent tell(std::uint64_t number); // the result kept under that number
    void stopped_if_done();

    void may_connect(Connection& connection, const std::string& address, bool besides) override;
    void left(Connection& connection, const std::string& address) override;
    void connected(Connection& connection) override;
    void source_refused(Connection& connection, proto::delivery::SourceRefused refused) override;
    void source_taken(Connection& connection, proto::delivery::SourceTaken taken) override;
    void done(Connection& connection, proto::delivery::Done done,
              std::optional<spool::MessageReader> message) override;
    void closed(Connection& connection, proto::delivery::Closed closed) override;
    bool current(const Connection& connection) const; // its number means something to the queue-manager

    common::Surroundings& surroundings_;
    std::unique_ptr<spool::RealDisk> disk_;
    common::LoopDeadlines deadlines_;
    config::Dns dns_;
    Office office_;
    std::optional<TlsResults> tls_results_; // if there are to be reports
    std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_; // of this queue-manager
    std::vector<std::unique_ptr<Connection>>
        orphans_;                                  // of one that is gone; they finish what they have begun
    std::unordered_map<std::uint64_t, Kept> kept_; // by the number it is acknowledged by
    std::uint64_t handed_over_ = 0; // numbers given to results that a new queue-manager is told of
    std::map<std::uint64_t, std::unique_ptr<Trial>> trials_;
    std::vector<std::unique_ptr<Trial>> ended_trials_; // destroyed when nobody stands in them
    std::vector<std::unique_ptr<Connection>> gone_; // closed; destroyed when nobody stands in them
    std::function<void()> stopped_;
    common::TurnHook bury_;
    ipc::Connector<proto::delivery::Message> queue_manager_;
    ipc::InOrder<proto::delivery::Message> say_; // to the queue-manager, all of it
};

} // namespace smtp_client
