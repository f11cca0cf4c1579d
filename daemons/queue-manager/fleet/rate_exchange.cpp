#include "daemons/queue-manager/fleet/rate_exchange.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace queue_manager {

using decide::queue::SharedRate;

namespace {

constexpr std::uint32_t most_nodes = 1000;
constexpr std::uint64_t longest_wait = 3'600'000'000; // µs

smtp::Duration duration_of(std::uint64_t micros) {
    return smtp::Duration(static_cast<std::int64_t>(std::min(micros, longest_wait)));
}

} // namespace

void RateExchange::ask(const decide::queue::AskTokens& question) {
    const auto* rate = question.rate == SharedRate::messages ? "messages" : "connections";
    deps_.send({.number = question.number,
                .limit = fmt::format("{}:{}", rate, question.link),
                .gap = static_cast<std::uint64_t>(question.gap.count()),
                .count = question.count});
}

void RateExchange::received(const proto::fleet::Tokens& answer) {
    constexpr auto most = std::numeric_limits<std::uint32_t>::max();
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
        engine.tokens_granted({{.number = answer.number,
                                .known = answer.known,
                                .count = static_cast<std::uint32_t>(std::min<std::uint64_t>(answer.count, most)),
                                .wait = duration_of(answer.wait),
                                .delay = duration_of(answer.delay)}},
                              now, out);
    });
}

void RateExchange::received(const proto::fleet::Sharing& sharing) {
    // A fleet process that was started while the store is away knows no nodes: those of before still count.
    const auto nodes = sharing.nodes == 0 && presence_ ? presence_->nodes : std::min(sharing.nodes, most_nodes);
    presence_ = {.store = sharing.store, .nodes = nodes, .missing = std::min(sharing.missing, most_nodes)};
    tell();
}

void RateExchange::disconnected() {
    if (!presence_) return;
    presence_->store = false;
    tell();
}

void RateExchange::tell() {
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) { engine.fleet_changed(*presence_, now, out); });
}

} // namespace queue_manager
