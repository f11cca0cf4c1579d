#include "daemons/common/submission/idempotency/client.h"
#include "daemons/common/submission/idempotency/owner_lock.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/store/lmdb.h"
#include "libspool/format/layout.h"
#include <cerrno>
#include <unistd.h>

namespace common::idempotency {

using decide::idempotency::Trace;

static constexpr std::size_t most_unreleased = 10'000; // beyond, keys wait for the end of this process

Hold::~Hold() {
    if (!desk_.expired()) (*desk_.lock())->release(wish_);
}

// Used by one job at a time.
struct Desk::Back {
    const std::string spool, directory;
    const std::uint8_t slot;
    const std::uint64_t largest;
    const std::string boot = this_boot();
    std::unique_ptr<store::Lmdb> store = {};
    std::optional<OwnerMark> mark = {};

    spool::Result<> open() {
        if (!mark) mark = TRY(OwnerMark::take(directory, slot));
        if (!store) store = TRY(store::Lmdb::open(directory, {.largest = largest}));
        return {};
    }

    // In incoming/ first: from there files go to messages/, never back.
    Trace trace_of(spool::QueueId id) const {
        const auto there = [&](spool::Location location) {
            return ::access((spool + "/" + spool::path_of(id, location)).c_str(), F_OK) == 0 ||
                   errno != ENOENT;
        };
        return there(spool::Location::incoming)   ? Trace::incoming
               : there(spool::Location::messages) ? Trace::messages
                                                  : Trace::nowhere;
    }

    std::vector<Answer> carry_out(const std::vector<Waiting>& waiting, smtp::WallTime now) {
        if (const auto opened = open(); !opened) {
            auto why = opened.error().what;
            if (opened.error().code == ENOENT) why += " (the queue-manager makes it when it starts)";
            return std::vector<Answer>(waiting.size(), {Answer::Kind::unavailable, {}, why});
        }
        std::vector<Wish> wishes;
        for (const auto& each : waiting) wishes.emplace_back(each.wish).what.owner = mark->name();
        Ledger ledger(*store, boot,
                      {[this](std::string_view owner) { return OwnerMark::state_of(directory, owner); },
                       [this](spool::QueueId id) { return trace_of(id); }});
        return ledger.carry_out(wishes, now);
    }
};

Desk::Desk(Log& log, spool::CommitPool& pool, const config::Config& config, std::uint8_t slot)
    : log_(log), pool_(pool), life_(config.idempotency.life),
      back_(new Back{config.spool.directory, directory_in(config.spool.directory), slot,
                     config.idempotency.largest}),
      alive_(std::make_shared<Desk*>(this)) {}

Desk::~Desk() = default;

void Desk::claim(const spool::Envelope& envelope, spool::QueueId id, Decided decided) {
    Wish wish;
    wish.what.id = id;
    wish.what.digest = envelope.idempotency_digest;
    wish.what.submitter = envelope.submitter;
    wish.what.key = envelope.idempotency_key;
    wish.expires = envelope.arrival + life_;
    add(wish, [this, wish, decided = std::move(decided)](const Answer& answer) mutable {
        decided(decide(std::move(wish), answer));
    });
}

Decision Desk::decide(Wish wish, const Answer& answer) {
    Decision out;
    const auto field = decide::idempotency::field_name;
    switch (answer.kind) {
    case Answer::Kind::go_on: out.hold.reset(new Hold(alive_, std::move(wish))); break;
    case Answer::Kind::duplicate:
        out.duplicate_of = answer.first;
        out.reply = {250, {2, 0, 0}, "Ok: queued as " + answer.first.text()};
        break;
    case Answer::Kind::other_content:
        out.reply = {554,
                     {5, 6, 0},
                     fmt::format("Error: {} was used for other content, which was queued as {}", field,
                                 answer.first.text())};
        break;
    case Answer::Kind::busy:
        out.reply = {
            451,
            {4, 3, 0},
            fmt::format("Error: a message with this {} is being taken just now, try again later", field)};
        break;
    case Answer::Kind::unavailable:
        out.reply = {
            451, {4, 3, 0}, fmt::format("Error: {} cannot be looked up now, try again later", field)};
        break;
    }
    return out;
}

void Desk::settle(std::unique_ptr<Hold> hold, std::function<void()> done) {
    hold->desk_.reset();
    auto wish = hold->wish_;
    wish.kind = Wish::Kind::settle;
    add(std::move(wish), [done = std::move(done)](const Answer&) { done(); });
}

void Desk::release(const Wish& held) {
    auto wish = held;
    wish.kind = Wish::Kind::release;
    add(wish, [this, wish](const Answer& answer) {
        if (answer.kind == Answer::Kind::unavailable && unreleased_.size() < most_unreleased)
            unreleased_.push_back(wish);
    });
}

void Desk::add(Wish wish, std::move_only_function<void(const Answer&)> answered) {
    waiting_.push_back({std::move(wish), std::move(answered)});
    if (!busy_) send();
}

// All that waits in one go; what comes meanwhile waits for the next one.
void Desk::send() {
    busy_ = true;
    for (const auto& wish : std::exchange(unreleased_, {})) release(wish);
    pool_.post([this, alive = std::weak_ptr(alive_), &pool = pool_, back = back_,
                waiting = std::exchange(waiting_, {}), now = Loop::now().wall]() mutable {
        auto answers = back->carry_out(waiting, now);
        pool.complete([this, alive, waiting = std::move(waiting), answers = std::move(answers)]() mutable {
            if (!alive.expired()) answered(std::move(waiting), answers);
        });
    });
}

void Desk::answered(std::vector<Waiting> asked, const std::vector<Answer>& answers) {
    busy_ = false;
    for (std::size_t n = 0; n < asked.size(); ++n) {
        note_health(answers[n]);
        asked[n].answered(answers[n]);
    }
    if (!busy_ && !waiting_.empty()) send();
}

void Desk::note_health(const Answer& answer) {
    const bool ill = answer.kind == Answer::Kind::unavailable;
    if (ill == ill_) return;
    ill_ = ill;
    if (ill)
        log_.error("mail with an Idempotency-Key is put off: {}", answer.why);
    else
        log_.info("idempotency keys are heeded again");
}

} // namespace common::idempotency
