// Asks the queue-manager on behalf of clients (proto/relayed_control.h), or the events process, which answers alike:
// some connections, each with one request at a time; further requests wait for a while. Answers are kept whole and are
// limited. Knows no operations.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/relayed_control.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/http/backend/job_connections.h"
#include "daemons/http/requests/call.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace http {

class QueueClient {
public:
    static constexpr std::size_t most_connections = 16, most_waiting = 500, largest_answer = 64 << 20;
    static constexpr smtp::Duration patience = std::chrono::seconds(30); // for the next part of an answer

    struct Failure {
        std::string code, text; // of proto/control.h; "unavailable": no answer, "too-large"
    };
    struct Answer {
        std::vector<nlohmann::json> lines;
        std::optional<Failure> failure;
    };
    using Done = std::function<void(Answer)>;
    using OnLine = std::function<void(nlohmann::json)>;

    struct Server {
        std::string socket; // "queue-manager"
        std::string name;   // for people: "The queue-manager"
    };
    explicit QueueClient(common::DaemonContext& context, Server server = {"queue-manager", "The queue-manager"});
    ~QueueClient();
    QueueClient(const QueueClient&) = delete;
    QueueClient& operator=(const QueueClient&) = delete;

    using Unwanted = std::function<bool()>;

    // `done` is called once, later, unless this is destroyed before. With `on_line` the lines go there instead of into
    // the answer. `unwanted` is asked before each part of an answer: true: the request is cancelled.
    void ask(const Principal& principal, nlohmann::json request, Done done, OnLine on_line = {},
             smtp::Duration within = patience, Unwanted unwanted = {});
    // Now, without waiting for the next part of their answers.
    void cancel_unwanted();
    std::size_t open() const { return open_; }

private:
    struct Job {
        std::string body;
        Principal principal;
        Done done;
        OnLine on_line;
        smtp::Duration within;
        Unwanted unwanted;
        smtp::Monotonic asked;
    };
    class Connection;
    void finish(Job& job, Answer answer);

    common::DaemonContext& context_;
    const Server server_;
    common::LoopDeadlines deadlines_;
    std::size_t open_ = 0;
    JobConnections<Connection, Job> jobs_;
};

} // namespace http
