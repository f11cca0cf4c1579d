#include "daemons/common/submission/idempotency/client.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/store/lmdb.h"
#include "daemons/common/submission/idempotency/owner_lock.h"
#include "libspool/format/layout.h"
#include <cerrno>
#include <unistd.h>

namespace common::idempotency {

using decide::idempotency::Trace;

static constexpr std::size_t most_unreleased = 10'000; // beyond, keys stay reserved until this process ends

Reservation::~Reservation() {
    if (!client_.expired()) (*client_.lock())->release(request_);
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

    // In incoming/ first: from there files go to messages/, never back.
    Trace trace_of(spool::QueueId id) const {
        const auto there = [&](spool::Location location) {
            return ::access((spool + "/" + spool::path_of(id, location)).c_str(), F_OK) == 0 || errno != ENOENT;
        };
        return there(spool::Location::incoming)   ? Trace::incoming
               : there(spool::Location::messages) ? Trace::messages
                                                  : Trace::nowhere;
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
                       [this](spool::QueueId id) { return trace_of(id); }});
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

std::string Decision::duplicate_text(std::string_view key) const {
    return fmt::format("duplicate of {}: not sent, because of its idempotency key {}{}", duplicate_of->text(), key,
                       other_content ? " (its content is not the same)" : "");
}

Decision Client::decide(Request request, config::IdempotencyMatch match, const Answer& answer) {
    Decision out;
    const auto field = decide::idempotency::field_name;
    out.other_content = answer.kind == Answer::Kind::other_content;
    out.busy = answer.kind == Answer::Kind::busy;
    if (out.other_content) out.existing = answer.first;
    const bool repeated = out.other_content && match == config::IdempotencyMatch::key;
    switch (repeated ? Answer::Kind::duplicate : answer.kind) {
    case Answer::Kind::proceed: out.hold.reset(new Reservation(alive_, std::move(request))); break;
    case Answer::Kind::duplicate:
        out.duplicate_of = answer.first;
        out.reply = {250, {2, 0, 0}, "Ok: queued as " + answer.first.text()};
        break;
    case Answer::Kind::other_content:
        out.reply = {
            554,
            {5, 6, 0},
            fmt::format("Error: {} was used for other content, which was queued as {}", field, answer.first.text())};
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

void Client::confirm(std::unique_ptr<Reservation> hold, std::function<void()> done) {
    hold->client_.reset();
    auto request = hold->request_;
    request.kind = Request::Kind::confirm;
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
