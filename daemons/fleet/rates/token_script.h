// How the store grants tokens for a rate: in one step, by its own clock, each for a moment of its own, so that all
// nodes together are as fast as the rate and no faster. What it answers is checked here. Pure.
#pragma once
#include "daemons/common/proto/fleet_rates.h"
#include "daemons/fleet/redis/command.h"
#include "daemons/fleet/redis/reply.h"
#include "daemons/fleet/redis/script.h"

namespace fleet {

// The moment of the next token is all that the store keeps of a rate. Tokens are granted at most a second ahead; a
// store that was started empty grants none for a second, in which those of its former life are used up.
const redis::Script& token_script();
redis::Command token_keys(const proto::fleet::AskTokens& question);
redis::Command token_arguments(const proto::fleet::AskTokens& question);

// Not known if it is no answer to that question.
proto::fleet::Tokens tokens_in(const redis::Reply& reply, const proto::fleet::AskTokens& question);

} // namespace fleet
