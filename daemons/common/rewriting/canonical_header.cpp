#include "daemons/common/rewriting/canonical_header.h"
#include "libsmtp/message/header_addresses.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <utility>

namespace common {

static constexpr std::size_t most_notes = 20;
static constexpr std::chrono::seconds time_limit{60}; // clients wait ten minutes (RFC 5321, section 4.5.3.2.6)

std::shared_ptr<CanonicalTables> CanonicalTables::configured(Loop& loop, Log& log, const config::Canonical& rules,
                                                             const std::vector<config::LookupTable>& sections,
                                                             std::string maps_socket,
                                                             decide::RewritingSettings rewriting) {
    if (!rules.rewrites_headers()) return nullptr;
    auto out = std::make_shared<CanonicalTables>(loop, log);
    out->tables.configure(sections, std::move(maps_socket));
    out->rules = rules;
    out->rewriting = std::move(rewriting);
    out->rewriting.repeated = rules.repeat;
    return out;
}

CanonicalHeader::CanonicalHeader(CanonicalTables& tables, milter::Message& message)
    : tables_(tables), message_(message), hook_(tables.loop, [this] { go_on(); }),
      time_limit_(tables.loop,
                  [this] { finish({fmt::format("no answers within {} s", time_limit.count()), outcome_.warnings}); }),
      replacements_(tables.tables, tables.rewriting, message.smtputf8(), [this] { hook_.schedule(); }) {}

std::optional<CanonicalHeader::Outcome> CanonicalHeader::run(Done done) {
    collect();
    auto outcome = look_up();
    if (outcome) return outcome;
    done_ = std::move(done);
    time_limit_.start(time_limit);
    return {};
}

void CanonicalHeader::go_on() {
    if (auto outcome = look_up()) finish(*std::move(outcome));
}

void CanonicalHeader::finish(Outcome outcome) {
    time_limit_.stop();
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(outcome));
}

void CanonicalHeader::note(std::string_view name, std::string_view reason) {
    if (outcome_.warnings.size() < most_notes)
        outcome_.warnings.push_back(fmt::format("{}{}", smtp::printable(name, 300), reason));
}

// The number of the tables for such a field; nothing: there are none.
std::optional<std::size_t> CanonicalHeader::tables_for(smtp::AddressFieldKind kind) {
    const auto& rules = tables_.rules;
    const bool sender = kind == smtp::AddressFieldKind::sender;
    const auto& tables = sender ? rules.header_sender : rules.header_recipient;
    const bool has_common = sender ? rules.common_classes.header_sender : rules.common_classes.header_recipient;
    if (tables.empty() && (rules.common.empty() || !has_common)) return {};
    return replacements_.number_of(tables, has_common ? rules.common : std::vector<std::string>());
}

namespace {

// The fields that list addresses, one by one. Those of senders have a limit of their own, which a long list of
// recipients does not use up.
class ListedFields {
public:
    smtp::HeaderAddresses of(const std::string& field) {
        const auto name = std::string_view(field).substr(0, field.find(':'));
        auto& limits = smtp::address_field_kind(name) == smtp::AddressFieldKind::sender ? senders_ : recipients_;
        auto found = smtp::addresses_of_header(smtp::scan_header(field), limits);
        for (const auto& listed : found.fields) limits.addresses -= listed.addresses.size();
        return found;
    }

private:
    smtp::HeaderAddressLimits senders_, recipients_;
};

} // namespace

void CanonicalHeader::collect() {
    ListedFields listed_fields;
    bool complete = true;
    std::vector<std::string> unreadable;
    for (const auto& field : message_.fields()) {
        const auto found = listed_fields.of(field);
        complete = complete && found.complete;
        for (const auto& each : found.unreadable)
            unreadable.push_back(
                fmt::format("{} is not a list of addresses: {}", smtp::printable(each.name, 100), each.why));
        for (const auto& listed : found.fields) {
            const auto list = tables_for(listed.kind);
            for (const auto& address : listed.addresses)
                if (list && !address.domain.empty()) replacements_.add(*list, address.address());
        }
    }
    if (!complete) note("the header", " has fields that are too long, or too many addresses");
    for (const auto& each : unreadable) note(each, "");
}

std::optional<CanonicalHeader::Outcome> CanonicalHeader::look_up() {
    using State = AddressReplacements::State;
    switch (replacements_.look_up()) {
    case State::waits: return {};
    case State::failed: outcome_.failed = replacements_.why(); break;
    case State::ready: edit(); break;
    }
    for (auto& warning : replacements_.take_warnings()) outcome_.warnings.push_back(std::move(warning));
    return std::exchange(outcome_, {});
}

void CanonicalHeader::edit() {
    if (replacements_.empty()) return;
    ListedFields listed_fields;
    for (std::size_t number = 0; number < message_.fields().size(); ++number) {
        const std::string field = message_.fields()[number]; // which the edit replaces
        for (const auto& listed : listed_fields.of(field).fields) {
            const auto list = tables_for(listed.kind);
            if (!list) continue;
            auto text = smtp::rewritten_field(listed, [&](smtp::AddressFieldKind, const std::string& address) {
                const auto* other = replacements_.find(*list, address);
                return other ? std::optional(*other) : std::nullopt;
            });
            using What = spool::FieldEdit::What;
            if (text && !message_.edit({What::replace, static_cast<std::uint32_t>(number), *std::move(text)}))
                note(std::string_view(field).substr(0, field.find(':')), " is not a valid header field");
        }
    }
}

} // namespace common
