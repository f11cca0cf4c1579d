#include "daemons/smtpd/session/client_tests.h"
#include "daemons/decide/screening/replies.h"
#include "daemons/smtpd/session/policy_sources.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace smtpd {

using common::ClientTestResult;
using decide::screening::Action;
using decide::screening::Test;

namespace {

constexpr smtp::Duration busy_log_interval = std::chrono::milliseconds(100); // a flood must not fill the log

constexpr decide::screening::PerTest<std::string_view> names_of_tests = {
    "client_tests early_talk", "client_tests dns_list", "client_tests pipelining", "client_tests non_smtp",
    "client_tests bare_newline"};
constexpr decide::screening::PerTest<ClientTestResult> results_of_tests = {
    ClientTestResult::early_talk, ClientTestResult::dns_list, ClientTestResult::pipelining, ClientTestResult::non_smtp,
    ClientTestResult::bare_newline};

Test test_of(smtp::event::Violation::Kind kind) {
    using Kind = smtp::event::Violation::Kind;
    switch (kind) {
    case Kind::pipelining: return Test::pipelining;
    case Kind::non_smtp: return Test::non_smtp;
    case Kind::bare_newline: break;
    }
    return Test::bare_newline;
}

// Seconds with two digits, as postscreen has them: "0.09", "5.2".
std::string seconds_since(smtp::Monotonic then) {
    const std::chrono::duration<double> seconds = common::Loop::now().monotonic - then;
    return fmt::format("{:.2g}", std::max(seconds.count(), 0.0));
}

} // namespace

ClientTests::ClientTests(WorkerContext& worker, const Rules& rules, const Client& client, std::uint64_t number)
    : worker_(worker), rules_(rules), client_(client), number_(number), settings_(*rules.screening),
      began_(common::Loop::now().monotonic), pause_(worker.deadlines,
                                                    [this] {
                                                        if (!tests_->due(Test::early_talk)) return;
                                                        tests_->passed(Test::early_talk, common::Loop::now().wall);
                                                        go_on();
                                                    }),
      answers_due_(worker.deadlines, [this] {
          dns::Answer silence;
          silence.why = "no answer within client_tests.dns_list_timeout";
          for (const auto& zone : lists_->abandon()) worker_.list_failures.note(zone, silence);
          take_score();
      }) {}

ClientTests::~ClientTests() { stop_waiting(); }

std::string ClientTests::peer() const { return fmt::format("[{}]:{}", client_.address_text, client_.port); }

// --- before the greeting

bool ClientTests::begin(Greeting greeting, std::string_view early, std::function<void()> announce,
                        std::function<void()> done) {
    if (greeting == Greeting::announced) settings_.actions[index_of(Test::early_talk)] = Action::off;
    note_talk(early);
    announce_ = std::move(announce);
    done_ = std::move(done);
    beginning_ = true;
    look_up_tables();
    beginning_ = false;
    return waiting();
}

// The permanent lists. A table that cannot be asked has no entry: the tests are made.
void ClientTests::look_up_tables() {
    using Status = decide::access::Answer::Status;
    const auto& config = rules_.config->client_tests;
    if (common::contains(config.allowed, client_.address)) return begin_tests(Listed::allowed);
    const auto& lookups = worker_.policy_sources->access.lookups; // null: a reload has removed the tables
    if (!tables_ && lookups) tables_ = std::make_unique<common::AccessAnswers>(lookups, nullptr);
    for (const auto& table : config.tables) {
        if (!tables_) break;
        const decide::access::Lookup lookup{decide::access::Lookup::Kind::table, table, client_.address_text};
        const auto answer = tables_->find(lookup.kind, lookup.source, lookup.key);
        if (answer.status == Status::pending) {
            if (!takes_place(decide::screening::Screening(settings_, remembered(), common::Loop::now().wall))) return;
            return tables_->fetch({&lookup, 1}, [this] {
                if (waiting()) look_up_tables();
            });
        }
        if (answer.status != Status::found) continue;
        const auto word = smtp::lowered(answer.values.front());
        if (word == "permit") return begin_tests(Listed::allowed);
        if (word == "reject") return begin_tests(Listed::denied);
        if (word != "dunno")
            worker_.log.warning(
                "client_tests.tables: {} has \"{}\" for {}: expected \"permit\", \"reject\" or \"dunno\"", table,
                smtp::printable(answer.values.front(), 100), client_.address_text);
        break;
    }
    begin_tests(common::contains(config.denied, client_.address) ? Listed::denied : Listed::no);
}

void ClientTests::begin_tests(Listed listed) {
    const auto denied_action = rules_.config->client_tests.denied_action;
    if (listed == Listed::allowed) {
        lines().info("ALLOWLISTED {}", peer());
        count(ClientTestResult::allowed);
        return conclude();
    }
    if (listed == Listed::denied) {
        lines().info("DENYLISTED {}", peer());
        count(ClientTestResult::denied);
        const bool drop = denied_action == Action::drop;
        const Rejection rejection{decide::screening::denial(drop), "client_tests denied"};
        if (drop) rejection_ = rejection;
        if (denied_action == Action::enforce) denied_ = rejection;
        if (denied_action != Action::ignore) return conclude();
    }
    tests_.emplace(settings_, remembered(), common::Loop::now().wall);
    if (tests_->any_due_before_greeting()) return wait_for_greeting();
    if (!tests_->any_made() && tests_->known_before()) {
        lines().info("PASS OLD {}", peer());
        count(ClientTestResult::remembered);
    }
    conclude();
}

std::optional<decide::screening::Passes> ClientTests::remembered() const {
    if (!worker_.client_memory || !client_.has_address()) return {};
    return worker_.client_memory->find(client_.address_text, common::Loop::now().wall);
}

// Among those that wait; clients that have waited before need none. False: all places are taken, it is rejected.
bool ClientTests::takes_place(const decide::screening::Screening& tests) {
    if (counted_ || (tests.known_before() && !tests.due(Test::early_talk))) return true;
    if (worker_.clients_waiting < settings_.most_waiting) {
        ++worker_.clients_waiting;
        return counted_ = true;
    }
    count(ClientTestResult::busy);
    if (const auto now = common::Loop::now().monotonic; now - worker_.busy_logged >= busy_log_interval) {
        worker_.busy_logged = now;
        lines().info("NOQUEUE: reject: CONNECT from {}: all screening ports busy", peer());
    }
    rejection_ = {rules_.busy_reply, "client_tests maximum_waiting"};
    conclude();
    return false;
}

void ClientTests::wait_for_greeting() {
    if (!takes_place(*tests_)) return;
    if (tests_->due(Test::early_talk)) {
        if (early_bytes_ != 0) {
            reject_talk();
            if (rejection_) return conclude();
        } else {
            pause_.set(common::Loop::now().monotonic + rules_.config->smtpd.greeting_delay);
            announce_();
            if (!waiting()) return; // it is gone
        }
    }
    if (tests_->due(Test::dns_lists)) return ask_lists();
    go_on();
}

void ClientTests::ask_lists() {
    lists_ = std::make_unique<common::DnsListLookup>(worker_.resolver, rules_.dns_lists);
    if (!client_.has_address()) return take_score();
    answers_due_.set(common::Loop::now().monotonic + rules_.config->client_tests.dns_timeout);
    lists_->begin(client_.address, [this](const config::DnsList& list, const dns::Answer& answer) {
        worker_.list_failures.note(list.zone, answer);
        if (!lists_->pending()) take_score();
    });
}

void ClientTests::take_score() {
    answers_due_.clear();
    const auto action = tests_->scored(lists_->sum(), lists_->valid(), common::Loop::now().wall);
    if (action != Action::off) {
        lines().info("DNSBL rank {} for {}", lists_->sum(), peer());
        failed(Test::dns_lists, action);
    }
    go_on();
}

void ClientTests::note_talk(std::string_view text) {
    early_ = text.substr(0, 100);
    early_bytes_ = text.size();
}

bool ClientTests::talked(std::string_view text) {
    if (!waiting()) return false;
    note_talk(text);
    if (!tests_ || !tests_->due(Test::early_talk)) return false;
    reject_talk();
    if (!rejection_ && tests_->any_due_before_greeting()) return false;
    done_ = nullptr;
    conclude();
    return true;
}

void ClientTests::reject_talk() {
    pause_.clear();
    lines().info("PREGREET {} after {} from {}: {}", early_bytes_, seconds_since(began_), peer(), early_);
    const auto action = tests_->failed(Test::early_talk);
    talked_early_ = action != Action::drop;
    failed(Test::early_talk, action);
}

void ClientTests::failed(Test test, Action action) {
    count(results_of_tests[index_of(test)]);
    if (action == Action::drop && !rejection_) rejection_ = rejection_for(test, true);
}

ClientTests::Rejection ClientTests::rejection_for(Test test, bool at_once) const {
    return {decide::screening::rejection(test, at_once, client_.address_text,
                                         lists_ ? std::string_view(lists_->named_by()) : ""),
            names_of_tests[index_of(test)]};
}

void ClientTests::go_on() {
    if (rejection_ || !tests_->any_due_before_greeting()) conclude();
}

void ClientTests::conclude() {
    stop_waiting();
    if (tests_ && !rejection_) {
        if (!tests_->any_due_in_session()) remember(); // else once it has passed those as well
        log_pass();
    }
    const auto done = std::exchange(done_, nullptr);
    if (done && !beginning_) done();
}

void ClientTests::stop_waiting() {
    pause_.clear();
    answers_due_.clear();
    if (lists_) lists_->abandon();
    if (std::exchange(counted_, false)) --worker_.clients_waiting;
}

void ClientTests::hung_up() {
    if (!waiting()) return;
    lines().info("HANGUP after {} from {} in tests before SMTP handshake", seconds_since(began_), peer());
    count(ClientTestResult::hung_up);
    abandon();
}

void ClientTests::abandon() {
    stop_waiting();
    done_ = nullptr;
    tables_.reset(); // their answers would be of no use
    tests_.reset();
}

void ClientTests::remember() {
    const auto passes = tests_->changed();
    if (passes && worker_.client_memory && client_.has_address())
        worker_.client_memory->remember(client_.address_text, *passes, passes->last() + settings_.kept);
}

void ClientTests::log_pass() const {
    if (!tests_->all_passed()) return;
    lines().info("PASS {} {}", tests_->known_before() ? "OLD" : "NEW", peer());
    count(ClientTestResult::passed);
}

// --- during the session

smtp::ServerWatch ClientTests::watch() const {
    if (!tests_) return {};
    return {.pipelining = tests_->due(Test::pipelining),
            .non_smtp = tests_->due(Test::non_smtp),
            .bare_newlines = tests_->due(Test::bare_newline)};
}

std::optional<ClientTests::Rejection> ClientTests::violated(const smtp::event::Violation& violation) {
    const auto test = test_of(violation.kind);
    if (!tests_ || !tests_->due(test)) return {};
    switch (test) {
    case Test::pipelining:
        lines().info("COMMAND PIPELINING from {} after {}: {}", peer(), violation.after, violation.text);
        break;
    case Test::non_smtp:
        lines().info("NON-SMTP COMMAND from {} after {}: {}", peer(), violation.after, violation.text);
        break;
    default: lines().info("BARE NEWLINE from {} after {}", peer(), violation.after);
    }
    failed(test, tests_->failed(test));
    return rejection_;
}

std::optional<ClientTests::Rejection> ClientTests::at_recipient() {
    if (denied_) return denied_;
    if (!tests_) return {};
    if (const auto test = tests_->enforced()) return rejection_for(*test, false);
    if (!tests_->any_due_in_session()) return {};
    for (const auto test : decide::screening::all_tests)
        if (tests_->due(test)) tests_->passed(test, common::Loop::now().wall);
    remember();
    log_pass();
    return {};
}

void ClientTests::session_over(bool lost) {
    if (!lost || !tests_ || !tests_->any_due_in_session()) return;
    lines().info("HANGUP after {} from {} in tests after SMTP handshake", seconds_since(began_), peer());
    count(ClientTestResult::hung_up);
}

std::unique_ptr<ClientTests> make_client_tests(WorkerContext& worker, const Rules& rules, const Client& client,
                                               std::uint64_t number) {
    const bool is_user = !client.user.empty(); // named by a proxy
    if (!rules.screening || is_user || common::contains(rules.config->relay.networks, client.address) ||
        common::contains(rules.listener.xclient_networks, client.address))
        return nullptr;
    return std::make_unique<ClientTests>(worker, rules, client, number);
}

} // namespace smtpd
