#include "daemons/smtpd/session/policy_sources.h"
#include "daemons/common/access/dns_list_lookup.h"
#include "daemons/common/config/sections/server/listener_tests.h"
#include "daemons/common/filters/content_check_pass.h"
#include "daemons/decide/screening/replies.h"
#include "daemons/smtpd/session/header_rewriting.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtpd {

using namespace std::chrono_literals;

namespace {

// --- rates

class RateCheck final : public PolicyCheck {
public:
    RateCheck(common::RateLimiter& rates, const config::ClientLimits& limits, bool trusted)
        : rates_(rates), limits_(limits), trusted_(trusted) {}

    std::optional<PolicyVerdict> ask(Stage stage, const PolicyContext& context, Done) override {
        if (stage == Stage::mail)
            return judge("m", context, {limits_.messages_per_minute, "messages_per_minute"},
                         {limits_.user_messages_per_hour, "user_messages_per_hour"}, "too many messages");
        if (stage == Stage::rcpt)
            return judge("r", context, {limits_.recipients_per_minute, "recipients_per_minute"},
                         {limits_.user_recipients_per_hour, "user_recipients_per_hour"}, "too many recipients");
        return PolicyVerdict{};
    }

private:
    struct Limit {
        std::uint32_t value;
        std::string_view key; // in the configuration
    };
    PolicyVerdict judge(std::string_view what, const PolicyContext& context, Limit of_network, Limit of_user,
                        std::string_view complaint) {
        const auto now = common::Loop::now().monotonic;
        const auto key = [&](std::string_view whose, std::string_view name) {
            return fmt::format("{}{}{} {}", what, whose, context.listener, name);
        };
        const auto refusal = [&](const Limit& limit, std::string_view whose) {
            auto verdict = PolicyVerdict::rejection({450, {4, 7, 1}, fmt::format("Error: {} {}", complaint, whose)});
            verdict.rule = limit.key;
            verdict.by_limit = true;
            return verdict;
        };
        if (!context.sasl_user.empty()) {
            if (rates_.take(key("u", context.sasl_user), of_user.value, 1h, now)) return {};
            return refusal(of_user, "from user " + smtp::printable(context.sasl_user, 100));
        }
        const bool by_certificate = context.permission.kind == CertificatePermission::Kind::permitted;
        if (trusted_ || by_certificate || rates_.take(key("n", context.client.network), of_network.value, 1min, now))
            return {};
        return refusal(of_network, "from " + context.client.network);
    }
    common::RateLimiter& rates_;
    config::ClientLimits limits_;
    bool trusted_;
};

// --- greeting delay: the session itself rejects clients that send meanwhile

class GreetingDelay final : public PolicyCheck {
public:
    GreetingDelay(common::Deadlines& deadlines, smtp::Duration delay)
        : delay_(delay), deadline_(deadlines, [this] {
              const auto done = std::move(done_);
              if (done) done({});
          }) {}
    std::optional<PolicyVerdict> ask(Stage stage, const PolicyContext&, Done done) override {
        if (stage != Stage::connect) return PolicyVerdict{};
        done_ = std::move(done);
        deadline_.set(common::Loop::now().monotonic + delay_);
        return {};
    }

private:
    smtp::Duration delay_;
    Done done_;
    common::Deadline deadline_;
};

// --- DNS lists: looked up during the greeting, applied at RCPT

class DnsListCheck final : public PolicyCheck {
public:
    // `lists` outlive it.
    DnsListCheck(std::shared_ptr<dns::Resolver> resolver, common::Log& log, const std::vector<config::DnsList>& lists,
                 std::uint32_t threshold)
        : log_(log), threshold_(threshold), lookup_(std::move(resolver), lists) {}

    std::optional<PolicyVerdict> ask(Stage stage, const PolicyContext& context, Done done) override {
        if (stage == Stage::connect) begin(context.client);
        if (stage != Stage::rcpt || context.postmaster) return PolicyVerdict{};
        context_ = &context;
        if (!lookup_.pending()) return current_verdict();
        done_ = std::move(done);
        return {};
    }

private:
    void begin(const Client& client) {
        if (!client.has_address()) return;
        lookup_.begin(client.address, [this](const config::DnsList& list, const dns::Answer& answer) {
            if (answer.said == dns::LookupStatus::failed) log_.warning("DNS list {}: {}", list.zone, answer.why);
            if (lookup_.pending() || !done_) return;
            const auto done = std::move(done_);
            done(current_verdict());
        });
    }
    PolicyVerdict current_verdict() const {
        if (lookup_.sum() < static_cast<std::int64_t>(threshold_)) return {};
        auto verdict =
            PolicyVerdict::rejection(decide::screening::listed(context_->client.address_text, lookup_.named_by()));
        verdict.rule = "dns_list " + lookup_.named_by();
        return verdict;
    }

    common::Log& log_;
    const std::uint32_t threshold_;
    const PolicyContext* context_ = nullptr;
    Done done_;
    common::DnsListLookup lookup_;
};

// --- policy services

class PolicyServiceCheck final : public PolicyCheck {
public:
    PolicyServiceCheck(std::shared_ptr<PolicySources> policy_sources, PolicyClient& client, common::Log& log)
        : sources_(std::move(policy_sources)), client_(client), log_(log) {}
    ~PolicyServiceCheck() override {
        if (question_ != 0) client_.cancel(question_);
    }
    std::optional<PolicyVerdict> ask(Stage stage, const PolicyContext& context, Done done) override {
        if (stage != client_.service().stage) return PolicyVerdict{};
        question_ = client_.ask(policy_request(stage, context),
                                [this, stage, &context, done = std::move(done)](std::optional<std::string> action) {
                                    question_ = 0;
                                    auto verdict = judge(std::move(action), stage, context);
                                    verdict.rule = "policy " + client_.service().name;
                                    done(std::move(verdict));
                                });
        return {};
    }

private:
    PolicyVerdict judge(std::optional<std::string> action, Stage stage, const PolicyContext& context) {
        if (action) {
            auto verdict = parse_policy_action(*action, stage, context);
            if (verdict) return *std::move(verdict);
            log_.warning("policy service {}: {}", client_.service().name, verdict.error().why);
        }
        if (client_.service().on_failure == config::OnFailure::accept) return {};
        if (client_.service().on_failure == config::OnFailure::reject)
            return PolicyVerdict::rejection({554, {5, 3, 5}, "Error: a policy service is not available"});
        return PolicyVerdict::rejection({451, {4, 3, 5}, "Error: a policy service is not available, try again later"});
    }
    std::shared_ptr<PolicySources> sources_;
    PolicyClient& client_;
    common::Log& log_;
    std::uint64_t question_ = 0;
};

// --- rules for the content

class ContentRulesCheck final : public PolicyCheck {
public:
    ContentRulesCheck(std::shared_ptr<PolicySources> policy_sources, common::Log& log)
        : sources_(std::move(policy_sources)), log_(log) {}
    bool asked_after_permit() const override { return true; }

    std::optional<PolicyVerdict> ask(Stage stage, const PolicyContext& context, Done done) override {
        if (stage != Stage::end_of_data) return PolicyVerdict{};
        verdict_.reset();
        done_ = nullptr;
        pass_ = std::make_unique<common::ContentCheckPass>(sources_->content, *context.message);
        pass_->begin([this](spool::Result<common::HeaderCheckResult> judged) {
            verdict_ = judged ? verdict_of(*std::move(judged))
                              : PolicyVerdict::rejection({451, {4, 3, 0}, "Error: queue file read error"});
            if (const auto late = std::exchange(done_, nullptr)) late(*std::exchange(verdict_, {}));
        });
        if (!verdict_) done_ = std::move(done);
        return std::exchange(verdict_, {});
    }
    void transaction_over() override {
        pass_.reset();
        done_ = nullptr;
    }

private:
    PolicyVerdict verdict_of(common::HeaderCheckResult judged) {
        for (const auto& trouble : judged.warnings) log_.warning("{}", trouble);
        PolicyVerdict verdict;
        verdict.by = PolicySource::header_check;
        verdict.rule = "header_checks";
        if (judged.refusal) {
            verdict.kind = PolicyVerdict::Kind::reject;
            verdict.reply = *std::move(judged.refusal);
        }
        verdict.hold = std::move(judged.hold);
        verdict.discard = std::move(judged.discard);
        verdict.content_filter = std::move(judged.content_filter);
        for (auto& line : judged.lines)
            verdict.notes.push_back({verdict.by, std::move(line.verb), std::move(line.subject), std::move(line.text)});
        return verdict;
    }
    std::shared_ptr<PolicySources> sources_;
    common::Log& log_;
    std::unique_ptr<common::ContentCheckPass> pass_;
    std::optional<PolicyVerdict> verdict_; // until it is handed out
    Done done_;
};

// --- milters

class MilterCheck final : public PolicyCheck {
public:
    MilterCheck(common::Loop& loop, common::Log& log, std::shared_ptr<PolicySources> policy_sources,
                const config::Milter& settings)
        : sources_(std::move(policy_sources)),
          client_(loop, log, settings, milter::service_status_of(settings, sources_->problems)),
          rule_("milter " + settings.name) {}
    bool asked_after_permit() const override { return true; }
    void transaction_over() override { client_.transaction_over(); }

    std::optional<PolicyVerdict> ask(Stage stage, const PolicyContext& context, Done done) override {
        auto word =
            client_.ask(event_of(stage, context), [this, stage, done = std::move(done)](const milter::Response& late) {
                done(verdict_of(stage, late));
            });
        if (!word) return {};
        return verdict_of(stage, *word);
    }

private:
    PolicyVerdict verdict_of(Stage stage, const milter::Response& word) const {
        PolicyVerdict verdict;
        verdict.by = PolicySource::milter;
        verdict.hold = word.changes.quarantine;
        if (word.what == milter::Response::What::discard && stage != Stage::unknown)
            verdict.discard = "discarded by a filter";
        if (word.what != milter::Response::What::refuse) return verdict;
        auto reply = word.reply;
        if (stage == Stage::connect) reply.code = reply.permanent() ? 554 : 421; // RFC 5321, 3.1
        verdict.kind = PolicyVerdict::Kind::reject;
        verdict.reply = std::move(reply);
        verdict.rule = rule_;
        return verdict;
    }

    static milter::Event event_of(Stage stage, const PolicyContext& context) {
        return milter::event_of(stage,
                                {.server = context.server,
                                 .listener = context.listener,
                                 .client_name = context.client.name,
                                 .client_address = context.client.has_address() ? context.client.address_text : "",
                                 .client_port = context.client.port,
                                 .helo = context.helo,
                                 .queue_id = context.queue_id,
                                 .sender = context.sender,
                                 .recipient = context.recipient,
                                 .command = context.command,
                                 .sasl_method = context.sasl_method,
                                 .sasl_user = context.sasl_user,
                                 .sasl_sender = context.sasl_sender,
                                 .tls_version = context.tls_version,
                                 .tls_cipher = context.tls_cipher,
                                 .tls_peer = context.tls_peer,
                                 .message = context.message});
    }

    std::shared_ptr<PolicySources> sources_;
    milter::Client client_;
    std::string rule_;
};

} // namespace

std::shared_ptr<PolicySources> make_policy_sources(common::Loop& loop, common::Log& log,
                                                   const std::vector<config::PolicyService>& services,
                                                   const config::Content& content,
                                                   std::function<void(std::string_view)> tell) {
    auto policy_sources = std::make_shared<PolicySources>(std::move(tell));
    for (const auto& policy : services) {
        const auto what = "policy service " + policy.name;
        policy_sources->policies.push_back(std::make_unique<PolicyClient>(
            loop, log, policy,
            common::ServiceStatus(policy_sources->problems.reporter(what), what, policy.on_failure)));
    }
    policy_sources->content = common::content_rules_of(content);
    return policy_sources;
}

std::unique_ptr<PolicyChain> make_policy_chain(WorkerContext& worker, const Rules& rules, const Client& client) {
    std::vector<std::unique_ptr<PolicyCheck>> checks;
    const auto& settings = *rules.config;
    const auto& limits = rules.listener.limits;
    const bool trusted = common::contains(settings.relay.networks, client.address);
    if ((!trusted && (limits.messages_per_minute != 0 || limits.recipients_per_minute != 0)) ||
        limits.user_messages_per_hour != 0 || limits.user_recipients_per_hour != 0)
        checks.push_back(std::make_unique<RateCheck>(worker.rates, limits, trusted));
    if (!trusted) {
        const bool tested = rules.screening.has_value(); // before the session: ClientTests
        if (!rules.dns_lists.empty() && !tested)         // before the delay, which gives the lookups time
            checks.push_back(std::make_unique<DnsListCheck>(worker.resolver, worker.log, rules.dns_lists,
                                                            settings.smtpd.dns_list_threshold));
        const auto delay = settings.smtpd.greeting_delay;
        if (delay > 0s && !tested && rules.listener.service == config::Service::relay)
            checks.push_back(std::make_unique<GreetingDelay>(worker.deadlines, delay));
        for (auto& policy : worker.policy_sources->policies)
            if (config::concerns(policy->service().listeners, rules.listener) &&
                !worker.policy_sources->access.policy_services.contains(policy->service().name))
                checks.push_back(std::make_unique<PolicyServiceCheck>(worker.policy_sources, *policy, worker.log));
    }
    const bool filtered = rules.listener.service == config::Service::filtered; // checked before
    if (!worker.policy_sources->content.empty() && !filtered)
        checks.push_back(std::make_unique<ContentRulesCheck>(worker.policy_sources, worker.log));
    if ((worker.policy_sources->canonical || settings.addresses.masquerade.rewrites_headers()) && !filtered)
        checks.push_back(std::make_unique<HeaderRewriting>(rules, trusted, worker.policy_sources, worker.log));
    for (const auto& milter : settings.milters)
        if (milter.applies_to(rules.listener.name) && !(filtered && milter.listeners.empty()))
            checks.push_back(std::make_unique<MilterCheck>(worker.loop, worker.log, worker.policy_sources, milter));
    if (checks.empty()) return nullptr;
    auto policy_chain = std::make_unique<PolicyChain>(std::move(checks));
    policy_chain->context.client = client;
    policy_chain->context.server = rules.normal.hostname;
    policy_chain->context.listener = rules.listener.name;
    return policy_chain;
}

} // namespace smtpd
