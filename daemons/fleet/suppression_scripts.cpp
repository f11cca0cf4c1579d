#include "daemons/fleet/suppression_scripts.h"

namespace fleet {

const redis::Command& suppression_keys() {
    static const redis::Command all{"suppression", "suppression:changes", "suppression:number", "suppression:id"};
    return all;
}

const redis::Script& state_script() {
    static const redis::Script made(R"(
redis.call('SET', KEYS[4], ARGV[1], 'NX')
return {redis.call('GET', KEYS[4]), redis.call('GET', KEYS[3]) or '0'}
)");
    return made;
}

const redis::Script& put_script() {
    static const redis::Script made(R"(
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local function lasts(value)
  local expires = tonumber(string.sub(value, 18, 33)) or 0
  return expires == 0 or expires > now
end
local function newer(a, b)
  if a == b then return false end
  local kind, former = string.sub(a, 17, 17), string.sub(b, 17, 17)
  if kind == 'A' and former == 'P' and lasts(b) then return false end
  if kind == 'P' and former == 'A' and lasts(a) then return true end
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x > y end
  end
  return #a > #b
end
if redis.call('GET', KEYS[4]) ~= ARGV[1] then return -1 end
local newest = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
if newest[1] and tonumber(string.match(newest[1][1], '^%d+')) > tonumber(redis.call('GET', KEYS[3]) or '0') then
  redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
  return -1
end
local made = 0
for i = 3, #ARGV, 2 do
  local former = redis.call('HGET', KEYS[1], ARGV[i])
  if not former or newer(ARGV[i + 1], former) then
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    local number = redis.call('INCR', KEYS[3])
    redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], number .. '-0', 'k', ARGV[i], 'v', ARGV[i + 1])
    made = made + 1
  end
end
return made
)");
    return made;
}

const redis::Script& look_script() {
    static const redis::Script made(R"(
return {redis.call('GET', KEYS[4]) or '', redis.call('GET', KEYS[3]) or '0',
        redis.call('XRANGE', KEYS[2], ARGV[1] .. '-0', '+', 'COUNT', ARGV[2])}
)");
    return made;
}

const redis::Script& remove_script() {
    static const redis::Script made(R"(
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return 0
)");
    return made;
}

} // namespace fleet
