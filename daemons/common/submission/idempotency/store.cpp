#include "daemons/common/submission/idempotency/store.h"
#include "daemons/common/submission/idempotency/fingerprint.h"
#include "daemons/common/runtime/read_file.h"

namespace common::idempotency {

using decide::idempotency::decode;
using decide::idempotency::encode;
using decide::idempotency::Verdict;
using spool::Result;
using store::Change;
using store::Durable;

namespace {

constexpr std::string_view complete_mark = "complete"; // no key's name: those have 32 bytes

std::string name_of(const Claim& claim) { return name_in_store(claim.submitter, claim.key); }

Change change_for(const Wish& wish) {
    auto name = name_of(wish.what);
    auto reserved = encode(wish.what);
    switch (wish.kind) {
    case Wish::Kind::settle:
        return Change::replace(std::move(name), std::move(reserved),
                               {encode(wish.what.accepted()), wish.expires});
    case Wish::Kind::release: return Change::erase_if(std::move(name), std::move(reserved));
    case Wish::Kind::claim: break;
    }
    return Change::put_if_absent(std::move(name), {std::move(reserved), wish.expires});
}

} // namespace

// False: the claim that is there is void.
bool Ledger::judge(const Wish& wish, const store::Entry& there, Answer& answer) const {
    const auto claim = decode(there.value);
    if (!claim) { // of a later version, or not ours at all
        answer = {Answer::Kind::unavailable, {}, "what the store holds under this key is no claim"};
        return true;
    }
    auto owner = decide::idempotency::Owner::alive;
    auto trace = decide::idempotency::Trace::nowhere;
    if (claim->state == decide::idempotency::State::reserved) {
        owner = witness_.state_of(claim->owner);
        if (owner == decide::idempotency::Owner::dead) trace = witness_.trace_of(claim->id); // in this order
    }
    switch (decide::idempotency::judge(*claim, wish.what.digest, owner, trace)) {
    case Verdict::duplicate: answer = {Answer::Kind::duplicate, claim->id, {}}; break;
    case Verdict::other_content: answer = {Answer::Kind::other_content, claim->id, {}}; break;
    case Verdict::busy: answer = {Answer::Kind::busy, claim->id, {}}; break;
    case Verdict::abandoned: return false;
    }
    return true;
}

std::vector<Answer> Ledger::carry_out(std::span<const Wish> wishes, smtp::WallTime now) {
    std::vector<Answer> answers(wishes.size());
    const auto fail = [&](const spool::Error& error) {
        for (auto& answer : answers) answer = {Answer::Kind::unavailable, {}, error.what};
        return answers;
    };
    const auto complete = is_complete(store_, boot_, now);
    if (!complete) return fail(complete.error());

    std::vector<Change> changes;
    std::vector<std::size_t> whose; // of each change the wish
    for (std::size_t n = 0; n < wishes.size(); ++n) {
        if (wishes[n].kind == Wish::Kind::claim && !*complete) {
            answers[n] = {Answer::Kind::unavailable, {}, "the spool is still being read for keys"};
            continue;
        }
        changes.push_back(change_for(wishes[n]));
        whose.push_back(n);
    }
    const auto made = store_.apply(changes, now, Durable::soon);
    if (!made) return fail(made.error());

    // A claim that meets a void one takes its place, unless another one was faster.
    std::vector<Change> again;
    std::vector<std::size_t> whose_again;
    for (std::size_t n = 0; n < whose.size(); ++n) {
        const auto& wish = wishes[whose[n]];
        const auto& outcome = (*made)[n];
        if (outcome.made || wish.kind != Wish::Kind::claim || judge(wish, *outcome.before, answers[whose[n]]))
            continue;
        again.push_back(
            Change::replace(name_of(wish.what), outcome.before->value, {encode(wish.what), wish.expires}));
        whose_again.push_back(whose[n]);
    }
    if (again.empty()) return answers;
    const auto replaced = store_.apply(again, now, Durable::soon);
    for (std::size_t n = 0; n < whose_again.size(); ++n) {
        auto& answer = answers[whose_again[n]];
        if (!replaced)
            answer = {Answer::Kind::unavailable, {}, replaced.error().what};
        else if (!(*replaced)[n].made)
            answer = {Answer::Kind::busy, {}, {}};
    }
    return answers;
}

Result<> keep(store::Store& store, std::span<const Kept> kept, smtp::WallTime now) {
    std::vector<Change> changes;
    for (const auto& each : kept)
        changes.push_back(Change::put_if_absent(name_of(each.what), {encode(each.what), each.expires}));
    const auto made = TRY(store.apply(changes, now, Durable::now));
    std::vector<Change> again; // those whose writer has not said so
    for (std::size_t n = 0; n < kept.size(); ++n) {
        if (made[n].made) continue;
        const auto there = decode(made[n].before->value);
        if (there && there->state == decide::idempotency::State::reserved && there->id == kept[n].what.id)
            again.push_back(Change::replace(changes[n].key, made[n].before->value,
                                            {encode(kept[n].what), kept[n].expires}));
    }
    if (!again.empty()) TRY(store.apply(again, now, Durable::now));
    return {};
}

Result<bool> is_complete(store::Store& store, std::string_view boot, smtp::WallTime now) {
    const auto mark = TRY(store.get(complete_mark, now));
    return mark && mark->value == boot;
}

Result<> set_complete(store::Store& store, std::string_view boot, smtp::WallTime now) {
    TRY(store.apply(Change::put(std::string(complete_mark), {std::string(boot), {}}), now));
    return {};
}

std::string this_boot() { return read_file("/proc/sys/kernel/random/boot_id").value_or(""); }

} // namespace common::idempotency
