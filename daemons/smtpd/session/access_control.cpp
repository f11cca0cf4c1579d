#include "daemons/smtpd/session/access_control.h"
#include "daemons/common/access/domain_check.h"
#include "daemons/common/text/idn.h"
#include <algorithm>

namespace smtpd {

using decide::access::Answer;
using decide::access::Decision;
using decide::access::Evaluation;
using decide::access::Facts;
using decide::access::List;

AccessControl::AccessControl(WorkerContext& worker, const Rules& rules, const decide::access::RuleSet& access)
    : worker_(worker), sources_(worker.policy_sources), rules_(rules), access_(access) {}

AccessControl::~AccessControl() { drop_questions(); }

void AccessControl::drop_questions() {
    for (const auto& [client, question] : questions_) client->cancel(question);
    questions_.clear();
    if (verification_ != 0) worker_.verifier.cancel(std::exchange(verification_, 0));
}

// --- evaluation

std::vector<List> AccessControl::lists_of(Stage stage) const {
    const bool delayed = access_.delay_reject;
    switch (stage) {
    case Stage::connect: return delayed ? std::vector<List>{} : std::vector{List::client};
    case Stage::helo: return delayed ? std::vector<List>{} : std::vector{List::helo};
    case Stage::mail: return delayed ? std::vector<List>{} : std::vector{List::sender};
    case Stage::rcpt:
        if (!delayed) return {List::relay, List::recipient};
        return {List::client, List::helo, List::sender, List::relay, List::recipient};
    case Stage::data: return {List::data};
    case Stage::end_of_data: return {List::end_of_data};
    case Stage::unknown: break;
    }
    return {};
}

// For a recipient always: relay control is one of its lists.
bool AccessControl::concerns(Stage stage) const {
    return stage == Stage::rcpt ||
           std::ranges::any_of(lists_of(stage), [&](List list) { return !access_.list(list).empty(); });
}

// A bare name gets our origin, which may be another system's domain.
std::string AccessControl::domain_of(std::string_view address) const {
    return address.rfind('@') == address.npos ? idn::ascii_domain(rules_.config->mta.origin)
                                              : common::ascii_domain_of(address);
}

// By names.
Facts::Ours AccessControl::ours(std::string_view address) const {
    if (address.empty()) return Facts::Ours::yes;
    const auto known = rules_.config->domains.by_name(domain_of(address));
    if (!known) return Facts::Ours::in_tables;
    return *known == decide::AddressClass::remote ? Facts::Ours::no : Facts::Ours::yes;
}

Answer::Status AccessControl::look_up_ours(std::string_view address, decide::access::Questions& questions) const {
    const auto where = common::class_of(rules_.config->domains, domain_of(address), questions);
    if (where) return *where == decide::AddressClass::remote ? Answer::Status::none : Answer::Status::found;
    return where.error().status == decide::TableAnswer::Status::not_yet ? Answer::Status::pending
                                                                        : Answer::Status::failed;
}

Facts AccessControl::facts_of(Stage stage) const {
    const auto& client = context.client;
    Facts facts;
    facts.client_name = client.name;
    facts.reverse_name = client.reverse_name.empty() ? client.name : client.reverse_name;
    facts.client_address = client.address_text;
    facts.trusted = common::contains(rules_.listener.names_its_clients() ? rules_.listener.submitters
                                                                         : rules_.config->relay.networks,
                                     client.address);
    facts.encrypted = !context.tls_version.empty();
    facts.login = context.sasl_user;
    facts.helo = context.helo;
    if (context.certificate) {
        using Listed = Facts::Listed;
        using Kind = CertificatePermission::Kind;
        facts.certificate = context.certificate->fingerprint;
        facts.certificate_key = context.certificate->key_fingerprint;
        facts.certificate_verified = context.certificate->problem.empty() &&
                                     context.certificate->why_not_valid(common::Loop::now().wall).empty();
        facts.certificate_listed = context.permission.listed                      ? Listed::yes
                                   : context.permission.kind == Kind::unavailable ? Listed::unknown
                                                                                  : Listed::no;
    }
    facts.recipients = context.recipients;
    facts.held = holds_;
    if (stage >= Stage::mail) {
        facts.sender = context.sender;
        facts.sender_ours = ours(context.sender);
        facts.sender_domain = common::ascii_domain_of(context.sender);
        facts.sender_local = Facts::Ours::in_tables; // or names decide there
        facts.sender_was_bare = context.sender_was_bare;
    }
    if (stage >= Stage::rcpt && !context.recipient.empty()) {
        facts.recipient = context.recipient;
        facts.recipient_ours = ours(context.recipient);
        if (context.recipient_was_bare) facts.whole_recipient = context.recipient + "@" + rules_.config->mta.origin;
    }
    facts.look_up_ours = [this](decide::access::Subject subject, decide::access::Questions& questions) {
        return look_up_ours(subject == decide::access::Subject::sender ? *facts_.sender : *facts_.recipient, questions);
    };
    facts.look_up_local = [this](decide::access::Questions& questions) {
        const auto& domain = facts_.sender_domain;
        if (domain.empty() || domain == idn::ascii_domain(rules_.config->mta.origin)) return Answer::Status::found;
        return common::is_local(rules_.config->domains, domain, questions);
    };
    if (stage <= Stage::rcpt)
        for (const auto& each : defer_if_permit_)
            if (each && !facts.defer_if_permit) facts.defer_if_permit = each;
    return facts;
}

std::optional<PolicyVerdict> AccessControl::ask(Stage stage, std::optional<smtp::Reply> relaying,
                                                PolicyCheck::Done done) {
    auto lists = lists_of(stage);
    if (lists.empty() || (discards_ && stage >= Stage::rcpt)) return PolicyVerdict{};
    if (evaluation_) drop_questions();
    stage_ = stage;
    if (stage <= Stage::mail) defer_if_permit_[static_cast<std::size_t>(stage)].reset();
    facts_ = facts_of(stage);
    facts_.relaying = std::move(relaying);
    if (answers_) worker_.loop.defer([gone = std::shared_ptr(std::move(answers_))] {}); // it may be the caller
    auto answers = std::make_unique<common::AccessAnswers>(
        sources_->access.lookups,
        [this](const std::string& service, common::AccessAnswers::Action action) {
            ask_policy(service, std::move(action));
        },
        [this](const std::string& address, auto done) { verify(address, std::move(done)); });
    evaluation_ = std::make_unique<Evaluation>(access_, facts_, std::move(lists));
    if (evaluation_->run(*answers)) return verdict();
    answers_ = std::move(answers);
    done_ = std::move(done);
    fetch();
    return {};
}

void AccessControl::fetch() {
    answers_->fetch(evaluation_->needed(), [this] {
        if (!evaluation_->run(*answers_)) return fetch();
        const auto done = std::move(done_);
        done(verdict());
    });
}

void AccessControl::ask_policy(const std::string& service, common::AccessAnswers::Action done) {
    const auto found =
        std::ranges::find_if(sources_->policies, [&](const auto& client) { return client->service().name == service; });
    if (found == sources_->policies.end()) return done("451 4.3.5 Server configuration error"); // check has found it
    auto& client = **found;
    const auto question = client.ask(
        policy_request(stage_, context), [this, &client, done = std::move(done)](std::optional<std::string> action) {
            questions_.clear(); // one at a time
            if (action) return done(*std::move(action));
            switch (client.service().on_failure) {
            case config::OnFailure::accept: return done("DUNNO");
            case config::OnFailure::reject: return done("554 5.3.5 a policy service is not available");
            default: return done("451 4.3.5 a policy service is not available, try again later");
            }
        });
    questions_.emplace_back(&client, question);
}

// One at a time: the rule that asks is not left before its answer is there.
void AccessControl::verify(const std::string& address, std::function<void(decide::access::Answer)> done) {
    verification_ = worker_.verifier.ask(
        address, common::Loop::now().monotonic, [this, done = std::move(done)](const auto& answer) {
            verification_ = 0;
            done({.status = decide::access::Answer::Status::found, .why = answer.text, .what = answer.what});
        });
}

// --- the verdict

PolicyVerdict AccessControl::verdict() {
    auto decision = evaluation_->take();
    for (const auto& warning : decision.warnings) worker_.log.warning("access: {}", warning);
    sources_->report_tables(!decision.warnings.empty());
    if (stage_ <= Stage::mail) defer_if_permit_[static_cast<std::size_t>(stage_)] = std::move(decision.defer_if_permit);
    count(decision);
    PolicyVerdict verdict;
    verdict.by = PolicySource::access;
    for (auto& note : decision.notes) verdict.notes.push_back({verdict.by, std::move(note.verb), {}, note.text});
    if (decision.rejection) {
        verdict.kind = PolicyVerdict::Kind::reject;
        verdict.reply = *std::move(decision.rejection);
        verdict.rule = "access";
        return verdict;
    }
    holds_ = holds_ || !decision.hold.empty();
    discards_ = discards_ || !decision.discard.empty();
    verdict.hold = std::move(decision.hold);
    verdict.discard = std::move(decision.discard);
    verdict.redirect = std::move(decision.redirect);
    verdict.content_filter = std::move(decision.content_filter);
    verdict.fields = std::move(decision.fields);
    verdict.added_recipients = std::move(decision.copies);
    return verdict;
}

void AccessControl::count(const Decision& decision) {
    using common::AccessResult;
    auto result = AccessResult::passed;
    if (decision.rejection)
        result = decision.rejection->permanent() ? AccessResult::rejected : AccessResult::deferred;
    else if (!decision.discard.empty())
        result = AccessResult::discarded;
    else if (!decision.hold.empty())
        result = AccessResult::held;
    else if (!decision.redirect.empty())
        result = AccessResult::redirected;
    worker_.metrics.count(common::MetricId::access_results, result);
}

void AccessControl::transaction_over() { holds_ = discards_ = false; }

std::unique_ptr<AccessControl> make_access_control(WorkerContext& worker, const Rules& rules, const Client& client) {
    const auto& all = worker.policy_sources->access.rules;
    const auto found = all.find(rules.listener.name);
    if (found == all.end()) return nullptr;
    auto control = std::make_unique<AccessControl>(worker, rules, found->second);
    control->context.client = client;
    control->context.server = rules.normal.hostname;
    control->context.listener = rules.listener.name;
    return control;
}

} // namespace smtpd
