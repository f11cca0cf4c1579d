#include "daemons/common/rewriting/header_masquerade.h"
#include "libsmtp/message/header_addresses.h"
#include "libsmtp/text/text.h"
#include <string_view>

namespace common {

std::string masquerade_header(const decide::MasqueradeRules& rules, const decide::MasqueradeClasses& classes,
                              milter::Message& message) {
    using Kind = smtp::AddressFieldKind;
    const auto shown = [&](Kind kind, const std::string& address) {
        const bool applies = kind == Kind::sender ? classes.header_sender : classes.header_recipient;
        return applies ? decide::masqueraded(rules, address) : std::nullopt;
    };
    smtp::HeaderAddressLimits limits;
    bool complete = true;
    std::string why;
    const auto stays = [&](std::string_view name, std::string_view reason) {
        if (why.size() < 1000) why.append(why.empty() ? "" : "; ").append(smtp::printable(name, 100)).append(reason);
    };
    for (std::size_t number = 0; number < message.fields().size(); ++number) {
        const std::string field = message.fields()[number]; // which the edit replaces
        const auto found = smtp::addresses_of_header(smtp::scan_header(field), limits);
        complete = complete && found.complete;
        for (const auto& unreadable : found.unreadable)
            stays(unreadable.name, " is not a list of addresses: " + unreadable.why);
        for (const auto& listed : found.fields) {
            limits.addresses -= listed.addresses.size();
            auto text = smtp::rewritten_field(listed, shown);
            if (text &&
                !message.edit({spool::FieldEdit::What::replace, static_cast<std::uint32_t>(number), *std::move(text)}))
                stays(std::string_view(field).substr(0, field.find(':')), " is not a valid header field");
        }
    }
    if (!complete) stays("the header", " has fields that are too long, or too many addresses");
    return why;
}

} // namespace common
