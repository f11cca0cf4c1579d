// The local daemon: takes deliveries from the queue-manager, has threads carry them out, tells and logs how
// they ended. Keeps every result until it is Acknowledged.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/ordered_sender.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/local/as_user/user_files.h"
#include "daemons/local/delivery/delivery.h"
#include "libspool/disk/real_disk.h"
#include <map>
#include <memory>

namespace local {

class Local final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Local>> create(common::DaemonContext& context,
                                                        common::DaemonConfig daemon_config);
    ~Local() override;
    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    // A connection for one delivery at a time.
    struct QueueConnection {
        std::size_t in_flight = 0;
        bool closing = false;
    };
    struct Job;

    Local(common::DaemonContext& context, const config::Config& config, std::unique_ptr<spool::RealDisk> disk);
    void on_message(const proto::delivery::Message& message);
    void on_connected();
    void on_disconnected();
    using DoneParts = ipc::PartSplitter<proto::delivery::Done, &proto::delivery::Done::replies>;
    void send_result(std::uint64_t number); // the result kept under that number
    void start(const proto::delivery::Deliver& order);
    void ended(const proto::delivery::Deliver& order, std::uint64_t session, DeliveryResult&& finished);
    void log(const proto::delivery::Deliver& order, const DeliveryResult& finished);
    void report_failing_mailboxes(const DeliveryResult& finished);
    void close_if_idle(std::uint64_t connection);

    common::DaemonContext& context_;
    const std::uint32_t threads_; // one for each delivery
    std::unique_ptr<spool::RealDisk> disk_;
    SharedMessages messages_; // for the threads
    std::shared_ptr<const Settings> settings_;
    UnreapedProcesses unreaped_;                                    // for the threads, too
    TargetCheck checks_;                                            // for the threads
    std::map<std::uint64_t, QueueConnection> connections_;          // connections of this queue-manager
    std::map<std::uint64_t, proto::delivery::Done> unacknowledged_; // by delivery number
    std::uint64_t session_ = 0; // which connection to the queue-manager: numbers mean nothing on another
    std::uint64_t next_number_; // for results told to another queue-manager than asked
    std::size_t running_ = 0;
    std::map<std::string, std::string>
        failing_mailboxes_; // mailboxes that nothing can be delivered into, and why: by user
    std::function<void()> stopped_;
    UserFiles user_files_;
    ipc::Connector<proto::delivery::Message> queue_manager_;
    ipc::OrderedSender<proto::delivery::Message> to_queue_manager_; // to the queue-manager, all of it
};

} // namespace local
