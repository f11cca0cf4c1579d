#include "daemons/fleet/rates/rate_tokens.h"
#include "daemons/fleet/rates/token_script.h"

namespace fleet {

using proto::fleet::AskTokens;
using proto::fleet::Tokens;

void RateTokens::start_over() {
    ++round_;
    calls_ = 0;
}

void RateTokens::ask(const AskTokens& question) {
    const Tokens none{.number = question.number};
    if (calls_ >= most_calls) // that is no failure of the store
        return deps_.answer({.number = question.number, .known = true, .wait = pause.count()});
    const auto answered = [this, question, none, round = round_](const redis::Result& result) {
        if (round == round_) --calls_;
        const auto answer = result ? tokens_in(*result, question) : none;
        deps_.metrics.add(common::MetricId::fleet_tokens, answer.count);
        deps_.answer(answer);
    };
    ++calls_;
    if (deps_.run(token_script(), token_keys(question), token_arguments(question), answered)) return;
    --calls_;
    deps_.answer(none);
}

} // namespace fleet
