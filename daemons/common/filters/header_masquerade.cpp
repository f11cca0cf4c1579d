#include "daemons/common/filters/header_masquerade.h"
#include "libsmtp/message/header_addresses.h"

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
    for (std::size_t number = 0; number < message.fields().size(); ++number) {
        const std::string field = message.fields()[number]; // which the edit replaces
        const auto found = smtp::addresses_of_header(smtp::scan_header(field), limits);
        complete = complete && found.complete;
        for (const auto& listed : found.fields) {
            limits.addresses -= listed.addresses.size();
            if (auto text = smtp::rewritten_field(listed, shown))
                message.edit({spool::FieldEdit::What::replace, static_cast<std::uint32_t>(number), *std::move(text)});
        }
    }
    return complete ? "" : "the header has fields that are too long, or too many addresses";
}

} // namespace common
