#include "daemons/common/store/suppression_list.h"
#include "daemons/common/store/lmdb.h"
#include "daemons/common/text/idn.h"
#include "libsmtp/text/text.h"
#include "libspool/format/fields.h"
#include <algorithm>

namespace common {

using decide::Suppression;
using spool::Result;

namespace {

// What is stored under the key; the store handles the expiry.
struct Kept {
    std::string reason, reply, who;
    bool automatic = false;
    smtp::WallTime added{};
    static void fields(auto& m, auto& f) {
        f(1, m.reason);
        f(2, m.reply);
        f(3, m.who);
        f(4, m.automatic);
        f(5, m.added);
    }
};

Result<Suppression> entry_of(std::string_view key, const store::Entry& entry) {
    const auto place = decide::parse_suppression_key(key);
    const auto kept = spool::fields::read<Kept>(entry.value, "suppression");
    if (!place || !kept)
        return std::unexpected(spool::Error{EUCLEAN, "the suppression list has an entry that cannot be read"});
    return Suppression{std::string(place->recipient),
                       place->scope,
                       kept->reason,
                       kept->reply,
                       kept->who,
                       kept->automatic,
                       kept->added,
                       entry.expires};
}

store::Entry stored(const Suppression& entry) {
    const auto cut = [](const std::string& text) { return text.substr(0, SuppressionList::longest_text); };
    const Kept kept{cut(entry.reason), cut(entry.reply), entry.who, entry.automatic, entry.added};
    return {spool::fields::Writer::bytes_of(kept), entry.expires};
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

Result<bool> SuppressionList::empty(smtp::WallTime now) const { return TRY(store_->walk("", "", 1, now)).empty(); }

Result<std::vector<Suppression>> SuppressionList::walk(std::string& after, std::size_t most, smtp::WallTime now) const {
    const auto listed = TRY(store_->walk("", after, most, now));
    std::vector<Suppression> out;
    out.reserve(listed.size());
    for (const auto& each : listed) out.push_back(TRY(entry_of(each.key, each.entry)));
    if (!listed.empty()) after = listed.back().key;
    return out;
}

Result<std::vector<bool>> SuppressionList::put(std::span<const Suppression> entries, smtp::WallTime now) {
    std::vector<store::Change> changes;
    changes.reserve(entries.size());
    for (const auto& each : entries)
        changes.push_back(store::Change::put(decide::suppression_key(each.recipient, each.scope), stored(each)));
    std::vector<bool> out;
    for (const auto& each : TRY(store_->apply(changes, now, store::Durable::now))) out.push_back(!each.before);
    return out;
}

Result<std::vector<bool>> SuppressionList::erase(std::span<const Suppression> entries, smtp::WallTime now) {
    std::vector<store::Change> changes;
    changes.reserve(entries.size());
    for (const auto& each : entries)
        changes.push_back(store::Change::erase(decide::suppression_key(each.recipient, each.scope)));
    std::vector<bool> out;
    for (const auto& each : TRY(store_->apply(changes, now, store::Durable::now)))
        out.push_back(each.before.has_value());
    return out;
}

} // namespace common
