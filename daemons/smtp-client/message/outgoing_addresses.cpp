#include "daemons/smtp-client/message/outgoing_addresses.h"
#include "daemons/common/text/idn.h"
#include "libsmtp/message/header_addresses.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace smtp_client {

namespace {
constexpr std::size_t longest_header = 4 * 1024 * 1024;
constexpr std::size_t most_warnings = 20;
} // namespace

OutgoingAddresses::OutgoingAddresses(spool::MessageReader& message, GenericMaps& maps, const Transaction& transaction,
                                     const std::optional<OutgoingHeader>& header, std::function<void()> wake)
    : message_(message), maps_(maps), wake_(std::move(wake)),
      waiter_(maps, [this](const decide::LookupRequest& request) { answered(request); }) {
    tables_.push_back(maps.tables_for_all(transaction.recipients, transaction.route));
    for (const auto& recipient : transaction.recipients) {
        const auto number = number_of(maps.tables_for(recipient, transaction.route));
        of_recipients_.emplace(recipient, number);
        open_.insert({number, recipient});
    }
    if (!transaction.reverse_path.empty()) open_.insert({of_message, transaction.reverse_path});
    if (header) text_ = header->text, stored_size_ = header->stored_size;
}

std::size_t OutgoingAddresses::number_of(const Tables& tables) {
    const auto known = std::ranges::find(tables_, tables);
    const auto number = static_cast<std::size_t>(known - tables_.begin());
    if (known == tables_.end()) tables_.push_back(tables);
    return number;
}

spool::ReadResult<OutgoingAddresses::State> OutgoingAddresses::prepare() {
    if (!std::exchange(collected_, true))
        if (const auto collected = collect(); !collected) return std::unexpected(collected.error());
    if (pending_.empty() && !open_.empty()) look_up();
    for (const auto& need : std::exchange(to_ask_, {})) maps_.ask(need);
    if (!why_.empty()) return State::failed;
    if (!pending_.empty()) return State::waits;
    if (!std::exchange(header_done_, true)) rewrite_header();
    return State::ready;
}

// Each answer is taken by itself: there may be thousands.
void OutgoingAddresses::answered(const decide::LookupRequest& request) {
    const bool waited = !pending_.empty();
    if (!request.key.empty()) {
        settle(request);
    } else {
        for (auto need = pending_.begin(); need != pending_.end();) {
            const auto& each = *need++;
            if (each.name == request.name) settle(each);
        }
    }
    if (waited && (pending_.empty() || !to_ask_.empty())) wake_();
}

void OutgoingAddresses::settle(const decide::LookupRequest& request) {
    const auto need = pending_.find(request);
    if (need == pending_.end()) return;
    if (memo_.look_up(*need, maps_.lookups()))
        to_ask_.erase(*need), pending_.erase(need);
    else
        to_ask_.insert(*need); // the answer has been dropped meanwhile
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
            if (!address.domain.empty()) open_.insert({of_message, address.address()});
    return {};
}

void OutgoingAddresses::look_up() {
    const auto tables = memo_.layered_over(maps_.lookups());
    decide::Lookups lookups(tables);
    using Status = decide::RewrittenAddress::Status;
    std::erase_if(open_, [&](const Place& place) {
        const auto& address = place.address;
        auto found = decide::rewritten_address(address, "", tables_[place.tables], maps_.rewriting(), lookups);
        if (found.status == Status::pending) return false;
        if (found.status == Status::failed) {
            if (why_.empty()) why_ = std::move(found.why);
        } else if (found.status == Status::rewritten) {
            replace(place, std::move(found.address));
        }
        return true;
    });
    pending_ = std::move(lookups.unanswered());
    to_ask_ = pending_;
}

// A message that was not submitted with SMTPUTF8 must not need it behind this.
void OutgoingAddresses::replace(const Place& place, std::string other) {
    if (!smtp::is_ascii(other) && !message_.envelope().smtputf8) {
        const auto domain = other.rfind('@') + 1;
        const auto name = idn::ascii_domain(std::string_view(other).substr(domain));
        other.replace(domain, other.npos, name);
        if (name.empty() || !smtp::is_ascii(other)) {
            if (warnings_.size() < most_warnings)
                warnings_.push_back(fmt::format("<{}> is not rewritten: the other address is not ASCII, and the "
                                                "message does not need SMTPUTF8",
                                                smtp::printable(place.address, 200)));
            return;
        }
    }
    if (other != place.address) replaced_.emplace(place, std::move(other));
}

void OutgoingAddresses::warn_of_header(std::string_view why) {
    if (warnings_.size() < most_warnings)
        warnings_.push_back(fmt::format("addresses in the header are not rewritten: {}", why));
}

void OutgoingAddresses::rewrite_header() {
    if (replaced_.empty()) return;
    const auto block = smtp::scan_header(text_);
    const auto found = smtp::addresses_of_header(block);
    std::string out;
    std::size_t kept = 0; // of the stored header, so far
    for (const auto& field : found.fields) {
        const auto changed = smtp::rewritten_field(field, [&](smtp::AddressFieldKind, const std::string& address) {
            const auto other = replaced_.find({of_message, address});
            return other == replaced_.end() ? std::nullopt : std::optional(other->second);
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
    const auto other = replaced_.find({tables, original});
    return other == replaced_.end() ? original : other->second;
}

const std::string& OutgoingAddresses::sender(const std::string& original) const { return shown(of_message, original); }

const std::string& OutgoingAddresses::recipient(const std::string& original) const {
    const auto known = of_recipients_.find(original);
    return known == of_recipients_.end() ? original : shown(known->second, original);
}

} // namespace smtp_client
