// The keys of signing mail (DKIM).
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/decide/message/signing.h"

namespace config {

namespace {

constexpr EnumValue<decide::MailOrigin> ways[] = {{"local", decide::MailOrigin::local},
                                                  {"submission", decide::MailOrigin::submission},
                                                  {"authenticated", decide::MailOrigin::authenticated},
                                                  {"networks", decide::MailOrigin::networks},
                                                  {"reports", decide::MailOrigin::reports},
                                                  {"other", decide::MailOrigin::other}};

ListKey signing_keys(std::vector<decide::SigningKeyName>& values) {
    return list_of<decide::SigningKeyName>(values, [](std::string_view text, decide::SigningKeyName& value) -> Refusal {
        const auto blank = text.find_first_of(" \t");
        const auto file = blank == text.npos ? blank : text.find_first_not_of(" \t", blank);
        if (file == text.npos)
            return fmt::format("\"{}\": expected a selector and a file, such as \"s1 "
                               "/etc/postrider/dkim/example.com.pem\"",
                               text);
        value.selector = domain_name(text.substr(0, blank));
        value.file = text.substr(file);
        if (!value.selector.empty()) return std::nullopt;
        return fmt::format("\"{}\" is not a valid selector", text.substr(0, blank));
    });
}

} // namespace

Section section_for(decide::SigningRule& s) {
    return {
        "dkim.\"<domain>\"",
        "DKIM signatures for outgoing mail of this domain. Mail is signed each time it is sent, in the form in which "
        "it is sent. The section is selected by the domain in the From field, or, if there is none for it, by the "
        "domain of the envelope sender. Reports of this system come from mta.origin, and are signed if there is a "
        "section for it. \"postrider dkim-key\" generates keys.",
        {
            {"keys", signing_keys(s.keys),
             "Signing keys: a selector and a file with its private key (PEM; RSA of at least 1024 bits, or Ed25519), "
             "in one string. Every key makes its own signature; list an RSA key in addition to an Ed25519 one, which "
             "not all sites can verify yet. The files are read by master, and only root or the user that the daemons "
             "run as may have permission to read them.",
             "[\"s1 /etc/postrider/dkim/example.com.s1.pem\"]"},
            {"domains", domain_set(s.domains),
             "Further domains whose mail is signed by this one: \"news.example.com\", or \".example.com\" for all "
             "domains below it. A domain's own section takes precedence.",
             "[\".example.com\"]"},
            {"sign", flags_of(s.sign, ways),
             "Mail that is signed, by its origin: \"local\" from programs on this host, \"submission\" from "
             "submission listeners, \"authenticated\" from clients authenticated with AUTH, \"networks\" from "
             "relay.networks, \"reports\" this system's own reports, \"other\" from all other clients, which would "
             "vouch for strangers.",
             ""},
            {"lifetime", DurationKey{&s.lifetime, 0s, 24h * 365},
             "How long signatures are valid (x=); \"0s\" means forever. It should be longer than the time that mail "
             "may be in transit.",
             ""},
        }};
}

} // namespace config
