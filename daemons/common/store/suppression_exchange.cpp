#include "daemons/common/store/suppression_exchange.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace common {

using decide::Suppression;
using spool::Result;
using store::KeyedEntry;

namespace {

// Below all entries: changes to be shared, erasures, and how far others have been followed.
constexpr std::string_view unsent_prefix = "\x01o", erased_prefix = "\x01t", position_key = "\x01p";
constexpr std::size_t longest_text = 500; // of what is shown

std::string unsent_key(std::string_view key) { return std::string(unsent_prefix) + std::string(key); }
std::string erased_key(std::string_view key) { return std::string(erased_prefix) + std::string(key); }

// The time of a change, as the value of a mark.
std::string mark_of(smtp::WallTime changed) { return SharedSuppression::erased(changed).text(); }
smtp::WallTime time_of(const store::Entry& mark) {
    const auto read = SharedSuppression::parse(mark.value);
    return read ? read->changed : smtp::WallTime{};
}

store::Change erasure(const std::string& key, smtp::WallTime changed) {
    return store::Change::put(erased_key(key), {mark_of(changed), changed + erasure_remembered});
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
        out.push_back(store::Change::erase(erased_key(key)));
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
        out.push_back(erasure(key, changed));
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
        if (const auto there = TRY(store_.get(key, now)))
            out.push_back({key, SharedSuppression::of(*there).text()});
        else // erased, or expired since
            out.push_back({key, SharedSuppression::erased(time_of(mark.entry)).text()});
    }
    return out;
}

Result<std::size_t> SuppressionExchange::count_unsent(std::size_t most, smtp::WallTime now) const {
    return TRY(store_.walk(unsent_prefix, "", most, now)).size();
}

Result<> SuppressionExchange::sent(std::span<const Change> changes, smtp::WallTime now) {
    std::vector<store::Change> done;
    for (const auto& each : changes)
        if (const auto read = SharedSuppression::parse(each.value))
            done.push_back(store::Change::erase_if(unsent_key(each.key), mark_of(read->changed)));
    TRY(store_.apply(done, now, store::Durable::soon));
    return {};
}

Result<std::vector<SuppressionExchange::Change>> SuppressionExchange::all(std::string& after, std::size_t most,
                                                                          smtp::WallTime now) const {
    std::vector<Change> out;
    const bool in_erasures = after.empty() || after.starts_with(erased_prefix);
    const auto walked = TRY(in_erasures ? store_.walk(erased_prefix, after, most, now) : std::vector<KeyedEntry>());
    for (const auto& mark : walked)
        out.push_back({mark.key.substr(erased_prefix.size()), SharedSuppression::erased(time_of(mark.entry)).text()});
    if (!walked.empty()) after = walked.back().key;
    if (walked.size() == most) return out;
    const auto from = after.empty() || in_erasures ? std::string(before_entries) : after;
    const auto entries = TRY(store_.walk("", from, most - out.size(), now));
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
    std::vector<std::string_view> seen;
    for (const auto& each : changes) {
        const auto change = SharedSuppression::parse(each.value);
        if (!change || each.key.size() > longest_key || !decide::parse_suppression_key(each.key)) continue;
        // What comes twice is compared with what was there before: only the newest of them is taken.
        const bool newer_follows = std::ranges::any_of(changes, [&](const Change& other) {
            return &other != &each && other.key == each.key && other.value > each.value;
        });
        if (newer_follows || std::ranges::find(seen, each.key) != seen.end()) continue;
        seen.push_back(each.key);
        const auto there = TRY(store_.get(each.key, now));
        const auto known = TRY(last_change(each.key, now));
        if (change->changed < known) continue;
        if (change->changed == known) { // the same, or made in the same µs by two nodes: all choose alike
            const auto own = there ? SharedSuppression::of(*there).text() : SharedSuppression::erased(known).text();
            if (each.value <= own) continue;
        }
        const store::Entry entry{change->entry, change->expires};
        auto put = change->entry.empty() ? std::nullopt : read_suppression(each.key, entry);
        if (!change->entry.empty() && (!put || refuse(*put))) continue;
        const auto former = there ? read_suppression(each.key, *there) : std::nullopt;
        out.push_back(store::Change::erase(unsent_key(each.key))); // what is newer was shared by another
        const bool over = change->expires != smtp::WallTime{} && change->expires <= now;
        if (put && !over) {
            out.push_back(store::Change::put(each.key, suppression_entry(printable(*put), change->changed)));
            out.push_back(store::Change::erase(erased_key(each.key)));
            merged.fresh += !former;
            merged.added.push_back(printable(*std::move(put)));
            continue;
        }
        if (!put) out.push_back(erasure(each.key, change->changed));
        if (!former) continue;
        out.push_back(store::Change::erase(each.key));
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
    TRY(store_.apply(store::Change::erase(std::string(position_key)), now));
    return {};
}

} // namespace common
