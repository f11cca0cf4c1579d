// The keys of what rewrites the addresses that others see.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/recipients/rewriting.h"
#include "libsmtp/text/text.h"
#include <utility>

namespace config {

namespace {

using decide::MailOrigin;
constexpr EnumValue<MailOrigin> origins_of_headers[] = {{"local", MailOrigin::local},
                                                        {"submission", MailOrigin::submission},
                                                        {"authenticated", MailOrigin::authenticated},
                                                        {"networks", MailOrigin::networks},
                                                        {"other", MailOrigin::other}};

struct ClassName {
    std::string_view name;
    bool decide::MasqueradeClasses::* value;
};
constexpr ClassName masquerade_classes[] = {{"envelope_sender", &decide::MasqueradeClasses::envelope_sender},
                                            {"envelope_recipient", &decide::MasqueradeClasses::envelope_recipient},
                                            {"header_sender", &decide::MasqueradeClasses::header_sender},
                                            {"header_recipient", &decide::MasqueradeClasses::header_recipient}};

ListKey classes_of_masquerade(decide::MasqueradeClasses& value) {
    return {[&] {
                for (const auto& each : masquerade_classes) value.*each.value = false;
            },
            [&](std::string_view text) -> Refusal {
                std::string known;
                for (const auto& each : masquerade_classes) {
                    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", each.name);
                    if (each.name != text) continue;
                    if (std::exchange(value.*each.value, true)) return fmt::format("\"{}\" is listed twice", text);
                    return std::nullopt;
                }
                return fmt::format("\"{}\" is not a valid value: expected one of {}", text, known);
            },
            [&] {
                std::vector<std::string> shown;
                for (const auto& each : masquerade_classes)
                    if (value.*each.value) shown.emplace_back(each.name);
                return shown;
            }};
}

// "example.com", "!lab.example.com".
ListKey masquerade_domains(std::vector<std::string>& values) {
    return list_of<std::string>(values, [](std::string_view text, std::string& value) -> Refusal {
        const bool stays = text.starts_with('!');
        const auto name = domain_name(text.substr(stays ? 1 : 0));
        if (name.empty())
            return fmt::format("\"{}\" is not a valid domain: expected one such as \"example.com\" or "
                               "\"!lab.example.com\"",
                               text);
        value = (stays ? "!" : "") + name;
        return std::nullopt;
    });
}

ListKey local_parts(std::set<std::string, std::less<>>& values) {
    return {[&] { values.clear(); },
            [&](std::string_view text) -> Refusal {
                if (text.empty() || text.find_first_of("@ \t") != text.npos)
                    return fmt::format("\"{}\" is not a valid name: expected the part of an address before the @",
                                       text);
                if (!values.insert(smtp::lowered(text)).second) return fmt::format("\"{}\" is listed twice", text);
                return std::nullopt;
            },
            [&] { return std::vector<std::string>(values.begin(), values.end()); }};
}

} // namespace

Section section_for(Canonical& s) {
    return {
        "canonical",
        "Tables that rewrite addresses: those of the envelope before anything else is looked up, those in the header "
        "when the message is received, after content.header_checks and before [masquerade] and milters. An address "
        "is looked up as user+extension@domain, user@domain, user+extension and user (for local.domains and "
        "mta.origin), @domain.",
        {
            {"sender", lookup_tables(s.sender), "Tables for the reverse-path.",
             "[\"text:/etc/postrider/sender_canonical\"]"},
            {"recipient", lookup_tables(s.recipient), "Tables for recipients of the envelope.",
             "[\"text:/etc/postrider/recipient_canonical\"]"},
            {"header_sender", lookup_tables(s.header_sender),
             "Tables for From, Sender, Reply-To and the like. If a table cannot be read, the message is rejected "
             "for now (451 4.3.0). Files are named by their directory's path at the start; one in another directory "
             "needs a restart.",
             "[\"text:/etc/postrider/sender_canonical\"]"},
            {"header_recipient", lookup_tables(s.header_recipient), "Tables for To, Cc and the like.",
             "[\"text:/etc/postrider/recipient_canonical\"]"},
            {"common", lookup_tables(s.common),
             "Tables for what those above have made of an address, or for the address as it was if they do not have "
             "it.",
             "[\"text:/etc/postrider/canonical\"]"},
            {"common_classes", classes_of_masquerade(s.common_classes),
             "Addresses to which the tables in \"common\" are applied: \"envelope_sender\", \"envelope_recipient\", "
             "\"header_sender\", \"header_recipient\".",
             ""},
            {"repeat", BoolKey{&s.repeat},
             "Whether a result is looked up again in the same tables until nothing changes, at most ten times, as in "
             "Postfix. If it still changes after that, the last result is used.",
             ""},
            {"header_origins", flags_of(s.header_origins, origins_of_headers),
             "Mail whose header is rewritten, by its origin, as masquerade.header_origins. DKIM signatures that cover "
             "a rewritten field become invalid.",
             ""},
        }};
}

Section section_for(Generic& s) {
    return {"generic",
            "Addresses as other systems see them. The sender, the recipients and the addresses in the header are "
            "replaced while a message is sent over SMTP; the message in the queue, its way, its reports and mail "
            "that is delivered on this system or over LMTP keep the original addresses. See postrider-addresses(7).",
            {
                {"tables", lookup_tables(s.tables),
                 "Tables that map an address of this system to the one that others see: user+extension@domain, "
                 "user@domain, user+extension and user (for local.domains and mta.origin), @domain. A [route] can have "
                 "tables of its own.",
                 "[\"text:/etc/postrider/generic\"]"},
                {"propagate_extension", BoolKey{&s.propagate_extension},
                 "Whether an extension that was left out for the lookup is added to the result: "
                 "ann+lists@host.example to ann+lists@example.com.",
                 ""},
            }};
}

Section section_for(Masquerade& s) {
    return {"masquerade",
            "Hides hosts behind their domain: ann@host.example.com is shown as ann@example.com. The envelope is "
            "rewritten after [canonical]; the header when the message is received, after content.header_checks and "
            "before milters.",
            {
                {"domains", masquerade_domains(s.rules.domains),
                 "Domains that replace the names below them, in order; the first that an address is in, or below, "
                 "applies. \"!lab.example.com\" leaves addresses below that name as they are.",
                 "[\"!lab.example.com\", \"example.com\"]"},
                {"exceptions", local_parts(s.rules.exceptions),
                 "Names before the @ whose addresses stay as they are, in any domain.", "[\"root\"]"},
                {"classes", classes_of_masquerade(s.classes),
                 "Addresses that are rewritten: \"envelope_sender\", \"envelope_recipient\", \"header_sender\" (From, "
                 "Sender, Reply-To and the like), \"header_recipient\" (To, Cc and the like). With "
                 "\"envelope_recipient\", mail for ann@host.example.com no longer reaches that host.",
                 ""},
                {"header_origins", flags_of(s.header_origins, origins_of_headers),
                 "Mail whose header is rewritten, by its origin: \"local\" from programs on this host, over loopback "
                 "too, \"submission\" from submission listeners, \"authenticated\" from clients authenticated with "
                 "AUTH, \"networks\" from relay.networks, \"other\" from all other clients. DKIM signatures that "
                 "cover a rewritten field become invalid.",
                 ""},
            }};
}

} // namespace config
