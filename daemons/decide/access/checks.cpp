#include "daemons/decide/access/checks.h"
#include "daemons/decide/access/names.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide::access {

using Kind = Finding::Kind;
using Status = Answer::Status;
using smtp::EnhancedStatus;

namespace {

Finding rejection(const About& about, int code, EnhancedStatus status, std::string_view why, Kind kind = Kind::reject) {
    return {kind, {code, status, rejection_text(about, why)}};
}

Finding permit_if(bool permitted) { return {permitted ? Kind::permit : Kind::nothing}; }

std::string_view without_dot(std::string_view name) {
    if (name.ends_with('.') && !name.ends_with("..")) name.remove_suffix(1);
    return name;
}

// --- names

Finding check_literal(const About& helo) {
    if (!address_in_brackets(helo.name).empty()) return {};
    return rejection(helo, 501, {5, 5, 2}, "invalid ip address");
}

Finding check_invalid_name(const About& helo) {
    if (helo.name.starts_with('[')) return check_literal(helo);
    if (is_hostname(helo.name) || is_address(helo.name)) return {};
    return rejection(helo, 501, {5, 5, 2}, "Invalid name");
}

// As the client said it, before it was completed.
About bare(About about) {
    about.name.resize(std::min(about.name.size(), about.name.rfind('@')));
    return about;
}

Finding check_qualified(const Rule& rule, const About& about) {
    if (rule.subject == Subject::helo) {
        if (about.name.starts_with('[')) return check_literal(about);
        if (is_hostname(about.name) && without_dot(about.name).find('.') != std::string_view::npos) return {};
        return rejection(about, 504, {5, 5, 2}, "need fully-qualified hostname");
    }
    const auto at = about.name.rfind('@');
    const auto domain = at == about.name.npos ? std::string_view() : std::string_view(about.name).substr(at + 1);
    if (domain.starts_with('[') && domain.ends_with(']')) return {};
    const bool ascii = std::ranges::all_of(domain, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    if (without_dot(domain).find('.') != domain.npos && (!ascii || is_hostname(domain))) return {};
    return rejection(about, 504, {5, 5, 2}, "need fully-qualified address");
}

// --- our domains

// Status::found: the domain of the sender or the recipient is ours.
Status ours(const Facts& facts, Subject subject, Questions& questions) {
    using Ours = Facts::Ours;
    const auto known = subject == Subject::sender ? facts.sender_ours : facts.recipient_ours;
    if (known == Ours::in_tables) return facts.look_up_ours(subject, questions);
    return known == Ours::yes ? Status::found : Status::none;
}

// What a rule finds that depends on it, while it is not known.
Finding not_known(Status status, const About& about, Kind kind = Kind::reject) {
    if (status == Status::pending) return {Kind::pending};
    return rejection(about, 451, {4, 3, 0}, "Temporary lookup failure", kind);
}
bool is_known(Status status) { return status == Status::found || status == Status::none; }

// --- what the DNS has

Finding check_known_greeting(const About& helo, Questions& questions) {
    if (helo.name.starts_with('[')) return check_literal(helo);
    const std::string name(without_dot(helo.name));
    const auto addresses = questions.ask(Lookup::Kind::addresses, "", name);
    if (!addresses) return {Kind::pending};
    if (addresses->status == Status::found) return {};
    const auto mail = questions.ask(Lookup::Kind::mail_hosts, "", name);
    if (!mail) return {Kind::pending};
    if (mail->status == Status::found) return {};
    const bool failed = addresses->status == Status::failed || mail->status == Status::failed;
    return rejection(helo, 450, {4, 7, 1}, "Host not found", failed ? Kind::defer_if_permit : Kind::reject);
}

Finding check_known_domain(const About& about, Questions& questions) {
    const std::string domain(domain_in(about.name));
    if (about.name.find('@') == about.name.npos || domain.starts_with('[')) return {};
    const bool sender = about.kind == sender_kind;
    const auto mail = questions.ask(Lookup::Kind::mail_hosts, "", domain);
    if (!mail) return {Kind::pending};
    if (mail->status == Status::found) {
        if (mail->values.size() != 1 || !mail->values.front().empty()) return {};
        return rejection(about, sender ? 550 : 556, sender ? EnhancedStatus{5, 7, 27} : EnhancedStatus{5, 1, 10},
                         fmt::format("Domain {} does not accept mail (nullMX)", domain));
    }
    const auto addresses = questions.ask(Lookup::Kind::addresses, "", domain);
    if (!addresses) return {Kind::pending};
    if (addresses->status == Status::found) return {};
    const bool failed = addresses->status == Status::failed || mail->status == Status::failed;
    return rejection(about, 450, sender ? EnhancedStatus{4, 1, 8} : EnhancedStatus{4, 1, 2}, "Domain not found",
                     failed ? Kind::defer_if_permit : Kind::reject);
}

Finding check_known(const Rule& rule, const Facts& facts, const About& about, Questions& questions) {
    const auto nameless = [&](EnhancedStatus status, std::string_view what) {
        return Finding{Kind::reject,
                       {450, status,
                        fmt::format("Client host rejected: cannot find your {}, [{}]", what,
                                    smtp::printable(facts.client_address, 64))}};
    };
    if (rule.subject == Subject::client)
        return facts.client_name != unknown_name ? Finding{} : nameless({4, 7, 25}, "hostname");
    if (rule.subject == Subject::reverse_client)
        return facts.reverse_name != unknown_name ? Finding{} : nameless({4, 7, 1}, "reverse hostname");
    if (rule.subject == Subject::helo) return check_known_greeting(about, questions);
    if (about.name.empty()) return {};
    // Tables of our domains matter only for a domain that nothing else knows: while one is away, others pass.
    const auto by_name = rule.subject == Subject::sender ? facts.sender_ours : facts.recipient_ours;
    if (by_name == Facts::Ours::yes) return {};
    auto found = check_known_domain(about, questions);
    if (found.kind == Kind::nothing || found.kind == Kind::pending) return found;
    const auto own = ours(facts, rule.subject, questions);
    if (!is_known(own)) return not_known(own, about);
    return own == Status::found ? Finding{} : found;
}

// --- lists in the DNS

// The name to look up in the zone; "" none.
std::string listed_name(const Rule& rule, const Facts& facts, const std::string& text) {
    if (rule.servers == Servers::addresses) return reversed(facts.client_address);
    const auto domain = domain_in(text);
    const auto last = domain.substr(std::min(domain.size(), domain.rfind('.') + 1));
    const bool numeric = !last.empty() && std::ranges::all_of(last, smtp::is_digit);
    if (domain.starts_with('[') || numeric || !is_hostname(domain) || domain == unknown_name) return "";
    return std::string(without_dot(domain));
}

bool counts(const Rule& rule, const std::string& address) {
    if (address.starts_with("127.255.255.")) return false; // the list refuses to answer
    return rule.answers.empty() || matches_answer(rule.answers, address);
}

Finding check_listed(const Rule& rule, const Facts& facts, const About& about, Questions& questions) {
    const auto* text = text_of(facts, rule.subject);
    if (!text) return {};
    if (rule.check == Check::allowed && facts.recipient) { // a list of good clients must not let them relay
        const auto own = ours(facts, Subject::recipient, questions);
        if (!is_known(own)) return not_known(own, about, Kind::defer_if_reject); // not to permit is safe
        if (own == Status::none) return {};
    }
    const auto name = listed_name(rule, facts, *text);
    if (name.empty()) return {};
    const auto query = name + "." + rule.argument;
    const auto what = rule.servers == Servers::addresses ? facts.client_address : *text;
    const auto answer = questions.ask(Lookup::Kind::addresses, "", query);
    if (!answer) return {Kind::pending};
    if (answer->status == Status::failed && rule.check == Check::allowed)
        return rejection({what, about.kind}, 450, {4, 7, 1}, "Service unavailable", Kind::defer_if_reject);
    if (std::ranges::none_of(answer->values, [&](const auto& address) { return counts(rule, address); })) return {};
    if (rule.check == Check::allowed) return {Kind::permit};
    const auto reason = questions.ask(Lookup::Kind::texts, "", query);
    if (!reason) return {Kind::pending};
    std::string said;
    for (const auto& each : reason->values) said += (said.empty() ? "; " : " / ") + smtp::printable(each, 200);
    return {Kind::reject,
            {554,
             {5, 7, 1},
             fmt::format("Service unavailable; {} [{}] blocked using {}{}", about.kind, smtp::printable(what, 320),
                         rule.argument, said.substr(0, 400))}};
}

} // namespace

Finding check(const Rule& rule, const Facts& facts, List list, const About& subject, Questions& questions) {
    const bool missing = rule.subject != Subject::list && !text_of(facts, rule.subject);
    switch (rule.check) {
    case Check::permit: return {Kind::permit};
    case Check::reject: return rejection(subject, 554, {5, 7, 1}, "Access denied");
    case Check::defer: return rejection(subject, 450, {4, 3, 2}, "Try again later");
    case Check::defer_if_permit:
        return rejection(subject, 450, {4, 7, 0}, "defer_if_permit requested", Kind::defer_if_permit);
    case Check::defer_if_reject:
        return rejection(subject, 450, {4, 7, 0}, "defer_if_reject requested", Kind::defer_if_reject);
    case Check::permit_networks: return permit_if(facts.trusted);
    case Check::permit_authenticated: return permit_if(!facts.login.empty());
    case Check::permit_verified_certificate: return permit_if(facts.certificate_verified);
    case Check::permit_listed_certificate:
        if (facts.certificate_listed == Facts::Listed::unknown)
            return rejection(subject, 451, {4, 3, 0}, "Temporary lookup failure");
        return permit_if(facts.certificate_listed == Facts::Listed::yes);
    case Check::permit_ours:
    case Check::reject_elsewhere:
    case Check::defer_elsewhere: {
        if (!facts.recipient) return {};
        const auto own = ours(facts, Subject::recipient, questions);
        const bool permits = rule.check == Check::permit_ours; // not to permit is safe: other rules may
        if (!is_known(own))
            return not_known(own, {*facts.recipient, recipient_kind}, permits ? Kind::defer_if_reject : Kind::reject);
        if (rule.check == Check::permit_ours) return permit_if(own == Status::found);
        if (own == Status::found) return {};
        return {Kind::reject,
                {rule.check == Check::reject_elsewhere ? 554 : 454,
                 {5, 7, 1},
                 fmt::format("<{}>: Relay access denied", smtp::printable(*facts.recipient, 320))}};
    }
    case Check::reject_plaintext:
        if (facts.encrypted) return {};
        return {Kind::reject, {450, {4, 7, 1}, "Session encryption is required"}};
    case Check::reject_bounces_to_many: {
        const std::uint32_t most = list >= List::data ? 1 : 0;
        if (!facts.sender || !facts.sender->empty() || facts.recipients <= most) return {};
        return rejection(subject, 550, {5, 5, 3}, "Multi-recipient bounce");
    }
    case Check::invalid_name: return missing ? Finding{} : check_invalid_name(subject);
    case Check::not_qualified:
        if (missing || subject.name.empty()) return {};
        return check_qualified(rule,
                               rule.subject == Subject::sender && facts.sender_was_bare ? bare(subject) : subject);
    case Check::unknown: return missing ? Finding{} : check_known(rule, facts, subject, questions);
    case Check::listed:
    case Check::allowed: return check_listed(rule, facts, subject, questions);
    case Check::done_anyway:
    case Check::table:
    case Check::policy_service:
    case Check::rule_class:
    case Check::unverified:
    case Check::foreign_sender:
    case Check::foreign_sender_of_user:
    case Check::foreign_sender_of_nobody:
    case Check::foreign_known_sender: break;
    }
    return {};
}

} // namespace decide::access
