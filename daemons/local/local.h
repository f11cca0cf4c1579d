// The local daemon: takes deliveries from the queue-manager, has threads carry them out, tells and logs how
// they ended. Keeps every result until it is Acknowledged.
#pragma once
#include "daemons/common/process/daemon.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/in_order.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/local/delivery/delivery.h"
#include "daemons/local/as_user/user_files.h"
#include "libspool/disk/real_disk.h"
#include <map>
#include <memory>

namespace local {

class Local final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Local>> create(common::Surroundings& surroundings,
                                                        common::Orders orders);
    ~Local() override;
    void reconfigure(common::Orders orders) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    // A place for one delivery at a time.
    struct Place {
        std::size_t in_flight = 0;
        bool closing = false;
    };
    struct Job;

    Local(common::Surroundings& surroundings, const config::Config& config,
          std::unique_ptr<spool::RealDisk> disk);
    void heard(const proto::delivery::Message& message);
    void connected();
    void lost();
    using DoneParts = ipc::Parts<proto::delivery::Done, &proto::delivery::Done::replies>;
    void tell(std::uint64_t number); // the result kept under that number
    void start(const proto::delivery::Deliver& order);
    void ended(const proto::delivery::Deliver& order, std::uint64_t session, Finished&& finished);
    void log(const proto::delivery::Deliver& order, const Finished& finished);
    void tell_of_mailboxes(const Finished& finished);
    void close_if_idle(std::uint64_t connection);

    common::Surroundings& surroundings_;
    const std::uint32_t threads_; // one for each delivery
    std::unique_ptr<spool::RealDisk> disk_;
    Messages messages_; // for the threads
    std::shared_ptr<const Settings> settings_;
    Stragglers stragglers_; // for the threads, too
    TargetCheck checks_;    // for the threads
    std::map<std::uint64_t, Place> places_;                         // connections of this queue-manager
    std::map<std::uint64_t, proto::delivery::Done> unacknowledged_; // by delivery number
    std::uint64_t session_ = 0; // which connection to the queue-manager: numbers mean nothing on another
    std::uint64_t next_number_; // for results told to another queue-manager than asked
    std::size_t running_ = 0;
    std::map<std::string, std::string> failing_; // mailboxes that nothing can be delivered into, and why: by user
    std::function<void()> stopped_;
    UserFiles user_files_;
    ipc::Connector<proto::delivery::Message> queue_manager_;
    ipc::InOrder<proto::delivery::Message> say_; // to the queue-manager, all of it
};

} // namespace local
