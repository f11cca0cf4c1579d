// Operators' test deliveries (`postrider try`): an address is categorized and routed as a message's would be, then a
// delivery agent goes as far as RCPT; every step is reported as it comes. Nothing of it reaches the engine: no message,
// no link's state, no counter. Knows the messages of the services it asks; not their channels, nor the control socket.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "daemons/decide/queue/events.h"
#include "daemons/queue-manager/probe/route_query.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace queue_manager {

// A line about a probe: a step, or finally the result.
struct ProbeLine {
    smtp::Duration at{};        // since it was asked for
    std::string_view step = {}; // "categorize", "route", "queue", a proto::delivery::Step's name, "result"
    proto::delivery::Finding finding = proto::delivery::Finding::good;
    std::string host = {}; // "mx.example.org[192.0.2.1]:25", or a name
    std::string recipient = {};
    std::uint16_t code = 0;
    std::string status = {}, text = {};
    std::string advice = {}; // what to do; "" nothing
    std::string rule = {};   // of a route: the pattern of the [route] that decides; "": none does
};

// "mx.example.org", "mx.example.org:2525", "192.0.2.1", "[2001:db8::1]:25": a host itself, without an MX lookup.
std::optional<proto::route::Host> host_named(std::string_view text);

class DeliveryProbes {
public:
    struct Order {
        std::string address = {}, reverse_path = {};
        std::optional<proto::route::Host> host = {}; // instead of those of the route
        bool every_host = false;
        bool dialogue = false; // the lines of the conversation as well
    };
    struct Listener {
        std::function<void(const ProbeLine&)> line;
        std::function<void()> over; // after the line "result"
        std::function<void(std::string_view error)> refused;
        // The agent's last word about each transaction, before the line "result"; null: not wanted.
        std::function<void(const proto::delivery::ProbeResult&)> result = {};
    };
    using AgentId = decide::queue::AgentId;
    struct Dependencies {
        // With the pool of source addresses that mail from that sender uses.
        std::function<void(const std::string& address, const std::string& reverse_path, RouteQuery::Done done)>
            query_route;
        std::function<proto::delivery::Connect(const proto::route::Routed&)> connect; // as for a delivery
        std::function<std::optional<AgentId>(const proto::delivery::Probe&)> send;    // nothing: no agent is connected
        std::function<void(AgentId, const proto::delivery::EndProbe&)> end;
        // Why mail that could be sent would wait: a pause, a link that is backing off …
        std::function<std::vector<std::string>(const proto::route::Routed&)> obstacles;
        std::function<std::string()> agent_user; // the user that the agents run as; "": not known
    };

    static constexpr std::size_t most_recipients = 50, most_transactions = 20; // of what an address expands to

    explicit DeliveryProbes(Dependencies hands) : deps_(std::move(hands)) {}

    // Returns its number, for cancel(). May be over on return.
    std::uint64_t begin(Order order, Listener listener);
    // The same for an address whose route is known. One recipient: that address.
    std::uint64_t begin_at(Order order, proto::route::Routed route, Listener listener);
    // The result is no longer wanted: the agent is to end it. Does nothing if it is over.
    void cancel(std::uint64_t number);
    void said(AgentId agent, const proto::delivery::ProbeStep& step);
    void said(AgentId agent, const proto::delivery::ProbeResult& tried);
    void gone(AgentId agent);

private:
    struct Transaction {
        proto::route::Routed route;
        std::string reverse_path;
        std::vector<std::string> recipients;
    };
    struct Probe {
        Order order;
        Listener listener;
        smtp::Monotonic began{};
        smtp::Monotonic sent{};          // to the agent: the transaction under way …
        proto::route::Routed route = {}; // … whose it is …
        std::string pool = {};           // … and of which source addresses; "" none
        std::deque<Transaction> left = {};
        std::optional<AgentId> agent = {};
        std::size_t tried = 0, here = 0; // recipients: tried at a server; local ones
        ProbeLine worst = {};            // the reason of the worst finding
    };
    using Place = std::map<std::uint64_t, Probe>::iterator;

    void found(std::uint64_t number, const RouteQuery::Findings& findings);
    void take(Probe& probe, const RouteQuery::RecipientRoute& recipient_route);
    void go_on(Place at);
    void conclude(Place at);
    void report(Probe& probe, ProbeLine line);
    static void worse(Probe& probe, const ProbeLine& line);

    Dependencies deps_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Probe> probes_;
};

} // namespace queue_manager
