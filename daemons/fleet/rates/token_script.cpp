#include "daemons/fleet/rates/token_script.h"
#include "daemons/decide/queue/rates/rate_lease.h"
#include <algorithm>
#include <fmt/format.h>

namespace fleet {

using decide::queue::RateLease;
using proto::fleet::AskTokens;
using proto::fleet::Tokens;
using redis::Reply;

// Times in µs. Kept are the moment of the last token and the gap that it was asked with. The next one is a gap later,
// by the faster of two rates: a rate that was raised holds at once, and a node keeps to its own rate by itself. No
// token lies more than the horizon ahead; one that does comes from a clock that was set back, and is brought back.
// Anything but two numbers was not written here.
const redis::Script& token_script() {
    static const redis::Script made(R"(
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local gap, count, horizon = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local born = tonumber(redis.call('GET', KEYS[1]) or '')
if not born or born ~= born or born > now then
  born = now
  redis.call('SET', KEYS[1], string.format('%.0f', now))
end
local function keep(last, its)
  local life = (last + its - now) / 1000 + 60000
  redis.call('SET', KEYS[2], string.format('%.0f %.0f', last, its), 'PX', string.format('%.0f', life))
end
local last, its = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+) (%d+)$')
last, its = tonumber(last), tonumber(its)
local start = math.max(now, born + horizon)
if last then
  its = its > 0 and math.min(its, gap) or gap
  if last > now + horizon then
    last = now + horizon
    keep(last, its)
  end
  start = math.max(start, last + its)
end
if start > now + horizon then return {0, 0, start - now - horizon} end
local granted = math.min(count, math.floor((now + horizon - start) / gap) + 1)
keep(start + (granted - 1) * gap, gap)
return {granted, start - now, 0}
)");
    return made;
}

redis::Command token_keys(const AskTokens& question) { return {"rates", "rate:" + question.limit}; }

redis::Command token_arguments(const AskTokens& question) {
    return {fmt::format("{}", question.gap), fmt::format("{}", question.count),
            fmt::format("{}", RateLease::horizon.count())};
}

Tokens tokens_in(const Reply& reply, const AskTokens& question) {
    Tokens out{.number = question.number};
    const auto& parts = reply.elements;
    const auto is_number = [](const Reply& each) { return each.kind == Reply::Kind::integer && each.number >= 0; };
    if (!reply.is_list() || parts.size() != 3 || !std::ranges::all_of(parts, is_number)) return out;
    const auto number = [&](std::size_t n) { return static_cast<std::uint64_t>(parts[n].number); };
    constexpr auto latest = static_cast<std::uint64_t>(RateLease::horizon.count());
    if (number(0) > question.count || number(1) > latest) return out;
    out.known = true;
    out.count = number(0);
    out.delay = number(1);
    out.wait = number(2);
    return out;
}

} // namespace fleet
