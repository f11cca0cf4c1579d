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

ListKey came(decide::MailOrigin& value) {
    return {[&] { value = {}; },
            [&](std::string_view text) -> std::string {
                std::string known;
                for (const auto& [name, way] : ways) {
                    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", name);
                    if (name != text) continue;
                    if (any_of(value, way)) return fmt::format("\"{}\" is listed twice", text);
                    value = value | way;
                    return "";
                }
                return fmt::format("\"{}\" is none of {}", text, known);
            },
            [&] {
                std::vector<std::string> shown;
                for (const auto& [name, way] : ways)
                    if (any_of(value, way)) shown.emplace_back(name);
                return shown;
            }};
}

ListKey signing_keys(std::vector<decide::SigningKeyName>& values) {
    return list_of<decide::SigningKeyName>(
        values, [](std::string_view text, decide::SigningKeyName& value) -> std::string {
            const auto blank = text.find_first_of(" \t");
            const auto file = blank == text.npos ? blank : text.find_first_not_of(" \t", blank);
            if (file == text.npos)
                return fmt::format("\"{}\": expected a selector and a file, such as "
                                   "\"s1 /etc/postrider/dkim/example.com.pem\"",
                                   text);
            value.selector = domain_name(text.substr(0, blank));
            value.file = text.substr(file);
            return value.selector.empty() ? fmt::format("\"{}\" is no selector", text.substr(0, blank)) : "";
        });
}

} // namespace

Section section_for(decide::SigningRule& s) {
    return {
        "dkim.\"<domain>\"",
        "Outgoing mail of this domain is signed with DKIM, each time it is sent, in the form in which it leaves. The "
        "domain in the From field decides which section that is; if there is none for it, that of the envelope sender. "
        "Reports of this system come from mta.origin, and are signed where there is a section for that. `postrider "
        "dkim-key` makes keys.",
        {
            {"keys", signing_keys(s.keys),
             "What to sign with: a selector and a file with its private key (PEM; RSA of at least 1024 bits, or "
             "Ed25519), in one text. Every key makes a signature of its own; give an RSA key beside an Ed25519 one, "
             "which not everybody can verify yet. The files are read by master, and only root or the user the daemons "
             "run as may be able to read them.",
             "[\"s1 /etc/postrider/dkim/example.com.s1.pem\"]"},
            {"domains", domain_set(s.domains),
             "Further domains whose mail this one signs: \"news.example.com\", or \".example.com\" for all below it. "
             "Sections of their own count before.",
             "[\".example.com\"]"},
            {"sign", came(s.sign),
             "Which mail is signed, by how it came: \"local\" from programs on this host, \"submission\" over a "
             "submission listener, \"authenticated\" from who has proved with AUTH who he is, \"networks\" from "
             "relay.networks, \"reports\" our own, \"other\" from anybody else: that would vouch for strangers.",
             ""},
            {"lifetime", DurationKey{&s.lifetime, 0s, 24h * 365},
             "Signatures are valid for so long (x=); \"0s\": for ever. Longer than mail may wait on its way.", ""},
        }};
}

} // namespace config
