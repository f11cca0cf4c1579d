// Simulates a scenario around the real queue engine, in virtual time: traffic, servers and their faults, DNS,
// and a categorizer, router and bounce daemon that never fail. Executes the actions of the engine as the
// queue-manager would, with the delivery agents beside it; the results go into a timeline. The same scenario
// and configuration give the same result.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/decide/addressing/domain_classes.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/simulate/model/delivery_agents.h"
#include "daemons/simulate/model/names.h"
#include "daemons/simulate/model/schedule.h"
#include "daemons/simulate/model/servers.h"
#include "daemons/simulate/model/traffic.h"
#include "daemons/simulate/report/timeline.h"
#include "daemons/simulate/scenario/scenario.h"
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace postrider::simulate {

class Simulation final : private DeliveryAgents::Owner {
public:
    // Both must outlive it. `columns`: of the charts.
    Simulation(const config::Config& config, const Scenario& scenario, std::size_t columns = 68);

    // To the scenario's end. `progress` is called now and then with the part (0 to 1) that is done.
    void run(const std::function<void(double)>& progress = {});
    const Timeline& timeline() const { return timeline_; }
    // Hosts and domains of the scenario that no mail used: probably misspelt.
    std::vector<std::string> unused_names() const;

private:
    struct Message {
        std::uint32_t domain = 0, reports_to = 0; // in domains_
        TrafficStats* stats = nullptr;            // of its traffic; null: a report
        smtp::Duration accepted{};
        RemoteRecipient recipient;
        std::uint64_t size = 4096;
        bool null_sender = false;
    };
    struct RecipientDomain { // a recipient domain, from one pool of source addresses
        std::string name, pool, link;
        std::uint64_t queued = 0;
        bool local = false;
    };
    struct Source { // of one [traffic]
        const Traffic& traffic;
        Arrivals arrivals;
        std::vector<std::uint32_t> domains; // in domains_
        std::uint32_t reports_to = 0;
        TrafficStats& stats;
    };

    smtp::Now now() const;
    void execute_actions();
    // Reports one event to the engine and executes its actions.
    template <class Call> void call_engine(Call&& call) {
        call(now(), out_);
        execute_actions();
    }
    void schedule_scenario();
    std::string own_domain() const; // of mail without a sender
    void fault_begins(const Fault& fault);
    void schedule_arrival(std::size_t source);
    void arrive(std::size_t source);
    void accept(Message message, decide::queue::Lane lane, std::string_view submitter, std::string_view policy);
    std::string pool_of(const Traffic& traffic) const;
    std::uint32_t domain_index(const std::string& domain, const std::string& pool = {});
    Message& message(spool::QueueId id) { return messages_[(id.value >> 8) - 1]; }
    RecipientDomain& domain_of(spool::QueueId id) { return domains_[message(id).domain]; }
    void routed(const std::string& domain, const std::string& pool);

    void connected(decide::queue::ConnectionId id) override;
    void returned(const decide::queue::Returned& event) override;
    void done(const decide::queue::Done& event) override;
    void closed(const decide::queue::Closed& event) override;
    void delivered(spool::QueueId id, const std::string& link) override;
    void attempt_failed(const std::string& link) override;
    RemoteRecipient& recipient_of(spool::QueueId id) override { return message(id).recipient; }

    void execute(const decide::queue::AskCategorizer& a);
    void execute(const decide::queue::AskRoute& a);
    void execute(const decide::queue::OpenConnection& a) { agents_.open(a); }
    void execute(const decide::queue::Deliver& a) { agents_.deliver(a); }
    void execute(const decide::queue::CloseConnection& a) { agents_.close(a); }
    void execute(const decide::queue::Recall& a) { agents_.recall(a); }
    void execute(const decide::queue::MakeReport& a);
    void execute(const decide::queue::NoticeLink& a);
    void execute(const decide::queue::NoticeQueue& a);
    void execute(const decide::queue::LinkState& a);
    void execute(const decide::queue::NoticeReset& a);
    template <class Action> void execute(const Action&) {} // records and log lines are not needed

    const config::Config& config_;
    const decide::DomainClasses classes_;
    const Scenario& scenario_;
    decide::queue::Random random_;
    SimulatedRouter router_;
    Servers servers_;
    Timeline timeline_;
    Schedule schedule_;
    DeliveryAgents agents_;
    decide::queue::Engine engine_;
    decide::queue::Actions out_;

    std::vector<Message> messages_; // number n has the tick n + 1
    std::vector<RecipientDomain> domains_;
    std::map<std::string, std::uint32_t, std::less<>> domains_by_name_; // as queues are named
    std::vector<Source> sources_;
};

} // namespace postrider::simulate
