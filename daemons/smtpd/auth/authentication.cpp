#include "daemons/smtpd/auth/authentication.h"
#include "daemons/common/crypto/auth/saslprep.h"
#include "daemons/common/runtime/random.h"
#include "libsmtp/text/base64.h"
#include <cstring>

namespace smtpd {

using StepKind = AuthStep::Kind;

// A password on its way through the thread pool. It may outlive the exchange.
struct PasswordAuthentication::Work {
    uv_work_t request;
    PasswordAuthentication* owner;
    std::shared_ptr<ConcurrencyLimiter> limiter;
    ConcurrencyLimiter::Ticket ticket; // once it is under way
    std::shared_ptr<const auth::PasswordFile> file;
    std::string user;
    smtp::Secret password;
    Done done;
    bool matches = false;
};

PasswordAuthentication::PasswordAuthentication(common::Loop& loop, std::shared_ptr<const auth::PasswordFile> file,
                                               std::string pepper, AuthChannel channel, AuthConcurrency concurrency)
    : loop_(loop), file_(std::move(file)), pepper_(std::move(pepper)), channel_(std::move(channel)),
      concurrency_(std::move(concurrency)) {}

PasswordAuthentication::~PasswordAuthentication() {
    concurrency_.limiter->release(ticket_);
    if (work_) work_->owner = nullptr;
}

void PasswordAuthentication::start(const std::string& mechanism, const smtp::Secret* initial, Done done) {
    if (mechanism == "PLAIN") {
        expecting_ = Expecting::plain;
    } else if (mechanism == "LOGIN") {
        expecting_ = Expecting::login_user;
        if (!initial) return done({StepKind::challenge, smtp::encode_base64("Username:"), {}});
    } else {
        using Plus = smtp::ScramServer::Plus;
        const auto plus = mechanism.ends_with("-PLUS") ? Plus::chosen
                          : channel_.binding           ? Plus::offered
                                                       : Plus::not_offered;
        expecting_ = Expecting::scram_first;
        scram_.emplace(auth::scram_crypto, smtp::encode_base64(common::random_bytes(18)), plus, channel_.binding);
    }
    if (!initial) return done({StepKind::challenge, {}, {}});
    respond(*initial, std::move(done));
}

void PasswordAuthentication::respond(const smtp::Secret& response, Done done) {
    auto message = smtp::decode_base64(response.reveal());
    if (!message) return done({StepKind::malformed, "that is not base64", {}});
    take(std::move(*message), std::move(done));
}

void PasswordAuthentication::take(std::string&& message, Done done) {
    const smtp::Secret wiped(std::move(message));
    const auto text = wiped.reveal();
    switch (expecting_) {
    case Expecting::plain: return plain(text, std::move(done));
    case Expecting::login_user:
        user_ = auth::saslprep(text);
        expecting_ = Expecting::login_password;
        return done({StepKind::challenge, smtp::encode_base64("Password:"), {}});
    case Expecting::login_password: return check(user_, text, std::move(done));
    case Expecting::scram_first: return scram_first(text, done);
    case Expecting::scram_final: {
        auto proven = scram_->final(text);
        if (!proven) return done({StepKind::failure, proven.error().why, user_});
        expecting_ = Expecting::scram_over;
        return done({StepKind::challenge, smtp::encode_base64(*proven), {}});
    }
    case Expecting::scram_over:
        if (!text.empty()) return done({StepKind::malformed, "unexpected data after the exchange", {}});
        return done({StepKind::success, {}, user_});
    }
}

// authorization-id NUL authentication-id NUL password (RFC 4616)
void PasswordAuthentication::plain(std::string_view message, Done done) {
    const auto first = message.find('\0');
    const auto second = first == message.npos ? first : message.find('\0', first + 1);
    if (second == message.npos || message.find('\0', second + 1) != message.npos)
        return done({StepKind::malformed, "expected two NULs", {}});
    const auto for_whom = auth::saslprep(message.substr(0, first));
    const auto user = auth::saslprep(message.substr(first + 1, second - first - 1));
    if (!for_whom.empty() && for_whom != user)
        return done({StepKind::failure, "acting for another user is not allowed", user});
    check(user, message.substr(second + 1), std::move(done));
}

void PasswordAuthentication::scram_first(std::string_view message, const Done& done) {
    auto user = scram_->first(message);
    if (!user) return done({StepKind::malformed, user.error().why, {}});
    user_ = auth::saslprep(*user);
    expecting_ = Expecting::scram_final;
    const auto* entry = file_->find(user_);
    smtp::ScramKeys keys;
    if (entry && entry->scram) {
        keys = *entry->scram;
    } else { // who does not exist looks like who does, every time alike
        keys.iterations = auth::default_iterations;
        keys.salt = auth::scram_crypto.hmac(pepper_, user_).substr(0, auth::default_salt_size);
        keys.stored_key = common::random_bytes(32);
        keys.server_key = common::random_bytes(32);
    }
    done({StepKind::challenge, smtp::encode_base64(scram_->challenge(keys)), {}});
}

void PasswordAuthentication::check(std::string user, std::string_view password, Done done) {
    if (channel_.locked_out && channel_.locked_out(user)) return done({StepKind::locked_out, {}, std::move(user)});
    waiting_.reset(new Work{{},
                            this,
                            concurrency_.limiter,
                            0,
                            file_,
                            std::move(user),
                            smtp::Secret(std::string(password)),
                            std::move(done)});
    if (concurrency_.limiter->acquire(concurrency_.limits, ticket_, [this] { begin_work(); })) return;
    const auto rejected = std::move(waiting_);
    rejected->done({StepKind::unavailable, "too many passwords are being checked", std::move(rejected->user)});
}

void PasswordAuthentication::begin_work() {
    work_ = waiting_.release();
    work_->ticket = std::exchange(ticket_, 0); // it may outlive us
    const auto run = [](uv_work_t* request) {
        auto& work = *reinterpret_cast<Work*>(request);
        const auto* entry = work.file->find(work.user);
        // The time it takes must not tell who exists.
        static const auto nobody = [] {
            auth::Entry made;
            made.hash = auth::make_hash("no user's password");
            return made;
        }();
        const bool matches = auth::matches(entry ? *entry : nobody, work.password.reveal());
        work.matches = entry && matches;
    };
    const auto after = [](uv_work_t* request, int) {
        const std::unique_ptr<Work> work(reinterpret_cast<Work*>(request));
        work->limiter->release(work->ticket);
        if (!work->owner) return;
        work->owner->work_ = nullptr;
        work->done({work->matches ? StepKind::success : StepKind::failure,
                    work->matches ? "" : "authentication failure", std::move(work->user)});
    };
    uv_queue_work(&loop_.uv(), &work_->request, run, after);
}

} // namespace smtpd
