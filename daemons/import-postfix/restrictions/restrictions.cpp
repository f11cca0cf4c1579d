#include "daemons/import-postfix/restrictions/restrictions.h"
#include "daemons/common/net/network.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/import/networks.h"
#include "daemons/import-postfix/import/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/postfix/restriction_lists.h"
#include "daemons/import-postfix/restrictions/access_rules.h"
#include "daemons/import-postfix/restrictions/certificate_permits.h"
#include "daemons/import-postfix/restrictions/dns_lists.h"
#include "daemons/import-postfix/restrictions/losses.h"
#include "daemons/import-postfix/restrictions/policy_services.h"
#include "daemons/import-postfix/restrictions/postscreen.h"
#include "daemons/import-postfix/restrictions/remaining_listeners.h"
#include "daemons/import-postfix/restrictions/restriction_advice.h"
#include "daemons/import-postfix/restrictions/sender_logins.h"
#include "daemons/import-postfix/restrictions/smtpd_lists.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

// What Postrider does anyway, or what only orders the list.
constexpr std::string_view fixed[] = {"permit",
                                      "permit_mynetworks",
                                      "permit_sasl_authenticated",
                                      "permit_tls_clientcerts",
                                      "permit_tls_all_clientcerts",
                                      "reject_unauth_destination",
                                      "defer_unauth_destination",
                                      "permit_auth_destination",
                                      "reject_unauth_pipelining",
                                      "reject_unlisted_recipient",
                                      "check_recipient_maps",
                                      "reject_multi_recipient_bounce",
                                      "permit_inet_interfaces"};

// A table without a word before it is an access table of the list's own kind, as when there were no other ones.
std::expected<std::vector<postfix::Restriction>, std::string> restrictions_in(std::string_view text,
                                                                              const SmtpdList& list) {
    auto out = postfix::restrictions_of(text);
    constexpr std::string_view kinds[] = {"client", "helo", "sender", "recipient"};
    const auto kind = list.key == "relay" ? "recipient" : list.key;
    if (!out || std::ranges::find(kinds, kind) == std::end(kinds)) return out;
    for (auto& each : *out)
        if (each.more.empty() && postfix::parse_typed(each.word))
            each = {fmt::format("check_{}_access", kind), std::move(each.word)};
    return out;
}

class Restrictions {
public:
    explicit Restrictions(Import& import)
        : import_(import), certificates_(import), dns_lists_(import), policy_services_(import), access_(import),
          sender_logins_(import, access_) {}

    void read(const Import::Listener& listener) {
        relays_ = authenticated_ = true;
        certificates_.start();
        if (needs_rules(listener))
            read_as_rules(listener);
        else
            for (const auto& list : smtpd_lists) read(listener, list);
        const auto key = fmt::format("listen.{}.auth", listener.name);
        if (const auto* auth = import_.draft.find(key); auth && auth->value == "true" && !authenticated_) {
            import_.draft.set(key, "false", auth->origin);
            import_.record_service(*listener.service, SettingResult::Kind::with_remark,
                                   "AUTH is off: no permit_sasl_authenticated allows authenticated clients to relay");
        }
        certificates_.finish(listener);
        if (listener.submission) return submitters(listener);
        if (relays_)
            some_relay_ = true;
        else
            not_for_mynetworks_.push_back(&listener);
        narrower_networks(listener);
    }

    DnsLists& dns_lists() { return dns_lists_; }

    void write() {
        dns_lists_.write();
        access_.write([this](const std::string& listener) { return listens(import_, listener); });
        policy_services_.write();
        const bool any =
            std::ranges::any_of(import_.listeners, [](const auto& listener) { return !listener.submission; });
        if (any && !some_relay_) {
            import_.set("relay.networks", "[]", "mynetworks");
            import_.add_remark("mynetworks", "no permit_mynetworks allows these networks to relay, so none is listed");
        }
        certificates_.write();
        if (!some_relay_) return;
        for (const auto* listener : not_for_mynetworks_)
            if (reachable_from_elsewhere(*listener))
                import_.record_unguarded(*listener->service, "smtpd_relay_restrictions",
                                         "clients in relay.networks may relay here too: another listener permits it, "
                                         "and relay.networks applies to all");
    }

private:
    // Programs on this host come to loopback addresses only.
    bool reachable_from_elsewhere(const Import::Listener& listener) const {
        const auto* addresses = import_.draft.find(fmt::format("listen.{}.addresses", listener.name));
        if (!addresses) return false;
        for (const auto& word : postfix::words_of(addresses->value))
            if (!word.starts_with("[\"127.") && !word.starts_with("\"127.") && word.find("[::1]:") == word.npos)
                return true;
        return false;
    }

    // A listener with mynetworks of its own: relay.networks are those of all.
    void narrower_networks(const Import::Listener& listener) {
        if (!sets_itself(listener, "mynetworks") || !relays_ || !reachable_from_elsewhere(listener)) return;
        const auto own = import_.value(listener.values, "mynetworks");
        if (own != import_.value("mynetworks"))
            import_.record_unguarded(*listener.service, fmt::format("mynetworks = {}", own),
                                     "clients in relay.networks may relay here too: it applies to all listeners");
    }

    // The words of a list, and what they say about relaying; empty after an error.
    std::vector<postfix::Restriction> words_of(const Import::Listener& listener, const SmtpdList& list) {
        auto restrictions = restrictions_in(import_.value(listener.values, list.name), list);
        import_.mark_converted(list.name);
        if (!restrictions) {
            import_.fail(list.name, restrictions.error());
            return {};
        }
        certificates_.read(*restrictions, list.stage == "rcpt");
        if (list.stage == "rcpt") {
            relays_ = relays_ && postfix::permits_relay(*restrictions, "permit_mynetworks");
            authenticated_ = authenticated_ && postfix::permits_relay(*restrictions, "permit_sasl_authenticated");
        }
        return *std::move(restrictions);
    }

    // Does the list end there, on a submission listener also for all clients that may send?
    bool ends_list(const Import::Listener& listener, std::string_view word) const {
        if (word == "reject" || word == "defer" || word == "permit") return true;
        if (!listener.submission) return false;
        const auto* auth = import_.draft.find(fmt::format("listen.{}.auth", listener.name));
        return word == "permit_sasl_authenticated" || (word == "permit_mynetworks" && !(auth && auth->value == "true"));
    }

    bool needs_rules(const Import::Listener& listener) {
        for (const auto& list : smtpd_lists) {
            const auto restrictions = restrictions_in(import_.value(listener.values, list.name), list);
            bool for_our_domains = false; // permitted so far
            for (const auto& each : restrictions ? *restrictions : std::vector<postfix::Restriction>{}) {
                if (SenderLogins::is_one(each) ? sender_logins_.only_as_rule(listener) : access_.only_as_rule(each))
                    return true;
                if ((each.word == "reject" || each.word == "defer") && !listener.submission && !for_our_domains)
                    return true;
                for_our_domains =
                    for_our_domains || each.word == "permit_auth_destination" || each.word == "permit_mx_backup";
                if (ends_list(listener, each.word)) break;
            }
        }
        return false;
    }

    void read_as_rules(const Import::Listener& listener) {
        std::vector<AccessRules::List> all;
        sender_logins_.convert_classes(listener);
        bool named = false; // permit_mynetworks, which needs relay.networks; what these may is in the lists
        for (const auto& list : smtpd_lists) {
            auto restrictions = words_of(listener, list);
            for (const auto& each : restrictions) named = named || each.word == "permit_mynetworks";
            std::erase_if(restrictions, [&](const auto& each) {
                return SenderLogins::is_one(each) && !sender_logins_.convert(listener, list.name, each.word);
            });
            for (const auto& each : restrictions)
                if (!SenderLogins::is_one(each)) sender_logins_.convert_results(listener, list.name, each);
            const bool plain = std::ranges::all_of(
                restrictions, [](const auto& each) { return std::ranges::find(fixed, each.word) != std::end(fixed); });
            if (!plain || !postfix::permits_relay(restrictions, "permit_mynetworks") || list.key != "relay")
                all.push_back({list.name, list.key, std::move(restrictions)});
        }
        relays_ = relays_ || named;
        access_.add(listener, all,
                    {[&](std::string_view list, const postfix::Restriction& each) { missing(listener, list, each); },
                     [&](std::string_view list, const std::string& part, const std::string& why) {
                         record_unguarded(import_, listener, list, part, why);
                     },
                     [&](std::string_view argument) {
                         return policy_services_.add(listener, {"smtpd_recipient_restrictions", "rcpt", ""}, argument,
                                                     true);
                     }});
    }

    // A restriction that is not an access rule here.
    void missing(const Import::Listener& listener, std::string_view list, const postfix::Restriction& each) {
        const auto whole = fmt::format("{}{}{}", each.word, each.more.empty() ? "" : " ", each.more);
        const auto remark = fmt::format("no counterpart; {}", advice_on(each.word));
        if (only_permits(each.word) || each.word == "warn_if_reject")
            record_lost(import_, listener, list, fmt::format("{}: {}", whole, remark));
        else
            record_unguarded(import_, listener, list, whole, remark);
    }

    void read(const Import::Listener& listener, const SmtpdList& list) {
        const auto restrictions = words_of(listener, list);
        std::vector<std::pair<std::string, std::string>> odd; // by advice
        for (const auto& [word, more] : restrictions) {
            if (ends_list(listener, word)) break;
            if (std::ranges::find(fixed, word) != std::end(fixed)) continue;
            if (word == "reject_rbl_client" || word == "permit_dnswl_client")
                dns_lists_.add(listener, list.name, word, more);
            else if (word == "check_policy_service")
                policy_services_.add(listener, list, more);
            else if (SenderLogins::is_word(word))
                sender_logins_.convert(listener, list.name, word);
            else if (word == "warn_if_reject")
                record_lost(import_, listener, list.name,
                            fmt::format("warn_if_reject {}: only actual rejections are logged", more));
            else {
                const std::string advice(advice_on(word));
                auto whole = fmt::format("{}{}{}", word, more.empty() ? "" : " ", more);
                if (!only_permits(word)) {
                    record_unguarded(import_, listener, list.name, whole, fmt::format("no counterpart; {}", advice));
                    continue;
                }
                auto same = std::ranges::find(odd, advice, &std::pair<std::string, std::string>::first);
                if (same == odd.end()) same = odd.insert(odd.end(), {advice, ""});
                same->second += (same->second.empty() ? "" : ", ") + std::move(whole);
            }
        }
        for (const auto& [advice, words] : odd)
            record_lost(import_, listener, list.name, fmt::format("{}: no counterpart; {}", words, advice));
    }

    // Who may send over a submission listener without AUTH.
    void submitters(const Import::Listener& listener) {
        const auto key = "listen." + listener.name;
        const auto own = [&] {
            std::vector<std::string> out;
            for (const auto& word :
                 expanded_list(import_, "mynetworks", postfix::words_of(import_.value(listener.values, "mynetworks"))))
                if (common::Network::parse(word)) out.push_back(word);
            return without_duplicates(out);
        }();
        const bool given = import_.given("mynetworks") || sets_itself(listener, "mynetworks");
        if (relays_)
            import_.draft.set(key + ".submission_networks",
                              given ? toml(own) : import_.draft.find("relay.networks")->value, "permit_mynetworks");
        const auto* auth = import_.draft.find(key + ".auth");
        if (relays_ || (auth && auth->value == "true") || certificates_.permit_some()) return;
        for (const auto* each :
             {"addresses", "service", "tls", "auth", "auth_without_tls", "client_certificates",
              "client_certificate_required", "xclient_networks", "xforward_networks", "proxy_networks", "vrfy",
              "smtputf8", "message_size", "recipients", "sessions_per_network"})
            import_.draft.remove(fmt::format("{}.{}", key, each));
        import_.record_service(*listener.service, SettingResult::Kind::unsupported,
                               "no client could send mail there: set auth.passwords or auth.dovecot, and add a "
                               "listener with service = \"submission\"");
    }

    Import& import_;
    bool relays_ = false, authenticated_ = false; // of the current listener: mynetworks, authenticated clients
    bool some_relay_ = false;
    std::vector<const Import::Listener*> not_for_mynetworks_;
    CertificatePermits certificates_;
    DnsLists dns_lists_;
    PolicyServices policy_services_;
    AccessRules access_;
    SenderLogins sender_logins_;
};

} // namespace

// Postfix checks recipients by default, and where a list says reject_unlisted_recipient. Off only if no listener
// checks: there is one setting for all.
void check_of_recipients(Import& import) {
    constexpr std::string_view name = "smtpd_reject_unlisted_recipient";
    import.mark_converted(name);
    const auto checks = [&](const Import::Listener& listener) {
        if (postfix::flag_of(import.value(listener.values, name)).value_or(true)) return true;
        return std::ranges::any_of(smtpd_lists, [&](const auto& list) {
            const auto restrictions = postfix::restrictions_of(import.value(listener.values, list.name));
            return restrictions && std::ranges::any_of(*restrictions, [](const auto& each) {
                       return each.word == "reject_unlisted_recipient" || each.word == "check_recipient_maps";
                   });
        });
    };
    if (import.listeners.empty() || std::ranges::any_of(import.listeners, checks)) return;
    import.set("smtpd.check_recipients", "false", name);
}

void import_restrictions(Import& import) {
    check_of_recipients(import);
    Restrictions restrictions(import);
    for (const auto& listener : import.listeners)
        if (!import.error) restrictions.read(listener);
    import_postscreen(import, restrictions.dns_lists());
    restrictions.write();
    if (const auto words = import.words("smtpd_etrn_restrictions"); !words.empty()) {
        if (words.size() == 2 && words[0] == "permit_mynetworks" && words[1] == "reject") {
            for (const auto& listener : import.listeners)
                if (const auto* networks = import.draft.find("relay.networks"))
                    import.draft.set(fmt::format("listen.{}.etrn_networks", listener.name), networks->value,
                                     "smtpd_etrn_restrictions");
            import.mark_converted("smtpd_etrn_restrictions");
        } else {
            import.mark_unsupported("smtpd_etrn_restrictions", "list the networks in listen.NAME.etrn_networks",
                                    IfLost::harmless); // ETRN is off
        }
    }
}

} // namespace postrider
