// The tokens that our accounts at next hops authenticate with if they have a command instead of a password
// (auth::Account): runs it on request, keeps its output until it expires or is rejected. Master does this, because it
// alone may run programs and knows the accounts; a request can name an account, not a command.
#pragma once
#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/common/logging/log.h"
#include "daemons/master/secrets/command_output.h"
#include <map>
#include <optional>
#include <vector>

namespace master {

// A command's output: the token, and on an optional second line, for how many seconds it is valid.
struct PrintedToken {
    static constexpr std::size_t longest = 8192;
    static constexpr smtp::Duration usual = std::chrono::minutes(5), most = std::chrono::hours(24);

    smtp::Secret text;
    smtp::Duration good_for = usual;

    // Malformed never repeats the output.
    static std::expected<PrintedToken, smtp::Malformed> parse(std::string_view output);
};

class Tokens {
public:
    static constexpr std::size_t max_running = 10;
    static constexpr smtp::Duration failure_lifetime = std::chrono::seconds(10);

    struct Answer {
        std::uint64_t number = 0; // another for every token
        bool fresh = false;       // made for this request
        std::string problem;      // "": there is none
        std::string_view text;    // valid during the call
    };
    using Answered = std::function<void(const Answer& answer)>;

    // `user`: the user commands run as; null: as we are. Both must outlive it.
    Tokens(common::Loop& loop, common::Log& log, const common::Identity* user);

    // The accounts from now on. Keeps the tokens of accounts whose command has not changed; forgets failures.
    void use(auth::Credentials accounts);
    // Calls `answered` once, at once or later. `refused`: the number of a token that was rejected; 0 none.
    void ask(const std::string& account, std::uint64_t refused, smtp::Monotonic now, Answered answered);
    // The processes of commands; master waits for them and reports how they ended.
    std::vector<pid_t> running() const;
    void has_ended(pid_t pid, int status);

private:
    struct AccountToken {
        std::string command;
        smtp::Secret text;
        std::uint64_t number = 0; // 0: none
        smtp::Monotonic until{};
        std::string problem; // of the last run; for a moment
        smtp::Monotonic problem_until{};
        std::unique_ptr<CommandOutput> running;
        std::vector<Answered> waiting;
    };
    void run(const std::string& account, AccountToken& token);
    void printed(const std::string& account, smtp::Secret output, const std::string& problem);
    static void tell(AccountToken& token, const Answer& answer);

    common::Loop& loop_;
    common::Log& log_;
    const common::Identity* user_;
    auth::Credentials accounts_;
    std::map<std::string, AccountToken> tokens_;            // by account
    std::vector<std::unique_ptr<CommandOutput>> abandoned_; // killed, but not waited for
    std::vector<std::unique_ptr<CommandOutput>> done_;      // their callback is running
    common::TurnHook sweep_;
    std::uint64_t numbers_ = 0;
};

} // namespace master
