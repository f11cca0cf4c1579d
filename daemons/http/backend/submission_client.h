// Submits messages to pickup (proto/relayed_submission.h): some connections, each with one message at a time; further
// ones wait for a while. Knows no HTTP.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/relayed_submission.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/http/backend/job_connections.h"
#include <functional>
#include <string>

namespace http {

struct NewMessage {
    proto::relayed_submission::Source source;
    std::string sender;                  // "": the null one
    std::vector<std::string> recipients; // addresses that are valid
    std::string requests;                // header fields for this system, with line ends
    std::string content;
    std::string envelope = {}; // of another node's message, as the spool encodes it, in place of the three before
};

class SubmissionClient {
public:
    static constexpr std::size_t most_connections = 64, most_waiting = 2000;
    static constexpr smtp::Duration patience = std::chrono::minutes(5);

    using Outcome = proto::relayed_submission::Outcome;
    using Done = std::function<void(Outcome)>;

    explicit SubmissionClient(common::DaemonContext& context);
    ~SubmissionClient();
    SubmissionClient(const SubmissionClient&) = delete;
    SubmissionClient& operator=(const SubmissionClient&) = delete;

    // `done` is called once, later, unless this is destroyed before.
    void submit(NewMessage message, Done done);
    std::size_t open() const { return open_; }

private:
    struct Job {
        NewMessage message;
        Done done;
        smtp::Monotonic asked;
    };
    class Connection;
    void finish(Job& job, Outcome outcome);

    common::DaemonContext& context_;
    common::LoopDeadlines deadlines_;
    std::size_t open_ = 0;
    JobConnections<Connection, Job> jobs_;
};

} // namespace http
