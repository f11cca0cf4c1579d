// The idempotency keys that several nodes share, for a writer (smtpd, pickup): asks the fleet process
// (proto/key_claims.h), which asks the store of the fleet. Bounded in number and time: what is not answered has failed.
// Knows the connection; must not know what an answer means for a message.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/proto/key_claims.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/submission/idempotency/store.h"
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace common::idempotency {

class SharedKeys {
public:
    static constexpr std::size_t most_waiting = 1000;
    static constexpr smtp::Duration patience = std::chrono::seconds(2); // longer than the fleet process has for a call

    using Step = proto::key_claims::Step;
    struct Answer {
        proto::key_claims::Answer::Kind kind = proto::key_claims::Answer::Kind::failed;
        std::string node, digest, why;
        spool::QueueId id; // accepted: of the message
    };
    using Done = std::move_only_function<void(const Answer&)>;

    struct Peer { // all outlive it
        Loop& loop;
        Log& log;
        std::string run_directory;
        ipc::Identity identity;
    };
    explicit SharedKeys(const Peer& peer);
    SharedKeys(const SharedKeys&) = delete;
    SharedKeys& operator=(const SharedKeys&) = delete;

    // After this number of questions in a row without an answer no more are sent for a while: if mail comes one message
    // after the other, each would wait.
    static constexpr unsigned most_unanswered = 3;
    static constexpr smtp::Duration pause = std::chrono::seconds(5);

    // `done` is called once, from a later turn, unless this is destroyed before. Steps are taken in the order in which
    // they are asked for, as far as they arrive.
    void ask(Step step, const Request& request, Done done);
    // All that waits has failed.
    void fail_all(const std::string& why);

private:
    struct Waiting {
        Done done;
        smtp::Monotonic deadline;
    };
    void answered(proto::key_claims::Message&& message);
    void finish(std::map<std::uint64_t, Waiting>::iterator which, const Answer& answer);
    void fail_later(Done done, std::string why);
    void expire();

    Loop& loop_;
    std::map<std::uint64_t, Waiting> waiting_; // in the order of their deadlines
    std::uint64_t number_ = 0;
    unsigned unanswered_ = 0; // in a row
    smtp::Monotonic next_{};  // none is asked before
    Timer timer_;
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
    ipc::Connector<proto::key_claims::Message> fleet_;
};

} // namespace common::idempotency
