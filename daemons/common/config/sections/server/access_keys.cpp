// The keys of access rules.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/access.h"
#include "daemons/common/lookup/format/specification.h"

namespace config {

using decide::access::Check;
using decide::access::Rule;

namespace {

ListKey rules_of(std::vector<Rule>& rules) {
    return {[&rules] { rules.clear(); },
            [&rules](std::string_view text) -> Refusal {
                auto rule = Rule::parse(text);
                if (!rule) return rule.error().why;
                if (rule->check == Check::table)
                    if (const auto table = tables::Specification::parse(rule->argument); !table)
                        return fmt::format("{}: {}", rule->text, table.error().why);
                rules.push_back(*std::move(rule));
                return std::nullopt;
            },
            [&rules] {
                std::vector<std::string> shown;
                for (const auto& rule : rules) shown.push_back(rule.text);
                return shown;
            }};
}

} // namespace

Section section_for(AccessRules& s) {
    return {
        "access.<name>",
        "Access rules for clients and their mail, read from top to bottom: the lists in the order client, helo, "
        "sender, relay, recipient for each recipient, data before the content, end_of_data after it. Within a list, "
        "each rule rejects, permits (then the next list follows) or has no result (then the next rule follows). The "
        "rules are Postfix's access restrictions, and tables have the results of its access(5); "
        "postrider-access(5) describes them. Relay control is always applied before the list relay: a rule "
        "cannot permit relaying. \"postrider try --client ADDRESS\" shows which rule decides. A listener has the "
        "rules of one section.",
        {
            {"listeners", non_empty_texts(s.listeners),
             "Names of the listeners this applies to. The default is all whose service is \"relay\" and that no other "
             "section names.",
             "[\"smtp\"]"},
            {"delay_reject", BoolKey{&s.delay_reject},
             "Whether the lists client, helo and sender are evaluated for each recipient. If false, they are "
             "evaluated when the client connects, greets and names the sender.",
             ""},
            {"parent_domains", BoolKey{&s.parent_domains},
             "Whether a domain in a table also matches the names below it. If false, \".example.com\" matches them.",
             ""},
            {"client", rules_of(s.client), "Rules about the client's name and address.",
             "[\"permit_mynetworks\", \"check_client_access cidr:/etc/postrider/clients\", "
             "\"reject_unknown_reverse_client_hostname\"]"},
            {"helo", rules_of(s.helo), "Rules about the name in the client's greeting.",
             "[\"permit_mynetworks\", \"reject_invalid_helo_hostname\", \"reject_non_fqdn_helo_hostname\"]"},
            {"sender", rules_of(s.sender), "Rules about the envelope sender.",
             "[\"check_sender_access text:/etc/postrider/senders\", \"reject_unknown_sender_domain\"]"},
            {"relay", rules_of(s.relay), "Further rules about relaying, after relay control.", ""},
            {"recipient", rules_of(s.recipient), "Rules about each envelope recipient.",
             "[\"check_recipient_access text:/etc/postrider/recipients\", \"reject_rbl_client bl.example.org\", "
             "\"check_policy_service greylisting\"]"},
            {"data", rules_of(s.data), "Rules for the whole envelope, before the content is received.",
             "[\"reject_multi_recipient_bounce\"]"},
            {"end_of_data", rules_of(s.end_of_data), "Rules for the whole message.", ""},
        }};
}

Section section_for(AccessClass& s) {
    return {"access_class.<name>",
            "A class of access rules. Its name is a rule in [access] and a result in access tables: the rules of the "
            "class are evaluated in its place.",
            {
                {"rules", rules_of(s.rules), "The rules, evaluated in this order.",
                 "[\"check_sender_access text:/etc/postrider/insiders\", \"reject\"]"},
            }};
}

} // namespace config
