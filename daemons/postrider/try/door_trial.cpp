#include "daemons/postrider/try/door_trial.h"
#include "daemons/common/net/dns/answer.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/text/units.h"
#include "daemons/decide/screening/replies.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace postrider {

using decide::screening::Action;
using decide::screening::Test;

namespace {

std::optional<decide::screening::Settings> tests_of(const DoorTrial::Settings& settings,
                                                    const config::Listener& listener, bool lists) {
    return config::tests_of(settings.tests, listener, settings.greeting_delay, settings.threshold, lists);
}

constexpr std::pair<Test, std::string_view> session_tests[] = {
    {Test::pipelining, "it must not send commands ahead"},
    {Test::non_smtp, "it must send commands of SMTP"},
    {Test::bare_newline, "its lines must end in CR LF"},
};

std::string said_by(const dns::Answer& answer) {
    if (answer.said == dns::LookupStatus::failed) return fmt::format("no answer: {}", answer.why);
    std::vector<std::string> addresses;
    for (const auto& each : answer.addresses) addresses.push_back(each.to_string());
    return addresses.empty() ? "not listed" : fmt::format("{}", fmt::join(addresses, ", "));
}

} // namespace

DoorTrial::DoorTrial(common::Loop& loop, std::shared_ptr<dns::Resolver> resolver, const Settings& settings,
                     const config::Listener& listener, LookUp look_up)
    : loop_(loop), resolver_(std::move(resolver)), settings_(settings), look_up_(std::move(look_up)),
      lists_(config::lists_of(settings.lists, listener)), tests_(tests_of(settings, listener, !lists_.empty())),
      dns_lists_(resolver_, lists_) {}

bool DoorTrial::has_tests(const Settings& settings, const config::Listener& listener) {
    const auto lists = !config::lists_of(settings.lists, listener).empty();
    return lists || tests_of(settings, listener, lists);
}

DoorTrial::Findings DoorTrial::try_client(const common::IpAddress& address, bool trusted) {
    if (trusted) return {};
    if (tests_) {
        const auto listed = look_up_lists(address);
        if (listed == Listed::denied) deny();
        if (listed == Listed::allowed || findings_.rejection) return std::move(findings_);
    }
    if (!lists_.empty()) ask_dns_lists(address);
    if (tests_ && !findings_.rejection) add_other_tests(address);
    return std::move(findings_);
}

void DoorTrial::add(std::string what, std::string found, std::string result) {
    findings_.steps.push_back({std::move(what), std::move(found), std::move(result)});
}

void DoorTrial::reject(const smtp::Reply& reply) {
    findings_.rejection = reply;
    findings_.steps.back().result = reply.line();
}

DoorTrial::Listed DoorTrial::look_up_lists(const common::IpAddress& address) {
    using Status = decide::access::Answer::Status;
    const auto& settings = settings_.tests;
    if (common::contains(settings.allowed, address)) {
        add("client_tests.allowed_networks", address.to_string(), "not tested");
        return Listed::allowed;
    }
    for (const auto& table : settings.tables) {
        const auto answer = look_up_(table, address.to_string());
        if (answer.status != Status::found) {
            add(table, answer.status == Status::failed ? "no answer: the tests are made" : "no entry");
            continue;
        }
        const auto word = smtp::lowered(answer.values.front());
        add(table, smtp::printable(answer.values.front(), 100), word == "permit" ? "not tested" : "");
        if (word == "permit") return Listed::allowed;
        if (word == "reject") return Listed::denied;
        break;
    }
    if (!common::contains(settings.denied, address)) return Listed::no;
    add("client_tests.denied_networks", address.to_string());
    return Listed::denied;
}

void DoorTrial::deny() {
    const auto action = settings_.tests.denied_action;
    if (action == Action::ignore)
        findings_.steps.back().result = "logged";
    else
        reject(decide::screening::denial(action == Action::drop));
}

void DoorTrial::ask_dns_lists(const common::IpAddress& address) {
    bool waiting = false;
    common::Timer patience(loop_, [&] {
        for (const auto& zone : dns_lists_.abandon()) add("DNS list " + zone, "no answer in time: it does not count");
        loop_.stop();
    });
    patience.start(tests_ ? settings_.tests.dns_timeout : std::chrono::minutes(1));
    dns_lists_.begin(address, [&](const config::DnsList& list, const dns::Answer& answer) {
        add("DNS list " + list.zone,
            fmt::format("{}; {} {}", said_by(answer), list.allow ? "vouches with" : "weight", list.weight));
        if (!dns_lists_.pending() && waiting) loop_.stop();
    });
    waiting = dns_lists_.pending();
    if (waiting) loop_.run();
    add_score(address);
}

void DoorTrial::add_score(const common::IpAddress& address) {
    const auto sum = dns_lists_.sum();
    add("sum of the DNS lists", fmt::format("{}, threshold {}", sum, settings_.threshold));
    if (sum < static_cast<std::int64_t>(settings_.threshold)) return;
    if (!tests_) return reject(decide::screening::listed(address.to_string(), dns_lists_.named_by()));
    const auto action = tests_->action(Test::dns_lists);
    if (action == Action::enforce || action == Action::drop)
        reject(decide::screening::rejection(Test::dns_lists, action == Action::drop, address.to_string(),
                                            dns_lists_.named_by()));
    else
        findings_.steps.back().result = "logged";
}

// They are seen only when it comes.
void DoorTrial::add_other_tests(const common::IpAddress& address) {
    if (tests_->allow_threshold > 0 && !lists_.empty() && dns_lists_.sum() <= -tests_->allow_threshold)
        return add("other tests", "not made: client_tests.dns_list_allow_threshold");
    const auto rejection_by = [&](Test test) {
        const auto action = tests_->action(test);
        if (action == Action::ignore) return std::string("else: logged");
        return "else: " + decide::screening::rejection(test, action == Action::drop, address.to_string(), "").line();
    };
    if (tests_->action(Test::early_talk) != Action::off)
        add(fmt::format("it must wait {} for its greeting", config::print_duration(settings_.greeting_delay)), "",
            rejection_by(Test::early_talk));
    for (const auto& [test, what] : session_tests)
        if (tests_->action(test) != Action::off) add(std::string(what), "", rejection_by(test));
}

} // namespace postrider
