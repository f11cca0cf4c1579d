// The delivery agents: what they do with a connection that the engine asked for, as daemons/smtp-client does
// it: host after host until one greets, message after message, and which result each end has. Knows servers
// and hosts; of mail only which message is to be delivered, of the engine only its requests and the events
// that answer them.
#pragma once
#include "daemons/common/config/sections/delivery/smtp_client.h"
#include "daemons/decide/queue/actions.h"
#include "daemons/decide/queue/events.h"
#include "daemons/decide/queue/ladder.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/simulate/model/candidates.h"
#include "daemons/simulate/model/schedule.h"
#include "daemons/simulate/model/servers.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace postrider::simulate {

class DeliveryAgents {
public:
    // Takes the events, as the queue manager does. The engine's next requests may come from within these
    // calls.
    class Owner {
    public:
        virtual void connected(decide::queue::ConnectionId id) = 0;
        virtual void returned(const decide::queue::Returned& event) = 0;
        virtual void done(const decide::queue::Done& event) = 0;
        virtual void closed(const decide::queue::Closed& event) = 0;
        // The results, for the timeline. `link`: "" of the local store.
        virtual void delivered(spool::QueueId id, const std::string& link) = 0;
        virtual void attempt_failed(const std::string& link) = 0;
        // The server's state for the recipient of a message.
        virtual RemoteRecipient& recipient_of(spool::QueueId id) = 0;

    protected:
        ~Owner() = default;
    };
    // All must outlive it.
    DeliveryAgents(Owner& owner, Schedule& schedule, Servers& servers, decide::queue::Random& random,
                   const config::SmtpClient& client)
        : owner_(owner), schedule_(schedule), servers_(servers), random_(random), client_(client) {}

    // The hosts of a link, for connections that are opened from now on. `rule`: of the route that led to it
    // last; null: none.
    void set_hosts(const std::string& link, const std::vector<decide::Host>& hosts, const decide::RouteRule* rule) {
        links_[link] = {hosts, rule};
    }

    // The engine's requests; what they lead to happens later.
    void open(const decide::queue::OpenConnection& request);
    void deliver(const decide::queue::Deliver& request);
    void close(const decide::queue::CloseConnection& request);
    void recall(const decide::queue::Recall& request);

    // A fault begins that breaks connections to its hosts.
    void cut_connections(const Fault& fault);

private:
    struct LinkHosts {
        std::vector<decide::Host> hosts;
        const decide::RouteRule* rule = nullptr;
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
    enum class FailureScope : std::uint8_t { server, link }; // the failure of a link is never permanent

    void next_host(decide::queue::ConnectionId id);
    // In the schedule, unless the connection has left that server by then.
    void schedule_in_session(decide::queue::ConnectionId id, smtp::Duration in, std::function<void()> what);
    void greeted(decide::queue::ConnectionId id, const Answer& answer);
    void deliver_next(decide::queue::ConnectionId id);
    void answered(decide::queue::ConnectionId id, const Answer& answer);
    void session_failed(decide::queue::ConnectionId id, const Answer& why);
    void link_failed(decide::queue::ConnectionId id);
    void finish_delivery(decide::queue::ConnectionId id, const Answer& answer,
                         FailureScope scope = FailureScope::server);
    void end(decide::queue::ConnectionId id, const Answer* failure);
    void disconnect(Connection& connection);

    Owner& owner_;
    Schedule& schedule_;
    Servers& servers_;
    decide::queue::Random& random_;
    const config::SmtpClient& client_;
    std::map<std::string, LinkHosts, std::less<>> links_;
    std::unordered_map<decide::queue::ConnectionId, Connection> connections_;
    std::map<decide::queue::AgentId, RecentFailures> recent_failures_;
};

} // namespace postrider::simulate
