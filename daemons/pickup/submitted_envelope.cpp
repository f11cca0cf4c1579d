#include "daemons/pickup/submitted_envelope.h"
#include "libsmtp/message/address.h"
#include "libsmtp/message/submission_fixup.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <sysexits.h>

namespace pickup {

using namespace proto::submit;

namespace {

Accepted refused(std::uint8_t exit_status, std::string text) {
    return std::unexpected(Refusal{exit_status, std::move(text)});
}

spool::Body body_of(Body given) {
    switch (given) {
    case Body::seven_bit: return spool::Body::seven_bit;
    case Body::eight_bit: return spool::Body::eight_bit;
    case Body::unspecified: break;
    }
    return spool::Body::unspecified;
}

} // namespace

Accepted set_sender(spool::Envelope& envelope, std::string_view given, std::string_view origin) {
    if (given.empty()) return {};
    const auto list = smtp::complete_addresses(given, origin);
    const auto bad = [](std::string_view why) {
        return refused(EX_DATAERR, "the sender is not a valid address: " + std::string(why));
    };
    if (!list.problem.empty()) return bad(list.problem);
    if (list.addresses.size() != 1) return bad("expected one address");
    if (const auto mailbox = smtp::Mailbox::parse(list.addresses.front()); !mailbox) return bad(mailbox.error().why);
    envelope.reverse_path = list.addresses.front();
    envelope.smtputf8 = !smtp::is_ascii(envelope.reverse_path);
    return {};
}

Accepted add_recipients(spool::Envelope& envelope, const std::vector<Recipient>& given, const AddressRules& rules) {
    for (const auto& each : given) {
        const auto list = smtp::complete_addresses(each.list, rules.origin);
        if (!list.problem.empty()) return refused(EX_DATAERR, "a recipient is not a valid address: " + list.problem);
        for (const auto& address : list.addresses)
            if (auto added = add_recipient(envelope, address, each.orcpt, each.notify, rules.max_recipients); !added)
                return added;
    }
    return {};
}

Accepted add_recipient(spool::Envelope& envelope, const std::string& address, const std::string& orcpt,
                       std::uint8_t notify, std::size_t max_recipients) {
    if (const auto mailbox = smtp::Mailbox::parse(address); !mailbox)
        return refused(EX_DATAERR, "a recipient is not a valid address: " + mailbox.error().why);
    if (notify > 15 || ((notify & 1) != 0 && notify != 1) || orcpt.size() > 500 || !is_one_line(orcpt))
        return refused(EX_USAGE, "a recipient's delivery status options are invalid");
    if (envelope.recipients.size() >= max_recipients) return refused(EX_DATAERR, "too many recipients");
    auto& recipient = envelope.recipients.emplace_back();
    recipient.address = address;
    recipient.orcpt = orcpt;
    recipient.notify = static_cast<spool::Notify>(notify);
    envelope.smtputf8 = envelope.smtputf8 || !smtp::is_ascii(address);
    return {};
}

Accepted set_options(spool::Envelope& envelope, const Begin& begin) {
    envelope.ret = begin.ret;
    envelope.body = body_of(begin.body);
    envelope.smtputf8 = envelope.smtputf8 || begin.smtputf8;
    envelope.require_tls = begin.require_tls;
    if (begin.envid.size() > 100 || !is_one_line(begin.envid) || !smtp::is_ascii(begin.envid))
        return refused(EX_USAGE, "the envelope id must have at most 100 printable characters");
    envelope.envid = begin.envid;
    return {};
}

bool is_one_line(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 32 && c != 127; });
}

bool has_utf8_header(std::string_view content) {
    const auto header = content.substr(0, content.find("\r\n\r\n"));
    return !smtp::is_ascii(header) && smtp::is_utf8_text(header);
}

} // namespace pickup
