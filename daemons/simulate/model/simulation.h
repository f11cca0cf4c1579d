// Simulates a scenario around the real queue engine, in virtual time: traffic, servers and their faults, DNS, and a
// categorizer, router and bounce daemon that never fail. Executes the actions of the engine as the queue-manager and its
// agents would; the results go into a timeline. The same scenario and configuration give the same result.
#pragma once
#include "daemons/common/config/fwd.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/simulate/model/candidates.h"
#include "daemons/simulate/report/timeline.h"
#include "daemons/simulate/model/names.h"
#include "daemons/simulate/scenario/scenario.h"
#include "daemons/simulate/model/servers.h"
#include "daemons/simulate/model/traffic.h"
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace postrider::simulate {

class Simulation {
public:
    // Both must outlive it. `columns`: of the charts.
    Simulation(const config::Config& config, const Scenario& scenario, std::size_t columns = 68);

    // To the scenario's end. `progress` is called now and then with the part (0 to 1) that is done.
    void run(const std::function<void(double)>& progress = {});
    const Timeline& timeline() const { return timeline_; }
    // Hosts and domains of the scenario that no mail used: probably misspelt.
    std::vector<std::string> unused_names() const;

private:
    struct ScheduledCall {
        smtp::Duration at;
        std::uint64_t number;
        std::function<void()> what;
        bool operator>(const ScheduledCall& other) const {
            return std::tie(at, number) > std::tie(other.at, other.number);
        }
    };
    struct Message {
        std::uint32_t domain = 0, reports_to = 0; // in domains_
        TrafficStats* stats = nullptr;              // of its traffic; null: a report
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
    struct LinkHosts {
        std::vector<decide::Host> hosts;
        const decide::RouteRule* rule = nullptr; // of the route that led to it last
    };
    struct Delivery {
        decide::queue::DeliveryId id = 0;
        spool::QueueId message;
    };
    struct Connection {
        std::string link;
        decide::queue::AgentId agent = 0;
        Candidates hosts;
        std::string host; // tried last
        const decide::RouteRule* rule = nullptr;
        Server* server = nullptr; // it is connected to; null: of the local store, or not there yet
        bool local = false, up = false, was_up = false, busy = false, closing = false;
        std::uint32_t session = 0, uses = 0; // how many servers it has left; messages of the one at hand
        Answer last_failure;
        std::optional<Answer> mail_failure; // of a session that had accepted MAIL
        std::deque<Delivery> deliveries;
    };
    struct Source { // of one [traffic]
        const Traffic& traffic;
        Arrivals arrivals;
        std::vector<std::uint32_t> domains; // in domains_
        std::uint32_t reports_to = 0;
        TrafficStats& stats;
    };

    // ---- simulation.cpp: time, mail, services
    smtp::Now now() const;
    void schedule(smtp::Duration in, std::function<void()> what);
    void execute_actions();
    // Reports one event to the engine and executes its actions.
    template <class Call> void call_engine(Call&& call) {
        call(now(), out_);
        execute_actions();
    }
    void schedule_scenario();
    void fault_begins(const Fault& fault);
    void schedule_arrival(std::size_t source);
    void arrive(std::size_t source);
    void accept(Message message, decide::queue::Lane lane, std::string_view submitter,
                std::string_view policy);
    std::string pool_of(const Traffic& traffic) const;
    std::uint32_t domain_index(const std::string& domain, const std::string& pool = {});
    Message& message(spool::QueueId id) { return messages_[(id.value >> 8) - 1]; }
    RecipientDomain& domain_of(spool::QueueId id) { return domains_[message(id).domain]; }
    void routed(const std::string& domain, const std::string& pool);

    // ---- connections.cpp: what an agent does
    void next_host(decide::queue::ConnectionId id);
    // schedule(), unless the connection has left that server by then.
    void schedule_in_session(decide::queue::ConnectionId id, smtp::Duration in, std::function<void()> what);
    void greeted(decide::queue::ConnectionId id, const Answer& answer);
    void deliver_next(decide::queue::ConnectionId id);
    void answered(decide::queue::ConnectionId id, const Answer& answer);
    void session_failed(decide::queue::ConnectionId id, const Answer& why);
    void link_failed(decide::queue::ConnectionId id);
    enum class FailureScope : std::uint8_t { server, link }; // the failure of a link is never permanent
    void finish_delivery(decide::queue::ConnectionId id, const Answer& answer, FailureScope scope = FailureScope::server);
    void close(decide::queue::ConnectionId id, const Answer* failure);
    void disconnect(Connection& connection);

    void execute(const decide::queue::AskCategorizer& a);
    void execute(const decide::queue::AskRoute& a);
    void execute(const decide::queue::OpenConnection& a);
    void execute(const decide::queue::Deliver& a);
    void execute(const decide::queue::CloseConnection& a);
    void execute(const decide::queue::Recall& a);
    void execute(const decide::queue::MakeReport& a);
    void execute(const decide::queue::NoticeLink& a);
    void execute(const decide::queue::NoticeQueue& a);
    void execute(const decide::queue::LinkState& a);
    void execute(const decide::queue::NoticeReset& a);
    template <class Action> void execute(const Action&) {} // records and log lines are not needed

    const config::Config& config_;
    const Scenario& scenario_;
    decide::queue::Random random_;
    SimulatedRouter router_;
    Servers servers_;
    Timeline timeline_;
    smtp::Duration time_{}; // since the scenario's beginning
    decide::queue::Engine engine_;
    decide::queue::Actions out_;
    std::uint64_t scheduled_ = 0;
    std::priority_queue<ScheduledCall, std::vector<ScheduledCall>, std::greater<>> calls_;

    std::vector<Message> messages_; // number n has the tick n + 1
    std::vector<RecipientDomain> domains_;
    std::map<std::string, std::uint32_t, std::less<>> domains_by_name_; // as queues are named
    std::vector<Source> sources_;
    std::map<std::string, LinkHosts, std::less<>> links_;
    std::unordered_map<decide::queue::ConnectionId, Connection> connections_;
    std::map<decide::queue::AgentId, RecentFailures> recent_failures_;
};

} // namespace postrider::simulate
