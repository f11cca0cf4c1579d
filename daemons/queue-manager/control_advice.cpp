#include "daemons/queue-manager/control_advice.h"
#include "daemons/decide/advice.h"
#include <optional>
#include <string_view>

namespace queue_manager {

using decide::Mishap;
using decide::queue::Gate;
using decide::queue::Reason;
using decide::queue::Waiting;
using smtp::Stage;

namespace {

// What the router asked the name servers for, as its words have it ("… for name=example.org type=MX: …"): a route may
// name another domain than the mail's, or one whose SRV records count. Nothing: it says nothing of that.
struct Asked {
    std::string_view name;
    bool service = false;
};
std::optional<Asked> asked_for(std::string_view text) {
    constexpr std::string_view before = " name=", between = " type=", service = "._tcp.";
    const auto begin = text.find(before);
    if (begin == text.npos) return {};
    text.remove_prefix(begin + before.size());
    const auto end = text.find(between);
    if (end == text.npos) return {};
    Asked out{text.substr(0, end), text.substr(end + between.size()).starts_with("SRV")};
    if (const auto at = out.name.find(service); out.service && at != out.name.npos)
        out.name.remove_prefix(at + service.size());
    return out;
}

std::string on_route(const Reason& reason, const std::string& domain) {
    if (reason.status.empty()) return {};
    const auto asked = asked_for(reason.text).value_or(Asked{domain});
    return decide::advice({.where = asked.service ? Mishap::Where::service : Mishap::Where::route,
                           .status = reason.status,
                           .domain = asked.name});
}

// A link's last error has no stage. What its status stands for says enough, unless a server spoke.
std::string on_link(const Reason& reason, const std::string& domain) {
    if (!reason.remote_reply.empty()) return {};
    const bool auth = reason.status == "4.7.4" && reason.text.find("AUTH") != std::string::npos;
    const auto stage = auth                                                  ? Stage::auth
                       : reason.status == "4.4.1"                             ? Stage::connect
                       : reason.status == "4.4.3" || reason.status == "4.4.4" ? Stage::lookup
                       : reason.status == "4.7.4" || reason.status == "4.7.5" ? Stage::tls
                                                                              : Stage::none;
    if (stage == Stage::none) return {};
    return decide::advice({.stage = stage, .status = reason.status, .domain = domain, .host = reason.remote_host});
}

std::string on_reply(const spool::RecipientState& recipient, const std::string& domain) {
    if (recipient.attempts.empty()) return {};
    const auto& last = recipient.attempts.back();
    const bool conversation = last.reply.stage > Stage::none && last.reply.stage < Stage::local;
    if (last.outcome == spool::Outcome::delivered || !conversation) return {};
    return decide::advice({.stage = last.reply.stage,
                           .code = last.reply.code,
                           .status = last.reply.status,
                           .domain = domain,
                           .host = last.host});
}

} // namespace

std::string advice_on(const decide::queue::GateInfo& gate, const spool::RecipientState& recipient, const std::string& queue) {
    if (gate.open) return {};
    if (gate.gate == Gate::route) return on_route(gate.reason, queue);
    if (gate.gate == Gate::link || gate.gate == Gate::queue) return on_link(gate.reason, queue);
    return gate.gate == Gate::ladder ? on_reply(recipient, queue) : std::string();
}

std::string advice_on(const decide::queue::DeliveryInfo& delivery, const spool::RecipientState& recipient) {
    if (delivery.reason.text.empty()) return on_reply(recipient, delivery.queue);
    return delivery.waiting == Waiting::route ? on_route(delivery.reason, delivery.queue)
                                                : on_link(delivery.reason, delivery.queue);
}

} // namespace queue_manager
