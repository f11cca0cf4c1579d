#include "daemons/smtp-client/message/outgoing_addresses.h"
#include "libsmtp/message/header_addresses.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <utility>

namespace smtp_client {

namespace {
constexpr std::size_t longest_header = 4 * 1024 * 1024;
constexpr std::size_t most_warnings = 20;
} // namespace

OutgoingAddresses::OutgoingAddresses(spool::MessageReader& message, GenericMaps& maps, const Transaction& transaction,
                                     const std::optional<OutgoingHeader>& header, std::function<void()> wake)
    : message_(message), replacements_(maps.tables(), maps.rewriting(), message.envelope().smtputf8, std::move(wake)),
      of_message_(replacements_.number_of(maps.tables_for_all(transaction.recipients, transaction.route))) {
    for (const auto& recipient : transaction.recipients) {
        const auto number = replacements_.number_of(maps.tables_for(recipient, transaction.route));
        of_recipients_.emplace(recipient, number);
        replacements_.add(number, recipient);
    }
    if (!transaction.reverse_path.empty()) replacements_.add(of_message_, transaction.reverse_path);
    if (header) text_ = header->text, stored_size_ = header->stored_size;
}

spool::ReadResult<OutgoingAddresses::State> OutgoingAddresses::prepare() {
    if (!std::exchange(collected_, true))
        if (const auto collected = collect(); !collected) return std::unexpected(collected.error());
    const auto state = replacements_.look_up();
    if (state == State::ready && !std::exchange(header_done_, true)) rewrite_header();
    return state;
}

spool::ReadResult<> OutgoingAddresses::collect() {
    if (message_.content().body_offset > longest_header) {
        warn_of_header(fmt::format("the header has more than {} bytes", longest_header));
        return {};
    }
    if (stored_size_ == 0) {
        auto header = message_.read_header(longest_header);
        if (!header) return std::unexpected(header.error());
        text_ = *std::move(header);
        stored_size_ = text_.size();
    }
    const auto block = smtp::scan_header(text_);
    const auto found = smtp::addresses_of_header(block);
    if (!found.complete) warn_of_header("the header has fields that are too long, or too many addresses");
    for (const auto& field : found.unreadable)
        warn_of_header(fmt::format("{} is not a list of addresses: {}", smtp::printable(field.name, 100), field.why));
    for (const auto& field : found.fields)
        for (const auto& address : field.addresses)
            if (!address.domain.empty()) replacements_.add(of_message_, address.address());
    return {};
}

void OutgoingAddresses::warn_of_header(std::string_view why) {
    if (warnings_.size() < most_warnings)
        warnings_.push_back(fmt::format("addresses in the header are not rewritten: {}", why));
}

std::vector<std::string> OutgoingAddresses::take_warnings() {
    auto out = std::exchange(warnings_, {});
    for (auto& warning : replacements_.take_warnings()) out.push_back(std::move(warning));
    return out;
}

void OutgoingAddresses::rewrite_header() {
    if (replacements_.empty()) return;
    const auto block = smtp::scan_header(text_);
    const auto found = smtp::addresses_of_header(block);
    std::string out;
    std::size_t kept = 0; // of the stored header, so far
    for (const auto& field : found.fields) {
        const auto changed = smtp::rewritten_field(field, [&](smtp::AddressFieldKind, const std::string& address) {
            const auto* other = replacements_.find(of_message_, address);
            return other ? std::optional(*other) : std::nullopt;
        });
        if (!changed) continue;
        const auto at = static_cast<std::size_t>(field.raw.data() - text_.data());
        out.append(text_, kept, at - kept).append(*changed);
        kept = at + field.raw.size();
    }
    if (kept == 0) return;
    header_.emplace(out.append(text_, kept), stored_size_);
}

const std::string& OutgoingAddresses::shown(std::size_t tables, const std::string& original) const {
    const auto* other = replacements_.find(tables, original);
    return other ? *other : original;
}

const std::string& OutgoingAddresses::sender(const std::string& original) const { return shown(of_message_, original); }

const std::string& OutgoingAddresses::recipient(const std::string& original) const {
    const auto known = of_recipients_.find(original);
    return known == of_recipients_.end() ? original : shown(known->second, original);
}

} // namespace smtp_client
