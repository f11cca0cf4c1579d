// One connection to the store: the login, calls in a pipeline, scripts by their digest (by their text,
// if the store does not know it yet), the time limit of each call. A call whose time is over fails; its reply is
// dropped when it comes. Bytes go in and come out, time is passed in. Pure.
#pragma once
#include "daemons/fleet/redis/command.h"
#include "daemons/fleet/redis/reply_reader.h"
#include "daemons/fleet/redis/script.h"
#include "libsmtp/auth/secret.h"
#include "libsmtp/text/time_types.h"
#include <deque>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace fleet::redis {

struct Login {
    std::string user;      // "": the default user
    smtp::Secret password; // "": none is sent
    std::uint32_t database = 0;
};

struct CallError {
    enum class Kind : std::uint8_t {
        refused, // the store answered with an error
        failed,  // it did not answer in time, or the connection is gone: it may have been carried out
    };
    Kind kind = Kind::failed;
    std::string text;
    std::string code = {}; // refused: the first word of the error, "NOSCRIPT"
};
using Result = std::expected<Reply, CallError>;

class Session {
public:
    static constexpr std::size_t most_calls = 1000; // without a reply
    using Done = std::function<void(const Result&)>;

    // The login begins at once. `deadline`: for it.
    Session(const Login& login, smtp::Monotonic deadline);
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // The login is over, and calls may be made.
    bool ready() const { return ready_; }
    // Why the connection is of no use any longer; "": it is.
    const std::string& problem() const { return problem_; }
    // Of the store, as it says; "" it does not. Another one each time that it is started.
    const std::string& run_id() const { return run_id_; }
    const std::string& version() const { return version_; }
    // By which it removes keys when its memory is full, "allkeys-lru"; "": it does not, or does not say so.
    const std::string& eviction_policy() const { return eviction_policy_; }

    // Only while ready(). `done` is called once, from receive(), expire() or close(), or from here if too many wait; it
    // may call again, but not destroy the session.
    void call(const Command& command, smtp::Monotonic deadline, Done done);
    void run(const Script& script, const Command& keys, const Command& arguments, smtp::Monotonic deadline, Done done);

    // To be sent, taken away.
    std::string take_output() { return std::exchange(output_, {}); }
    void receive(std::string_view bytes);
    void expire(smtp::Monotonic now);
    std::optional<smtp::Monotonic> next_deadline() const;
    // All calls without a reply fail.
    void close(const std::string& why);

private:
    struct Waiting {
        Done done; // empty: the call has failed, and its reply is dropped
        smtp::Monotonic deadline;
        Command by_text; // of a script: what to send if the store does not know its digest
    };
    void send(const Command& command, smtp::Monotonic deadline, Done done, Command by_text = {});
    void log_in(const Login& login, smtp::Monotonic deadline);
    void login_refused(const CallError& error);
    std::string without_password(std::string text) const;
    void login_step(const Result& result, std::string_view step);
    void take(Reply reply);
    void note_server(const std::string& info);

    const smtp::Secret password_;
    ReplyReader reader_;
    std::string output_, problem_, run_id_, version_, eviction_policy_;
    std::deque<Waiting> waiting_; // in the order of their replies
    bool ready_ = false;
};

} // namespace fleet::redis
