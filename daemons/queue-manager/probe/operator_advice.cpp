#include "daemons/queue-manager/probe/operator_advice.h"
#include "daemons/decide/outcome/advice.h"
#include "daemons/decide/hosts/mx.h"
#include <string_view>

namespace queue_manager {

using decide::Mishap;
using decide::queue::Gate;
using decide::queue::Reason;
using decide::queue::Waiting;
using smtp::Stage;

namespace {

// A route may name another domain than the mail's, or one whose SRV records count.
std::string on_route(const Reason& reason, const std::string& domain) {
    if (reason.status.empty()) return {};
    return decide::advice({.where = reason.by_srv ? Mishap::Where::service : Mishap::Where::route,
                           .status = reason.status,
                           .domain = reason.at.empty() ? domain : reason.at});
}

std::string on_reply(const spool::RecipientState& recipient, const Errand& errand) {
    if (recipient.attempts.empty()) return {};
    const auto& last = recipient.attempts.back();
    if (last.outcome == spool::Outcome::delivered) return {};
    const Reason reason{last.reply.status, last.reply.text, {}, {}, last.reply.stage, last.reply.code, last.reply.seen};
    return advice_on(reason, errand, last.host);
}

} // namespace

std::string advice_on(const Reason& reason, const Errand& errand, std::string_view host) {
    if (reason.stage <= Stage::none || reason.stage >= Stage::local) return {};
    using Demand = smtp::Circumstances::Demand;
    const auto& seen = reason.seen;
    if (host.empty()) host = reason.at;
    if (host.empty() && errand.link.starts_with('[')) host = errand.link; // of a configured hop
    const auto pool = decide::pool_of_link(errand.link);
    return decide::advice({.where = reason.stage != Stage::tls         ? Mishap::Where::conversation
                                    : seen.demand == Demand::records ? Mishap::Where::records
                                    : seen.demand == Demand::policy  ? Mishap::Where::policy
                                                                     : Mishap::Where::conversation,
                           .stage = reason.stage,
                           .code = reason.code,
                           .status = reason.status,
                           .domain = errand.domain,
                           .host = host,
                           .pool = pool,
                           .user = errand.user,
                           .error = seen.error,
                           .silent = seen.silent,
                           .wrapped = seen.wrapped});
}

std::string advice_on(const decide::queue::GateInfo& gate, const spool::RecipientState& recipient, const Errand& errand) {
    if (gate.open) return {};
    if (gate.gate == Gate::route) return on_route(gate.reason, std::string(errand.domain));
    if (gate.gate == Gate::link || gate.gate == Gate::queue) return advice_on(gate.reason, errand);
    return gate.gate == Gate::ladder ? on_reply(recipient, errand) : std::string();
}

std::string advice_on(const decide::queue::DeliveryInfo& delivery, const spool::RecipientState& recipient, std::string_view user) {
    const Errand errand{delivery.queue, delivery.link, user};
    if (delivery.reason.text.empty()) return on_reply(recipient, errand);
    return delivery.waiting == Waiting::route ? on_route(delivery.reason, delivery.queue) : advice_on(delivery.reason, errand);
}

} // namespace queue_manager
