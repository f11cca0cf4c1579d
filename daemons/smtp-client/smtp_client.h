// The daemon: does what the queue-manager requests in the conversation "delivery", and keeps every result until it is
// acknowledged, across restarts of the queue-manager as well. Knows which connections and results there are; not how
// mail is sent.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/ordered_sender.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/smtp-client/probe/delivery_probe.h"
#include "daemons/smtp-client/session/connection.h"
#include "daemons/smtp-client/tls/tls_results.h"
#include "libspool/disk/real_disk.h"
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace smtp_client {

class SmtpClient final : public common::Daemon, Connection::Owner {
public:
    static spool::Result<std::unique_ptr<SmtpClient>> create(common::DaemonContext& context,
                                                             common::DaemonConfig daemon_config);
    SmtpClient(common::DaemonContext& context, std::unique_ptr<spool::RealDisk> disk,
               const common::DaemonConfig& daemon_config);

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    // A result that has not been acknowledged.
    struct UnacknowledgedResult {
        proto::delivery::Done done;
        spool::FileHint file;
        std::optional<spool::MessageReader> lock; // while no queue-manager has the result
    };

    void configure_pools(const config::Config& config);
    void configure_tls(const common::DaemonConfig& daemon_config);
    std::shared_ptr<const tls::Context> make_tls(const tls::ClientOptions& options, std::string_view route);
    void configure_accounts(const common::DaemonConfig& daemon_config);
    void configure_reports(const config::Config& config);
    void configure_generic(const config::Config& config);
    void configure_rules(const config::Config& config);
    void configure_signing(const common::DaemonConfig& daemon_config);
    void on_message(proto::delivery::Message&& message);
    void return_deliveries(const proto::delivery::Recall& recall);
    void return_deliveries(const proto::delivery::Cancel& cut);
    void begin(proto::delivery::Probe&& order);
    void end_probe(std::uint64_t attempt);
    void on_connected();
    void on_disconnected();
    using DoneParts = ipc::PartSplitter<proto::delivery::Done, &proto::delivery::Done::replies>;
    ipc::SendResult send_result(std::uint64_t number); // the result kept under that number
    void stopped_if_done();

    void may_connect(Connection& connection, const std::string& address, bool in_parallel) override;
    void released(Connection& connection, const std::string& address) override;
    void connected(Connection& connection) override;
    void source_refused(Connection& connection, proto::delivery::SourceRefused refused) override;
    void source_taken(Connection& connection, proto::delivery::SourceAccepted taken) override;
    void done(Connection& connection, proto::delivery::Done done, std::optional<spool::MessageReader> message) override;
    void closed(Connection& connection, proto::delivery::Closed closed) override;
    bool is_current(const Connection& connection) const; // its number is valid for the queue-manager

    common::DaemonContext& context_;
    std::unique_ptr<spool::RealDisk> disk_;
    common::LoopDeadlines deadlines_;
    config::Dns dns_;
    ClientContext client_context_;
    std::optional<TlsResults> tls_results_;                                      // if there are to be reports
    std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_; // of this queue-manager
    std::vector<std::unique_ptr<Connection>>
        orphaned_connections_; // of one that is gone; they finish what they have begun
    std::unordered_map<std::uint64_t, UnacknowledgedResult> unacknowledged_; // by the number it is acknowledged by
    std::uint64_t last_own_number_ = 0; // numbers given to results that are reported to a new queue-manager
    std::map<std::uint64_t, std::unique_ptr<DeliveryProbe>> probes_;
    std::vector<std::unique_ptr<DeliveryProbe>> finished_probes_; // destroyed when no call is running in them
    std::vector<std::unique_ptr<Connection>> closed_connections_; // closed; destroyed when no call is running in them
    std::function<void()> stopped_;
    common::TurnHook cleanup_hook_;
    ipc::Connector<proto::delivery::Message> queue_manager_;
    ipc::OrderedSender<proto::delivery::Message> to_queue_manager_; // to the queue-manager, all of it
};

} // namespace smtp_client
