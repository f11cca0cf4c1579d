// The bounce daemon: makes reports (NDRs, delay notices, success reports) when the queue-manager asks,
// commits them to the spool like any writer, and says so. Does not decide who gets one beyond what RFC 3461
// rules.
#pragma once
#include "daemons/bounce/undeliverable_store.h"
#include "daemons/bounce/composition.h"
#include "daemons/bounce/reported_recipients.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/submission/spool_writer.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/submission/submission_queue.h"
#include "daemons/common/proto/report.h"
#include "libspool/message/message_state.h"
#include <deque>
#include <map>
#include <memory>

namespace bounce {

class Bounce final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Bounce>> create(common::Surroundings& surroundings,
                                                         common::Orders orders);
    void reconfigure(common::Orders orders) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

private:
    // What is asked, apart from the number it is asked under: a repeated question is the same one.
    struct Question {
        spool::QueueId queue_id;
        smtp::ReportKind kind;
        std::vector<std::uint32_t> recipients;
        auto operator<=>(const Question&) const = default;
    };
    // One question on its way to its answer.
    struct Work {
        Question question;
        proto::report::Report report;
        std::optional<spool::MessageState> state;
        Material material;
        std::vector<Audience> audiences; // not yet told
        std::string why;                 // of the world's failure, for try_later
        proto::report::Reported answer;  // so far
    };
    using Shared = std::shared_ptr<Work>;

    Bounce(common::Surroundings& surroundings, const config::Config& config,
           std::unique_ptr<common::Intake> intake);

    void part_of_question(proto::report::Report&& part);
    void tell(proto::report::Reported reported);
    void asked(proto::report::Report&& report);
    void start_next();
    void tell_next(const Shared& work); // the next audience, or the end
    void keep_in_bad(const Shared& work, const Audience& audience);
    void write_report(const Shared& work, const Audience& audience);
    void keep_dry(const Shared& work, const Audience& audience, spool::QueueId id, const Composition& made);
    void written(const Shared& work, const spool::Result<spool::DurableReceipt>& receipt, const Audience& audience,
                 const std::string& message_id, const std::string& envelope);
    void answer(const Shared& work);
    void check_stopped();

    common::Log& log_;
    Settings settings_;
    Share share_;
    std::unique_ptr<common::Intake> intake_;
    common::Outbox outbox_;
    std::map<Question, Shared> active_;
    std::deque<Shared> waiting_;
    std::size_t running_ = 0;
    std::map<Question, proto::report::Reported>
        answered_; // lately: a question may come again on a new connection
    std::deque<Question> answered_order_;
    std::size_t numbers_kept_ = 0; // of recipients, in answered_order_
    ipc::Joined<proto::report::Report, &proto::report::Report::recipients> questions_{
        proto::report::largest_questions}; // of which parts have come
    Told told_; // of questions that failed half-way, which come again
    std::function<void()> stopped_;
    ipc::Connector<proto::report::Message> queue_manager_;
};

} // namespace bounce
