#include "daemons/common/submission/idempotency/client.h"
#include "daemons/common/runtime/destroy_later.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/store/lmdb.h"
#include "daemons/common/submission/idempotency/attempts.h"
#include "daemons/common/submission/idempotency/owner_lock.h"
#include <cerrno>

namespace common::idempotency {

using Step = SharedKeys::Step;
using Found = proto::key_claims::Answer::Kind;

static constexpr std::size_t most_unreleased = 10'000; // beyond, keys stay reserved until this process ends

Reservation::~Reservation() {
    if (!client_.expired()) (*client_.lock())->give_up(*this);
}

// Used by one job at a time.
struct Client::Back {
    const std::string spool, directory;
    const std::uint8_t slot;
    const std::uint64_t largest;
    const std::string boot = boot_id();
    std::unique_ptr<store::Lmdb> store = {};
    std::optional<OwnerLock> lock = {};

    spool::Result<> open() {
        if (!lock) lock = TRY(OwnerLock::take(directory, slot));
        if (!store) store = TRY(store::Lmdb::open(directory, {.max_size = largest}));
        return {};
    }

    std::vector<Answer> execute(const std::vector<Waiting>& waiting, smtp::WallTime now) {
        if (const auto opened = open(); !opened) {
            auto why = opened.error().what;
            if (opened.error().code == ENOENT) why += " (the queue-manager creates it when it starts)";
            return std::vector<Answer>(waiting.size(), {Answer::Kind::unavailable, {}, why});
        }
        std::vector<Request> requests;
        for (const auto& each : waiting) requests.emplace_back(each.request).what.owner = lock->name();
        KeyStore keys(*store, boot,
                      {[this](std::string_view owner) { return OwnerLock::state_of(directory, owner); },
                       [this](spool::QueueId id) { return trace_of(spool, id); }});
        return keys.execute(requests, now);
    }
};

Client::Client(Log& log, spool::CommitPool& pool, const config::Idempotency& settings, const std::string& spool,
               std::uint8_t slot)
    : log_(log), pool_(pool), life_(settings.lifetime),
      back_(new Back{spool, directory_in(spool), slot, settings.max_size}), alive_(std::make_shared<Client*>(this)) {}

Client::~Client() = default;

void Client::claim(const spool::Envelope& envelope, spool::QueueId id, config::IdempotencyMatch match,
                   Decided decided) {
    Request request;
    request.what.id = id;
    request.what.digest = envelope.idempotency_digest;
    request.what.submitter = envelope.submitter;
    request.what.key = envelope.idempotency_key;
    request.expires = envelope.arrival + life_;
    add(request, [this, request, match, decided = std::move(decided)](const Answer& answer) mutable {
        if (answer.kind == Answer::Kind::proceed && others_ && is_shared(request.what))
            return claim_everywhere(request, match, std::move(decided));
        decided(decide(std::move(request), match, answer));
    });
}

void Client::claim_transfer(const spool::TransferOrigin& transfer, spool::QueueId id, Decided decided) {
    Request request;
    request.what = claim_of(transfer, id);
    request.expires = transfer.time + transfer_lifetime;
    add(request, [this, request, decided = std::move(decided)](const Answer& answer) mutable {
        decided(decide(std::move(request), config::IdempotencyMatch::content, answer));
    });
}

static std::string text_of(spool::QueueId id, const std::string& node) {
    return node.empty() ? id.text() : fmt::format("{} on node {}", id.text(), node);
}

std::string Decision::first_text() const { return text_of(*duplicate_of, node); }

std::string Decision::duplicate_text(std::string_view key) const {
    return fmt::format("duplicate of {}: not sent, because of its idempotency key {}{}", first_text(), key,
                       other_content ? " (its content is not the same)" : "");
}

Decision Client::decide(Request request, config::IdempotencyMatch match, const Answer& answer) {
    Decision out;
    const auto field = decide::idempotency::field_name;
    out.other_content = answer.kind == Answer::Kind::other_content;
    out.busy = answer.kind == Answer::Kind::busy;
    if (out.other_content) out.existing = answer.first;
    out.node = answer.node;
    const bool repeated = out.other_content && match == config::IdempotencyMatch::key;
    switch (repeated ? Answer::Kind::duplicate : answer.kind) {
    case Answer::Kind::proceed: out.hold.reset(new Reservation(alive_, std::move(request))); break;
    case Answer::Kind::duplicate:
        out.duplicate_of = answer.first;
        out.reply = {250, {2, 0, 0}, "Ok: queued as " + text_of(answer.first, answer.node)};
        break;
    case Answer::Kind::other_content:
        out.reply = {554,
                     {5, 6, 0},
                     fmt::format("Error: {} was used for other content, which was queued as {}", field,
                                 text_of(answer.first, answer.node))};
        break;
    case Answer::Kind::busy:
        out.reply = {451,
                     {4, 3, 0},
                     fmt::format("Error: another message with this {} is being accepted, try again later", field)};
        break;
    case Answer::Kind::unavailable:
        out.reply = {451, {4, 3, 0}, fmt::format("Error: {} cannot be looked up now, try again later", field)};
        break;
    }
    return out;
}

// ---- the other nodes

void Client::share(const config::Fleet& fleet, const SharedKeys::Peer& peer, Metrics& metrics) {
    metrics_ = &metrics;
    node_ = fleet.node;
    sharing_ = fleet.shares_keys() ? fleet.keys : config::FleetKeys::off;
    const bool shares = sharing_ != config::FleetKeys::off;
    if (shares && !others_) others_ = std::make_unique<SharedKeys>(peer);
    if (shares || !others_) return;
    others_unavailable_ = false;
    others_->fail_all("keys are no longer shared");
    destroy_later(peer.loop, std::move(others_));
}

void Client::claim_everywhere(const Request& request, config::IdempotencyMatch match, Decided decided) {
    std::unique_ptr<Reservation> hold(new Reservation(alive_, request));
    others_->ask(
        Step::reserve, request,
        [this, match, hold = std::move(hold), decided = std::move(decided)](const SharedKeys::Answer& answer) mutable {
            hold->elsewhere_ = answer.kind == Found::done || answer.kind == Found::failed;
            if (auto end = ending(hold->request_, match, answer)) return decided(*std::move(end));
            if (answer.kind == Found::done) metrics_->count(MetricId::fleet_keys, SharedKeyResult::new_key);
            Decision out;
            out.hold = std::move(hold);
            decided(std::move(out));
        });
}

void Client::secure(const Reservation& hold, config::IdempotencyMatch match, Secured done) {
    // A key whose lifetime has ended while filters ran need not be shared.
    if (!hold.elsewhere_ || !others_ || hold.request_.expires <= Loop::now().wall) return done({});
    others_->ask(Step::pledge, hold.request_,
                 [this, request = hold.request_, match, done = std::move(done)](
                     const SharedKeys::Answer& answer) mutable { done(ending(request, match, answer)); });
}

// Why the message ends because of them; none: it continues.
std::optional<Decision> Client::ending(const Request& request, config::IdempotencyMatch match,
                                       const SharedKeys::Answer& answer) {
    if (answer.kind == Found::failed) return without_others(request, answer.why);
    others_answer();
    if (answer.kind == Found::done) return {};
    const bool busy = answer.kind == Found::busy;
    metrics_->count(MetricId::fleet_keys, busy ? SharedKeyResult::busy : SharedKeyResult::duplicate);
    return decide(request, match,
                  {.kind = busy                                   ? Answer::Kind::busy
                           : answer.digest == request.what.digest ? Answer::Kind::duplicate
                                                                  : Answer::Kind::other_content,
                   .first = answer.id,
                   .why = {},
                   .node = answer.node == node_ ? std::string() : answer.node});
}

std::optional<Decision> Client::without_others(const Request& request, const std::string& why) {
    if (sharing_ == config::FleetKeys::off) return {}; // since then
    const bool strict = sharing_ == config::FleetKeys::strict;
    if (!std::exchange(others_unavailable_, true)) {
        if (strict)
            log_.error(
                "mail with an Idempotency-Key is rejected temporarily, because the keys of the other nodes cannot "
                "be asked for: {}",
                why);
        else
            log_.warning("idempotency keys are not compared with those of the other nodes: {}", why);
    }
    metrics_->count(MetricId::fleet_keys, strict ? SharedKeyResult::refused : SharedKeyResult::taken_alone);
    if (strict) {
        Decision out;
        out.reply = {451,
                     {4, 3, 0},
                     fmt::format("Error: {} cannot be compared with the other nodes now, try again later",
                                 decide::idempotency::field_name)};
        return out;
    }
    log_.info("{}: accepted without a comparison of its idempotency key {} with the other nodes",
              request.what.id.text(), request.what.key);
    return {};
}

void Client::others_answer() {
    if (std::exchange(others_unavailable_, false))
        log_.info("idempotency keys are compared with the other nodes again");
}

void Client::give_up(const Reservation& hold) {
    if (hold.elsewhere_ && others_) others_->ask(Step::release, hold.request_, [](const SharedKeys::Answer&) {});
    release(hold.request_);
}

// ---- the end of a message

void Client::confirm(std::unique_ptr<Reservation> hold, std::function<void()> done) {
    hold->client_.reset();
    auto request = hold->request_;
    request.kind = Request::Kind::confirm;
    if (!hold->elsewhere_ || !others_)
        return add(std::move(request), [done = std::move(done)](const Answer&) { done(); });
    others_->ask(Step::confirm, request, [this, request](const SharedKeys::Answer& answer) {
        if (answer.kind == Found::accepted)
            log_.warning("{}: its idempotency key {} was accepted on node {} as well, as {}: both are sent",
                         request.what.id.text(), request.what.key, answer.node, answer.id.text());
    });
    add(std::move(request), [done = std::move(done)](const Answer&) { done(); });
}

void Client::release(const Request& held) {
    auto request = held;
    request.kind = Request::Kind::release;
    add(request, [this, request](const Answer& answer) {
        if (answer.kind == Answer::Kind::unavailable && unreleased_.size() < most_unreleased)
            unreleased_.push_back(request);
    });
}

void Client::add(Request request, std::move_only_function<void(const Answer&)> answered) {
    waiting_.push_back({std::move(request), std::move(answered)});
    if (!busy_) send();
}

// All waiting requests at once; those that come meanwhile wait for the next time.
void Client::send() {
    busy_ = true;
    for (const auto& request : std::exchange(unreleased_, {})) release(request);
    pool_.post([this, alive = std::weak_ptr(alive_), &pool = pool_, back = back_, waiting = std::exchange(waiting_, {}),
                now = Loop::now().wall]() mutable {
        auto answers = back->execute(waiting, now);
        pool.complete([this, alive, waiting = std::move(waiting), answers = std::move(answers)]() mutable {
            if (!alive.expired()) answered(std::move(waiting), answers);
        });
    });
}

void Client::answered(std::vector<Waiting> asked, const std::vector<Answer>& answers) {
    busy_ = false;
    for (std::size_t n = 0; n < asked.size(); ++n) {
        log_availability(answers[n]);
        asked[n].answered(answers[n]);
    }
    if (!busy_ && !waiting_.empty()) send();
}

void Client::log_availability(const Answer& answer) {
    const bool unavailable = answer.kind == Answer::Kind::unavailable;
    if (unavailable == store_unavailable_) return;
    store_unavailable_ = unavailable;
    if (unavailable)
        log_.error("mail with an Idempotency-Key is rejected temporarily: {}", answer.why);
    else
        log_.info("idempotency key store available again");
}

} // namespace common::idempotency
