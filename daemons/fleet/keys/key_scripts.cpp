#include "daemons/fleet/keys/key_scripts.h"
#include "daemons/fleet/keys/key_entry.h"

namespace fleet {

using redis::Script;

std::string entry_key(std::string_view name) { return "key:" + hex_of(name); }
std::string pledges_key(std::string_view node) { return "pledges:" + std::string(node); }

const Script& reserve_script() {
    static const Script made(R"(
local there = redis.call('GET', KEYS[1])
if there and there ~= 'R ' .. ARGV[1] then
  local own = string.sub(there, 1, 2) == 'R ' and string.sub(there, -#ARGV[3] - 1) == ' ' .. ARGV[3]
  if not own then return string.sub(there, 1, 400) end
end
redis.call('SET', KEYS[1], 'R ' .. ARGV[1], 'PX', ARGV[2])
return 1
)");
    return made;
}

const Script& pledge_script() {
    static const Script made(R"(
local there = redis.call('GET', KEYS[1])
if there and there ~= 'R ' .. ARGV[1] and there ~= 'P ' .. ARGV[1] then return string.sub(there, 1, 400) end
redis.call('HSET', KEYS[2], KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
redis.call('SET', KEYS[1], 'P ' .. ARGV[1], 'PX', ARGV[2])
return 1
)");
    return made;
}

const Script& confirm_script() {
    static const Script made(R"(
local there = redis.call('GET', KEYS[1])
if redis.call('HGET', KEYS[2], KEYS[1]) == ARGV[1] then redis.call('HDEL', KEYS[2], KEYS[1]) end
if there and string.sub(there, 1, 2) == 'A ' and there ~= 'A ' .. ARGV[1] then return string.sub(there, 1, 400) end
redis.call('SET', KEYS[1], 'A ' .. ARGV[1], 'PX', ARGV[2])
return 1
)");
    return made;
}

const Script& release_script() {
    static const Script made(R"(
if redis.call('HGET', KEYS[2], KEYS[1]) == ARGV[1] then redis.call('HDEL', KEYS[2], KEYS[1]) end
local there = redis.call('GET', KEYS[1])
if there == 'R ' .. ARGV[1] or there == 'P ' .. ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
)");
    return made;
}

const Script& offer_script() {
    static const Script made(R"(
local made = 0
for i = 1, #KEYS do
  local tail = ARGV[2 * i - 1]
  local there = redis.call('GET', KEYS[i])
  if not there or string.sub(there, 1, 2) == 'R ' or there == 'P ' .. tail then
    redis.call('SET', KEYS[i], 'A ' .. tail, 'PX', ARGV[2 * i])
    made = made + 1
  end
end
return made
)");
    return made;
}

const Script& pledges_script() {
    static const Script made(R"(
return redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 100)
)");
    return made;
}

} // namespace fleet
