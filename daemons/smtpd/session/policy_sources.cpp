#include "daemons/smtpd/session/policy_sources.h"
#include "daemons/common/filters/header_check_result.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtpd {

using namespace std::chrono_literals;

namespace {

// --- rates

class RateCheck final : public Check {
public:
    RateCheck(common::Rates& rates, const config::ClientLimits& limits, bool trusted)
        : rates_(rates), limits_(limits), trusted_(trusted) {}

    std::optional<Opinion> ask(Stage stage, const Facts& facts, Done) override {
        if (stage == Stage::mail)
            return judge("m", facts, limits_.messages_per_minute, limits_.user_messages_per_hour,
                         "too many messages");
        if (stage == Stage::rcpt)
            return judge("r", facts, limits_.recipients_per_minute, limits_.user_recipients_per_hour,
                         "too many recipients");
        return Opinion{};
    }

private:
    Opinion judge(std::string_view what, const Facts& facts, std::uint32_t of_network, std::uint32_t of_user,
                  std::string_view complaint) {
        const auto now = common::Loop::now().monotonic;
        const auto key = [&](std::string_view whose, std::string_view name) {
            return fmt::format("{}{}{} {}", what, whose, facts.listener, name);
        };
        const auto refusal = [&](std::string_view whose) {
            return Opinion::refusal({450, {4, 7, 1}, fmt::format("Error: {} {}", complaint, whose)});
        };
        if (!facts.sasl_user.empty()) {
            if (rates_.take(key("u", facts.sasl_user), of_user, 1h, now)) return {};
            return refusal("from user " + smtp::printable(facts.sasl_user, 100));
        }
        if (trusted_ || rates_.take(key("n", facts.client.network), of_network, 1min, now)) return {};
        return refusal("from " + facts.client.network);
    }
    common::Rates& rates_;
    config::ClientLimits limits_;
    bool trusted_;
};

// --- greeting delay: the session itself refuses who speaks meanwhile

class GreetingDelay final : public Check {
public:
    GreetingDelay(common::Deadlines& deadlines, smtp::Duration delay)
        : delay_(delay), deadline_(deadlines, [this] {
              const auto done = std::move(done_);
              if (done) done({});
          }) {}
    std::optional<Opinion> ask(Stage stage, const Facts&, Done done) override {
        if (stage != Stage::connect) return Opinion{};
        done_ = std::move(done);
        deadline_.set(common::Loop::now().monotonic + delay_);
        return {};
    }

private:
    smtp::Duration delay_;
    Done done_;
    common::Deadline deadline_;
};

// --- DNS lists: looked up while the client says who it is, told at RCPT

class DnsListCheck final : public Check {
public:
    DnsListCheck(std::shared_ptr<dns::Resolver> resolver, common::Log& log,
                 std::vector<config::DnsList> lists, std::uint32_t threshold)
        : resolver_(std::move(resolver)), log_(log), lists_(std::move(lists)), threshold_(threshold) {}

    std::optional<Opinion> ask(Stage stage, const Facts& facts, Done done) override {
        if (stage == Stage::connect) begin(facts.client);
        if (stage != Stage::rcpt || facts.postmaster) return Opinion{};
        facts_ = &facts;
        if (open_ == 0) return opinion();
        done_ = std::move(done);
        return {};
    }

private:
    void begin(const Client& client) {
        if (!client.has_address()) return;
        auto name = dns::reverse_name(client.address); // "2.0.0.127.in-addr.arpa"
        for (const std::string_view end : {".in-addr.arpa", ".ip6.arpa"})
            if (name.ends_with(end)) name.resize(name.size() - end.size());
        lookups_.resize(lists_.size());
        for (std::size_t i = 0; i < lists_.size(); ++i) {
            ++open_;
            lookups_[i] =
                resolver_->look_up(name + "." + lists_[i].zone, dns::Type::a,
                                   [this, i](const dns::Answer& answer) { heard(lists_[i], answer); });
        }
    }
    void heard(const config::DnsList& list, const dns::Answer& answer) {
        static const auto refused_to_answer = *common::Network::parse("127.255.255.0/24");
        --open_;
        if (answer.said == dns::Said::failed) log_.warning("DNS list {}: {}", list.zone, answer.why);
        const bool named = std::ranges::any_of(answer.addresses, [&](const auto& address) {
            return common::contains(list.answers, address) && !refused_to_answer.contains(address);
        });
        if (named) {
            sum_ += list.allow ? -static_cast<std::int64_t>(list.weight) : list.weight;
            if (!list.allow) named_by_ += (named_by_.empty() ? "" : ", ") + list.zone;
        }
        if (open_ > 0 || !done_) return;
        const auto done = std::move(done_);
        done(opinion());
    }
    Opinion opinion() const {
        if (sum_ < static_cast<std::int64_t>(threshold_)) return {};
        return Opinion::refusal({554,
                                 {5, 7, 1},
                                 fmt::format("Service unavailable; Client host [{}] blocked using {}",
                                             facts_->client.address_text, named_by_)});
    }

    std::shared_ptr<dns::Resolver> resolver_;
    common::Log& log_;
    std::vector<config::DnsList> lists_;
    std::uint32_t threshold_;
    std::size_t open_ = 0;
    std::int64_t sum_ = 0;
    std::string named_by_;
    const Facts* facts_ = nullptr;
    Done done_;
    std::vector<dns::Lookup> lookups_;
};

// --- policy services

class PolicyCheck final : public Check {
public:
    PolicyCheck(std::shared_ptr<Advisers> advisers, PolicyClient& client, common::Log& log)
        : advisers_(std::move(advisers)), client_(client), log_(log) {}
    ~PolicyCheck() override {
        if (question_ != 0) client_.cancel(question_);
    }
    std::optional<Opinion> ask(Stage stage, const Facts& facts, Done done) override {
        if (stage != client_.service().stage) return Opinion{};
        question_ =
            client_.ask(policy_request(stage, facts),
                        [this, stage, &facts, done = std::move(done)](std::optional<std::string> action) {
                            question_ = 0;
                            done(judge(std::move(action), stage, facts));
                        });
        return {};
    }

private:
    Opinion judge(std::optional<std::string> action, Stage stage, const Facts& facts) {
        if (action) {
            auto opinion = opinion_of(*action, stage, facts);
            if (opinion) return *std::move(opinion);
            log_.warning("policy service {}: {}", client_.service().name, opinion.error().why);
        }
        if (client_.service().on_failure == config::OnFailure::accept) return {};
        if (client_.service().on_failure == config::OnFailure::reject)
            return Opinion::refusal({554, {5, 3, 5}, "Error: a policy service is not available"});
        return Opinion::refusal(
            {451, {4, 3, 5}, "Error: a policy service is not available, try again later"});
    }
    std::shared_ptr<Advisers> advisers_;
    PolicyClient& client_;
    common::Log& log_;
    std::uint64_t question_ = 0;
};

// --- header checks

class HeaderCheck final : public Check {
public:
    HeaderCheck(std::shared_ptr<Advisers> advisers, common::Log& log)
        : advisers_(std::move(advisers)), log_(log) {}
    bool insists() const override { return true; }

    std::optional<Opinion> ask(Stage stage, const Facts& facts, Done done) override {
        if (stage != Stage::end_of_data) return Opinion{};
        opinion_.reset();
        done_ = nullptr;
        facts.message->load([this, &message = *facts.message](const spool::Result<>& loaded) {
            opinion_ = loaded ? judge(message)
                              : Opinion::refusal({451, {4, 3, 0}, "Error: queue file read error"});
            if (const auto late = std::exchange(done_, nullptr)) late(*std::move(opinion_));
        });
        if (!opinion_) done_ = std::move(done);
        return std::exchange(opinion_, {});
    }

private:
    Opinion judge(milter::Message& message) {
        auto judged = common::judge_header(advisers_->header_checks, message);
        for (const auto& trouble : judged.trouble) log_.warning("{}", trouble);
        Opinion opinion;
        opinion.by = Adviser::header_check;
        if (judged.refusal) {
            opinion.kind = Opinion::Kind::refuse;
            opinion.reply = *std::move(judged.refusal);
        }
        opinion.hold = std::move(judged.hold);
        opinion.discard = std::move(judged.discard);
        for (auto& line : judged.lines)
            opinion.notes.push_back(
                {opinion.by, std::move(line.verb), std::move(line.subject), std::move(line.text)});
        return opinion;
    }
    std::shared_ptr<Advisers> advisers_;
    common::Log& log_;
    std::optional<Opinion> opinion_; // until it is handed out
    Done done_;
};

// --- milters

class MilterCheck final : public Check {
public:
    MilterCheck(common::Loop& loop, common::Log& log, std::shared_ptr<Advisers> advisers, const config::Milter& settings)
        : advisers_(std::move(advisers)),
          client_(loop, log, settings, milter::availability_of(settings, advisers_->troubles)) {}
    bool insists() const override { return true; }
    void transaction_over() override { client_.transaction_over(); }

    std::optional<Opinion> ask(Stage stage, const Facts& facts, Done done) override {
        auto word =
            client_.ask(event_of(stage, facts), [stage, done = std::move(done)](const milter::Word& late) {
                done(opinion_of(stage, late));
            });
        if (!word) return {};
        return opinion_of(stage, *word);
    }

private:
    static Opinion opinion_of(Stage stage, const milter::Word& word) {
        Opinion opinion;
        opinion.by = Adviser::milter;
        opinion.hold = word.changes.quarantine;
        if (word.what == milter::Word::What::discard && stage != Stage::unknown) opinion.discard = "discarded by a filter";
        if (word.what != milter::Word::What::refuse) return opinion;
        auto reply = word.reply;
        if (stage == Stage::connect) reply.code = reply.permanent() ? 554 : 421; // RFC 5321, 3.1
        opinion.kind = Opinion::Kind::refuse;
        opinion.reply = std::move(reply);
        return opinion;
    }

    static milter::Event event_of(Stage stage, const Facts& facts) {
        return milter::event_of(stage, {.server = facts.server,
                                        .listener = facts.listener,
                                        .client_name = facts.client.name,
                                        .client_address = facts.client.has_address() ? facts.client.address_text : "",
                                        .client_port = facts.client.port,
                                        .helo = facts.helo,
                                        .queue_id = facts.queue_id,
                                        .sender = facts.sender,
                                        .recipient = facts.recipient,
                                        .command = facts.command,
                                        .sasl_method = facts.sasl_method,
                                        .sasl_user = facts.sasl_user,
                                        .sasl_sender = facts.sasl_sender,
                                        .tls_version = facts.tls_version,
                                        .tls_cipher = facts.tls_cipher,
                                        .tls_peer = facts.tls_peer,
                                        .message = facts.message});
    }

    std::shared_ptr<Advisers> advisers_;
    milter::Client client_;
};

bool concerns(const std::vector<std::string>& listeners, const config::Listener& listener) {
    if (listeners.empty()) return listener.service == config::Service::relay;
    return std::ranges::find(listeners, listener.name) != listeners.end();
}

} // namespace

std::shared_ptr<Advisers> make_advisers(common::Loop& loop, common::Log& log, const config::Config& config,
                                        std::function<void(std::string_view)> tell) {
    auto advisers = std::make_shared<Advisers>(std::move(tell));
    for (const auto& policy : config.policies) {
        const auto what = "policy service " + policy.name;
        advisers->policies.push_back(std::make_unique<PolicyClient>(
            loop, log, policy, common::Availability(advisers->troubles.about(what), what, policy.on_failure)));
    }
    if (auto checks = common::HeaderChecks::parse(config.content.header_checks)) // as the configuration's check did
        advisers->header_checks = *std::move(checks);
    return advisers;
}

std::unique_ptr<Screen> make_screen(Service& service, const Rules& rules, const Client& client) {
    std::vector<std::unique_ptr<Check>> checks;
    const auto& config = *rules.config;
    const auto& limits = rules.listener.limits;
    const bool trusted = common::contains(config.relay.networks, client.address);
    if ((!trusted && (limits.messages_per_minute != 0 || limits.recipients_per_minute != 0)) ||
        limits.user_messages_per_hour != 0 || limits.user_recipients_per_hour != 0)
        checks.push_back(std::make_unique<RateCheck>(service.rates, limits, trusted));
    if (!trusted) {
        std::vector<config::DnsList> lists;
        std::ranges::copy_if(config.dns_lists, std::back_inserter(lists),
                             [&](const auto& list) { return concerns(list.listeners, rules.listener); });
        if (!lists.empty()) // before the delay, which the look-ups can use
            checks.push_back(std::make_unique<DnsListCheck>(service.resolver, service.log, std::move(lists),
                                                            config.smtpd.dns_list_threshold));
        const auto delay = config.smtpd.greeting_delay;
        if (delay > 0s && rules.listener.service == config::Service::relay)
            checks.push_back(std::make_unique<GreetingDelay>(service.deadlines, delay));
        for (auto& policy : service.advisers->policies)
            if (concerns(policy->service().listeners, rules.listener))
                checks.push_back(std::make_unique<PolicyCheck>(service.advisers, *policy, service.log));
    }
    if (!service.advisers->header_checks.empty())
        checks.push_back(std::make_unique<HeaderCheck>(service.advisers, service.log));
    for (const auto& settings : config.milters)
        if (settings.sees(rules.listener.name))
            checks.push_back(std::make_unique<MilterCheck>(service.loop, service.log, service.advisers, settings));
    if (checks.empty()) return nullptr;
    auto screen = std::make_unique<Screen>(std::move(checks));
    screen->facts.client = client;
    screen->facts.server = rules.normal.hostname;
    screen->facts.listener = rules.listener.name;
    return screen;
}

} // namespace smtpd
