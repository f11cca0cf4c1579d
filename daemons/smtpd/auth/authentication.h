// One AUTH exchange of one client: takes what the client sends and returns the reply, now or later. Two kinds: the
// password file, and Dovecot's auth service. Knows neither the session nor the log.
#pragma once
#include "daemons/common/crypto/auth/password_file.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/smtpd/auth/concurrency_limiter.h"
#include "libsmtp/auth/secret.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace smtpd {

// What the next reply is.
struct AuthStep {
    enum class Kind : std::uint8_t {
        challenge,   // 334 with `text`, in base64
        success,     // authenticated as `user`
        failure,     // wrong: `text` says why, for the log
        malformed,   // the client violates the mechanism
        unavailable, // cannot be decided now
        locked_out,  // `user` had too many wrong passwords: this one was not checked
    };
    Kind kind = Kind::failure;
    std::string text, user;
};

class Authentication {
public:
    using Done = std::function<void(AuthStep)>; // once for each start() and respond(), perhaps at once
    virtual ~Authentication() = default;
    // `initial` and `response`: base64 as the client sent it.
    virtual void start(const std::string& mechanism, const smtp::Secret* initial, Done done) = 0;
    virtual void respond(const smtp::Secret& response, Done done) = 0;
};

// What is known about the channel, for both kinds.
struct AuthChannel {
    std::string client; // its address
    bool secured = false;
    std::function<std::string(std::string_view type)> binding;    // smtp::ScramServer::Binding; null without TLS
    std::function<bool(const std::string& user)> locked_out = {}; // true: do not check the password. Null: never
};

// Limits how many exchanges are decided at a time; shared by all exchanges of a worker.
struct AuthConcurrency {
    std::shared_ptr<ConcurrencyLimiter> limiter;
    ConcurrencyLimiter::Limits limits;
};

// Passwords are checked on the loop's thread pool.
class PasswordAuthentication final : public Authentication {
public:
    PasswordAuthentication(common::Loop& loop, std::shared_ptr<const auth::PasswordFile> file, std::string pepper,
                           AuthChannel channel, AuthConcurrency concurrency);
    ~PasswordAuthentication() override;

    void start(const std::string& mechanism, const smtp::Secret* initial, Done done) override;
    void respond(const smtp::Secret& response, Done done) override;

private:
    enum class Expecting : std::uint8_t { plain, login_user, login_password, scram_first, scram_final, scram_over };
    struct Work;
    void take(std::string&& message, Done done);
    void plain(std::string_view message, Done done);
    void scram_first(std::string_view message, const Done& done);
    void check(std::string user, std::string_view password, Done done);
    void begin_work();

    common::Loop& loop_;
    std::shared_ptr<const auth::PasswordFile> file_;
    std::string pepper_, user_;
    AuthChannel channel_;
    Expecting expecting_ = Expecting::plain;
    std::optional<smtp::ScramServer> scram_;
    AuthConcurrency concurrency_;
    ConcurrencyLimiter::Ticket ticket_ = 0; // while it waits its turn
    std::unique_ptr<Work> waiting_;         // what it will do then
    Work* work_ = nullptr;                  // under way
};

} // namespace smtpd
