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

SharedSuppression SharedSuppression::of(const store::Entry& entry) {
    return {change_time(entry), entry.expires, entry.value};
}

SharedSuppression SharedSuppression::erased(smtp::WallTime changed) {
    return {changed, changed + erasure_remembered, ""};
}

std::string SharedSuppression::text() const {
    return fmt::format("{:016}{}{:016}", micros_of(changed), entry.empty() ? 'E' : 'P', micros_of(expires)) + entry;
}

std::optional<SharedSuppression> SharedSuppression::parse(std::string_view text) {
    if (text.size() < header || text.size() > longest) return {};
    const char kind = text[digits];
    const auto changed = time_in(text.substr(0, digits)), expires = time_in(text.substr(digits + 1, digits));
    SharedSuppression out;
    out.entry = text.substr(header);
    if (!changed || !expires || kind != (out.entry.empty() ? 'E' : 'P')) return {};
    out.changed = *changed;
    out.expires = *expires;
    return out;
}

} // namespace common
