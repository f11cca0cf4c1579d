#include "daemons/decide/tls/dane.h"
#include <algorithm>
#include <fmt/format.h>

namespace decide {

using State = DaneResult::State;
using About = DaneLookup::Question::About;

bool TlsaRecord::usable() const {
    if ((usage != 2 && usage != 3) || selector > 1) return false;
    switch (matching) {
    case 0: return !data.empty();
    case 1: return data.size() == 32; // SHA-256
    case 2: return data.size() == 64; // SHA-512
    default: return false;
    }
}

std::string TlsaRecord::to_string() const {
    auto out = fmt::format("{} {} {} ", usage, selector, matching);
    for (const unsigned char c : data) out += fmt::format("{:02X}", c);
    return out;
}

DaneLookup::DaneLookup(std::string host, std::uint16_t port, bool secure, WellFormed well_formed)
    : host_(std::move(host)), port_(port), well_formed_(std::move(well_formed)) {
    if (secure) question_ = {About::addresses, host_};
}

// An unsigned host is not asked for TLSA records: the name servers of some answer such questions badly, and what
// they said could not be believed (RFC 7672, 2.2.2). An alias in a signed zone may have records of its own even
// though it leads out of it.
void DaneLookup::addresses(LookupStatus said, bool secure, std::string_view canonical, std::string_view why) {
    question_.reset();
    if (said == LookupStatus::failed) return unavailable(why);
    if (said != LookupStatus::records) return;
    const bool aliased = !canonical.empty() && canonical != host_;
    if (secure) {
        bases_ = {host_};
        if (aliased) bases_.emplace_back(canonical);
        ask_tlsa();
    } else if (aliased) {
        question_ = {About::alias, host_};
    }
}

void DaneLookup::alias(LookupStatus said, bool secure, std::string_view why) {
    question_.reset();
    if (said == LookupStatus::failed) return unavailable(why);
    if (said != LookupStatus::records || !secure) return;
    bases_ = {host_};
    ask_tlsa();
}

void DaneLookup::ask_tlsa() {
    question_.reset();
    if (bases_.empty()) {
        findings_ = {};
        findings_.answered = true;
        return;
    }
    findings_.base = std::move(bases_.back());
    bases_.pop_back();
    findings_.owner = fmt::format("_{}._tcp.{}", port_, findings_.base);
    question_ = {About::tlsa, findings_.owner};
}

void DaneLookup::tlsa(LookupStatus said, bool secure, std::vector<TlsaRecord> records, std::string_view why) {
    question_.reset();
    if (said == LookupStatus::failed) return unavailable(why);
    if (said != LookupStatus::records || !secure || records.empty()) return ask_tlsa();
    std::ranges::sort(records);
    const auto [same, end] = std::ranges::unique(records);
    records.erase(same, end);
    auto usable = records;
    std::erase_if(usable, [this](const TlsaRecord& record) {
        return !record.usable() || (well_formed_ && !well_formed_(record));
    });
    findings_.state = usable.empty() ? State::unusable : State::usable;
    findings_.records = usable.empty() ? std::move(records) : std::move(usable);
}

void DaneLookup::unavailable(std::string_view why) {
    findings_.state = State::unavailable;
    findings_.why = why;
    if (findings_.owner.empty()) findings_.owner = host_;
}

} // namespace decide
