#include "daemons/fleet/heartbeat.h"
#include "daemons/common/runtime/random.h"
#include <fmt/format.h>
#include <utility>

namespace fleet {

namespace {

// Writes this node's entry, removes the one under its previous name, and returns all that are not too old, with the
// store's clock in front. What lies in the future was written by another clock: a node that runs writes it again.
const redis::Script& script() {
    static const redis::Script made(R"(
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local former = redis.call('HGET', KEYS[1], ARGV[1]) or ''
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
if ARGV[4] ~= '' then
  local old = redis.call('HGET', KEYS[1], ARGV[4])
  if old and string.find(old, ARGV[5], 1, true) then redis.call('HDEL', KEYS[1], ARGV[4]) end
end
local out = {t[1], t[2], former}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local seen = tonumber(string.match(all[i + 1], '^(%d+) ') or '0')
  if now - seen > tonumber(ARGV[3]) or seen > now + 1000 then
    redis.call('HDEL', KEYS[1], all[i])
  else
    out[#out + 1] = all[i]
    out[#out + 1] = all[i + 1]
  end
end
return out
)");
    return made;
}

std::string fresh_instance() {
    std::string out;
    for (const unsigned char byte : common::random_bytes(8)) out += fmt::format("{:02x}", byte);
    return out;
}

} // namespace

Heartbeat::Heartbeat(std::string node, Dependencies dependencies)
    : node_(std::move(node)), instance_(fresh_instance()), deps_(std::move(dependencies)), list_(node_),
      timer_(deps_.loop, [this] { beat(); }) {}

void Heartbeat::use(StoreClient* store) { store_ = store; }

void Heartbeat::rename(const std::string& node) {
    if (node == node_) return;
    former_ = std::exchange(node_, node);
    list_ = NodeList(node);
    beat();
}

void Heartbeat::beat() {
    if (stopped_ || !store_ || !store_->ready()) return; // once it is ready, we are called again
    timer_.start(interval);
    deps_.facts_wanted();
    send(false, {});
}

void Heartbeat::stop(std::function<void()> done) {
    stopped_ = true;
    timer_.stop();
    if (!store_ || !store_->ready() || store_->availability().away()) return deps_.loop.defer(std::move(done));
    send(true, std::move(done));
}

void Heartbeat::send(bool stopped, std::function<void()> then) {
    auto facts = deps_.facts();
    facts.version = POSTRIDER_VERSION;
    facts.instance = instance_;
    facts.stopped = stopped;
    facts.clock = list_.clock_difference().count();
    const auto sent = common::Loop::now();
    const auto oldest = std::chrono::duration_cast<std::chrono::milliseconds>(remembered).count();
    store_->run(
        script(), {"nodes"}, {node_, facts.text(), fmt::format("{}", oldest), former_, instance_},
        [this, sent, node = node_, then = std::move(then)](const redis::Result& result) {
            if (then) return then();
            if (stopped_) return;
            if (!result) return timer_.start(retry);
            if (node != node_) return; // of our former name
            former_.clear();
            if (list_.take(*result, instance_, sent, common::Loop::now())) deps_.list_received();
        },
        StoreClient::Proves::store_works);
}

} // namespace fleet
