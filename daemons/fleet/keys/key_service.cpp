#include "daemons/fleet/keys/key_service.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/fleet/keys/key_entry.h"
#include "daemons/fleet/keys/key_scripts.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace fleet {

namespace claims = proto::key_claims;
using claims::Step;
using Kind = claims::Answer::Kind;

namespace {

constexpr std::uint64_t longest_life = 91ULL * 24 * 3600 * 1000; // ms; the configuration allows no more

const redis::Script& script_for(Step step) {
    switch (step) {
    case Step::reserve: return reserve_script();
    case Step::pledge: return pledge_script();
    case Step::confirm: return confirm_script();
    case Step::release: break;
    }
    return release_script();
}

claims::Answer failed(std::string why) {
    claims::Answer out;
    out.why = std::move(why);
    return out;
}

} // namespace

// One writer.
class KeyService::Client {
public:
    Client(KeyService& owner, std::unique_ptr<Channel> channel) : owner_(owner), channel_(std::move(channel)) {
        channel_->set_callbacks(
            {[this](claims::Message&& message) { take(message); }, [this](const std::string&) { owner_.gone(*this); }});
    }
    Client(const Client&) = delete;

private:
    void take(const claims::Message& message) {
        const auto* ask = std::get_if<claims::Ask>(&message);
        if (!ask || ask->name.size() != claims::name_size || ask->digest.size() != claims::digest_size)
            return channel_->fail("not a question about a key");
        ++calls_;
        const bool too_many = calls_ > most_of_one;
        owner_.run(*ask, too_many, [this, number = ask->number, alive = std::weak_ptr(alive_)](claims::Answer answer) {
            if (alive.expired()) return;
            --calls_;
            answer.number = number;
            if (channel_->send(answer) == ipc::SendResult::too_long) channel_->fail("an answer that is too long");
        });
    }

    KeyService& owner_;
    std::unique_ptr<Channel> channel_;
    std::size_t calls_ = 0; // under way
    std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

KeyService::KeyService(Dependencies dependencies, common::Fd fd, ipc::ExpectedTokens expected)
    : deps_(std::move(dependencies)),
      listener_(deps_.context.loop, deps_.context.log, std::move(fd), std::move(expected)) {
    using proto::Role;
    listener_.serve<claims::Message>(
        claims::conversation, {Role::smtpd, Role::pickup},
        [this](ipc::Peer, auto channel) { clients_.push_back(std::make_unique<Client>(*this, std::move(channel))); });
}

KeyService::~KeyService() = default;

void KeyService::use(const std::string& why_not, const std::string& node) {
    if (why_not.empty() != why_not_.empty()) calls_ = std::make_shared<std::size_t>(0); // the others may never end
    why_not_ = why_not;
    node_ = node;
}

void KeyService::expect_nodes(std::uint32_t expected, std::vector<std::string> names) {
    expected_ = {fmt::format("{}", expected)};
    std::ranges::move(names, std::back_inserter(expected_));
}

void KeyService::run(const claims::Ask& ask, bool too_many, std::function<void(claims::Answer)> done) {
    const auto refuse = [&](std::string why) {
        if (ask.step == Step::confirm) deps_.not_confirmed();
        done(failed(std::move(why)));
    };
    if (!why_not_.empty()) return refuse(why_not_);
    if (too_many || *calls_ >= most_calls) return refuse("too many calls wait for the store");
    ++*calls_;
    const KeyEntry entry{.state = {}, .digest = ask.digest, .id = ask.id, .node = node_};
    redis::Command arguments{entry.tail()};
    const auto life = ask.step == Step::reserve
                          ? std::chrono::duration_cast<std::chrono::milliseconds>(reservation).count()
                          : static_cast<std::int64_t>(std::clamp<std::uint64_t>(ask.lasts, 1, longest_life));
    if (ask.step != Step::release) arguments.push_back(fmt::format("{}", life));
    redis::Command keys{entry_key(ask.name, ask.of_program ? origin_ : ""), pledges_key(node_)};
    if (ask.step == Step::reserve || ask.step == Step::pledge) {
        keys.insert(keys.end(), {std::string(since_key), std::string(offered_key)});
        arguments.push_back(node_);
        arguments.insert(arguments.end(), expected_.begin(), expected_.end());
    }
    deps_.store.run(script_for(ask.step), keys, arguments,
                    [this, ask, done = std::move(done), calls = calls_,
                     alive = std::weak_ptr(alive_)](const redis::Result& result) {
                        if (alive.expired()) return;
                        --*calls;
                        if (ask.step == Step::pledge) CRASH_POINT("fleet.key_pledged");
                        if (ask.step == Step::confirm) CRASH_POINT("fleet.key_confirmed");
                        done(answer_to(ask, result));
                    });
}

claims::Answer KeyService::answer_to(const claims::Ask& ask, const redis::Result& result) {
    claims::Answer out;
    if (result && result->kind == redis::Reply::Kind::integer && result->number == 1) {
        out.kind = Kind::done;
        return out;
    }
    if (result && result->is_text() && result->text == is_new)
        return failed("the store is new, and not all nodes have written their keys into it yet");
    const auto there = result && result->is_text() ? KeyEntry::parse(result->text) : std::nullopt;
    if (!there) {
        if (ask.step == Step::confirm) deps_.not_confirmed();
        return failed(result ? "the store holds something else" : "the store: " + result.error().text);
    }
    const bool accepted = there->state == KeyEntry::State::accepted;
    out.kind = accepted ? Kind::accepted : Kind::busy;
    out.node = there->node;
    if (!accepted) return out;
    out.digest = there->digest;
    out.id = there->id.value;
    return out;
}

void KeyService::gone(Client& client) {
    deps_.context.loop.defer([this, &client, alive = std::weak_ptr(alive_)] { // it is in the middle of a callback
        if (!alive.expired()) std::erase_if(clients_, [&](const auto& each) { return each.get() == &client; });
    });
}

} // namespace fleet
