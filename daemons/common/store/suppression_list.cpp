#include "daemons/common/store/suppression_list.h"
#include "daemons/common/store/lmdb.h"
#include "daemons/common/text/idn.h"
#include "libsmtp/text/text.h"
#include <algorithm>

namespace common {

using decide::Suppression;
using spool::Result;

namespace {

Result<Suppression> entry_of(std::string_view key, const store::Entry& entry) {
    if (auto read = read_suppression(key, entry)) return *std::move(read);
    return std::unexpected(spool::Error{EUCLEAN, "the suppression list has an entry that cannot be read"});
}

Suppression cut(Suppression entry) {
    for (auto* text : {&entry.reason, &entry.reply})
        text->resize(std::min(text->size(), SuppressionList::longest_text));
    return entry;
}

} // namespace

const decide::NameFolding& name_folding() {
    static const decide::NameFolding folding{idn::ascii_domain, idn::folded};
    return folding;
}

bool is_own_postmaster(std::string_view address, const std::vector<std::string>& local_domains) {
    const auto at = address.rfind('@');
    if (!smtp::same_ignoring_case(address.substr(0, at), "postmaster")) return false;
    return at == address.npos ||
           std::ranges::find(local_domains, idn::ascii_domain(address.substr(at + 1))) != local_domains.end();
}

Result<std::unique_ptr<SuppressionList>> SuppressionList::open(const std::string& spool) {
    return std::make_unique<SuppressionList>(TRY(store::Lmdb::open(
        directory_in(spool), {.max_size = 4ULL << 30, .examined = store::LmdbOptions::Examined::report_busy})));
}

Result<std::optional<Suppression>>
SuppressionList::find(std::string_view address, const decide::SuppressionSubject& message, smtp::WallTime now) const {
    for (const auto& key : decide::suppression_keys(address, message, name_folding()))
        if (const auto found = TRY(store_->get(key, now))) return TRY(entry_of(key, *found));
    return std::nullopt;
}

Result<std::optional<Suppression>>
SuppressionList::entry(std::string_view recipient, const decide::SuppressionScope& scope, smtp::WallTime now) const {
    const auto key = decide::suppression_key(recipient, scope);
    if (const auto found = TRY(store_->get(key, now))) return TRY(entry_of(key, *found));
    return std::nullopt;
}

Result<bool> SuppressionList::empty(smtp::WallTime now) const {
    return TRY(store_->walk("", SuppressionExchange::before_entries, 1, now)).empty();
}

Result<std::vector<Suppression>> SuppressionList::walk(std::string& after, std::size_t most, smtp::WallTime now) const {
    const auto from = after.empty() ? SuppressionExchange::before_entries : std::string_view(after);
    const auto listed = TRY(store_->walk("", from, most, now));
    std::vector<Suppression> out;
    out.reserve(listed.size());
    for (const auto& each : listed) out.push_back(TRY(entry_of(each.key, each.entry)));
    if (!listed.empty()) after = listed.back().key;
    return out;
}

Result<std::vector<bool>> SuppressionList::put(std::span<const Suppression> entries, smtp::WallTime now) {
    std::vector<Suppression> fitting;
    fitting.reserve(entries.size());
    for (const auto& each : entries) fitting.push_back(cut(each));
    std::vector<store::Change> changes;
    if (shared_)
        changes = TRY(exchange_.put(fitting, now));
    else
        for (const auto& each : fitting)
            changes.push_back(
                store::Change::put(decide::suppression_key(each.recipient, each.scope), suppression_entry(each, {})));
    const auto made = TRY(store_->apply(changes, now, store::Durable::now));
    std::vector<bool> out;
    for (std::size_t n = 0; n < changes.size(); ++n)
        if (changes[n].key >= SuppressionExchange::before_entries) out.push_back(!made[n].before);
    return out;
}

Result<std::vector<bool>> SuppressionList::erase(std::span<const Suppression> entries, smtp::WallTime now) {
    std::vector<bool> out;
    std::vector<store::Change> changes;
    if (shared_) {
        changes = TRY(exchange_.erase(entries, now, out));
        TRY(store_->apply(changes, now, store::Durable::now));
        return out;
    }
    changes.reserve(entries.size());
    for (const auto& each : entries)
        changes.push_back(store::Change::erase(decide::suppression_key(each.recipient, each.scope)));
    for (const auto& each : TRY(store_->apply(changes, now, store::Durable::now)))
        out.push_back(each.before.has_value());
    return out;
}

} // namespace common
