// How one session authenticates: the account and mechanisms, its turn among the other connections, a token if the
// account has a command for it, and the outcome. Knows no socket and no session; creates the SaslClient for the
// session.
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

// What connections share.
class AuthContext {
public:
    // `trouble`: a line for `postrider status`; "" clears it.
    AuthContext(common::RequestToken request_token, std::function<void(std::string_view)> trouble)
        : request_token_(std::move(request_token)), report_problem_(std::move(trouble)) {}

    // Takes effect from now on. Of the routes, only those with an `auth` other than the default matter.
    void use(std::shared_ptr<const auth::Credentials> accounts, const std::vector<decide::RouteRule>& routes);

private:
    friend class Authenticator;
    struct Derived { // SCRAM's salted password: expensive to compute
        std::string salt;
        std::uint32_t iterations = 0;
        smtp::Secret key;
    };
    void update_problem();

    common::RequestToken request_token_;
    std::function<void(std::string_view)> report_problem_;
    std::shared_ptr<const auth::Credentials> accounts_ = std::make_shared<auth::Credentials>();
    std::map<std::string, decide::AuthRule, std::less<>> rules_; // by the route's pattern
    std::map<std::string, Derived> derived_;                     // by account
    AuthThrottle throttle_;
    std::string reported_problem_;
};

class Authenticator {
public:
    // For this host, by the route with that pattern, as that user ("": any account for the host). Null: no
    // authentication there. A user without an account there still gets an Authenticator, which returns a Problem.
    // `wake`: next() has a result; called in a later turn of the loop. The context must outlive it.
    static std::unique_ptr<Authenticator> for_host(AuthContext& context, std::string_view rule, const std::string& user,
                                                   const std::string& host, std::uint16_t port,
                                                   std::function<void()> wake);
    ~Authenticator();
    Authenticator(const Authenticator&) = delete;
    Authenticator& operator=(const Authenticator&) = delete;

    // For the session's Options.
    smtp::ClientSession::Auth auth() const;

    // The session's AuthRequested. `binding`: of the channel by its type (tls::Session::channel_binding); empty
    // without TLS.
    using Binding = std::function<std::string(std::string_view type)>;
    void begin(smtp::SaslMechanism mechanism, Binding binding, smtp::Monotonic now);
    struct Problem {
        std::string status, text;
    };
    // Nothing yet; or, once, the client to authenticate with, or why there is none.
    std::variant<std::monostate, smtp::SaslClient, Problem> next();
    // The outcome. rejected(): permanently, by the server; true: the token was an old one, and another attempt, on a
    // connection of its own, gets a new one.
    void accepted();
    bool rejected(const std::string& why, smtp::Monotonic now);
    // For logs: "alice at relay.example.net (SCRAM-SHA-256)".
    std::string description() const;

private:
    struct PendingToken { // for a token request in progress; may outlive the Authenticator
        std::optional<common::Token> token;
        std::function<void()> wake;
    };
    Authenticator(AuthContext& context, std::shared_ptr<const auth::Credentials> accounts, const auth::Account& account,
                  decide::AuthRule rule, std::string host, std::uint16_t port, std::function<void()> wake);
    smtp::SaslClient client(smtp::Secret secret);
    smtp::ScramClient::Binding channel_binding() const;

    AuthContext& context_;
    std::shared_ptr<const auth::Credentials> accounts_; // account_ is one of them
    const auth::Account& account_;
    decide::AuthRule rule_;
    std::string host_;
    std::uint16_t port_;
    std::function<void()> wake_;
    smtp::SaslMechanism mechanism_{};
    Binding binding_;
    std::unique_ptr<AuthThrottle::Ticket> ticket_;
    std::shared_ptr<PendingToken> pending_token_;
    std::uint64_t rejected_token_ = 0, token_ = 0;
    bool token_is_fresh_ = true; // the token; a password always is
    bool answered_ = true;
};

} // namespace smtp_client
