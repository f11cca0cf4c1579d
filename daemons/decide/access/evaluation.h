// Evaluates the access rules of a listener for one command of a session: list after list, rule after rule, with the
// results of Postfix's access(5). Pure: asks a Source what tables, the DNS and policy services say, and continues where
// it was when the answers are there. The work is bounded.
#pragma once
#include "daemons/decide/access/checks.h"
#include "daemons/decide/access/facts.h"
#include "daemons/decide/access/lookup.h"
#include "daemons/decide/access/names.h"
#include "daemons/decide/access/rule.h"
#include "libsmtp/protocol/reply.h"
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace decide::access {

// A line of the log: "hold", "<x>: Sender address triggers HOLD action".
struct Note {
    std::string verb, text;
    bool operator==(const Note&) const = default;
};

// One rule that was evaluated, for a person.
struct Trace {
    List list = List::client;
    std::size_t depth = 0; // within classes
    std::string rule;
    std::string found;  // "192.0.2.1: REJECT"; "" nothing
    std::string result; // "permit", "554 5.7.1 …", "" the next rule follows
};

struct Decision {
    std::optional<smtp::Reply> rejection;
    std::string hold, discard, redirect; // texts; "" no
    std::string content_filter;          // of all recipients, before anything else; "" the listener's
    std::vector<std::string> fields;     // for the head of the message
    std::vector<std::string> copies;     // further recipients
    std::vector<Note> notes;
    std::vector<std::string> warnings; // of a configuration that is wrong
    // Lists before the first recipient: to be given to those after them.
    std::optional<smtp::Reply> defer_if_permit;
    std::vector<Trace> trace;
};

class Evaluation {
public:
    enum class Tracing : std::uint8_t { off, on };
    // All outlive it. `lists`: one after the other.
    Evaluation(const RuleSet& rules, const Facts& facts, std::vector<List> lists, Tracing tracing = Tracing::off);
    Evaluation(const Evaluation&) = delete;

    // True: decided. False: needed() must have answers that are not pending before it is run again.
    bool run(Source& source);
    const std::vector<Lookup>& needed() const { return questions_.pending(); }
    Decision take() { return std::move(decision_); }

    static constexpr std::size_t most_steps = 2000, deepest = 20, most_servers = 50;

private:
    enum class Outcome : std::uint8_t { next, permit, reject, pending };
    struct Frame {
        std::span<const Rule> rules;
        std::size_t next = 0;
        bool warn_only = false;
        Subject subject = Subject::list; // of rules without one: within a table's value, that of the table
    };
    bool begin_list();
    void finish();
    Outcome apply(const Rule& rule);
    Outcome apply_policy_service(const Rule& rule);
    Outcome apply_class(const Rule& rule);
    Outcome verify_address(const Rule& rule);
    Outcome look_up_table(const Rule& rule);
    Outcome look_up_servers(const Rule& rule, const std::string& domain);
    Outcome look_up_keys(const Rule& rule, std::span<const Key> keys, bool& found);
    Outcome take_finding(Finding finding);
    Outcome take_value(const std::string& source, std::string_view value, Subject subject);
    Outcome take_rejection(std::string_view text, int code, const About& about);
    Outcome take_effect(std::string_view action, std::string_view text, const std::string& source, const About& about);
    Outcome enter(std::span<const Rule> rules, Subject subject);

    Outcome reject(smtp::Reply reply);
    Outcome reject_about(const About& about, int code, smtp::EnhancedStatus status, std::string_view why);
    Outcome defer_if_permit(smtp::Reply reply);
    Outcome defer_if_reject(smtp::Reply reply);
    Outcome fault(std::string warning);
    void record(const Rule& rule, std::size_t depth, Outcome outcome);
    Subject subject_of(const Rule& rule) const;
    About about_of(Subject subject) const { return about(facts_, lists_[list_], subject); }
    bool warn_only() const;

    const RuleSet& rules_;
    const Facts& facts_;
    std::vector<List> lists_;
    const bool tracing_;
    std::size_t list_ = 0; // of lists_
    Questions questions_;
    std::vector<Frame> frames_;            // the list, and the classes within
    std::deque<std::vector<Rule>> values_; // rules in the values of tables
    const Rule* rule_ = nullptr;           // being applied
    std::size_t steps_ = 0;
    std::optional<smtp::Reply> defer_if_permit_, defer_if_reject_;
    std::string found_; // for the trace
    Decision decision_;
};

} // namespace decide::access
