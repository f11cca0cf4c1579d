#include "daemons/decide/access/facts.h"
#include <fmt/format.h>

namespace decide::access {

static Subject subject_of(List list) {
    switch (list) {
    case List::client: return Subject::client;
    case List::helo: return Subject::helo;
    case List::sender: return Subject::sender;
    case List::relay:
    case List::recipient: return Subject::recipient;
    default: return Subject::list;
    }
}

About about(const Facts& facts, List list, Subject subject) {
    constexpr std::string_view kinds[] = {"",          "Client host",  "Unverified Client host", "Helo command",
                                          sender_kind, recipient_kind, "SASL login name",        "Client certificate"};
    if (subject == Subject::list) subject = subject_of(list);
    if (subject == Subject::list)
        return list == List::data ? About{"DATA", "Data command"} : About{"END-OF-MESSAGE", "End-of-data"};
    const auto kind = kinds[static_cast<std::size_t>(subject)];
    if (subject == Subject::client || subject == Subject::certificate)
        return {fmt::format("{}[{}]", facts.client_name, facts.client_address), kind};
    const auto* text = text_of(facts, subject);
    return {text ? *text : "", kind};
}

const std::string* text_of(const Facts& facts, Subject subject) {
    switch (subject) {
    case Subject::list: break;
    case Subject::client: return &facts.client_name;
    case Subject::reverse_client: return &facts.reverse_name;
    case Subject::helo: return facts.helo.empty() ? nullptr : &facts.helo;
    case Subject::sender: return facts.sender ? &*facts.sender : nullptr;
    case Subject::recipient: return facts.recipient ? &*facts.recipient : nullptr;
    case Subject::login: return facts.login.empty() ? nullptr : &facts.login;
    case Subject::certificate: return facts.certificate.empty() ? nullptr : &facts.certificate;
    }
    return nullptr;
}

std::string rejection_text(const About& about, std::string_view why) {
    return fmt::format("<{}>: {} rejected: {}", smtp::printable(about.name, 320), about.kind,
                       smtp::printable(why, 400));
}

} // namespace decide::access
