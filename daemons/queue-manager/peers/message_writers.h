// The processes that write messages into the spool and report them: smtpd, pickup, bounce. A message is taken over when
// its writer reports it; what a writer committed and could not report is found by a scan of its directory. Knows the
// conversation and the writers' slots; must not know what happens to a message.
#pragma once
#include "daemons/common/ipc/channel.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/engine_driver/message_intake.h"
#include "daemons/queue-manager/events/door_events.h"
#include "daemons/queue-manager/spool/spool_scanner.h"
#include "libspool/store/store.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace queue_manager {

class MessageWriters {
public:
    using Channel = ipc::Channel<proto::submission::Message>;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        EngineDriver& driver;
        MessageIntake& intake;
        SpoolScanner& scanner;
        spool::Store& store;
        DoorEvents& events;
        std::function<bool()> delivering; // delivery as a whole is not stopped
    };
    explicit MessageWriters(Dependencies dependencies);
    MessageWriters(const MessageWriters&) = delete;

    void attach(ipc::Peer peer, std::unique_ptr<Channel> channel);
    bool any() const; // is connected
    // Why one of them takes no mail; "" all do.
    std::string obstacle() const;
    // Those that serve clients are to take no mail, and why; "" they are. Reports are always taken.
    // Each reason stands by itself.
    enum class Refusal : std::uint8_t { journal, drain };
    void refuse_mail(Refusal reason, const std::string& why);
    // The daemon stops: what a writer leaves behind is found at the next start.
    void stop() { stopping_ = true; }

private:
    struct Writer {
        std::uint64_t serial = 0; // number of this connection among those of the slot
        proto::Role role{};
        std::string obstacle;              // why it takes no mail; "": it does
        bool named_files = false;          // FilesInUse has come
        proto::submission::FilesLeft left; // to be said at the end of the turn
        std::unique_ptr<Channel> channel;
    };
    void detach(std::uint8_t slot);
    void send_acceptance(Writer& writer);
    void handle(std::uint8_t slot, proto::submission::Message&& message);
    void submitted(std::uint8_t slot, const proto::submission::Submitted& message);
    void files_in_use(std::uint8_t slot, const proto::submission::FilesInUse& message);
    void file_left(spool::OccupiedFiles::Writer serial, spool::QueueId file, bool reusable);
    void report_files_left();
    void flush(std::uint8_t slot, const proto::submission::FlushDomain& request);

    Dependencies deps_;
    std::map<std::uint8_t, Writer> writers_;
    std::uint64_t last_ = 0;
    common::TurnHook turn_;
    bool stopping_ = false;
    std::map<Refusal, std::string> refusals_; // of refuse_mail(), those in force
};

} // namespace queue_manager
