// The bounce daemon: makes reports (NDRs, delay notices, success reports) when the queue-manager asks, commits them
// to the spool like any writer, and confirms this. Does not decide on recipients of reports beyond what RFC 3461
// prescribes.
#pragma once
#include "daemons/bounce/composition.h"
#include "daemons/bounce/reported_recipients.h"
#include "daemons/bounce/undeliverable_store.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/report.h"
#include "daemons/common/submission/spool_writer.h"
#include "daemons/common/submission/submission_queue.h"
#include "libspool/message/message_state.h"
#include <deque>
#include <map>
#include <memory>

namespace bounce {

class Bounce final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Bounce>> create(common::DaemonContext& context,
                                                         common::DaemonConfig daemon_config);
    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    // The question, apart from its number: a repeated question is the same one.
    struct ReportKey {
        spool::QueueId queue_id;
        smtp::ReportKind kind;
        std::vector<std::uint32_t> recipients;
        auto operator<=>(const ReportKey&) const = default;
    };
    // One question on its way to its answer.
    struct Work {
        ReportKey question;
        proto::report::Report report;
        std::optional<spool::MessageState> state;
        OriginalMessage original;
        std::vector<Addressee> addressees; // not yet notified
        std::string why;                   // of the world's failure, for try_later
        proto::report::Reported answer;    // so far
    };
    using WorkPtr = std::shared_ptr<Work>;

    Bounce(common::DaemonContext& context, const config::Config& config,
           std::unique_ptr<common::SpoolWriter> spool_writer);

    void on_request_part(proto::report::Report&& part);
    void send_answer(proto::report::Reported reported);
    void on_request(proto::report::Report&& report);
    void start_next();
    void report_next(const WorkPtr& work); // the next addressee, or the end
    void store_undeliverable(const WorkPtr& work, const Addressee& addressee);
    void write_report(const WorkPtr& work, const Addressee& addressee);
    void store_unsent_report(const WorkPtr& work, const Addressee& addressee, spool::QueueId id,
                             const Composition& made);
    void written(const WorkPtr& work, const spool::Result<spool::DurableReceipt>& receipt, const Addressee& addressee,
                 const std::string& message_id, const std::string& envelope);
    void answer(const WorkPtr& work);
    void check_stopped();

    common::Log& log_;
    Settings settings_;
    StoreLimits store_limits_;
    std::unique_ptr<common::SpoolWriter> spool_writer_;
    common::SubmissionQueue submission_queue_;
    std::map<ReportKey, WorkPtr> active_;
    std::deque<WorkPtr> waiting_;
    std::size_t running_ = 0;
    std::map<ReportKey, proto::report::Reported> answered_; // lately: a question may come again on a new connection
    std::deque<ReportKey> answered_order_;
    std::size_t remembered_numbers_ = 0; // of recipients, in answered_order_
    ipc::PartAssembler<proto::report::Report, &proto::report::Report::recipients> questions_{
        proto::report::largest_questions}; // of which parts have come
    ReportedRecipients reported_;          // of questions that failed half-way, which come again
    std::function<void()> stopped_;
    ipc::Connector<proto::report::Message> queue_manager_;
};

} // namespace bounce
