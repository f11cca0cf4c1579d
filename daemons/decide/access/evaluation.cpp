#include "daemons/decide/access/evaluation.h"
#include "daemons/decide/access/names.h"
#include "daemons/decide/access/sender_login.h"
#include "daemons/decide/rewriting/address_keys.h"
#include "daemons/decide/routing/filter_destination.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide::access {

using smtp::EnhancedStatus;
using smtp::Reply;
using Status = Answer::Status;

namespace {

// The status that an administrator gives is about a mail address: made one about the address that is rejected.
EnhancedStatus fitting(EnhancedStatus status, std::string_view kind) {
    if (status.subject != 1) return status;
    constexpr std::uint16_t of_senders[] = {0, 7, 8, 7, 7, 0, 7, 7, 8}, of_recipients[] = {0, 1, 2, 3, 4, 5, 6, 3, 2};
    const auto at = status.detail <= 8 ? status.detail : 0;
    if (kind == sender_kind) return {status.klass, 1, of_senders[at]};
    if (kind == recipient_kind) return {status.klass, 1, of_recipients[at]};
    return {status.klass, 0, 0};
}

// "5.7.1 text": the status, if there is one; `text` becomes the rest.
EnhancedStatus take_status(std::string_view& text, EnhancedStatus otherwise) {
    const auto blank = std::min(text.find_first_of(" \t"), text.size());
    const auto given = EnhancedStatus::parse(text.substr(0, blank));
    if (!given) return otherwise;
    text = smtp::trimmed(text.substr(blank));
    return *given;
}

bool is_field(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == 0 || colon == text.npos) return false;
    return std::ranges::all_of(text.substr(0, colon), [](char c) { return c > ' ' && c < 0x7f; });
}

bool all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, smtp::is_digit); }

std::string_view first_word(std::string_view action) { return action.substr(0, action.find_first_of(" \t")); }

} // namespace

Evaluation::Evaluation(const RuleSet& rules, const Facts& facts, std::vector<List> lists, Tracing tracing)
    : rules_(rules), facts_(facts), lists_(std::move(lists)), tracing_(tracing == Tracing::on),
      defer_if_permit_(facts.defer_if_permit) {}

// --- the lists

bool Evaluation::run(Source& source) {
    questions_.begin(source);
    while (list_ < lists_.size()) {
        if (frames_.empty() && !begin_list()) return true;
        while (!frames_.empty()) {
            auto& frame = frames_.back();
            if (frame.next == frame.rules.size()) {
                frames_.pop_back();
                continue;
            }
            const auto& rule = frame.rules[frame.next];
            rule_ = &rule;
            found_.clear();
            const auto depth = frames_.size();
            const auto outcome = ++steps_ > most_steps ? fault("the rules take too many steps") : apply(rule);
            if (outcome == Outcome::pending) return false;
            ++frames_[depth - 1].next;
            record(rule, depth - 1, outcome);
            if (outcome == Outcome::reject) return true;
            if (outcome == Outcome::permit || (defer_if_permit_ && defer_if_reject_)) frames_.clear();
        }
        ++list_;
    }
    finish();
    return true;
}

// False: decided.
bool Evaluation::begin_list() {
    const auto list = lists_[list_];
    if (list != List::recipient) defer_if_reject_.reset(); // it lasts from `relay` to `recipient`
    if (!decision_.discard.empty()) return true;           // whatever follows
    if (list == List::relay && facts_.relaying) {
        if (tracing_) decision_.trace.push_back({list, 0, "relay control", "", facts_.relaying->line()});
        decision_.rejection = *facts_.relaying;
        return false;
    }
    frames_.push_back({rules_.list(list), 0, false, Subject::list});
    return true;
}

// Lists before the recipients pass a deferral on; the others turn permission into it.
void Evaluation::finish() {
    if (!defer_if_permit_ || lists_.empty()) return;
    if (lists_.back() < List::relay)
        decision_.defer_if_permit = std::move(defer_if_permit_);
    else
        decision_.rejection = std::move(defer_if_permit_);
}

Subject Evaluation::subject_of(const Rule& rule) const {
    return rule.subject == Subject::list ? frames_.back().subject : rule.subject;
}

bool Evaluation::warn_only() const {
    return (rule_ && rule_->warn_only) || (!frames_.empty() && frames_.back().warn_only);
}

void Evaluation::record(const Rule& rule, std::size_t depth, Outcome outcome) {
    if (!tracing_) return;
    std::string result;
    if (decision_.rejection)
        result = decision_.rejection->line();
    else if (outcome == Outcome::permit)
        result = "permit";
    decision_.trace.push_back({lists_[list_], depth, rule.text, found_, std::move(result)});
}

// --- replies

Evaluation::Outcome Evaluation::reject(Reply reply) {
    reply.status.klass = static_cast<std::uint16_t>(reply.code / 100);
    if (warn_only()) {
        decision_.notes.push_back({"reject_warning", reply.line()});
        return Outcome::next;
    }
    decision_.rejection = defer_if_reject_ && reply.permanent() ? *defer_if_reject_ : std::move(reply);
    return Outcome::reject;
}

Evaluation::Outcome Evaluation::reject_about(const About& about, int code, EnhancedStatus status,
                                             std::string_view why) {
    return reject({code, status, rejection_text(about, why)});
}

Evaluation::Outcome Evaluation::defer_if_permit(Reply reply) {
    if (warn_only()) return reject(std::move(reply));
    if (!defer_if_permit_) defer_if_permit_ = std::move(reply);
    return Outcome::next;
}

Evaluation::Outcome Evaluation::defer_if_reject(Reply reply) {
    if (!defer_if_reject_) defer_if_reject_ = std::move(reply);
    return Outcome::next;
}

Evaluation::Outcome Evaluation::take_finding(Finding finding) {
    if (!finding.warning.empty()) decision_.warnings.push_back(std::move(finding.warning));
    switch (finding.kind) {
    case Finding::Kind::nothing: break;
    case Finding::Kind::permit: return Outcome::permit;
    case Finding::Kind::reject: return reject(std::move(finding.reply));
    case Finding::Kind::defer_if_permit: return defer_if_permit(std::move(finding.reply));
    case Finding::Kind::defer_if_reject: return defer_if_reject(std::move(finding.reply));
    case Finding::Kind::pending: return Outcome::pending;
    }
    return Outcome::next;
}

// What is wrong here must not let anything through.
Evaluation::Outcome Evaluation::fault(std::string warning) {
    decision_.warnings.push_back(std::move(warning));
    decision_.rejection = Reply{451, {4, 3, 5}, "Server configuration error"};
    return Outcome::reject;
}

// --- lookups

Evaluation::Outcome Evaluation::apply(const Rule& rule) {
    switch (rule.check) {
    case Check::table: return look_up_table(rule);
    case Check::policy_service: return apply_policy_service(rule);
    case Check::rule_class: return apply_class(rule);
    case Check::unverified: return verify_address(rule);
    case Check::foreign_sender:
    case Check::foreign_sender_of_user:
    case Check::foreign_sender_of_nobody:
    case Check::foreign_known_sender: return take_finding(check_sender_login(rule, facts_, rules_, questions_));
    default: return take_finding(check(rule, facts_, lists_[list_], about_of(subject_of(rule)), questions_));
    }
}

Evaluation::Outcome Evaluation::look_up_keys(const Rule& rule, std::span<const Key> keys, bool& found) {
    const bool patterns = has_patterns(rule.argument);
    for (const auto& key : keys) {
        if (patterns && !key.whole) continue;
        const auto answer = questions_.ask(Lookup::Kind::table, rule.argument, key.text);
        if (!answer) return Outcome::pending;
        if (answer->status == Status::none) continue;
        found = true;
        if (answer->status == Status::failed) {
            decision_.warnings.push_back(answer->why);
            return reject_about(about_of(rule.subject), 451, {4, 3, 5}, "Server configuration error");
        }
        const auto& value = answer->values.front();
        if (tracing_) found_ = fmt::format("{}: {}", key.text, smtp::printable(value, 200));
        return take_value(rule.argument, value, rule.subject);
    }
    return Outcome::next;
}

Evaluation::Outcome Evaluation::look_up_table(const Rule& rule) {
    const auto* text = text_of(facts_, rule.subject);
    if (!text) return Outcome::next;
    if (rule.servers != Servers::none)
        return text->empty() ? Outcome::next : look_up_servers(rule, std::string(domain_in(*text)));
    std::vector<Key> keys;
    std::string bare; // which keys refer to
    switch (rule.subject) {
    case Subject::client:
    case Subject::reverse_client: {
        keys = domain_keys(*text, rules_.parent_domains);
        const auto more = network_keys(facts_.client_address);
        keys.insert(keys.end(), more.begin(), more.end());
        break;
    }
    case Subject::helo: keys = domain_keys(*text, rules_.parent_domains); break;
    case Subject::sender:
    case Subject::recipient:
        if (rule.subject == Subject::recipient && !facts_.whole_recipient.empty()) text = &facts_.whole_recipient;
        if (text->empty())
            keys = {{"<>", true}};
        else if (text->find('@') != text->npos)
            keys = mail_keys(*text, rules_.recipient_delimiter, rules_.parent_domains, bare);
        break;
    case Subject::certificate:
        keys = {{*text, true}};
        if (!facts_.certificate_key.empty()) keys.push_back({facts_.certificate_key, true});
        break;
    default: keys = {{*text, true}};
    }
    bool found = false;
    const auto outcome = look_up_keys(rule, keys, found);
    // Who may choose the name that is looked up must not be permitted by it.
    if (outcome == Outcome::permit && rule.subject == Subject::reverse_client && decision_.discard.empty())
        return fault(fmt::format("{}: OK is not allowed for unverified names: use DUNNO", rule.text));
    return outcome;
}

// The hosts of a domain and their addresses.
Evaluation::Outcome Evaluation::look_up_servers(const Rule& rule, const std::string& domain) {
    bool found = false;
    const auto check = [&](std::span<const Key> keys) {
        const auto outcome = look_up_keys(rule, keys, found);
        if (outcome == Outcome::permit && decision_.discard.empty())
            return fault(fmt::format("{}: OK is not allowed for servers of others: use DUNNO", rule.text));
        return outcome;
    };
    if (domain.starts_with('[')) {
        const auto address = address_in_brackets(domain);
        if (address.empty() || rule.servers == Servers::name) return Outcome::next;
        return check(network_keys(address));
    }
    std::vector<std::string> hosts = {domain};
    if (rule.servers != Servers::addresses) {
        const auto kind = rule.servers == Servers::mail ? Lookup::Kind::mail_hosts : Lookup::Kind::name_servers;
        for (std::string_view name = domain;;) {
            const auto answer = questions_.ask(kind, "", name);
            if (!answer) return Outcome::pending;
            if (answer->status == Status::failed) return Outcome::next;
            if (answer->status == Status::found) hosts = answer->values;
            if (answer->status == Status::found || rule.servers == Servers::mail) break;
            const auto dot = name.find('.');
            if (dot == name.npos || dot + 1 == name.size()) return Outcome::next;
            name.remove_prefix(dot + 1);
        }
    }
    if (hosts.size() > most_servers) // who owns the domain decides how many there are
        return reject_about(about_of(rule.subject), 450, {4, 7, 1}, "Domain has too many servers");
    for (const auto& host : hosts) {
        if (host.empty()) continue; // a null MX
        if (rule.servers != Servers::addresses) {
            const auto outcome = check(domain_keys(host, rules_.parent_domains));
            if (found || outcome == Outcome::pending) return outcome;
        }
        const auto answer = questions_.ask(Lookup::Kind::addresses, "", host);
        if (!answer) return Outcome::pending;
        for (const auto& address : answer->values) {
            const auto outcome = check(network_keys(address));
            if (found || outcome == Outcome::pending) return outcome;
        }
    }
    return Outcome::next;
}

Evaluation::Outcome Evaluation::apply_policy_service(const Rule& rule) {
    const auto answer = questions_.ask(Lookup::Kind::policy_service, rule.argument, "");
    if (!answer) return Outcome::pending;
    const auto subject = subject_of(rule);
    if (answer->status != Status::found)
        return reject_about(about_of(subject), 451, {4, 3, 5}, "Server configuration problem");
    found_ = smtp::printable(answer->values.front(), 200);
    return take_value("policy service " + rule.argument, answer->values.front(), subject);
}

// --- what tables and policy services say

Evaluation::Outcome Evaluation::take_value(const std::string& source, std::string_view value, Subject subject) {
    const auto about = about_of(subject);
    value = smtp::trimmed(value);
    const auto action = smtp::lowered(first_word(value));
    auto text = smtp::trimmed(value.substr(action.size()));
    if (action == "dunno") return Outcome::next;
    if (action == "ok" || action == "relay" || action == "permit" || all_digits(value)) return Outcome::permit;
    if (action == "reject") return take_rejection(text, 554, about);
    if (action == "defer") return take_rejection(text, 450, about);
    if (action == "defer_if_permit" || action == "defer_if_reject") {
        const auto status = fitting(take_status(text, {4, 7, 1}), about.kind);
        const auto why = text.empty() ? std::string_view("Service unavailable") : text;
        Reply reply{450, {4, status.subject, status.detail}, rejection_text(about, why)};
        return action == "defer_if_permit" ? defer_if_permit(std::move(reply)) : defer_if_reject(std::move(reply));
    }
    if (action.size() == 3 && !text.empty() && (action[0] == '4' || action[0] == '5') && all_digits(action))
        return take_rejection(text, (action[0] - '0') * 100 + (action[1] - '0') * 10 + action[2] - '0', about);
    constexpr std::string_view effects[] = {"info", "warn", "hold", "discard", "redirect", "bcc", "prepend", "filter"};
    if (std::ranges::find(effects, action) != std::end(effects)) return take_effect(action, text, source, about);
    if (value.find(':') != value.npos)
        return fault(fmt::format("{}: \"{}\": a value must not name a table: use an [access_class]", source,
                                 smtp::printable(value, 100)));
    auto rules = Rule::parse_value(value);
    if (!rules) return fault(fmt::format("{}: {}", source, rules.error().why));
    values_.push_back(*std::move(rules));
    return enter(values_.back(), subject);
}

Evaluation::Outcome Evaluation::take_rejection(std::string_view text, int code, const About& about) {
    const auto status = fitting(take_status(text, {static_cast<std::uint16_t>(code / 100), 7, 1}), about.kind);
    return reject_about(about, code, status, text.empty() ? "Access denied" : text);
}

// What happens to the message, if it is accepted. As in Postfix, what is wrong is logged and has no effect.
Evaluation::Outcome Evaluation::take_effect(std::string_view action, std::string_view text, const std::string& source,
                                            const About& about) {
    const auto said = smtp::printable(text, 400);
    const auto whole = fmt::format("{}: \"{}{}{}\"", source, action, said.empty() ? "" : " ", said);
    const auto wrong = [&](std::string_view why) {
        decision_.warnings.push_back(fmt::format("{} has no effect: {}", whole, why));
        return Outcome::next;
    };
    const auto note = [&](std::string words) { decision_.notes.push_back({std::string(action), std::move(words)}); };
    if (action == "info" || action == "warn") {
        note(said);
        return Outcome::next;
    }
    const auto filter = action == "filter" ? filter_destination(text) : std::nullopt;
    if (action == "filter" && !filter) return fault(fmt::format("{}: {}", whole, not_a_filter));
    if (!facts_.sender) return wrong("with delay_reject = false, there is no message yet");
    const auto whose = fmt::format("<{}>: {} ", smtp::printable(about.name, 320), about.kind);
    if (action == "hold" || action == "discard") {
        auto& effect = action == "hold" ? decision_.hold : decision_.discard;
        const auto why = said.empty() ? fmt::format("triggers {} action", action == "hold" ? "HOLD" : "DISCARD") : said;
        const bool known = !effect.empty() || (action == "hold" && facts_.held);
        if (!known) note(whose + why);
        effect = why;
        return action == "hold" ? Outcome::next : Outcome::permit;
    }
    if (filter) {
        note(fmt::format("{}triggers FILTER {}", whose, said));
        decision_.content_filter = *filter;
        return Outcome::next;
    }
    if (action == "prepend") {
        if (lists_[list_] == List::end_of_data) return wrong("it is too late to add a header field");
        if (!is_field(text)) return wrong("expected a header field");
        decision_.fields.emplace_back(text);
        return Outcome::next;
    }
    if (text.find('@') == text.npos || text.find_first_of(" \t<>,") != text.npos) return wrong("expected an address");
    note(fmt::format("{}triggers {} {}", whose, action == "bcc" ? "BCC" : "REDIRECT", said));
    if (action == "bcc")
        decision_.copies.emplace_back(text);
    else
        decision_.redirect = text;
    return Outcome::next;
}

Evaluation::Outcome Evaluation::enter(std::span<const Rule> rules, Subject subject) {
    if (frames_.size() >= deepest) return fault("classes are nested too deeply");
    const bool warn = warn_only();
    frames_.push_back({rules, 0, warn, subject});
    return Outcome::next;
}

Evaluation::Outcome Evaluation::apply_class(const Rule& rule) {
    const auto found = rules_.classes.find(rule.argument);
    if (found == rules_.classes.end()) return fault(fmt::format("there is no [access_class.{}]", rule.argument));
    return enter(found->second, subject_of(rule));
}

// As Postfix's smtpd replies. What is not known now is a deferral only if nothing else rejects.
Evaluation::Outcome Evaluation::verify_address(const Rule& rule) {
    using verification::Deliverability;
    const auto* address = text_of(facts_, rule.subject);
    if (!address || address->find('@') == address->npos) return Outcome::next; // the null sender; postmaster
    const auto answer = questions_.ask(Lookup::Kind::verification, "", *address);
    if (!answer) return Outcome::pending;
    found_ = fmt::format("{}: {}", *address, verification::name_of(answer->what));
    if (answer->what == Deliverability::deliverable) return Outcome::next;
    const bool sender = rule.subject == Subject::sender;
    const auto& replies = sender ? rules_.verification.sender : rules_.verification.recipient;
    const auto code = answer->what == Deliverability::undeliverable ? replies.reject_code : replies.defer_code;
    const auto& why = replies.reason.empty() ? answer->why : replies.reason;
    const bool permanent = code >= 500;
    Reply reply{static_cast<int>(code),
                {static_cast<std::uint16_t>(permanent ? 5 : 4), 1, static_cast<std::uint16_t>(sender ? 7 : 1)},
                rejection_text(about_of(rule.subject),
                               fmt::format("{} address: {}", permanent ? "undeliverable" : "unverified", why))};
    return permanent ? reject(std::move(reply)) : defer_if_permit(std::move(reply));
}

} // namespace decide::access
