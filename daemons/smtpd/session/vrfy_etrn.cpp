// What a Connection answers outside of any transaction: VRFY, ETRN, and commands nobody here knows.
#include "daemons/smtpd/session/connection.h"
#include <algorithm>

namespace smtpd {

using smtp::Reply;
using namespace std::chrono_literals;
using Verdict = proto::recipient_check::Verdict;

// --- VRFY

// 252 tells nobody who is here. What may be verified is what RCPT would have told as well.
void Connection::operator()(smtp::event::Vrfy& vrfy) {
    const auto argument = smtp::printable(vrfy.argument, 100);
    if (rules_->listener.vrfy != config::Vrfy::verify)
        return answer({252, {2, 0, 0}, argument + ": send some mail, I will try my best"});
    const auto split = smtp::split_path(vrfy.argument);
    const auto path = split ? smtp::ForwardPath::parse(split->inside) : std::unexpected(split.error());
    if (!path || !split->parameters.empty())
        return reject(smtp::Verb::vrfy, {501, {5, 1, 3}, argument + ": Bad address syntax"});
    if (const auto sender = evaluate_sender(*rules_, client_, {}); sender.kind == RelayDecision::Kind::reject)
        return reject(smtp::Verb::vrfy, sender.reply);
    const auto judged = evaluate_recipient(*rules_, client_, *path);
    if (judged.kind == RelayDecision::Kind::reject) return reject(smtp::Verb::vrfy, judged.reply);
    if (judged.kind == RelayDecision::Kind::accept)
        return answer({252, {2, 1, 5}, "<" + judged.address + ">: not a local mailbox, but mail for it is accepted"});
    check_recipient({judged.address, ""},
                    [this, address = judged.address](const auto& checked) { on_verified(address, checked); });
}

void Connection::on_verified(const std::string& address, const RecipientChecker::Answer& checked) {
    switch (checked.verdict) {
    case Verdict::known: return answer({250, {2, 1, 5}, "<" + address + ">"});
    case Verdict::unknown: return reject(smtp::Verb::vrfy, {550, {5, 1, 1}, "<" + address + ">: User unknown"});
    case Verdict::not_ours: return reject(smtp::Verb::vrfy, {554, {5, 7, 1}, "<" + address + ">: Relay access denied"});
    default:
        return reject(smtp::Verb::vrfy, {450, {4, 3, 0}, "<" + address + ">: unverified address, try again later"});
    }
}

// --- ETRN (RFC 1985)

void Connection::operator()(smtp::event::Etrn& etrn) {
    const auto& listener = rules_->listener;
    const bool may = (listener.etrn_users && !client_.user.empty()) ||
                     common::contains(listener.etrn_networks, client_.address);
    if (!may) return reject(smtp::Verb::etrn, {459, {4, 7, 1}, "Node " + etrn.name + " not allowed"});
    const auto now = common::Loop::now().monotonic;
    if (!worker_.rates.take("e" + client_.network, rules_->config->smtpd.etrn_per_hour, 1h, now))
        return reject(smtp::Verb::etrn, {458, {4, 7, 1}, unable(etrn.name, "too many requests")});
    flush_request_ = worker_.submission_queue.try_now(etrn.name, etrn.scope == smtp::event::Etrn::Scope::with_subdomains,
                                   [this, node = etrn.name](const proto::submission::DomainFlushed* tried) {
                                       flush_request_ = 0;
                                       on_etrn_result(node, tried);
                                       pump();
                                   });
}

std::string Connection::unable(const std::string& node, std::string_view why) {
    return fmt::format("Unable to queue messages for node {}: {}", node, why);
}

void Connection::on_etrn_result(const std::string& node, const proto::submission::DomainFlushed* tried) {
    if (!tried) return reject(smtp::Verb::etrn, {458, {4, 3, 0}, unable(node, "try again later")});
    if (!tried->obstacle.empty()) return reject(smtp::Verb::etrn, {458, {4, 3, 2}, unable(node, tried->obstacle)});
    log_context().info("etrn: {} from {}: {} deliveries", node, client_.peer(), tried->deliveries);
    const auto reply = [&](int code, std::string text) { answer({code, {2, 0, 0}, std::move(text)}); };
    if (tried->deliveries == 0 && tried->loading)
        return reply(250, "Ok, queuing for node " + node + " started");
    if (tried->deliveries == 0) return reply(251, "Ok, no messages waiting for node " + node);
    if (tried->loading) return reply(252, "Ok, pending messages for node " + node + " started");
    reply(253, fmt::format("Ok, {} pending messages for node {} started", tried->deliveries, node));
}

// RFC 5321, 4.2.4: 502 for what one knows and does not do, 500 for the rest.
void Connection::operator()(smtp::event::Unknown& unknown) {
    constexpr std::string_view known[] = {"EXPN", "TURN", "SEND", "SOML", "SAML", "XCLIENT", "XFORWARD"};
    const bool not_offered =
        std::ranges::any_of(known, [&](auto verb) { return smtp::same_ignoring_case(verb, unknown.verb); });
    if (policy_chain_)
        policy_chain_->context.command = unknown.verb + (unknown.argument.empty() ? "" : " " + unknown.argument);
    with_policy_checks(Stage::unknown, [this, not_offered] { // a filter may have words of its own
        if (not_offered) return reject(smtp::Verb::unknown, {502, {5, 5, 1}, "Error: command is not offered here"});
        reject(smtp::Verb::unknown, {500, {5, 5, 2}, "Error: command not recognized"});
    });
}

} // namespace smtpd
