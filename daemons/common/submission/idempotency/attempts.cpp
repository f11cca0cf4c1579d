#include "daemons/common/submission/idempotency/attempts.h"
#include "daemons/common/submission/idempotency/fingerprint.h"
#include "libspool/format/layout.h"
#include <cerrno>
#include <functional>
#include <optional>
#include <unistd.h>

namespace common::idempotency {

using decide::idempotency::decode;
using decide::idempotency::Owner;
using decide::idempotency::State;
using decide::idempotency::Trace;
using Fate = AttemptResult::Fate;

namespace {

using Entry = std::optional<store::Entry>;

// The entry is read again after its owner's death: until then it may have been confirmed, and the message delivered.
spool::Result<AttemptResult> result_of(const Entry& entry, const KeyStore::OwnerProbe& probe, const Attempt& attempt,
                                       const std::function<spool::Result<Entry>()>& again) {
    if (!entry) return AttemptResult{.fate = Fate::gone};
    const auto claim = decode(entry->value);
    if (!claim) return AttemptResult{.fate = Fate::open}; // of a later version, or not ours at all
    if (claim->id != attempt.id) return AttemptResult{.fate = Fate::gone};
    const AttemptResult accepted{.fate = Fate::accepted, .expires = entry->expires};
    if (claim->state == State::accepted) return accepted;
    if (probe.state_of(claim->owner) == Owner::alive) return AttemptResult{.fate = Fate::open};
    switch (probe.trace_of(claim->id)) { // in this order
    case Trace::messages: return accepted;
    case Trace::incoming: return AttemptResult{.fate = Fate::open};
    case Trace::nowhere: break;
    }
    const auto now_there = TRY(again());
    const bool same = now_there && now_there->value == entry->value;
    return AttemptResult{.fate = same ? Fate::gone : Fate::open}; // open: the next look decides
}

} // namespace

Trace trace_of(const std::string& spool, spool::QueueId id) {
    const auto there = [&](spool::Location location) {
        return ::access((spool + "/" + spool::path_of(id, location)).c_str(), F_OK) == 0 || errno != ENOENT;
    };
    return there(spool::Location::incoming)   ? Trace::incoming
           : there(spool::Location::messages) ? Trace::messages
                                              : Trace::nowhere;
}

spool::Result<std::vector<AttemptResult>> results_of(store::Store& store, std::string_view boot,
                                                     const KeyStore::OwnerProbe& probe,
                                                     std::span<const Attempt> attempts, smtp::WallTime now) {
    std::vector<AttemptResult> out(attempts.size());
    if (!TRY(is_complete(store, boot, now))) return out;
    for (std::size_t n = 0; n < attempts.size(); ++n) {
        const auto get = [&] { return store.get(attempts[n].name, now); };
        const auto entry = TRY(get());
        out[n] = TRY(result_of(entry, probe, attempts[n], get));
    }
    return out;
}

spool::Result<std::vector<NamedClaim>> accepted_keys(store::Store& store, std::string_view boot, std::string& after,
                                                     std::size_t most, smtp::WallTime now) {
    if (!TRY(is_complete(store, boot, now)))
        return std::unexpected(spool::Error{.what = "the spool is still being read for keys"});
    std::vector<NamedClaim> out;
    for (auto& [name, entry] : TRY(store.walk("", after, most, now))) {
        after = name;
        auto claim = decode(entry.value);
        const bool is_key = claim && name == name_in_store(claim->submitter, claim->key);
        if (!is_key || claim->state != State::accepted || !is_shared(*claim)) continue;
        out.push_back({.name = std::move(name), .what = *std::move(claim), .expires = entry.expires});
    }
    return out;
}

} // namespace common::idempotency
