// The transfer process: reads messages that the queue-manager names, sends them to other nodes and reports the answers
// (proto/transfer.h). Some at a time to each node, as far as their contents fit into its part of the memory, so that
// one that does not answer keeps no other waiting. Decides nothing: what an answer means for the message, and whether
// it is sent again, is the queue-manager's.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/transfer.h"
#include "daemons/transfer/node_client.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/read_error.h"
#include <cstddef>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace transfer {

class Transfer final : public common::Daemon {
public:
    static constexpr std::size_t most_at_once = 16, most_bytes = 64 << 20; // of bodies; a larger one goes alone

    static spool::Result<std::unique_ptr<Transfer>> create(common::DaemonContext& context,
                                                           common::DaemonConfig daemon_config);
    Transfer(common::DaemonContext& context, std::unique_ptr<spool::RealDisk> disk);
    ~Transfer() override;

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    std::string status_text() override;

private:
    struct UnderWay { // its client outlives the exchange
        std::shared_ptr<NodeClient> client;
        std::size_t bytes = 0;
        std::unique_ptr<common::Https::Exchange> exchange;
        std::string node;
    };
    struct Traffic { // to one node
        std::deque<proto::transfer::Send> waiting;
        std::size_t under_way = 0, bytes = 0;
    };
    void start_some(Traffic& traffic);
    void forget_waiting();
    void start(const proto::transfer::Send& order);
    spool::ReadResult<std::string> body_of(const proto::transfer::Send& order);
    void report(const proto::transfer::Sent& sent);
    void check_stopped();

    common::DaemonContext& context_;
    std::unique_ptr<spool::RealDisk> disk_;
    std::string node_; // our name
    std::map<std::string, std::shared_ptr<NodeClient>, std::less<>> clients_;
    std::map<std::string, Traffic> traffic_;
    std::map<std::uint64_t, UnderWay> under_way_;
    std::uint64_t last_ = 0;
    std::function<void()> stopped_;
    std::unique_ptr<ipc::Connector<proto::transfer::Message>> queue_manager_;
};

} // namespace transfer
