// The world of a scenario around the real queue engine, in virtual time: traffic, servers and their troubles,
// the name system, and a categorizer, router and bounce daemon that never fail. What the engine says is done,
// as the queue-manager and its agents would do it; what comes of it goes into a chronicle. The same scenario
// and configuration give the same course.
#pragma once
#include "daemons/common/config/config.h"
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

class World {
public:
    // Both must outlive it. `columns`: of the chronicle's drawings.
    World(const config::Config& config, const Scenario& scenario, std::size_t columns = 68);

    // To the scenario's end. `progress` is told now and then which part (0 to 1) has been played.
    void run(const std::function<void(double)>& progress = {});
    const Chronicle& chronicle() const { return chronicle_; }
    // Hosts and domains of the scenario that no mail had to do with: probably misspelt.
    std::vector<std::string> untouched() const;

private:
    struct Planned {
        smtp::Duration at;
        std::uint64_t number;
        std::function<void()> what;
        bool operator>(const Planned& other) const {
            return std::tie(at, number) > std::tie(other.at, other.number);
        }
    };
    struct Message {
        std::uint32_t place = 0, reports_to = 0; // in places_
        Fortune* fortune = nullptr;              // of its traffic; null: a report
        smtp::Duration accepted{};
        Acquaintance recipient;
        std::uint64_t size = 4096;
        bool null_sender = false;
    };
    struct Place { // a recipient domain, from one pool of source addresses
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
        std::vector<std::uint32_t> places; // of its domains
        std::uint32_t reports_to = 0;
        Fortune& fortune;
    };

    // ---- world.cpp: time, mail, services
    smtp::Now now() const;
    void later(smtp::Duration in, std::function<void()> what);
    void perform();
    // Tells the engine one thing and does what it says.
    template <class Tell> void tell(Tell&& tell) {
        tell(now(), out_);
        perform();
    }
    void plan();
    void trouble_begins(const Trouble& trouble);
    void plan_arrival(std::size_t source);
    void arrive(std::size_t source);
    void accept(Message message, decide::queue::Lane lane, std::string_view submitter,
                std::string_view policy);
    std::string pool_of(const Traffic& traffic) const;
    std::uint32_t place(const std::string& domain, const std::string& pool = {});
    Message& message(spool::QueueId id) { return messages_[(id.value >> 8) - 1]; }
    Place& place_of(spool::QueueId id) { return places_[message(id).place]; }
    void routed(const std::string& domain, const std::string& pool);

    // ---- connections.cpp: what an agent does
    void next_host(decide::queue::ConnectionId id);
    // Later, unless the connection has left that server by then.
    void later_there(decide::queue::ConnectionId id, smtp::Duration in, std::function<void()> what);
    void greeted(decide::queue::ConnectionId id, const Answer& answer);
    void work(decide::queue::ConnectionId id);
    void answered(decide::queue::ConnectionId id, const Answer& answer);
    void session_broke(decide::queue::ConnectionId id, const Answer& why);
    void link_failed(decide::queue::ConnectionId id);
    enum class Whose : std::uint8_t { servers, links }; // a link's failure is never for good
    void done(decide::queue::ConnectionId id, const Answer& answer, Whose whose = Whose::servers);
    void ended(decide::queue::ConnectionId id, const Answer* failure);
    void leave(Connection& connection);

    void does(const decide::queue::AskCategorizer& a);
    void does(const decide::queue::AskRoute& a);
    void does(const decide::queue::OpenConnection& a);
    void does(const decide::queue::Deliver& a);
    void does(const decide::queue::CloseConnection& a);
    void does(const decide::queue::Recall& a);
    void does(const decide::queue::MakeReport& a);
    void does(const decide::queue::NoticeLink& a);
    void does(const decide::queue::NoticeQueue& a);
    void does(const decide::queue::LinkState& a);
    void does(const decide::queue::NoticeReset& a);
    template <class Action> void does(const Action&) {} // records and log lines: nothing to keep them in

    const config::Config& config_;
    const Scenario& scenario_;
    decide::queue::Random random_;
    Names names_;
    Servers servers_;
    Chronicle chronicle_;
    smtp::Duration time_{}; // since the scenario's beginning
    decide::queue::Engine engine_;
    decide::queue::Actions out_;
    std::uint64_t planned_ = 0;
    std::priority_queue<Planned, std::vector<Planned>, std::greater<>> plan_;

    std::vector<Message> messages_; // number n has the tick n + 1
    std::vector<Place> places_;
    std::map<std::string, std::uint32_t, std::less<>> places_by_name_; // as queues are named
    std::vector<Source> sources_;
    std::map<std::string, LinkHosts, std::less<>> links_;
    std::unordered_map<decide::queue::ConnectionId, Connection> connections_;
    std::map<decide::queue::AgentId, FailedLately> failed_lately_;
};

} // namespace postrider::simulate
