// Executes what the queue engine decides on (daemons/decide/queue/actions.h): one overload for each action. Requests
// and orders go to the part that talks to the daemon in question; records and log lines are made here. Knows no
// reasons: all decisions are made in the engine.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/decide/queue/actions.h"
#include "daemons/queue-manager/engine_driver/event_context.h"
#include "daemons/queue-manager/engine_driver/rate.h"
#include "daemons/queue-manager/engine_driver/suppression_checks.h"
#include "daemons/queue-manager/engine_driver/undelivered_log.h"
#include "daemons/queue-manager/events/message_events.h"
#include "daemons/queue-manager/events/system_events.h"
#include "daemons/queue-manager/fleet/rate_exchange.h"
#include "daemons/queue-manager/peers/categorizer_client.h"
#include "daemons/queue-manager/peers/delivery_orders.h"
#include "daemons/queue-manager/peers/report_client.h"
#include "daemons/queue-manager/peers/router_client.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "libspool/store/store.h"
#include <functional>

namespace queue_manager {

class ActionExecutor {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        common::Metrics& metrics;
        spool::Store& store;
        MessageFiles& files;
        MessageLoader& loader;
        UndeliveredLog& undelivered;
        MessageEvents& events;
        SystemEvents& system_events;
        SuppressionChecks& suppressions;
        CategorizerClient& categorizer;
        RouterClient& router;
        ReportClient& reports;
        DeliveryOrders& agents;
        RateExchange& rates;
        std::function<bool()> keeps_failed; // finished messages that failed for a recipient (failed/)
    };
    explicit ActionExecutor(const Dependencies& dependencies) : deps_(dependencies) {}
    ActionExecutor(const ActionExecutor&) = delete;

    // One of `all`; see EngineDriver::Callbacks::execute.
    void execute(const decide::queue::Action& action, const decide::queue::Actions& all, const EventContext& event,
                 smtp::Now now);
    Rate& removed() { return removed_; } // messages

private:
    struct Step { // at which an action is executed
        const decide::queue::Actions& all;
        const EventContext& event;
        smtp::Now now;
        std::span<const std::uint32_t> of(decide::queue::Numbers run) const { return all.of(run); }
    };
    void execute(const decide::queue::AskCategorizer& action, const Step& step);
    void execute(const decide::queue::AskRoute& action, const Step& step);
    void execute(const decide::queue::AskSuppressions& action, const Step& step);
    void execute(const decide::queue::AskTokens& action, const Step& step);
    void execute(const decide::queue::OpenConnection& action, const Step& step);
    void execute(const decide::queue::Deliver& action, const Step& step);
    void execute(const decide::queue::CloseConnection& action, const Step& step);
    void execute(const decide::queue::Recall& action, const Step& step);
    void execute(const decide::queue::CancelDelivery& action, const Step& step);
    void execute(const decide::queue::RecordDeferral& action, const Step& step);
    void execute(const decide::queue::RecordOutcome& action, const Step& step);
    void execute(const decide::queue::RecordSuspect& action, const Step& step);
    void execute(const decide::queue::RecordHeld& action, const Step& step);
    void execute(const decide::queue::RecordDelayNotice& action, const Step& step);
    void execute(const decide::queue::RecordReported& action, const Step& step);
    void execute(const decide::queue::RecordPolicy& action, const Step& step);
    void execute(const decide::queue::MakeReport& action, const Step& step);
    void execute(const decide::queue::MoveToMessages& action, const Step& step);
    void execute(const decide::queue::Remove& action, const Step& step);
    void execute(const decide::queue::NoticeActive& action, const Step& step);
    void execute(const decide::queue::NoticeExpired& action, const Step& step);
    void execute(const decide::queue::NoticeDiscarded& action, const Step& step);
    void execute(const decide::queue::NoticeSuspended& action, const Step& step);
    void execute(const decide::queue::NoticeUndelivered& action, const Step& step);
    void execute(const decide::queue::NoticeLink& action, const Step& step);
    void execute(const decide::queue::NoticeQueue& action, const Step& step);
    void execute(const decide::queue::NoticeReset& action, const Step& step);
    void execute(const decide::queue::LinkState& action, const Step& step);
    void execute(const decide::queue::LinkForgotten& action, const Step& step);
    void execute(const decide::queue::DomainForgotten& action, const Step& step);
    std::vector<spool::Property> records_of(const decide::queue::RecordOutcome& action, const Step& step) const;
    // Of what this step decides about a message that it removes, too.
    std::vector<spool::Property> last_records_of(spool::QueueId id, const Step& step) const;
    void record(spool::QueueId id, spool::Property property, const Step& step, spool::Sync sync = spool::Sync::no);

    Dependencies deps_;
    Rate removed_;
};

} // namespace queue_manager
