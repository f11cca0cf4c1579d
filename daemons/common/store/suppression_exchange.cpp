#include "daemons/common/store/suppression_exchange.h"
#include "daemons/common/store/suppression_list.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

namespace common {

using decide::Suppression;
using spool::Result;
using store::KeyedEntry;

namespace {

// Below all entries: changes to be shared, erasures, and how far others have been followed.
constexpr std::string_view unsent_prefix = "\x01o", erased_prefix = "\x01t", position_key = "\x01p",
                           beside_entries = "\x01";
constexpr std::size_t longest_text = 500; // of what is shown

std::string unsent_key(std::string_view key) { return std::string(unsent_prefix) + std::string(key); }
std::string erased_key(std::string_view key) { return std::string(erased_prefix) + std::string(key); }

// The time of a change, as the value of a mark.
std::string mark_of(smtp::WallTime changed) { return SharedSuppression::erased(changed).text(); }
smtp::WallTime time_of(const store::Entry& mark) {
    const auto read = SharedSuppression::parse(mark.value);
    return read ? read->changed : smtp::WallTime{};
}

store::Change erasure(const std::string& key, smtp::WallTime changed, smtp::WallTime until) {
    return store::Change::put(erased_key(key), {mark_of(changed), std::max(until, changed + erasure_remembered)});
}

// What is to be remembered beside an entry. Once it has expired, it was erased by this change: other nodes may still
// have what it replaced.
store::Change beside(const std::string& key, smtp::WallTime changed, smtp::WallTime expires) {
    if (expires == smtp::WallTime{}) return store::Change::erase(erased_key(key));
    return erasure(key, changed, expires + erasure_remembered);
}

// Of an erasure: as long as it is remembered here.
SharedSuppression erased_by(const store::Entry& mark) { return {time_of(mark), mark.expires, ""}; }

// As this node would write it: no lookup finds anything else, and it could pass for what is kept beside entries.
bool is_entry_key(const std::string& key) {
    const auto parts = key >= SuppressionExchange::before_entries && key.size() <= SuppressionExchange::longest_key
                           ? decide::parse_suppression_key(key)
                           : std::nullopt;
    if (!parts) return false;
    const auto at = parts->recipient.rfind('@');
    if (at == parts->recipient.npos) return false;
    const auto written = at == 0 ? std::string(parts->recipient)
                                 : smtp::Mailbox{std::string(parts->recipient.substr(0, at)),
                                                 std::string(parts->recipient.substr(at + 1))}
                                       .text();
    const auto recipient = decide::suppression_recipient(written, name_folding());
    const auto scope = decide::suppression_scope(parts->scope, name_folding());
    return recipient && scope && decide::suppression_key(*recipient, *scope) == key;
}

// Others may have other limits for what is shown.
Suppression printable(Suppression entry) {
    for (auto* text : {&entry.reason, &entry.reply, &entry.who}) *text = smtp::printable(*text, longest_text);
    return entry;
}

} // namespace

Result<smtp::WallTime> SuppressionExchange::last_change(const std::string& key, smtp::WallTime now) const {
    smtp::WallTime out{};
    if (const auto there = TRY(store_.get(key, now))) out = change_time(*there);
    if (const auto mark = TRY(store_.get(erased_key(key), now))) out = std::max(out, time_of(*mark));
    return out;
}

Result<std::optional<SharedSuppression>> SuppressionExchange::kept(const std::string& key, smtp::WallTime now) const {
    std::optional<SharedSuppression> out;
    if (const auto there = TRY(store_.get(key, now))) out = SharedSuppression::of(*there);
    const auto mark = TRY(store_.get(erased_key(key), now));
    if (mark && (!out || time_of(*mark) > out->changed)) out = erased_by(*mark);
    return out;
}

void SuppressionExchange::note(std::vector<store::Change>& out, const std::string& key, smtp::WallTime changed) const {
    if (key.size() <= longest_key) out.push_back(store::Change::put(unsent_key(key), {mark_of(changed), {}}));
}

// A change is newer than what it replaces, whatever the clocks say.
Result<std::vector<store::Change>> SuppressionExchange::put(std::span<const Suppression> entries,
                                                            smtp::WallTime now) const {
    std::vector<store::Change> out;
    for (const auto& each : entries) {
        const auto key = decide::suppression_key(each.recipient, each.scope);
        const auto changed = std::max(now, TRY(last_change(key, now)) + smtp::Duration(1));
        out.push_back(store::Change::put(key, suppression_entry(each, changed)));
        if (key.size() > longest_key) continue;
        out.push_back(beside(key, changed, each.expires));
        note(out, key, changed);
    }
    return out;
}

Result<std::vector<store::Change>> SuppressionExchange::erase(std::span<const Suppression> entries, smtp::WallTime now,
                                                              std::vector<bool>& existed) const {
    std::vector<store::Change> out;
    for (const auto& each : entries) {
        const auto key = decide::suppression_key(each.recipient, each.scope);
        existed.push_back(TRY(store_.get(key, now)).has_value());
        if (!existed.back()) continue;
        const auto changed = std::max(now, TRY(last_change(key, now)) + smtp::Duration(1));
        out.push_back(store::Change::erase(key));
        if (key.size() > longest_key) continue;
        out.push_back(erasure(key, changed, {}));
        note(out, key, changed);
    }
    return out;
}

Result<std::vector<SuppressionExchange::Change>> SuppressionExchange::unsent(std::string_view after, std::size_t most,
                                                                             smtp::WallTime now) const {
    std::vector<Change> out;
    const auto from = after.empty() ? std::string() : unsent_key(after);
    for (const auto& mark : TRY(store_.walk(unsent_prefix, from, most, now))) {
        const auto key = mark.key.substr(unsent_prefix.size());
        // Erased, or expired since, if nothing is kept. Never before the mark, which then could not be cleared.
        auto change = TRY(kept(key, now)).value_or(SharedSuppression::erased({}));
        if (change.changed < time_of(mark.entry)) change.changed = time_of(mark.entry);
        if (change.entry.empty()) change.expires = std::max(change.expires, change.changed + erasure_remembered);
        out.push_back({key, change.text()});
    }
    return out;
}

Result<std::size_t> SuppressionExchange::count_unsent(std::size_t most, smtp::WallTime now) const {
    return TRY(store_.walk(unsent_prefix, "", most, now)).size();
}

Result<> SuppressionExchange::sent(std::span<const Change> changes, smtp::WallTime now) {
    std::vector<store::Change> done;
    for (const auto& each : changes) {
        const auto read = SharedSuppression::parse(each.value);
        const auto mark = TRY(store_.get(unsent_key(each.key), now));
        if (read && mark && time_of(*mark) <= read->changed)
            done.push_back(store::Change::erase_if(unsent_key(each.key), mark->value));
    }
    if (done.empty()) return {};
    TRY(store_.apply(done, now, store::Durable::soon));
    return {};
}

Result<std::vector<SuppressionExchange::Change>> SuppressionExchange::all(std::string& after, std::size_t most,
                                                                          smtp::WallTime now) const {
    std::vector<Change> out;
    const bool in_erasures = after.empty() || after.starts_with(erased_prefix);
    const auto walked = TRY(in_erasures ? store_.walk(erased_prefix, after, most, now) : std::vector<KeyedEntry>());
    for (const auto& mark : walked) {
        const auto key = mark.key.substr(erased_prefix.size());
        const auto there = TRY(store_.get(key, now)); // it has an end: the mark is for later
        if (!there || change_time(*there) < time_of(mark.entry)) out.push_back({key, erased_by(mark.entry).text()});
    }
    if (!walked.empty()) after = walked.back().key;
    if (walked.size() == most) return out;
    const auto from = after.empty() || in_erasures ? std::string(before_entries) : after;
    const auto entries = TRY(store_.walk("", from, most - walked.size(), now));
    for (const auto& each : entries)
        if (each.key.size() <= longest_key) out.push_back({each.key, SharedSuppression::of(each.entry).text()});
    if (!entries.empty()) after = entries.back().key;
    return out;
}

Result<SuppressionExchange::Merged> SuppressionExchange::merge(std::span<const Change> changes,
                                                               const std::optional<Position>& position,
                                                               const Refuse& refuse, smtp::WallTime now) {
    Merged merged;
    std::vector<store::Change> out;
    // What comes twice is compared with what was there before: only one of them is taken.
    std::map<std::string_view, SharedSuppression> last;
    for (const auto& each : changes) {
        const auto change = SharedSuppression::parse(each.value);
        if (!change || !is_entry_key(each.key)) continue;
        if (change->changed > now + furthest) {
            ++merged.future;
            continue;
        }
        const auto [before, first] = last.try_emplace(each.key, *change);
        if (!first && change->replaces(before->second, now)) before->second = *change;
    }
    for (const auto& [name, change] : last) {
        const std::string key(name);
        const auto known = TRY(kept(key, now));
        if (known && !change.replaces(*known, now)) continue;
        const auto there = TRY(store_.get(key, now));
        const auto former = there ? read_suppression(key, *there) : std::nullopt;
        auto put =
            change.entry.empty() ? std::nullopt : read_suppression(key, store::Entry{change.entry, change.expires});
        if (!change.entry.empty() && (!put || put->automatic != change.automatic || refuse(*put))) continue;
        if (put) *put = printable(*std::move(put));
        const bool over = change.expires != smtp::WallTime{} && change.expires <= now;
        const bool no_news = known && known->changed == change.changed;
        if (no_news && (put && !over ? former && *put == printable(*former) : !former)) continue;
        out.push_back(store::Change::erase(unsent_key(key))); // what is newer was shared by another
        if (put && !over) {
            out.push_back(store::Change::put(key, suppression_entry(*put, change.changed)));
            out.push_back(beside(key, change.changed, change.expires));
            if (former && *put == printable(*former)) continue;
            merged.fresh += !former;
            merged.added.push_back(*std::move(put));
            continue;
        }
        out.push_back(put ? beside(key, change.changed, change.expires) : erasure(key, change.changed, change.expires));
        if (!former) continue;
        out.push_back(store::Change::erase(key));
        merged.removed.push_back(*former);
    }
    if (position)
        out.push_back(store::Change::put(std::string(position_key),
                                         {fmt::format("{} {}", position->cursor, position->store), {}}));
    if (!out.empty()) TRY(store_.apply(out, now, store::Durable::now));
    return merged;
}

Result<SuppressionExchange::Position> SuppressionExchange::position(smtp::WallTime now) const {
    const auto kept = TRY(store_.get(position_key, now));
    Position out;
    if (!kept) return out;
    const std::string_view text = kept->value;
    const auto space = text.find(' ');
    const auto [end, error] = std::from_chars(text.data(), text.data() + std::min(space, text.size()), out.cursor);
    if (space == text.npos || error != std::errc() || end != text.data() + space) return Position{};
    out.store = text.substr(space + 1);
    return out;
}

Result<> SuppressionExchange::forget(smtp::WallTime now) {
    constexpr std::size_t at_once = 1000;
    while (true) {
        std::vector<store::Change> gone;
        for (const auto& each : TRY(store_.walk(beside_entries, "", at_once, now)))
            gone.push_back(store::Change::erase(each.key));
        if (gone.empty()) return {};
        TRY(store_.apply(gone, now, store::Durable::now));
    }
}

} // namespace common
