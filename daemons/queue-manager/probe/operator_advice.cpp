#include "daemons/queue-manager/probe/operator_advice.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/outcome/advice.h"
#include <string_view>

namespace queue_manager {

using decide::DeliveryFailure;
using decide::queue::Gate;
using decide::queue::Reason;
using decide::queue::Waiting;
using smtp::Stage;

namespace {

// A route may name a domain other than the mail's, or one whose SRV records are used.
std::string on_route(const Reason& reason, const std::string& domain) {
    if (reason.status.empty()) return {};
    return decide::advice({.where = reason.by_srv ? DeliveryFailure::Where::service : DeliveryFailure::Where::route,
                           .status = reason.status,
                           .domain = reason.at.empty() ? domain : reason.at});
}

std::string on_reply(const spool::RecipientState& recipient, const FailureContext& errand) {
    if (recipient.attempts.empty()) return {};
    const auto& last = recipient.attempts.back();
    if (last.outcome == spool::Outcome::delivered) return {};
    const Reason reason{last.reply.status, last.reply.text,   {}, {}, last.reply.stage,
                        last.reply.code,   last.reply.details};
    return advice_on(reason, errand, last.host);
}

} // namespace

std::string advice_on(const Reason& reason, const FailureContext& errand, std::string_view host) {
    if (reason.stage <= Stage::none || reason.stage >= Stage::local) return {};
    using Demand = smtp::FailureDetails::Demand;
    const auto& seen = reason.details;
    if (host.empty()) host = reason.at;
    if (host.empty() && errand.link.starts_with('[')) host = errand.link; // of a configured hop
    const auto pool = decide::pool_of_link(errand.link);
    return decide::advice({.where = reason.stage != Stage::tls       ? DeliveryFailure::Where::conversation
                                    : seen.demand == Demand::records ? DeliveryFailure::Where::records
                                    : seen.demand == Demand::policy  ? DeliveryFailure::Where::policy
                                                                     : DeliveryFailure::Where::conversation,
                           .stage = reason.stage,
                           .code = reason.code,
                           .status = reason.status,
                           .domain = errand.domain,
                           .host = host,
                           .pool = pool,
                           .user = errand.user,
                           .error = seen.error,
                           .silent = seen.timed_out,
                           .wrapped = seen.implicit_tls});
}

std::string advice_on(const decide::queue::GateInfo& gate, const spool::RecipientState& recipient,
                      const FailureContext& errand) {
    if (gate.open) return {};
    if (gate.gate == Gate::route) return on_route(gate.reason, std::string(errand.domain));
    if (gate.gate == Gate::link || gate.gate == Gate::queue) return advice_on(gate.reason, errand);
    return gate.gate == Gate::ladder ? on_reply(recipient, errand) : std::string();
}

std::string advice_on(const decide::queue::DeliveryInfo& delivery, const spool::RecipientState& recipient,
                      std::string_view user) {
    const FailureContext errand{delivery.queue, delivery.link, user};
    if (delivery.reason.text.empty()) return on_reply(recipient, errand);
    return delivery.waiting == Waiting::route ? on_route(delivery.reason, delivery.queue)
                                              : advice_on(delivery.reason, errand);
}

} // namespace queue_manager
