#include "daemons/fleet/keys/key_scripts.h"
#include "daemons/fleet/keys/key_entry.h"

namespace fleet {

using redis::Script;

static constexpr std::string_view entries = "key:";

std::string entry_key(std::string_view name, std::string_view origin) {
    return std::string(entries) + hex_of(name) + (origin.empty() ? "" : "@") + std::string(origin);
}

std::string name_in(std::string_view entry_key) {
    if (!entry_key.starts_with(entries)) return "";
    const auto rest = entry_key.substr(entries.size());
    constexpr std::size_t longest = 64 + 1 + 255;
    return rest.size() > longest ? "" : bytes_of_hex(rest.substr(0, rest.find('@'))).value_or("");
}

std::string pledges_key(std::string_view node) { return "pledges:" + std::string(node); }

namespace {

// In front of what takes a key that is missing. A store that has just been emptied knows no keys: it is new until all
// nodes that are named, and at least that number, have written theirs, or for two minutes. ARGV[at]: the number, then
// the names.
std::string with_new_store(std::string_view script) {
    return R"(
local function is_new(since_key, offered_key, at)
  local now = redis.call('TIME')[1]
  local since = tonumber(redis.call('GET', since_key) or '')
  if not since or since > tonumber(now) then
    redis.call('SET', since_key, now)
    since = tonumber(now)
  end
  if tonumber(now) - since >= 120 then return false end
  local offered = 0
  for _, state in ipairs(redis.call('HVALS', offered_key)) do
    if state == '1' then offered = offered + 1 end
  end
  if offered < tonumber(ARGV[at]) then return true end
  for n = at + 1, #ARGV do
    if redis.call('HGET', offered_key, ARGV[n]) ~= '1' then return true end
  end
  return false
end
)" + std::string(script);
}

} // namespace

const Script& reserve_script() {
    static const Script made(with_new_store(R"(
local there = redis.call('GET', KEYS[1])
if not there and is_new(KEYS[3], KEYS[4], 4) then return 'new' end
if there and there ~= 'R ' .. ARGV[1] then
  local own = string.sub(there, 1, 2) == 'R ' and string.sub(there, -#ARGV[3] - 1) == ' ' .. ARGV[3]
  if not own then return string.sub(there, 1, 400) end
end
redis.call('SET', KEYS[1], 'R ' .. ARGV[1], 'PX', ARGV[2])
return 1
)"));
    return made;
}

const Script& pledge_script() {
    static const Script made(with_new_store(R"(
local there = redis.call('GET', KEYS[1])
if not there and is_new(KEYS[3], KEYS[4], 4) then return 'new' end
if there and there ~= 'R ' .. ARGV[1] and there ~= 'P ' .. ARGV[1] then return string.sub(there, 1, 400) end
redis.call('HSET', KEYS[2], KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
redis.call('SET', KEYS[1], 'P ' .. ARGV[1], 'PX', ARGV[2])
return 1
)"));
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

const Script& begin_offer_script() {
    static const Script made(R"(
local there = redis.call('HGET', KEYS[1], ARGV[1])
if there == '1' or there == ARGV[2] then return 1 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 0
)");
    return made;
}

const Script& offer_script() {
    static const Script made(R"(
local made, left = 0, 0
for i = 1, #KEYS do
  local tail = ARGV[2 * i - 1]
  local there = redis.pcall('GET', KEYS[i])
  if type(there) == 'table' then there = '' end
  if not there or string.sub(there, 1, 2) == 'R ' or there == 'P ' .. tail then
    redis.call('SET', KEYS[i], 'A ' .. tail, 'PX', ARGV[2 * i])
    made = made + 1
  elseif string.sub(there, 1, 2) == 'P ' then
    left = left + 1
  end
end
return {made, left}
)");
    return made;
}

const Script& end_offer_script() {
    static const Script made(R"(
local there = redis.call('HGET', KEYS[1], ARGV[1])
if there ~= '1' and there ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], '1')
return 1
)");
    return made;
}

const Script& pledges_script() {
    static const Script made(R"(
local found = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 100)
return {found[1], found[2], redis.call('HEXISTS', KEYS[2], ARGV[2])}
)");
    return made;
}

} // namespace fleet
