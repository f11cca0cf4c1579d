#include "daemons/common/submission/idempotency/shared_keys.h"
#include "daemons/common/submission/idempotency/fingerprint.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <utility>

namespace common::idempotency {

namespace claims = proto::key_claims;
using Kind = claims::Answer::Kind;

static constexpr std::size_t longest_node = 255;
static constexpr std::string_view silent = "the process fleet does not answer";

SharedKeys::SharedKeys(const Peer& peer)
    : loop_(peer.loop), timer_(peer.loop, [this] { expire(); }),
      fleet_(peer.loop, peer.log, peer.run_directory + "/private/fleet", claims::conversation, peer.identity,
             {.on_message = [this](claims::Message&& message) { answered(std::move(message)); },
              .on_down = [this](const std::string&) { fail_all("the process fleet has ended"); }}) {}

void SharedKeys::ask(Step step, const Request& request, Done done) {
    if (waiting_.size() >= most_waiting) return fail_later(std::move(done), "too many keys wait for the store");
    const auto now = Loop::now();
    const bool is_report = step == Step::confirm || step == Step::release;
    if (!is_report && now.monotonic < next_) return fail_later(std::move(done), std::string(silent));
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(request.expires - now.wall).count();
    const claims::Ask ask{.number = ++number_,
                          .step = step,
                          .name = name_in_store(request.what.submitter, request.what.key),
                          .digest = request.what.digest,
                          .id = request.what.id,
                          .lasts = static_cast<std::uint64_t>(std::max<std::int64_t>(left, 1)),
                          .of_program = is_of_program(request.what)};
    if (fleet_.send(ask) != ipc::SendResult::yes)
        return fail_later(std::move(done), "the process fleet is not connected");
    waiting_.emplace(ask.number, Waiting{std::move(done), now.monotonic + patience});
    if (waiting_.size() == 1) timer_.start(patience);
}

void SharedKeys::answered(claims::Message&& message) {
    auto* answer = std::get_if<claims::Answer>(&message);
    if (!answer) return fleet_.fail("a question instead of an answer");
    unanswered_ = 0;
    next_ = {};
    const auto which = waiting_.find(answer->number);
    if (which == waiting_.end()) return; // it came too late
    const spool::QueueId id{answer->id};
    if (answer->kind == Kind::accepted && (!id.valid() || answer->digest.size() != claims::digest_size))
        return fleet_.fail("a message without an id");
    finish(which, {.kind = answer->kind,
                   .node = smtp::printable(answer->node, longest_node),
                   .digest = std::move(answer->digest),
                   .why = std::move(answer->why),
                   .id = id});
}

void SharedKeys::finish(std::map<std::uint64_t, Waiting>::iterator which, const Answer& answer) {
    auto done = std::move(which->second.done);
    waiting_.erase(which);
    done(answer);
}

void SharedKeys::fail_later(Done done, std::string why) {
    loop_.defer([done = std::make_shared<Done>(std::move(done)), why = std::move(why), alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) (*done)({.kind = Kind::failed, .node = {}, .digest = {}, .why = why, .id = {}});
    });
}

void SharedKeys::fail_all(const std::string& why) {
    unanswered_ = 0;
    next_ = {};
    for (auto& [number, each] : std::exchange(waiting_, {})) fail_later(std::move(each.done), why);
}

void SharedKeys::expire() {
    const auto now = Loop::now().monotonic;
    while (!waiting_.empty() && waiting_.begin()->second.deadline <= now) {
        if (++unanswered_ >= most_unanswered) next_ = now + pause;
        finish(waiting_.begin(),
               {.kind = Kind::failed, .node = {}, .digest = {}, .why = std::string(silent), .id = {}});
    }
    if (!waiting_.empty())
        timer_.start(std::max<smtp::Duration>(waiting_.begin()->second.deadline - now, std::chrono::milliseconds(1)));
}

} // namespace common::idempotency
