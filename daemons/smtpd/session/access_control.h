// The access rules of a listener in one session: which lists a stage has, what the rules know about the session, and
// the verdict. Knows the worker's lookups and policy services; must not know the session's protocol.
#pragma once
#include "daemons/common/access/access_lookups.h"
#include "daemons/decide/access/evaluation.h"
#include "daemons/smtpd/policy/policy_chain.h"
#include "daemons/smtpd/policy/policy_client.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/session/policy_sources.h"
#include "daemons/smtpd/session/worker_context.h"
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smtpd {

class AccessControl {
public:
    // All outlive it.
    AccessControl(WorkerContext& worker, const Rules& rules, const decide::access::RuleSet& access);
    ~AccessControl();
    AccessControl(const AccessControl&) = delete;

    PolicyContext context;

    // Has that stage anything to evaluate? If not, ask() needs not be called, nor the context be filled.
    bool concerns(Stage stage) const;
    // The verdict; or none yet, and `done` is called once from the loop. `relaying`: relay control's rejection of a
    // recipient, which comes after the rules about client, greeting and sender.
    std::optional<PolicyVerdict> ask(Stage stage, std::optional<smtp::Reply> relaying, PolicyCheck::Done done);
    // The message is accepted and discarded: nothing else is checked.
    bool discards() const { return discards_; }
    void transaction_over();

private:
    std::vector<decide::access::List> lists_of(Stage stage) const;
    decide::access::Facts facts_of(Stage stage) const;
    std::string domain_of(std::string_view address) const;
    decide::access::Facts::Ours ours(std::string_view address) const;
    decide::access::Answer::Status look_up_ours(std::string_view address, decide::access::Questions& questions) const;
    void fetch();
    void ask_policy(const std::string& service, common::AccessAnswers::Action done);
    void verify(const std::string& address, std::function<void(decide::access::Answer)> done);
    PolicyVerdict verdict();
    void count(const decide::access::Decision& decision);
    void drop_questions();

    WorkerContext& worker_;
    std::shared_ptr<PolicySources> sources_;
    const Rules& rules_;
    const decide::access::RuleSet& access_;
    Stage stage_ = Stage::connect;
    decide::access::Facts facts_;
    std::unique_ptr<common::AccessAnswers> answers_;
    std::unique_ptr<decide::access::Evaluation> evaluation_;
    PolicyCheck::Done done_;
    std::vector<std::pair<PolicyClient*, std::uint64_t>> questions_; // to policy services
    std::uint64_t verification_ = 0;                // the question whether an address is deliverable; 0: none
    std::optional<smtp::Reply> defer_if_permit_[3]; // by connect, helo, mail
    bool holds_ = false, discards_ = false;
};

// Null: the listener has no access rules.
std::unique_ptr<AccessControl> make_access_control(WorkerContext& worker, const Rules& rules, const Client& client);

} // namespace smtpd
