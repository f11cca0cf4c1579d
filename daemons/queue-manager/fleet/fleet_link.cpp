#include "daemons/queue-manager/fleet/fleet_link.h"
#include <optional>
#include <utility>

namespace queue_manager {

using common::SuppressionExchange;
using common::SuppressionList;
namespace messages = proto::fleet;
using Changes = std::vector<SuppressionExchange::Change>;

namespace {

constexpr std::size_t most_counted = 1000;
constexpr std::string_view not_open = "the suppression list cannot be used";

std::vector<messages::Change> for_message(const Changes& changes) {
    std::vector<messages::Change> out;
    for (const auto& each : changes) out.push_back({each.key, each.value});
    return out;
}

Changes from_message(const std::vector<messages::Change>& changes) {
    Changes out;
    for (const auto& each : changes) out.push_back({each.key, each.value});
    return out;
}

messages::Position position_in(const SuppressionList* list) {
    messages::Position out{.error = std::string(not_open), .store = {}};
    if (!list) return out;
    const auto found = list->exchange().position(common::Loop::now().wall);
    out.error = found ? "" : found.error().what;
    if (found) out.store = found->store, out.cursor = found->cursor;
    return out;
}

spool::Result<messages::Own> own_in(const SuppressionExchange& exchange, smtp::WallTime now) {
    messages::Own out{.error = {}, .changes = for_message(TRY(exchange.unsent("", messages::most_changes, now)))};
    out.waiting = TRY(exchange.count_unsent(most_counted, now));
    return out;
}

messages::All all_in(const SuppressionList* list, std::string after) {
    const auto before = after;
    messages::All out{.error = std::string(not_open), .changes = {}, .after = std::move(after)};
    if (!list) return out;
    const auto found = list->exchange().all(out.after, messages::most_changes, common::Loop::now().wall);
    out.error = found ? "" : found.error().what;
    if (found) {
        out.changes = for_message(*found);
        out.last = out.after == before; // entries that are not shared are left out
    }
    return out;
}

} // namespace

FleetLink::FleetLink(Dependencies dependencies)
    : deps_(std::move(dependencies)),
      service_(deps_.loop, {[] {}, [this] { deps_.rates.disconnected(); },
                            [this](messages::Message&& message) { received(std::move(message)); }}) {}

void FleetLink::attach(std::unique_ptr<Channel> channel) {
    ++connection_;
    service_.attach(std::move(channel));
}

void FleetLink::received(messages::Message&& message) {
    if (std::holds_alternative<messages::AskFacts>(message)) service_.ask(deps_.facts());
    if (std::holds_alternative<messages::AskPosition>(message)) answer<messages::Position>(position_in);
    if (std::holds_alternative<messages::AskOwn>(message)) send_own();
    if (auto* all = std::get_if<messages::AskAll>(&message))
        answer<messages::All>(
            [after = std::move(all->after)](const SuppressionList* list) { return all_in(list, after); });
    if (const auto* tokens = std::get_if<messages::Tokens>(&message)) deps_.rates.received(*tokens);
    if (const auto* sharing = std::get_if<messages::Sharing>(&message)) deps_.rates.received(*sharing);
    if (auto* order = std::get_if<messages::Merge>(&message)) merge(std::move(*order));
    if (auto* order = std::get_if<messages::Shared>(&message)) note_shared(std::move(*order));
}

template <class Answer> void FleetLink::answer(std::function<Answer(const SuppressionList*)> read) {
    deps_.suppressions.look([this, read = std::move(read), asked = connection_](const SuppressionList* list) {
        deps_.pool.complete([this, asked, answer = read(list)] {
            if (asked == connection_) static_cast<void>(service_.ask(answer));
        });
    });
}

// In its turn: what Shared has named before is not sent again.
void FleetLink::send_own() {
    auto own = std::make_shared<messages::Own>();
    deps_.suppressions.change({.exchange = [own](const SuppressionExchange& exchange,
                                                 smtp::WallTime now) -> spool::Result<SuppressionExchange::Merged> {
                                   *own = TRY(own_in(exchange, now));
                                   return SuppressionExchange::Merged{};
                               },
                               .done =
                                   [this, own, asked = connection_](const auto& counts) {
                                       if (!counts) own->error = counts.error().what;
                                       if (asked == connection_) static_cast<void>(service_.ask(*own));
                                   }});
}

// From a process that talks to a network, and one that still runs after this node has left the fleet.
std::string FleetLink::why_not(std::size_t changes) const {
    if (!deps_.suppressions.shared()) return "this node shares nothing";
    return changes > messages::most_changes ? "too many changes in a message" : "";
}

void FleetLink::merge(messages::Merge&& order) {
    if (auto why = why_not(order.changes.size()); !why.empty())
        return static_cast<void>(service_.ask(messages::Merged{.error = std::move(why)}));
    std::optional<SuppressionExchange::Position> position;
    if (!order.store.empty()) position = {order.store, order.cursor};
    deps_.suppressions.change(
        {.exchange =
             [changes = from_message(order.changes), position = std::move(position),
              domains = deps_.local_domains()](SuppressionExchange& exchange, smtp::WallTime now) {
                 return exchange.merge(
                     changes, position,
                     [&](const auto& entry) { return common::is_own_postmaster(entry.recipient, domains); }, now);
             },
         .done =
             [this, asked = connection_](const auto& counts) {
                 if (asked != connection_) return;
                 messages::Merged merged{.error = counts ? "" : counts.error().what};
                 if (counts) merged.applied = counts->made, merged.future = counts->other;
                 static_cast<void>(service_.ask(merged));
             }});
}

void FleetLink::note_shared(messages::Shared&& order) {
    if (!why_not(order.changes.size()).empty()) return;
    deps_.suppressions.change({.exchange = [changes = from_message(order.changes)](
                                               SuppressionExchange& exchange,
                                               smtp::WallTime now) -> spool::Result<SuppressionExchange::Merged> {
        TRY(exchange.sent(changes, now));
        return SuppressionExchange::Merged{};
    }});
}

} // namespace queue_manager
