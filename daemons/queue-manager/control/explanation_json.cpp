#include "daemons/queue-manager/control/explanation_json.h"
#include "daemons/queue-manager/control/by_recipient.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/control/pause_text.h"
#include "daemons/queue-manager/probe/operator_advice.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace queue_manager {

using namespace decide::queue;
using nlohmann::json;

namespace {

struct Source {
    std::string from, who;
};

// How to open a closed gate, where an operator can.
std::string advice_of(const GateInfo& gate, spool::QueueId id, const spool::RecipientState& recipient,
                      const FailureContext& errand, const Pauses& pauses) {
    if (gate.gate == Gate::hold) return fmt::format("\"postrider message release {}\" releases it.", id.text());
    if (gate.gate != Gate::pause) return advice_on(gate, recipient, errand);
    return find(pauses, gate.scope, gate.name) == nullptr ? "" : resume_advice(gate.scope, gate.name);
}

// Where a closed gate comes from.
Source source_of(const GateInfo& gate, const spool::MessageState& state, const spool::RecipientState& recipient,
                 const Pauses& pauses) {
    switch (gate.gate) {
    case Gate::schedule: return {"requested by the sender", ""};
    case Gate::hold: return {state.held_why, state.held_by};
    case Gate::pause: {
        const auto* pause = find(pauses, gate.scope, gate.name);
        if (pause == nullptr) return {"postrider is stopping", ""};
        return {fmt::format("command: pause {}{}{}{}", word_of(pause->scope), pause->name.empty() ? "" : " ",
                            pause->name, pause->why.empty() ? "" : ": " + pause->why),
                pause->who};
    }
    case Gate::agent: return {"", ""};
    case Gate::categorizer: return {gate.reason.text.empty() ? "categorizer" : "categorizer: " + gate.reason.text, ""};
    case Gate::suppression: return {"command: postrider suppress check " + recipient.address, ""};
    case Gate::route:
    case Gate::link:
    case Gate::queue:
        if (gate.reason.text.empty()) return {"", ""};
        return {(gate.reason.remote_reply.empty() ? "" : "remote reply: ") + gate.reason.text, ""};
    case Gate::ladder: return {(recipient.reply.code > 0 ? "remote reply: " : "") + recipient.reply.text, ""};
    case Gate::rate:
    case Gate::window: return {gate.reason.text, ""};
    case Gate::turn:
    case Gate::report: return {"", ""};
    }
    return {};
}

} // namespace

std::vector<json> explained(spool::QueueId id, const std::vector<Explanation>& explanations,
                            const spool::MessageState& state, const ChosenRecipients& chosen, const Pauses& pauses,
                            const std::string& user) {
    std::vector<json> out;
    const auto by_number = by_recipient(explanations, state.recipients.size());
    for (const auto number : chosen.numbers) {
        const auto& recipient = state.recipients[number];
        json line = {{"id", id.text()},  {"number", number},  {"address", recipient.address},
                     {"queue", ""},      {"link", ""},        {"gates", json::array()},
                     {"blocked_by", ""}, {"next_attempt", 0}, {"state", "report"}};
        if (const auto* its = by_number[number]; its != nullptr) {
            line["queue"] = its->queue;
            line["link"] = its->link;
            line["state"] = word_of(its->waiting);
            line["next_attempt"] = seconds_of(its->next_attempt);
            for (const auto& gate : its->gates) {
                const auto source = gate.open ? Source{} : source_of(gate, state, recipient, pauses);
                line["gates"].push_back(
                    {{"gate", word_of(gate.gate)},
                     {"open", gate.open || its->active},
                     {"text", gate.text},
                     {"origin", source.from},
                     {"by", source.who},
                     {"since", seconds_of(gate.since)},
                     {"until", seconds_of(gate.until)},
                     {"advice", its->active || gate.open
                                    ? ""
                                    : advice_of(gate, id, recipient, {its->queue, its->link, user}, pauses)}});
                if (!gate.open && !its->active && line["blocked_by"] == "") line["blocked_by"] = word_of(gate.gate);
            }
        }
        out.push_back(std::move(line));
    }
    return out;
}

} // namespace queue_manager
