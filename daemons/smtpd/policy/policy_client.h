// One policy server, for all sessions of a worker: a few connections that stay open, each busy with one question at a
// time. Never waits; a server that is down, slow or violates the protocol gives no answer. Questions that it does not
// answer delay others for no longer than busy_timeout.
#pragma once
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/service_status.h"
#include "daemons/common/net/client_stream.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/smtpd/policy/policy_protocol.h"
#include <deque>
#include <list>
#include <map>

namespace smtpd {

class PolicyClient {
public:
    // The action; none: there is no answer, and the reason is logged.
    using Done = std::function<void(std::optional<std::string> action)>;

    PolicyClient(common::Loop& loop, common::Log& log, const config::PolicyService& service,
                 common::ServiceStatus service_status = {});
    PolicyClient(const PolicyClient&) = delete;

    const config::PolicyService& service() const { return service_; }
    // `done` is called once, from the loop, unless cancelled.
    std::uint64_t ask(std::string request, Done done);
    // A connection that is still busy with it waits for the answer, to be of use again, as long as the
    // question would have; it is closed sooner if another question needs its place.
    void cancel(std::uint64_t question);

private:
    struct Question {
        std::string request;
        Done done; // none: cancelled, the answer is no longer wanted
        smtp::Monotonic until;
        bool repeated = false; // a connection that had gone stale costs one more attempt
    };
    struct ServerConnection {
        std::unique_ptr<common::ClientStream> stream;
        PolicyAnswer answer;
        std::uint64_t question = 0; // 0: idle
        smtp::Monotonic since;      // when it was sent
        bool fresh = true;          // no answer has come on it yet
    };
    using ServerConnections = std::list<ServerConnection>;

    void dispatch();
    bool make_room();
    void open_connection();
    void send(ServerConnections::iterator connection, std::uint64_t question);
    void on_data(ServerConnections::iterator connection, std::string_view bytes);
    void on_lost(ServerConnections::iterator connection, const std::string& why);
    void unavailable(const std::string& why);
    void finish(std::uint64_t question, std::optional<std::string> action);
    void expire_questions();
    ServerConnections::iterator longest_busy();
    void free_busy_connections();

    common::Loop& loop_;
    common::Log& log_;
    const config::PolicyService service_;
    const common::ServiceStatus service_status_;
    std::map<std::uint64_t, Question> open_; // in the order asked, so in the order they run out
    std::deque<std::uint64_t> waiting_;
    std::uint64_t last_ = 0;
    ServerConnections connections_;
    common::Timer question_timer_, busy_timer_;
};

} // namespace smtpd
