// try --client: what a client meets before its session, then the access rules, evaluated as smtpd does, with the same
// tables and the DNS; prints each. No policy service is asked, and no server but for the verification of addresses,
// which the queue-manager makes.
#include "daemons/postrider/try/try_client.h"
#include "daemons/common/access/domain_check.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/config/config.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/common/text/idn.h"
#include "daemons/decide/access/evaluation.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/try/door_trial.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace postrider {

using decide::access::Evaluation;
using decide::access::Facts;
using decide::access::List;
using nlohmann::json;

namespace {

DoorTrial::Settings door_settings(const config::Config& config) {
    return {config.client_tests, config.dns_lists, config.smtpd.greeting_delay, config.smtpd.dns_list_threshold};
}

// The listener that is named, else the first with access rules, else the first that tests clients. Nothing: an error
// was printed.
const config::Listener* listener_of(const config::Config& config, const Arguments& arguments) {
    const auto name = arguments.option("--listener");
    auto found = std::ranges::find_if(config.listeners, [&](const auto& each) {
        return name ? each.name == *name : config::access_rules_for(config.access, each) != nullptr;
    });
    if (found == config.listeners.end() && !name)
        found = std::ranges::find_if(
            config.listeners, [&](const auto& each) { return DoorTrial::has_tests(door_settings(config), each); });
    if (found != config.listeners.end()) return &*found;
    if (name)
        print_error(fmt::format("there is no [listen.{}]", *name));
    else
        print_error("no listener has access rules or tests its clients: the configuration has no [access.NAME], "
                    "[dns_list.ZONE] or [client_tests]");
    return nullptr;
}

// "" is the null sender. Nothing: an error was printed.
std::optional<std::string> address_of(std::string_view option, std::string text) {
    if (option == "--from" && (text.empty() || text == "<>")) return "";
    const auto mailbox = smtp::Mailbox::parse(text);
    if (mailbox && !mailbox->bare()) return mailbox->text();
    print_error(fmt::format("{} {}: expected an address with a domain", option, text));
    return {};
}

class Trial {
public:
    Trial(const config::Config& config, const config::Listener& listener)
        : config_(config), listener_(listener), log_(loop_, "postrider"),
          resolver_(std::make_shared<dns::Resolver>(loop_, config.dns)),
          lookups_(std::make_shared<common::AccessLookups>(loop_, log_, resolver_, config.tables,
                                                           tables::maps_socket(config.spool.directory))) {}

    // Nothing: an error was printed.
    std::optional<Facts> facts(const Arguments& arguments);
    DoorTrial::Findings at_the_door(const Facts& facts);
    decide::access::Decision decide(const decide::access::RuleSet& rules, const Facts& facts);
    // Those the rules would have asked.
    const std::vector<std::string>& unasked() const { return unasked_; }
    // Why an address could not be verified; "" none, or it could.
    const std::string& unverified() const { return unverified_; }

private:
    decide::access::Answer look_up(const std::string& table, const std::string& key);
    Facts::Listed listed(const std::string& fingerprint);
    decide::ClassAnswer class_of(const std::string& address);
    dns::ClientName::Names names_of(const common::IpAddress& address);
    decide::access::Answer verify(const std::string& address);
    void fetch(common::AccessAnswers& answers, std::span<const decide::access::Lookup> pending);

    const config::Config& config_;
    const config::Listener& listener_;
    common::Loop loop_;
    common::Log log_; // to nowhere
    std::shared_ptr<dns::Resolver> resolver_;
    std::shared_ptr<common::AccessLookups> lookups_;
    std::vector<std::string> unasked_;
    std::string unverified_;
};

dns::ClientName::Names Trial::names_of(const common::IpAddress& address) {
    dns::ClientName::Names names;
    if (address.is_loopback()) return {"localhost", "localhost"};
    dns::ClientName lookup(*resolver_, address, [&](const dns::ClientName::Names& found) {
        names = found;
        loop_.stop();
    });
    loop_.run();
    return names;
}

decide::access::Answer Trial::look_up(const std::string& table, const std::string& key) {
    common::AccessAnswers answers(lookups_, {});
    const decide::access::Lookup lookup{decide::access::Lookup::Kind::table, table, key};
    const auto answer = answers.find(lookup.kind, lookup.source, lookup.key);
    if (answer.status != decide::access::Answer::Status::pending) return answer;
    fetch(answers, {&lookup, 1});
    return answers.find(lookup.kind, lookup.source, lookup.key);
}

// In relay.client_certificates?
Facts::Listed Trial::listed(const std::string& fingerprint) {
    using Status = decide::access::Answer::Status;
    for (const auto& table : config_.relay.client_certificates) {
        const auto answer = look_up(table, fingerprint);
        if (answer.status == Status::failed) return Facts::Listed::unknown;
        if (answer.status == Status::found) return Facts::Listed::yes;
    }
    return Facts::Listed::no;
}

decide::ClassAnswer Trial::class_of(const std::string& address) {
    if (address.empty()) return decide::AddressClass::local; // the null sender's
    const auto classes = config_.domain_classes();
    common::DomainCheck check(classes, common::ascii_domain_of(address), lookups_);
    decide::ClassAnswer out = decide::AddressClass::remote;
    const auto known = check.ask([&](const decide::ClassAnswer& late) {
        out = late;
        loop_.stop();
    });
    if (known) return *known;
    loop_.run();
    return out;
}

// As the rules see it.
Facts::Ours ours(const decide::ClassAnswer& where) {
    if (!where) return Facts::Ours::in_tables;
    return *where == decide::AddressClass::remote ? Facts::Ours::no : Facts::Ours::yes;
}

std::optional<Facts> Trial::facts(const Arguments& arguments) {
    const auto given = *arguments.option("--client");
    const auto address = common::IpAddress::parse(given);
    if (!address) {
        print_error(fmt::format("--client {}: expected a numeric IP address", given));
        return {};
    }
    Facts facts;
    facts.client_address = address->to_string();
    auto names = dns::ClientName::Names{};
    if (const auto name = arguments.option("--name"))
        names = {*name, *name};
    else
        names = names_of(*address);
    if (!names.confirmed.empty()) facts.client_name = names.confirmed;
    facts.reverse_name = names.reverse.empty() ? facts.client_name : names.reverse;
    facts.trusted =
        common::contains(listener_.names_its_clients() ? listener_.submitters : config_.relay.networks, *address);
    facts.certificate = arguments.option("--certificate").value_or("");
    facts.encrypted = arguments.has("--tls") || !facts.certificate.empty();
    if (!facts.certificate.empty()) facts.certificate_listed = listed(facts.certificate);
    facts.login = arguments.option("--user").value_or("");
    facts.helo = arguments.option("--helo").value_or(facts.client_name);
    facts.sender = address_of("--from", arguments.option("--from").value_or(""));
    if (!facts.sender) return {};
    const auto where = class_of(*facts.sender);
    facts.sender_ours = ours(where);
    facts.sender_domain = common::ascii_domain_of(*facts.sender);
    const bool local = where == decide::AddressClass::local || facts.sender_domain.empty() ||
                       facts.sender_domain == idn::ascii_domain(config_.mta.origin);
    facts.sender_local = !where && !local ? Facts::Ours::in_tables : local ? Facts::Ours::yes : Facts::Ours::no;
    facts.look_up_local = [](auto&) { return decide::access::Answer::Status::failed; };
    facts.look_up_ours = [](auto, auto&) { return decide::access::Answer::Status::failed; }; // has been tried
    const auto to = arguments.words.empty() ? arguments.option("--to") : std::optional(arguments.words[0]);
    if (!to) return facts;
    facts.recipient = address_of("--to", *to);
    if (!facts.recipient) return {};
    facts.recipient_ours = ours(class_of(*facts.recipient));
    if (facts.recipient_ours == Facts::Ours::yes || facts.trusted || !facts.login.empty()) return facts;
    const bool unknown =
        facts.certificate_listed == Facts::Listed::unknown || facts.recipient_ours == Facts::Ours::in_tables;
    if (facts.certificate_listed != Facts::Listed::yes && unknown)
        facts.relaying = smtp::Reply{451, {4, 3, 0}, fmt::format("<{}>: Temporary lookup failure", *facts.recipient)};
    else if (facts.certificate_listed != Facts::Listed::yes)
        facts.relaying = smtp::Reply{554, {5, 7, 1}, fmt::format("<{}>: Relay access denied", *facts.recipient)};
    return facts;
}

// Users are not tested, nor clients that may relay by their address.
DoorTrial::Findings Trial::at_the_door(const Facts& facts) {
    const auto address = *common::IpAddress::parse(facts.client_address);
    const bool trusted = !facts.login.empty() || common::contains(config_.relay.networks, address);
    return DoorTrial(loop_, resolver_, door_settings(config_), listener_,
                     [this](const std::string& table, const std::string& key) { return look_up(table, key); })
        .try_client(address, trusted);
}

decide::access::Decision Trial::decide(const decide::access::RuleSet& rules, const Facts& facts) {
    std::vector<List> lists = {List::client, List::helo, List::sender};
    if (facts.recipient) lists.insert(lists.end(), {List::relay, List::recipient});
    common::AccessAnswers answers(
        lookups_,
        [this](const std::string& service, common::AccessAnswers::Action done) {
            unasked_.push_back(service);
            done("DUNNO");
        },
        [this](const std::string& address, auto done) { done(verify(address)); });
    Evaluation evaluation(rules, facts, std::move(lists), Evaluation::Tracing::on);
    while (!evaluation.run(answers)) fetch(answers, evaluation.needed());
    return evaluation.take();
}

// As smtpd has it done, by the queue-manager; but waits for the end of the check.
decide::access::Answer Trial::verify(const std::string& address) {
    using decide::verification::Deliverability;
    constexpr int patience = 3 * 60; // seconds: a check ends before that
    decide::access::Answer out{.status = decide::access::Answer::Status::found,
                               .why = "Address verification in progress"};
    auto queue = connect_control(config_.spool, "control");
    const auto asked =
        queue ? queue->ask(
                    {{"op", proto::control::op::verify}, {"address", address}},
                    [&](const json& line) {
                        const auto result = text_of(line, "result");
                        for (const auto each :
                             {Deliverability::deliverable, Deliverability::undeliverable, Deliverability::unreachable})
                            if (result == name_of(each)) out.what = each;
                        if (out.what != Deliverability::unknown) out.why = text_of(line, "text");
                    },
                    patience)
              : spool::Result<>(std::unexpected(queue.error()));
    if (!asked)
        unverified_ = fmt::format("{} was not verified: {}", address,
                                  is_not_running(asked.error()) ? "Postrider is not running" : asked.error().what);
    return out;
}

void Trial::fetch(common::AccessAnswers& answers, std::span<const decide::access::Lookup> pending) {
    bool answered = false;
    answers.fetch(pending, [&] {
        answered = true;
        loop_.stop();
    });
    if (!answered) loop_.run();
}

std::string result_of(const decide::access::Decision& decision) {
    if (decision.rejection) return decision.rejection->line();
    if (decision.defer_if_permit) return decision.defer_if_permit->line();
    if (!decision.discard.empty()) return "accepted and discarded";
    std::string out = "accepted";
    if (!decision.hold.empty()) out += ", held";
    if (!decision.redirect.empty()) out += ", redirected to " + decision.redirect;
    if (!decision.content_filter.empty()) out += ", through the content filter " + decision.content_filter;
    for (const auto& copy : decision.copies) out += ", copied to " + copy;
    for (const auto& field : decision.fields) out += ", with " + smtp::printable(field, 200);
    return out;
}

void print_door(const DoorTrial::Findings& door) {
    std::string_view label = "door";
    for (const auto& step : door.steps) {
        fmt::print("{:<10} {}{}{}{}{}\n", std::exchange(label, ""), step.what, step.found.empty() ? "" : ": ",
                   step.found, step.result.empty() ? "" : "  => ", step.result);
    }
}

// The rejection, at the door or else by the rules. Nothing: its mail is accepted.
std::optional<smtp::Reply> reply_of(const DoorTrial::Findings& door, const decide::access::Decision& decision) {
    if (door.rejection) return door.rejection;
    return decision.rejection ? decision.rejection : decision.defer_if_permit;
}

std::string result_of(const DoorTrial::Findings& door, const decide::access::Decision& decision) {
    return door.rejection ? door.rejection->line() : result_of(decision);
}

void print_trial(const Facts& facts, const DoorTrial::Findings& door, const decide::access::Decision& decision,
                 const std::vector<std::string>& unasked, const std::string& unverified) {
    fmt::print("session    {}[{}]{}\n", facts.client_name, facts.client_address, facts.trusted ? ", may relay" : "");
    print_door(door);
    std::string_view last;
    for (const auto& each : decision.trace) {
        const auto list = name_of(each.list);
        fmt::print("{:<10} {}{}{}{}{}\n", list == last ? "" : list, std::string(2 * each.depth, ' '), each.rule,
                   each.found.empty() ? "" : "\n" + std::string(13 + 2 * each.depth, ' ') + each.found,
                   each.result.empty() ? "" : "  => ", each.result);
        last = list;
    }
    for (const auto& note : decision.notes) fmt::print("log        {}: {}\n", note.verb, note.text);
    for (const auto& service : unasked) fmt::print("note       policy service {} was not asked\n", service);
    if (!unverified.empty()) fmt::print("note       {}\n", unverified);
    for (const auto& warning : decision.warnings) fmt::print("warning    {}\n", warning);
    fmt::print("result     {}\n", result_of(door, decision));
}

void print_trial_json(const config::Listener& listener, const Facts& facts, const DoorTrial::Findings& door,
                      const decide::access::Decision& decision, const std::vector<std::string>& unasked) {
    auto steps = json::array(), rules = json::array(), log = json::array();
    for (const auto& step : door.steps)
        steps.push_back({{"test", step.what}, {"found", step.found}, {"result", step.result}});
    for (const auto& each : decision.trace)
        rules.push_back({{"list", name_of(each.list)},
                         {"depth", each.depth},
                         {"rule", each.rule},
                         {"found", each.found},
                         {"result", each.result}});
    for (const auto& note : decision.notes) log.push_back({{"action", note.verb}, {"text", note.text}});
    print_json({{"version", 1},
                {"listener", listener.name},
                {"client", fmt::format("{}[{}]", facts.client_name, facts.client_address)},
                {"door", std::move(steps)},
                {"rules", std::move(rules)},
                {"log", std::move(log)},
                {"warnings", decision.warnings},
                {"policy_services_not_asked", unasked},
                {"result", result_of(door, decision)}});
}

} // namespace

int try_client(const Arguments& arguments) {
    for (const auto* other : {"--host", "--all", "-v"})
        if (arguments.has(other)) return fail(usage, fmt::format("{} cannot be combined with --client", other));
    auto config = parse_config(arguments);
    if (!config) return bad_config;
    const auto* listener = listener_of(*config, arguments);
    if (!listener) return bad_config;
    const auto* access = config::access_rules_for(config->access, *listener);
    if (!access && !DoorTrial::has_tests(door_settings(*config), *listener))
        return fail(bad_config, fmt::format("listen.{} has no access rules and tests no clients: no [access.NAME], "
                                            "[dns_list.ZONE] or [client_tests] applies to it",
                                            listener->name));
    Trial trial(*config, *listener);
    const auto facts = trial.facts(arguments);
    if (!facts) return usage;
    const auto door = trial.at_the_door(*facts);
    auto rules = config::rule_set(access ? *access : config::AccessRules(), config->access_classes,
                                  config->local.recipient_delimiter);
    rules.verification = config->verify.replies;
    rules.sender_login_tables = config->auth.sender_login_tables;
    const auto decision = trial.decide(rules, *facts);
    if (arguments.json)
        print_trial_json(*listener, *facts, door, decision, trial.unasked());
    else
        print_trial(*facts, door, decision, trial.unasked(), trial.unverified());
    const auto reply = reply_of(door, decision);
    if (!reply) return ok;
    return reply->permanent() ? refused : try_again;
}

} // namespace postrider
