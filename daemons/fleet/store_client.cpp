#include "daemons/fleet/store_client.h"
#include "daemons/common/runtime/destroy_later.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace fleet {

using common::MetricId;
using redis::Availability;
using redis::CallError;
using redis::Session;

namespace {

common::StoreAddress address_in(const config::Fleet& fleet) {
    const auto address = common::StoreAddress::parse(fleet.store);
    assert(address && "checked by the configuration");
    return *address;
}

std::string duration_text(smtp::Duration time) {
    return fmt::format("{} s", std::chrono::ceil<std::chrono::seconds>(time).count());
}

} // namespace

StoreClient::StoreClient(common::Loop& loop, common::Log& log, common::Metrics& metrics, Settings settings,
                         Callbacks callbacks)
    : loop_(loop), log_(log), metrics_(metrics), settings_(std::move(settings)), address_(address_in(settings_.fleet)),
      callbacks_(std::move(callbacks)), retry_(loop, [this] { connect(); }), deadline_(loop, [this] { look(); }),
      look_hook_(loop, [this] { look(); }) {
    if (address_.encrypted) {
        auto made = tls::Context::client({.ciphers = {}, .authorities = settings_.secrets.authorities});
        if (made)
            tls_ = *std::move(made);
        else
            tls_problem_ = made.error().what;
    }
    connect();
}

StoreClient::~StoreClient() = default;

void StoreClient::connect() {
    if (connection_) return;
    if (!tls_problem_.empty()) return failed(tls_problem_);
    begun_ = common::Loop::now().monotonic;
    announced_ = false;
    session_.reset();
    connection_ = std::make_unique<StoreConnection>(
        loop_, address_, tls_, attempts_++,
        StoreConnection::Callbacks{[this] { connected(); }, [this](std::string_view bytes) { received(bytes); },
                                   [this](const std::string& why) { closed(why); }});
    look_hook_.schedule();
}

void StoreClient::connected() {
    if (!connection_) return; // it was given up in this turn
    session_ = std::make_unique<Session>(redis::Login{.user = settings_.fleet.user,
                                                      .password = smtp::Secret(settings_.secrets.password),
                                                      .database = address_.database},
                                         begun_ + login_limit);
    flush();
}

void StoreClient::received(std::string_view bytes) {
    if (!session_) return;
    session_->receive(bytes);
    flush();
}

// The connection, or the session in it, may not be destroyed from within: the result is handled afterwards.
void StoreClient::flush() {
    if (session_ && connection_) connection_->send(session_->take_output());
    look_hook_.schedule();
}

void StoreClient::look() {
    const auto now = common::Loop::now().monotonic;
    if (!connection_) return;
    if (session_) {
        session_->expire(now);
        connection_->send(session_->take_output());
        if (!session_->problem().empty()) return closed(session_->problem());
    }
    const bool ready = session_ && session_->ready();
    if (!ready && now - begun_ >= login_limit) return closed("no connection in time");
    if (ready && !std::exchange(announced_, true)) callbacks_.ready();
    if (!connection_) return;
    std::optional<smtp::Monotonic> next;
    if (!ready) next = begun_ + login_limit;
    if (session_)
        if (const auto due = session_->next_deadline(); due && (!next || *due < *next)) next = due;
    if (next)
        deadline_.start(std::max<smtp::Duration>(*next - now, std::chrono::milliseconds(1)));
    else
        deadline_.stop();
}

void StoreClient::closed(const std::string& why) {
    if (!connection_) return;
    drop(why);
    failed(why);
}

// Calls under way fail. The caller counts the failure.
void StoreClient::drop(const std::string& why) {
    auto session = std::move(session_);
    auto connection = std::move(connection_);
    deadline_.stop();
    if (session) session->close(why);
    common::destroy_later(loop_, std::move(connection));
    common::destroy_later(loop_, std::move(session));
}

void StoreClient::failed(const std::string& why) {
    const auto now = common::Loop::now();
    const auto change = availability_.failed(now, why);
    if (change == Availability::Change::went_away) {
        log_.warning("store {}: away: {}: this node works alone until it is back", settings_.fleet.store, why);
    }
    if (availability_.away() && connection_) drop(why);
    if (!connection_) retry_.start(std::max<smtp::Duration>(availability_.next_attempt() - now.monotonic, {}));
    callbacks_.changed();
}

StoreClient::Done StoreClient::counted(Done done, Proves proves) {
    return [this, proves, done = std::move(done), begun = common::Loop::now().monotonic,
            session = session_.get()](const redis::Result& result) {
        const bool refused = !result && result.error().kind == CallError::Kind::refused;
        using common::StoreCallResult;
        metrics_.count(MetricId::fleet_calls, result    ? StoreCallResult::answered
                                              : refused ? StoreCallResult::refused
                                                        : StoreCallResult::failed);
        if (result) metrics_.observe(MetricId::fleet_call_seconds, common::Loop::now().monotonic - begun);
        if (result && proves == Proves::store_works) worked();
        done(result);
        // Of a session that is given up, its end is the failure. Calls that fail together count as one.
        const bool of_this_session = session == session_.get() && session->problem().empty();
        // What one part of the program is refused does not mean that the store is away: a heartbeat shows that.
        if (result || !of_this_session || (refused && proves == Proves::nothing)) return;
        if (std::exchange(failure_noted_, true)) return;
        loop_.defer([this, why = result.error().text, alive = std::weak_ptr(alive_)] {
            if (!alive.lock()) return;
            failure_noted_ = false;
            // A pause of the store makes all calls of that time late, one after the other: it failed once.
            const auto now = common::Loop::now().monotonic;
            if (now - call_failed_ < Availability::between_failures) return;
            call_failed_ = now;
            failed(why);
        });
    };
}

void StoreClient::worked() {
    const auto now = common::Loop::now();
    const auto since = availability_.since();
    const auto change = availability_.worked(now);
    if (change == Availability::Change::came)
        log_.info("store {}: present{}", settings_.fleet.store,
                  version().empty() ? "" : fmt::format(" (version {})", version()));
    if (change == Availability::Change::came_back)
        log_.info("store {}: back after {}", settings_.fleet.store, duration_text(now.monotonic - since.monotonic));
    if (change != Availability::Change::none) callbacks_.changed();
}

void StoreClient::not_ready(Done done) {
    const auto why = availability_.reason().empty() ? std::string("not connected yet") : availability_.reason();
    loop_.defer([done = std::move(done), why, alive = std::weak_ptr(alive_)] {
        if (alive.lock()) done(std::unexpected(CallError{CallError::Kind::failed, why}));
    });
}

void StoreClient::run(const redis::Script& script, const redis::Command& keys, const redis::Command& arguments,
                      Done done, Proves proves) {
    if (!ready()) return not_ready(std::move(done));
    redis::Command named;
    for (const auto& each : keys) named.push_back(key(each));
    session_->run(script, named, arguments, common::Loop::now().monotonic + call_limit,
                  counted(std::move(done), proves));
    flush();
}

void StoreClient::call(const redis::Command& command, Done done) {
    if (!ready()) return not_ready(std::move(done));
    session_->call(command, common::Loop::now().monotonic + call_limit, counted(std::move(done), Proves::nothing));
    flush();
}

} // namespace fleet
