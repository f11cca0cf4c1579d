#include "daemons/common/submission/idempotency/store.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/submission/idempotency/fingerprint.h"
#include <fmt/format.h>

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

Change change_for(const Request& request) {
    auto name = name_of(request.what);
    auto reserved = encode(request.what);
    switch (request.kind) {
    case Request::Kind::confirm:
        return Change::replace(std::move(name), std::move(reserved),
                               {encode(request.what.accepted()), request.expires});
    case Request::Kind::release: return Change::erase_if(std::move(name), std::move(reserved));
    case Request::Kind::claim: break;
    }
    return Change::put_if_absent(std::move(name), {std::move(reserved), request.expires});
}

} // namespace

// False: the existing claim is void.
bool KeyStore::judge(const Request& request, const store::Entry& there, Answer& answer) const {
    const auto claim = decode(there.value);
    if (!claim) { // of a later version, or not ours at all
        answer = {Answer::Kind::unavailable, {}, "the value stored for this key is not a claim"};
        return true;
    }
    auto owner = decide::idempotency::Owner::alive;
    auto trace = decide::idempotency::Trace::nowhere;
    if (claim->state == decide::idempotency::State::reserved) {
        owner = probe_.state_of(claim->owner);
        if (owner == decide::idempotency::Owner::dead) trace = probe_.trace_of(claim->id); // in this order
    }
    switch (decide::idempotency::judge(*claim, request.what.digest, owner, trace)) {
    case Verdict::duplicate: answer = {Answer::Kind::duplicate, claim->id, {}}; break;
    case Verdict::other_content: answer = {Answer::Kind::other_content, claim->id, {}}; break;
    case Verdict::busy: answer = {Answer::Kind::busy, claim->id, {}}; break;
    case Verdict::abandoned: return false;
    }
    return true;
}

std::vector<Answer> KeyStore::execute(std::span<const Request> requests, smtp::WallTime now) {
    std::vector<Answer> answers(requests.size());
    const auto fail = [&](const spool::Error& error) {
        for (auto& answer : answers) answer = {Answer::Kind::unavailable, {}, error.what};
        return answers;
    };
    const auto complete = is_complete(store_, boot_, now);
    if (!complete) return fail(complete.error());

    std::vector<Change> changes;
    std::vector<std::size_t> whose; // of each change the request
    for (std::size_t n = 0; n < requests.size(); ++n) {
        if (requests[n].kind == Request::Kind::claim && !*complete) {
            answers[n] = {Answer::Kind::unavailable, {}, "the spool is still being read for keys"};
            continue;
        }
        changes.push_back(change_for(requests[n]));
        whose.push_back(n);
    }
    const auto made = store_.apply(changes, now, Durable::soon);
    if (!made) return fail(made.error());

    // A claim that meets a void one replaces it, unless another one was faster.
    std::vector<Change> again;
    std::vector<std::size_t> whose_again;
    for (std::size_t n = 0; n < whose.size(); ++n) {
        const auto& request = requests[whose[n]];
        const auto& outcome = (*made)[n];
        if (outcome.made || request.kind != Request::Kind::claim || judge(request, *outcome.before, answers[whose[n]]))
            continue;
        again.push_back(
            Change::replace(name_of(request.what), outcome.before->value, {encode(request.what), request.expires}));
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

Result<> record_accepted(store::Store& store, std::span<const AcceptedKey> kept, smtp::WallTime now) {
    std::vector<Change> changes;
    for (const auto& each : kept)
        changes.push_back(Change::put_if_absent(name_of(each.what), {encode(each.what), each.expires}));
    const auto made = TRY(store.apply(changes, now, Durable::now));
    std::vector<Change> again; // those whose writer has not confirmed them
    for (std::size_t n = 0; n < kept.size(); ++n) {
        if (made[n].made) continue;
        const auto there = decode(made[n].before->value);
        if (there && there->state == decide::idempotency::State::reserved && there->id == kept[n].what.id)
            again.push_back(
                Change::replace(changes[n].key, made[n].before->value, {encode(kept[n].what), kept[n].expires}));
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

std::string boot_id() { return read_file("/proc/sys/kernel/random/boot_id").value_or(""); }

bool is_shared(const Claim& claim) {
    return !claim.submitter.starts_with("node:") && !claim.key.starts_with(decide::idempotency::own_key_prefix);
}

bool is_of_program(const Claim& claim) { return claim.submitter.starts_with("uid:"); }

Claim claim_of(const spool::TransferOrigin& transfer, spool::QueueId id) {
    Claim claim;
    claim.id = id;
    claim.digest = transfer.digest;
    claim.submitter = "node:" + transfer.node;
    claim.key = fmt::format("transfer {} {}", transfer.id.text(), transfer.generation);
    return claim;
}

} // namespace common::idempotency
