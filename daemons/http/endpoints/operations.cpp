#include "daemons/http/endpoints/operations.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/endpoints/selections.h"
#include "daemons/http/requests/json_reader.h"
#include "daemons/http/requests/media_type.h"
#include "daemons/http/requests/schemas.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;
using tokens::Scope;
namespace op = proto::control::op;

namespace {

constexpr std::size_t most_words = 100, most_ids_given = 10'000;

// Those of messages take ids or a filter; some of places, too.
struct Operation {
    std::string_view name;
    Scope scope;
    bool of_messages, of_places;
};
constexpr Operation all[] = {
    {op::force, Scope::operate, true, true},    {op::hold, Scope::operate, true, false},
    {op::release, Scope::operate, true, false}, {op::requeue, Scope::operate, true, false},
    {op::reroute, Scope::operate, true, false}, {op::reprioritise, Scope::operate, true, false},
    {op::restore, Scope::operate, true, false}, {op::remove, Scope::remove, true, false},
    {op::expire, Scope::remove, true, false},   {op::pause, Scope::operate, false, true},
    {op::resume, Scope::operate, false, true},  {op::schedule, Scope::operate, true, false},
};

struct Order {
    const Operation* operation = nullptr;
    json request;
    std::string selection;
    bool dry_run = false, of_place = false;
};

std::expected<Order, Problem> read_order(const std::string& body) {
    const auto object = read_json(body);
    if (!object) return std::unexpected(object.error());
    Members members(*object);
    Order order;
    const auto name = members.text("op");
    const auto found = std::ranges::find(all, name, &Operation::name);
    if (found == std::end(all)) {
        std::vector<std::string_view> names;
        for (const auto& each : all) names.push_back(each.name);
        members.wrong("op", fmt::format("one of {}", fmt::join(names, ", ")));
        return std::unexpected(*members.problem());
    }
    order.operation = &*found;
    order.request = {{"op", name}, {"reason", members.text("why")}};
    order.of_place = members.has("scope");
    order.dry_run = members.flag("dry_run");
    order.selection = members.text("selection");
    const auto ids = members.texts("ids", most_ids_given), filter = members.texts("filter", most_words);
    if (members.has("ids")) order.request["ids"] = ids;
    if (members.has("filter")) order.request["filter"] = filter;
    for (const auto* text : {"scope", "name", "to", "lane", "policy"})
        if (auto value = members.text(text); members.has(text)) order.request[text] = std::move(value);
    if (const auto after = members.number("after", 10 * 365 * 86'400); members.has("after"))
        order.request["after"] = after;
    if (const auto at = members.text("at"); members.has("at") || name == op::schedule) {
        const auto time = at == "now" ? smtp::WallTime() : smtp::parse_rfc3339(at);
        if (!time) members.wrong("at", "a time such as 2027-01-01T08:00:00Z, or now");
        if (time) order.request["at"] = std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
    }
    if (members.flag("permanently")) order.request["permanently"] = true;
    if (order.dry_run) order.request["dry_run"] = true;
    const int selected = members.has("ids") + members.has("filter") + members.has("selection");
    if (order.of_place && (!found->of_places || selected > 0))
        members.wrong("scope", "it only with force, pause and resume, and without messages");
    if (!order.of_place && (!found->of_messages || selected != 1))
        members.wrong("op", found->of_messages ? "one of ids, filter and selection" : "scope and name with it");
    if (order.dry_run && (order.of_place || members.has("selection") || name == op::restore))
        members.wrong("dry_run", "it only with ids or filter");
    if (auto wrong = members.problem()) return std::unexpected(*std::move(wrong));
    return order;
}

class Operations {
public:
    explicit Operations(Services& services) : services_(services) {}

    void begin(const std::shared_ptr<Call>& call) {
        auto order = read_order(call->request().body);
        if (!order) return call->respond(order.error());
        const auto scope = order->operation->scope;
        if (!call->caller().scopes.has(scope))
            return call->respond(Problem{
                403, "missing-scope",
                fmt::format("The token does not have the scope \"{}\", which this needs.", tokens::name_of(scope))});
        if (!order->selection.empty()) {
            auto ids = selections_.take(order->selection, owner_of(*call), std::string(order->operation->name),
                                        common::Loop::now().monotonic);
            if (!ids)
                return call->respond(
                    Problem{404, "not-found",
                            "There is no such selection: it is for the same operation and token, once, "
                            "within ten minutes."});
            order->request["ids"] = *std::move(ids);
        }
        if (order->dry_run && order->request.contains("filter")) return freeze(call, *std::move(order));
        carry_out(call, *order, {});
    }

private:
    static std::string owner_of(const Call& call) {
        const auto& principal = call.caller().principal;
        return principal.name.empty() ? fmt::format("uid {}", principal.uid) : principal.name;
    }

    // First the ids, then the dry run of these.
    void freeze(const std::shared_ptr<Call>& call, Order order) {
        json request = {{"op", op::messages}, {"filter", order.request["filter"]}, {"limit", Selections::most_ids + 1}};
        services_.queue.ask(
            call->caller().principal, std::move(request),
            [this, call, order = std::move(order)](const QueueClient::Answer& answer) mutable {
                if (answer.failure) return call->respond(problem_of(*answer.failure));
                if (answer.lines.size() > Selections::most_ids)
                    return carry_out(call, order, json()); // too many to keep
                std::vector<std::string> ids;
                for (const auto& line : answer.lines) ids.push_back(line.value("id", ""));
                if (ids.empty()) return call->respond(Problem{404, "not-found", "The filter matches no message."});
                order.request.erase("filter");
                order.request["ids"] = ids;
                carry_out(call, order,
                          selections_.keep({owner_of(*call), std::string(order.operation->name), std::move(ids)},
                                           common::Loop::now().monotonic));
            });
    }

    void carry_out(const std::shared_ptr<Call>& call, const Order& order, json selection) {
        services_.queue.ask(call->caller().principal, order.request,
                            [call, selection = std::move(selection), dry = order.dry_run](QueueClient::Answer answer) {
                                if (answer.failure) return call->respond(problem_of(*answer.failure));
                                auto counts = answer.lines.empty() ? json::object() : std::move(answer.lines.front());
                                if (dry) counts["selection"] = selection;
                                call->respond(json_response(200, counts));
                            });
    }

    Services& services_;
    Selections selections_;
};

} // namespace

void add_operations(Router& router, Services& services) {
    router.add({.method = "POST",
                .path = "/v1/operations",
                .scope = Scope::operate,
                .or_scope = Scope::remove,
                .summary = "Carry out an operation",
                .accepts = {json_type},
                .body = schema::order,
                .answer = schema::order_result,
                .statuses = {200, 400, 403, 404, 409, 415, 503},
                .handle = [operations = std::make_shared<Operations>(services)](const std::shared_ptr<Call>& call) {
                    operations->begin(call);
                }});
}

} // namespace http
