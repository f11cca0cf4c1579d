#include "daemons/smtp-client/message/outgoing_addresses.h"
#include "libsmtp/message/header_addresses.h"
#include "libsmtp/text/utf8.h"
#include <fmt/format.h>
#include <utility>

namespace smtp_client {

namespace {
constexpr std::size_t longest_header = 4 * 1024 * 1024;
}

OutgoingAddresses::OutgoingAddresses(spool::MessageReader& message, GenericMaps& maps, std::vector<std::string> tables,
                                     std::set<std::string> envelope, const std::optional<OutgoingHeader>& header,
                                     std::function<void()> wake)
    : message_(message), maps_(maps), tables_(std::move(tables)), open_(std::move(envelope)),
      waiter_(maps, [this, wake = std::move(wake)](const decide::LookupRequest& request) {
          if (request.key.empty() ? !pending_.empty() : pending_.contains(request)) wake();
      }) {
    if (header) text_ = header->text, stored_size_ = header->stored_size;
}

spool::ReadResult<OutgoingAddresses::State> OutgoingAddresses::prepare() {
    if (!std::exchange(collected_, true))
        if (const auto collected = collect(); !collected) return std::unexpected(collected.error());
    std::erase_if(pending_, [&](const auto& need) { return memo_.look_up(need, maps_.lookups()); });
    if (pending_.empty()) look_up();
    for (const auto& need : pending_) maps_.ask(need);
    if (!why_.empty()) return State::failed;
    if (!pending_.empty()) return State::waits;
    if (!header_ && !replaced_.empty()) rewrite_header();
    return State::ready;
}

spool::ReadResult<> OutgoingAddresses::collect() {
    if (message_.content().body_offset > longest_header) {
        left_because_ = fmt::format("the header has more than {} bytes", longest_header);
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
    if (!found.complete) left_because_ = "the header has fields that are too long, or too many addresses";
    for (const auto& field : found.fields)
        for (const auto& address : field.addresses)
            if (!address.domain.empty()) open_.insert(address.address());
    return {};
}

void OutgoingAddresses::look_up() {
    const auto tables = memo_.layered_over(maps_.lookups());
    decide::Lookups lookups(tables);
    using Status = decide::RewrittenAddress::Status;
    std::erase_if(open_, [&](const std::string& address) {
        auto found = decide::rewritten_address(address, "", tables_, maps_.rewriting(), lookups);
        if (found.status == Status::pending) return false;
        if (found.status == Status::failed) {
            if (why_.empty()) why_ = std::move(found.why);
        } else if (found.status == Status::rewritten) {
            if (!smtp::is_ascii(found.address) && !message_.envelope().smtputf8) {
                if (why_.empty())
                    why_ = fmt::format("the address for <{}> is not ASCII, and the message is not sent with SMTPUTF8",
                                       smtp::printable(address, 200));
            } else {
                replaced_.emplace(address, std::move(found.address));
            }
        }
        return true;
    });
    pending_ = std::move(lookups.unanswered());
}

void OutgoingAddresses::rewrite_header() {
    const auto block = smtp::scan_header(text_);
    const auto found = smtp::addresses_of_header(block);
    std::string out;
    std::size_t kept = 0; // of the stored header, so far
    for (const auto& field : found.fields) {
        const auto changed = smtp::rewritten_field(field, [&](smtp::AddressFieldKind, const std::string& address) {
            const auto other = replaced_.find(address);
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

const std::string& OutgoingAddresses::address(const std::string& original) const {
    const auto other = replaced_.find(original);
    return other == replaced_.end() ? original : other->second;
}

} // namespace smtp_client
