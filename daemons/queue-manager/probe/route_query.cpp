#include "daemons/queue-manager/probe/route_query.h"
#include "daemons/queue-manager/conversion/categorization.h"
#include <fmt/format.h>

namespace queue_manager {

void RouteQuery::ask(const std::string& address, const std::string& pool, Done done, RoutesWanted wanted) {
    const auto number = ++last_;
    const auto at =
        questions_.emplace(number, Question{{}, address, pool, {}, std::move(done), std::move(wanted)}).first;
    if (!backends_.categorizer(
            {.request = number, .queue_id = spool::QueueId{1}, .pool = pool, .recipients = {{0, address}}}))
        finish(at, "the categorizer is not running right now: try again");
}

bool RouteQuery::answered(const proto::categorize::Categorized& answer) {
    if (answer.request < first_number) return false;
    const auto at = questions_.find(answer.request);
    if (at == questions_.end()) return true;
    auto& question = at->second;
    for (const auto& outcome : answer.outcomes) {
        question.findings.routes.push_back({outcome, {}});
        auto& recipient_route = question.findings.routes.back();
        if (recipient_route.outcome.address.empty()) recipient_route.outcome.address = question.address;
        if (outcome.fate == spool::Fate::remote)
            question.open[destination_of(recipient_route.outcome.address, outcome.transport)].push_back(
                question.findings.routes.size() - 1);
    }
    if (question.open.empty() || (question.wanted && !question.wanted(question.findings))) {
        finish(at);
        return true;
    }
    for (const auto& [destination, routes] : question.open)
        if (!backends_.router({answer.request, destination, question.pool})) {
            finish(at, "the router is not running right now: try again");
            return true;
        }
    return true;
}

bool RouteQuery::answered(const proto::route::Routed& answer) {
    if (answer.request < first_number) return false;
    const auto at = questions_.find(answer.request);
    if (at == questions_.end()) return true;
    auto& question = at->second;
    const auto open = question.open.find(answer.domain);
    if (open == question.open.end()) return true;
    for (const auto recipient_route : open->second) question.findings.routes[recipient_route].route = answer;
    question.open.erase(open);
    if (question.open.empty()) finish(at);
    return true;
}

void RouteQuery::lost(std::string_view who) {
    while (!questions_.empty())
        finish(questions_.begin(), fmt::format("the {} exited before it answered: try again", who));
}

void RouteQuery::finish(std::map<std::uint64_t, Question>::iterator at, std::string error) {
    auto question = std::move(at->second);
    questions_.erase(at);
    question.findings.error = std::move(error);
    question.done(question.findings);
}

} // namespace queue_manager
