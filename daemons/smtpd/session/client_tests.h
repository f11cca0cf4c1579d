// The tests of one client before it may send mail, and what becomes of it: asks the permanent lists, the memory and
// the DNS lists, waits while the client must not talk, writes the log lines and metrics, remembers who passed. What
// results mean is decided by decide::screening. Knows no session: the handler asks it before it greets, tells it what
// the client does, and sends the replies.
#pragma once
#include "daemons/common/access/access_lookups.h"
#include "daemons/common/access/dns_list_lookup.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/screening/screening.h"
#include "daemons/smtpd/session/worker_context.h"
#include "libsmtp/session/server_events.h"
#include "libsmtp/session/server_settings.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace smtpd {

class ClientTests {
public:
    enum class Greeting : std::uint8_t {
        can_wait,  // in plain text, by the client itself
        announced, // what comes before it has been decided elsewhere: by a proxy
    };
    // A reply that ends the session, or rejects a recipient; for the journal, which test it was.
    struct Rejection {
        smtp::Reply reply;
        std::string_view rule;
    };

    // All outlive it. Only for rules with `screening`.
    ClientTests(WorkerContext& worker, const Rules& rules, const Client& client, std::uint64_t number);
    ~ClientTests();
    ClientTests(const ClientTests&) = delete;

    // Once. False: the greeting waits for nothing. True: `done` is called once from the loop, unless talked(),
    // hung_up() or abandon() come first. `announce` is called if the client waits in silence. `early`: what it has sent
    // already.
    bool begin(Greeting greeting, std::string_view early, std::function<void()> announce, std::function<void()> done);
    bool waiting() const { return done_ != nullptr; }
    // The client has sent all that so far, while its greeting waits. True: it waits no longer.
    bool talked(std::string_view text);
    // The client is gone, or the server ends or needs the place: the greeting waits for nothing, nothing is remembered.
    void hung_up();
    void abandon();

    // At its connection.
    const std::optional<Rejection>& rejection() const { return rejection_; }
    // It has talked before its greeting, and is greeted nevertheless.
    bool talked_early() const { return talked_early_; }
    // During its session: what is watched, and what follows if it is seen.
    smtp::ServerWatch watch() const;
    std::optional<Rejection> violated(const smtp::event::Violation& violation);
    // At a recipient: it is rejected; or the client has passed what was watched.
    std::optional<Rejection> at_recipient();
    // The session is over; `lost`: the client is gone without an end.
    void session_over(bool lost);

private:
    using Test = decide::screening::Test;
    using Action = decide::screening::Action;
    enum class Listed : std::uint8_t { no, allowed, denied };

    void look_up_tables();
    void begin_tests(Listed listed);
    std::optional<decide::screening::Passes> remembered() const;
    bool takes_place(const decide::screening::Screening& tests);
    void wait_for_greeting();
    void ask_lists();
    void take_score();
    void note_talk(std::string_view text);
    void reject_talk();
    void failed(Test test, Action action);
    void go_on(); // something is over that the greeting waited for
    void conclude();
    void stop_waiting();
    void remember();
    void log_pass() const;
    Rejection rejection_for(Test test, bool at_once) const;
    void count(common::ClientTestResult result) const { worker_.metrics.count(common::MetricId::client_tests, result); }
    std::string peer() const; // "[192.0.2.1]:34567", as postscreen has it
    common::LogContext lines() const { return worker_.log.context("postscreen", number_); }

    WorkerContext& worker_;
    const Rules& rules_;
    const Client& client_;
    const std::uint64_t number_;
    decide::screening::Settings settings_;
    smtp::Monotonic began_;
    std::string early_; // the first of what the client has sent before its greeting
    std::size_t early_bytes_ = 0;
    Greeting greeting_ = Greeting::can_wait;
    std::function<void()> announce_, done_;
    std::unique_ptr<common::AccessAnswers> tables_;
    std::optional<decide::screening::Screening> tests_; // none: the lists have decided
    std::unique_ptr<common::DnsListLookup> lists_;
    common::Deadline pause_, answers_due_;
    std::optional<Rejection> rejection_;
    std::optional<Rejection> denied_; // recipients are rejected
    bool beginning_ = false;          // within begin()
    bool counted_ = false;            // among those that wait
    bool talked_early_ = false;
};

// Null: the listener makes no tests, or not of such clients, or it is a user.
std::unique_ptr<ClientTests> make_client_tests(WorkerContext& worker, const Rules& rules, const Client& client,
                                               std::uint64_t number);

} // namespace smtpd
