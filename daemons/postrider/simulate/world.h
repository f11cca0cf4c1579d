// The world of a scenario around the real queue engine, in virtual time: traffic, servers and their troubles,
// name look-ups, and a categorizer, router and bounce daemon that never fail. What the engine says is done;
// what comes of it goes into a chronicle. The same scenario and configuration give the same course.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/decide/mx.h"
#include "daemons/decide/queue/engine.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/postrider/simulate/chronicle.h"
#include "daemons/postrider/simulate/scenario.h"
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

namespace postrider::simulate {

class World {
public:
    World(const config::Config& config, const Scenario& scenario);

    void run(); // to the scenario's end
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
    struct Server { // a host at a port
        decide::Host at;
        const Host* manner;
        std::uint32_t open = 0;
        bool used = false;
    };
    struct Message {
        std::uint32_t domain = 0; // in domains_
        smtp::Duration accepted{}, first_try{-1};
        bool unknown = false;
    };
    struct Place { // a recipient domain
        std::string name, link;
        std::uint64_t queued = 0;
        bool local = false;
    };
    struct Delivery {
        decide::queue::DeliveryId id = 0;
        spool::QueueId message;
    };
    struct Connection {
        std::string link;
        Server* server = nullptr; // null: of the local store, or not there yet
        bool up = false, local = false, busy = false;
        std::deque<Delivery> deliveries;
    };

    smtp::Now now() const;
    void later(smtp::Duration in, std::function<void()> what);
    void perform();
    void plan();
    void arrive(const Traffic& traffic, std::size_t turn);
    std::uint32_t place(const std::string& domain);
    Message& message(spool::QueueId id) { return messages_[(id.value >> 8) - 1]; }

    // What goes wrong with it now; null: nothing.
    const Trouble* trouble_of(const Server& server) const;
    const Trouble* trouble_of(const std::string& domain) const;
    Server& server(const decide::Host& host);
    decide::queue::Routed route(const std::string& domain);

    void come_up(decide::queue::ConnectionId id);
    void work(decide::queue::ConnectionId id);
    void answer(decide::queue::ConnectionId id);
    void fail(decide::queue::ConnectionId id, const decide::queue::Reason& reason, decide::queue::Phase phase,
              decide::queue::PushBack push_back);
    void break_off(decide::queue::ConnectionId id);
    void end_connection(decide::queue::ConnectionId id, const decide::queue::Closed& how);
    smtp::Duration about(smtp::Duration usual); // give or take a fifth

    void does(const decide::queue::AskCategorizer& a);
    void does(const decide::queue::AskRoute& a);
    void does(const decide::queue::OpenConnection& a);
    void does(const decide::queue::Deliver& a);
    void does(const decide::queue::CloseConnection& a);
    void does(const decide::queue::MakeReport& a);
    void does(const decide::queue::NoticeLink& a);
    template <class Action> void does(const Action&) {} // records and log lines: nothing to keep them in

    const config::Config& config_;
    const Scenario& scenario_;
    decide::RouteTable routes_;
    decide::queue::Random random_;
    Chronicle chronicle_;
    smtp::Duration time_{}; // since the scenario's beginning
    decide::queue::Engine engine_;
    decide::queue::Actions out_;
    std::uint64_t planned_ = 0;
    std::priority_queue<Planned, std::vector<Planned>, std::greater<>> plan_;

    std::vector<Message> messages_; // number n has the tick n + 1
    std::vector<Place> places_;
    std::map<std::string, std::uint32_t, std::less<>> places_by_name_;
    std::map<std::pair<std::string, std::uint16_t>, Server> servers_;
    std::map<std::string, std::vector<decide::Host>, std::less<>> links_;
    std::map<decide::queue::ConnectionId, Connection> connections_;
};

} // namespace postrider::simulate
