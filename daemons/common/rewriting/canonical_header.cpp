#include "daemons/common/rewriting/canonical_header.h"
#include "libsmtp/message/header_addresses.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <utility>

namespace common {

static constexpr std::size_t most_notes = 20;

std::shared_ptr<CanonicalTables> CanonicalTables::configured(Loop& loop, Log& log, const config::Canonical& rules,
                                                             const std::vector<config::LookupTable>& sections,
                                                             std::string maps_socket,
                                                             decide::RewritingSettings rewriting) {
    if (!rules.rewrites_headers()) return nullptr;
    auto out = std::make_shared<CanonicalTables>(loop, log);
    out->tables.configure(sections, std::move(maps_socket));
    out->rules = rules;
    out->rewriting = std::move(rewriting);
    return out;
}

CanonicalHeader::CanonicalHeader(CanonicalTables& tables, milter::Message& message)
    : rules_(tables.rules), rewriting_(tables.rewriting), message_(message), hook_(tables.loop, [this] { go_on(); }),
      replacements_(tables.tables, rewriting_, message.smtputf8(), [this] { hook_.schedule(); }) {}

std::optional<CanonicalHeader::Outcome> CanonicalHeader::run(Done done) {
    collect();
    auto outcome = look_up();
    if (!outcome) done_ = std::move(done);
    return outcome;
}

void CanonicalHeader::go_on() {
    auto outcome = look_up();
    if (outcome) std::exchange(done_, nullptr)(*std::move(outcome));
}

void CanonicalHeader::note(std::string_view name, std::string_view reason) {
    if (outcome_.warnings.size() < most_notes)
        outcome_.warnings.push_back(fmt::format("{}{}", smtp::printable(name, 100), reason));
}

static const std::vector<std::string>& header_tables(const config::Canonical& rules, smtp::AddressFieldKind kind) {
    return kind == smtp::AddressFieldKind::sender ? rules.header_sender : rules.header_recipient;
}

void CanonicalHeader::collect() {
    smtp::HeaderAddressLimits limits;
    bool complete = true;
    for (const auto& field : message_.fields()) {
        const auto found = smtp::addresses_of_header(smtp::scan_header(field), limits);
        complete = complete && found.complete;
        for (const auto& unreadable : found.unreadable)
            note(unreadable.name, " is not a list of addresses: " + unreadable.why);
        for (const auto& listed : found.fields) {
            limits.addresses -= listed.addresses.size();
            const auto& tables = header_tables(rules_, listed.kind);
            if (tables.empty()) continue;
            const auto list = replacements_.number_of(tables);
            for (const auto& address : listed.addresses)
                if (!address.domain.empty()) replacements_.add(list, address.address());
        }
    }
    if (!complete) note("the header", " has fields that are too long, or too many addresses");
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
    smtp::HeaderAddressLimits limits;
    for (std::size_t number = 0; number < message_.fields().size(); ++number) {
        const std::string field = message_.fields()[number]; // which the edit replaces
        for (const auto& listed : smtp::addresses_of_header(smtp::scan_header(field), limits).fields) {
            limits.addresses -= listed.addresses.size();
            const auto& tables = header_tables(rules_, listed.kind);
            if (tables.empty()) continue;
            const auto list = replacements_.number_of(tables);
            auto text = smtp::rewritten_field(listed, [&](smtp::AddressFieldKind, const std::string& address) {
                const auto* other = replacements_.find(list, address);
                return other ? std::optional(*other) : std::nullopt;
            });
            using What = spool::FieldEdit::What;
            if (text && !message_.edit({What::replace, static_cast<std::uint32_t>(number), *std::move(text)}))
                note(std::string_view(field).substr(0, field.find(':')), " is not a valid header field");
        }
    }
}

} // namespace common
