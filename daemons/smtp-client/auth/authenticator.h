// How one session says who we are: which account and mechanisms, its turn among the other connections, a
// token where the account has a command for it, and how it went. Knows no socket and no session; makes the
// SaslClient that the session wants.
#pragma once
#include "daemons/common/crypto/auth/credentials.h"
#include "daemons/common/process/daemon.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/smtp-client/auth/auth_throttle.h"
#include "libsmtp/session/client_session.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace smtp_client {

// What connections share of it.
class AuthDesk {
public:
    // `trouble`: a line for `postrider status`; "" clears it.
    AuthDesk(common::AskToken ask_token, std::function<void(std::string_view)> trouble)
        : ask_token_(std::move(ask_token)), trouble_(std::move(trouble)) {}

    // From now on. Routes: those whose `auth` is not the usual one count.
    void use(std::shared_ptr<const auth::Credentials> accounts, const std::vector<decide::RouteRule>& routes);

private:
    friend class Introduction;
    struct Derived { // SCRAM's salted password: it takes long to make
        std::string salt;
        std::uint32_t iterations = 0;
        smtp::Secret key;
    };
    void tell_trouble();

    common::AskToken ask_token_;
    std::function<void(std::string_view)> trouble_;
    std::shared_ptr<const auth::Credentials> accounts_ = std::make_shared<auth::Credentials>();
    std::map<std::string, decide::AuthRule, std::less<>> rules_; // by the route's pattern
    std::map<std::string, Derived> derived_;                     // by account
    AuthTurns turns_;
    std::string troubled_;
};

class Introduction {
public:
    // To this host, by the route of that pattern, as that user ("": whichever account there is). Null: nobody
    // authenticates there. A user who has no account there is somebody all the same, with a Problem. `wake`:
    // next() has something, in a later turn of the loop. The desk must outlive it.
    static std::unique_ptr<Introduction> at(AuthDesk& desk, std::string_view rule, const std::string& user,
                                            const std::string& host, std::uint16_t port, std::function<void()> wake);
    ~Introduction();
    Introduction(const Introduction&) = delete;
    Introduction& operator=(const Introduction&) = delete;

    // For the session's Options.
    smtp::ClientSession::Auth auth() const;

    // The session's AuthWanted. `binding`: of the channel by its type (tls::Session::channel_binding); empty
    // without TLS.
    using Binding = std::function<std::string(std::string_view type)>;
    void begin(smtp::SaslMechanism mechanism, Binding binding, smtp::Monotonic now);
    struct Problem {
        std::string status, text;
    };
    // Nothing yet; or, once, what to authenticate with, or why there is nothing.
    std::variant<std::monostate, smtp::SaslClient, Problem> next();
    // What became of it. refused: by the server, for good; true: the token was an old one, and another try,
    // on a connection of its own, gets a new one.
    void accepted();
    bool refused(const std::string& why, smtp::Monotonic now);
    // For logs: "alice at relay.example.net (SCRAM-SHA-256)".
    std::string who() const;

private:
    struct Slot { // for a token that is under way; it may outlive us
        std::optional<common::Token> token;
        std::function<void()> wake;
    };
    Introduction(AuthDesk& desk, std::shared_ptr<const auth::Credentials> accounts,
                 const auth::Account& account, decide::AuthRule rule, std::string host, std::uint16_t port,
                 std::function<void()> wake);
    smtp::SaslClient client(smtp::Secret secret);
    smtp::ScramClient::Binding bind() const;

    AuthDesk& desk_;
    std::shared_ptr<const auth::Credentials> accounts_; // account_ is one of them
    const auth::Account& account_;
    decide::AuthRule rule_;
    std::string host_;
    std::uint16_t port_;
    std::function<void()> wake_;
    smtp::SaslMechanism mechanism_{};
    Binding binding_;
    std::unique_ptr<AuthTurns::Turn> turn_;
    std::shared_ptr<Slot> slot_;
    std::uint64_t refused_token_ = 0, token_ = 0;
    bool fresh_ = true; // the token; a password always is
    bool answered_ = true;
};

} // namespace smtp_client
