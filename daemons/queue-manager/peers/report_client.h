// The conversation with the bounce daemon: asks it for the reports that the engine wants, and reports to the
// engine what became of them. Knows the conversation, and the messages' files as far as reasons are only
// there; must not know what a report looks like.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/report.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/peers/service.h"
#include "daemons/queue-manager/spool/disk_reserve.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "daemons/queue-manager/spool/quarantine_cleaner.h"
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace queue_manager {

class ReportClient {
public:
    using Channel = ipc::Channel<proto::report::Message>;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        EngineDriver& driver;
        const MessageFiles& files;
        MessageLoader& loader;
        DiskReserve& reserve;       // a report that could not be written needs room
        QuarantineCleaner& cleaner; // some are kept in bad/
    };
    explicit ReportClient(const Dependencies& dependencies);
    ReportClient(const ReportClient&) = delete;

    void attach(std::unique_ptr<Channel> channel) { service_.attach(std::move(channel)); }
    bool present() const { return service_.present(); }
    void make(const decide::queue::MakeReport& action, smtp::Now now);

private:
    void report_presence(decide::queue::Presence presence);
    void ask(proto::report::Report question);
    void failed(std::uint64_t request, spool::QueueId id, std::string why);
    void answered(const proto::report::Reported& answer);

    Dependencies deps_;
    Service<proto::report::Message> service_;
    std::map<std::uint64_t, spool::QueueId> asked_; // request → message
};

} // namespace queue_manager
