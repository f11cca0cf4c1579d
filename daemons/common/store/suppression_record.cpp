#include "daemons/common/store/suppression_record.h"
#include "libspool/format/fields.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace common {

using decide::Suppression;

namespace {

// What is stored under the key; the store handles the expiry.
struct Kept {
    std::string reason, reply, who;
    bool automatic = false;
    smtp::WallTime added{}, changed{};
    static void fields(auto& m, auto& f) {
        f(1, m.reason);
        f(2, m.reply);
        f(3, m.who);
        f(4, m.automatic);
        f(5, m.added);
        f(6, m.changed);
    }
};

constexpr std::size_t digits = 16, header = digits + 1 + digits;
constexpr std::int64_t latest = 9'999'999'999'999'999;

std::int64_t micros_of(smtp::WallTime time) {
    return std::clamp<std::int64_t>(time.time_since_epoch().count(), 0, latest);
}

std::optional<smtp::WallTime> time_in(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) return {};
    return smtp::WallTime(smtp::Duration(number));
}

char kind_of(const SharedSuppression& change) {
    if (change.entry.empty()) return 'E';
    return change.automatic ? 'A' : 'P';
}

} // namespace

store::Entry suppression_entry(const Suppression& entry, smtp::WallTime changed) {
    const Kept kept{entry.reason, entry.reply, entry.who, entry.automatic, entry.added, changed};
    return {spool::fields::Writer::bytes_of(kept), entry.expires};
}

std::optional<Suppression> read_suppression(std::string_view key, const store::Entry& entry) {
    const auto place = decide::parse_suppression_key(key);
    const auto kept = spool::fields::read<Kept>(entry.value, "suppression");
    if (!place || !kept) return {};
    return Suppression{std::string(place->recipient),
                       place->scope,
                       kept->reason,
                       kept->reply,
                       kept->who,
                       kept->automatic,
                       kept->added,
                       entry.expires};
}

smtp::WallTime change_time(const store::Entry& entry) {
    const auto kept = spool::fields::read<Kept>(entry.value, "suppression");
    if (!kept) return {};
    return kept->changed == smtp::WallTime{} ? kept->added : kept->changed;
}

// Written again: an entry of a node that was alone, or of another release, has the same bytes on all nodes.
SharedSuppression SharedSuppression::of(const store::Entry& entry) {
    auto kept = spool::fields::read<Kept>(entry.value, "suppression");
    if (!kept) return {{}, entry.expires, entry.value};
    if (kept->changed == smtp::WallTime{}) kept->changed = kept->added;
    return {kept->changed, entry.expires, spool::fields::Writer::bytes_of(*kept), kept->automatic};
}

SharedSuppression SharedSuppression::erased(smtp::WallTime changed) {
    return {changed, changed + erasure_remembered, ""};
}

bool SharedSuppression::replaces(const SharedSuppression& other, smtp::WallTime now) const {
    const auto lasts = [now](const SharedSuppression& each) {
        return !each.entry.empty() && (each.expires == smtp::WallTime{} || each.expires > now);
    };
    if (!entry.empty() && !other.entry.empty() && automatic != other.automatic) {
        if (automatic && lasts(other)) return false;
        if (other.automatic && lasts(*this)) return true;
    }
    return text() > other.text();
}

std::string SharedSuppression::text() const {
    return fmt::format("{:016}{}{:016}", micros_of(changed), kind_of(*this), micros_of(expires)) + entry;
}

std::optional<SharedSuppression> SharedSuppression::parse(std::string_view text) {
    if (text.size() < header || text.size() > longest) return {};
    const char kind = text[digits];
    const auto changed = time_in(text.substr(0, digits)), expires = time_in(text.substr(digits + 1, digits));
    SharedSuppression out;
    out.entry = text.substr(header);
    out.automatic = kind == 'A';
    if (!changed || !expires || kind != kind_of(out)) return {};
    out.changed = *changed;
    out.expires = *expires;
    return out;
}

} // namespace common
