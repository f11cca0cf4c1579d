#include "daemons/smtpd/session/session_replies.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace smtpd {

using smtp::Reply;
using Verdict = proto::recipient_check::Verdict;

Reply with_soft_bounce(Reply reply, const Rules& rules) {
    if (!rules.config->bounce.soft_bounce || reply.code < 500) return reply;
    reply.code -= 100;
    if (reply.status.given()) reply.status.klass = 4;
    return reply;
}

Reply recipient_rejection(const std::string& to, const common::RecipientChecker::Answer& checked) {
    const auto text = [&](std::string_view otherwise) {
        return fmt::format("<{}>: Recipient address rejected: {}", to,
                           checked.text.empty() ? otherwise : std::string_view(checked.text));
    };
    switch (checked.verdict) {
    case Verdict::unknown: {
        const auto status = smtp::EnhancedStatus::parse(checked.status);
        return {550, status.value_or(smtp::EnhancedStatus{5, 1, 1}), text("User unknown")};
    }
    // Asked about because its domain is ours; a table of domains has changed, and others have not seen that yet.
    case Verdict::not_ours:
        return {450, {4, 3, 0}, "<" + to + ">: Recipient address rejected: its domain is changing, try again later"};
    default: return {450, {4, 3, 0}, text("unverified address, try again later")};
    }
}

std::optional<Reply> certificate_rejection(const Client& client, smtp::WallTime now) {
    using Kind = CertificatePermission::Kind;
    const auto* shown = client.certificate.get();
    auto why = shown ? shown->why_not_valid(now) : "none was shown";
    if (why.empty()) why = shown->problem;
    if (client.permission.kind == Kind::permitted || why.empty()) return {};
    const auto about = "<" + client.peer() + ">: Client certificate rejected: ";
    if (client.permission.kind == Kind::unavailable) return Reply{451, {4, 3, 0}, about + "Temporary lookup failure"};
    return Reply{554, {5, 7, 1}, about + why};
}

// --- VRFY

// 252 reveals no recipient. Only what RCPT would reveal as well can be verified.
std::expected<smtp::ForwardPath, Reply> path_to_verify(const Rules& rules, const Client& client,
                                                       const std::string& given) {
    const auto argument = smtp::printable(given, 100);
    if (rules.listener.vrfy != config::Vrfy::verify)
        return std::unexpected(Reply{252, {2, 0, 0}, argument + ": send some mail, I will try my best"});
    const auto split = smtp::split_path(given);
    auto path = split ? smtp::ForwardPath::parse(split->inside) : std::unexpected(split.error());
    if (!path || !split->parameters.empty())
        return std::unexpected(Reply{501, {5, 1, 3}, argument + ": Bad address syntax"});
    const auto sender = evaluate_sender(rules, client, {});
    if (sender.kind == RelayDecision::Kind::reject) return std::unexpected(sender.reply);
    return *std::move(path);
}

std::expected<std::string, Reply> recipient_to_verify(const Rules& rules, const Client& client,
                                                      const smtp::ForwardPath& path, const decide::ClassAnswer& where) {
    auto judged = evaluate_recipient(rules, client, path, where);
    if (judged.kind == RelayDecision::Kind::reject) return std::unexpected(std::move(judged.reply));
    if (judged.kind == RelayDecision::Kind::accept)
        return std::unexpected(
            Reply{252, {2, 1, 5}, "<" + judged.address + ">: not a local mailbox, but mail for it is accepted"});
    return std::move(judged.address);
}

Reply verified_reply(const std::string& address, const common::RecipientChecker::Answer& checked) {
    switch (checked.verdict) {
    case Verdict::known: return {250, {2, 1, 5}, "<" + address + ">"};
    case Verdict::unknown: return {550, {5, 1, 1}, "<" + address + ">: User unknown"};
    case Verdict::not_ours: return {554, {5, 7, 1}, "<" + address + ">: Relay access denied"};
    default: return {450, {4, 3, 0}, "<" + address + ">: unverified address, try again later"};
    }
}

// --- ETRN (RFC 1985)

static std::string unable(const std::string& node, std::string_view why) {
    return fmt::format("Unable to queue messages for node {}: {}", node, why);
}

Reply etrn_not_allowed(const std::string& node) { return {459, {4, 7, 1}, "Node " + node + " not allowed"}; }

Reply etrn_too_often(const std::string& node) { return {458, {4, 7, 1}, unable(node, "too many requests")}; }

Reply etrn_reply(const std::string& node, const proto::submission::DomainFlushed* flushed) {
    if (!flushed) return {458, {4, 3, 0}, unable(node, "try again later")};
    if (!flushed->obstacle.empty()) return {458, {4, 3, 2}, unable(node, flushed->obstacle)};
    const auto reply = [](int code, std::string text) { return Reply{code, {2, 0, 0}, std::move(text)}; };
    if (flushed->deliveries == 0 && flushed->loading) return reply(250, "Ok, queuing for node " + node + " started");
    if (flushed->deliveries == 0) return reply(251, "Ok, no messages waiting for node " + node);
    if (flushed->loading) return reply(252, "Ok, pending messages for node " + node + " started");
    return reply(253, fmt::format("Ok, {} pending messages for node {} started", flushed->deliveries, node));
}

// --- others

// RFC 5321, 4.2.4: 502 for known commands that are not offered, 500 for the rest.
Reply unknown_command_reply(const smtp::event::Unknown& unknown) {
    constexpr std::string_view known[] = {"EXPN", "TURN", "SEND", "SOML", "SAML", "XCLIENT", "XFORWARD"};
    if (std::ranges::any_of(known, [&](auto verb) { return smtp::same_ignoring_case(verb, unknown.verb); }))
        return {502, {5, 5, 1}, "Error: command is not offered here"};
    return {500, {5, 5, 2}, "Error: command not recognized"};
}

std::string dynamic_capabilities(const smtp::Capabilities& offered, smtp::WallTime now) {
    if (offered.future_release == 0) return "";
    return fmt::format("FUTURERELEASE {} {}", offered.future_release,
                       smtp::rfc3339_date(now + std::chrono::seconds(offered.future_release)));
}

std::string forwarded_text(const smtp::ClientAttributes* described) {
    if (!described) return "";
    const auto text_of = [](const smtp::ClientAttributes::Attribute& attribute) {
        return attribute && !attribute->value.empty() ? attribute->value : "unknown";
    };
    std::string out;
    if (described->ident) out += ", orig_queue_id=" + text_of(described->ident);
    if (described->name || described->address)
        out += ", orig_client=" + text_of(described->name) + "[" + text_of(described->address) + "]";
    return out;
}

} // namespace smtpd
