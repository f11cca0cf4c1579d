// smtpd_*_restrictions: which of them Postrider's rules already cover, which become a section of their own, and which
// have no counterpart, word by word.
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/net/network.h"
#include "daemons/import-postfix/conversion/access_rules.h"
#include "daemons/import-postfix/conversion/import.h"
#include "daemons/import-postfix/conversion/networks.h"
#include "daemons/import-postfix/conversion/next_hops.h"
#include "daemons/import-postfix/conversion/restriction_advice.h"
#include "daemons/import-postfix/conversion/tables.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/postfix/restriction_lists.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <climits>
#include <fmt/format.h>

namespace postrider {

using postfix::trimmed;

namespace {

struct List {
    std::string_view name, stage; // when a policy server in it is asked
    std::string_view key;         // of an [access.NAME]
};
// With smtpd_delay_reject, as it is by default, the first ones are all judged at RCPT.
constexpr List lists[] = {{"smtpd_client_restrictions", "rcpt", "client"},
                          {"smtpd_helo_restrictions", "rcpt", "helo"},
                          {"smtpd_sender_restrictions", "rcpt", "sender"},
                          {"smtpd_relay_restrictions", "rcpt", "relay"},
                          {"smtpd_recipient_restrictions", "rcpt", "recipient"},
                          {"smtpd_data_restrictions", "data", "data"},
                          {"smtpd_end_of_data_restrictions", "end_of_data", "end_of_data"}};

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
// What is found for one listener after the other, written when all are known.
struct DnsList {
    std::vector<std::string> answers, listeners;
    bool allow = false;
    bool any_answer = false;    // of a mention without answers
    bool rejects_alone = false; // by reject_rbl_client, whatever other lists say
    int weight = 1;
    std::string origin;
};
struct Policy {
    std::string name;
    bool by_rule = false; // asked by an access rule, not at a stage of its own
    std::string address, stage, timeout, on_failure, origin;
    std::vector<std::string> listeners;
};

class Restrictions {
public:
    explicit Restrictions(Import& import) : import_(import), access_(import) {}

    void read(const Import::Listener& listener) {
        relays_ = authenticated_ = listed_ = verified_ = true;
        names_listed_ = names_verified_ = false;
        if (needs_rules(listener))
            read_as_rules(listener);
        else
            for (const auto& list : lists) read(listener, list);
        const auto key = fmt::format("listen.{}.auth", listener.name);
        if (const auto* auth = import_.draft.find(key); auth && auth->value == "true" && !authenticated_) {
            import_.draft.set(key, "false", auth->origin);
            import_.record_service(*listener.service, SettingResult::Kind::with_remark,
                                   "AUTH is off: no permit_sasl_authenticated allows authenticated clients to relay");
        }
        const auto* asks = import_.draft.find(fmt::format("listen.{}.client_certificates", listener.name));
        const bool asked = asks && asks->value == "true";
        some_listed_ = some_listed_ || (listed_ && names_listed_ && asked);
        some_verified_ = some_verified_ || (verified_ && names_verified_ && asked);
        if (asked && !listed_) not_for_listed_.push_back(&listener);
        if (asked && !verified_) not_for_verified_.push_back(&listener);
        if (listener.submission) return submitters(listener);
        if (relays_)
            some_relay_ = true;
        else
            not_for_mynetworks_.push_back(&listener);
        narrower_networks(listener);
    }

    void write() {
        for (auto& [zone, list] : dns_lists_) {
            if (!some_are_left(list.listeners)) continue;
            if (list.rejects_alone) exempted(zone);
            const auto section = "dns_list." + toml(zone);
            const auto* threshold = import_.draft.find("smtpd.dns_list_threshold");
            import_.draft.set(section + ".weight",
                              list.rejects_alone && threshold ? threshold->value
                                                              : toml(static_cast<std::uint64_t>(list.weight)),
                              list.origin);
            if (list.allow) import_.draft.set(section + ".allow", "true");
            if (!list.answers.empty() && !list.any_answer) import_.draft.set(section + ".answers", toml(list.answers));
            if (list.listeners != all_relays()) import_.draft.set(section + ".listeners", toml(list.listeners));
        }
        access_.write([this](const std::string& listener) { return listens(listener); });
        for (auto& policy : policies_) {
            if (!some_are_left(policy.listeners)) continue;
            const auto section = "policy." + policy.name;
            import_.draft.set(section + ".address", toml(policy.address), policy.origin);
            import_.draft.set(section + ".stage", toml(policy.stage));
            import_.draft.set(section + ".timeout", toml(policy.timeout));
            if (!policy.on_failure.empty()) import_.draft.set(section + ".on_failure", toml(policy.on_failure));
            if (!policy.by_rule && policy.listeners != all_relays())
                import_.draft.set(section + ".listeners", toml(policy.listeners));
        }
        const bool any =
            std::ranges::any_of(import_.listeners, [](const auto& listener) { return !listener.submission; });
        if (any && !some_relay_) {
            import_.set("relay.networks", "[]", "mynetworks");
            import_.add_remark("mynetworks", "no permit_mynetworks allows these networks to relay, so none is listed");
        }
        certificates();
        if (!some_relay_) return;
        for (const auto* listener : not_for_mynetworks_)
            if (reachable_from_elsewhere(*listener))
                import_.record_unguarded(*listener->service, "smtpd_relay_restrictions",
                                         "clients in relay.networks may relay here too: another listener permits it, "
                                         "and relay.networks applies to all");
    }

    // The list of an smtpd behind postscreen: whom postscreen lets through without tests was looked up there.
    void exempted(const std::string& zone) {
        const auto service = std::ranges::find(import_.services, "postscreen", &postfix::Service::command);
        if (service == import_.services.end()) return;
        if (!import_.draft.find("client_tests.tables") && !import_.draft.find("client_tests.dns_list_allow_threshold"))
            return;
        import_.record_unguarded(
            *service, fmt::format("reject_rbl_client {}", zone),
            "clients that client_tests.tables or dns_list_allow_threshold exempt from tests are not "
            "looked up in this list: an access rule reject_rbl_client in [access] looks up all");
    }

    // "ZONE" or "ZONE=127.0.0.[2..4]"; false: the zone is not a domain, or the answers are invalid.
    bool dns_list(std::string_view text, bool allow, int weight, std::string_view listener, std::string origin,
                  bool rejects_alone = false) {
        const auto equals = std::min(text.find('='), text.size());
        const auto answers =
            equals < text.size() ? postfix::addresses_of(text.substr(equals + 1)) : std::vector<std::string>{};
        const auto zone = config::domain_name(text.substr(0, equals));
        if (!answers || zone.empty()) return false;
        auto& list = dns_lists_[zone];
        if (list.origin.empty()) list.origin = std::move(origin);
        list.rejects_alone = list.rejects_alone || rejects_alone;
        list.allow = allow, list.weight = std::max(list.weight, weight);
        list.any_answer = list.any_answer || answers->empty();
        for (const auto& answer : *answers)
            if (std::ranges::find(list.answers, answer) == list.answers.end()) list.answers.push_back(answer);
        if (std::ranges::find(list.listeners, listener) == list.listeners.end()) list.listeners.emplace_back(listener);
        return true;
    }

private:
    std::vector<std::string> all_relays() const {
        std::vector<std::string> out;
        for (const auto& listener : import_.listeners)
            if (!listener.submission && listens(listener.name)) out.push_back(listener.name);
        return out;
    }

    // Listeners where no client could send were removed again.
    bool listens(const std::string& name) const { return import_.draft.find(fmt::format("listen.{}.addresses", name)); }
    bool some_are_left(std::vector<std::string>& listeners) const {
        std::erase_if(listeners, [&](const auto& name) { return !listens(name); });
        return !listeners.empty();
    }

    static bool sets_itself(const Import::Listener& listener, std::string_view name) {
        return listener.service->own(name).has_value();
    }

    // A restriction whose loss has to be decided. Of a list the service sets itself, of the service; else of
    // main.cf's setting.
    void unguarded(const Import::Listener& listener, std::string_view list, std::string_view restriction,
                   std::string remark) {
        if (sets_itself(listener, list))
            import_.record_unguarded(*listener.service, fmt::format("{}: {}", list, restriction), remark);
        else
            import_.mark_unguarded(list, restriction, std::move(remark));
    }

    // One that only permits, or logs.
    void say(const Import::Listener& listener, std::string_view list, std::string remark) {
        if (sets_itself(listener, list))
            import_.record_service(*listener.service, SettingResult::Kind::unsupported,
                                   fmt::format("{}: {}", list, remark));
        else
            import_.mark_unsupported(list, std::move(remark), IfLost::harmless);
    }

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
    std::vector<postfix::Restriction> words_of(const Import::Listener& listener, const List& list) {
        auto restrictions = postfix::restrictions_of(import_.value(listener.values, list.name));
        import_.mark_converted(list.name);
        if (!restrictions) {
            import_.fail(list.name, restrictions.error());
            return {};
        }
        some_named_ = some_named_ || std::ranges::any_of(*restrictions, [](const auto& each) {
                          return each.word == listed_certificates;
                      });
        if (list.stage == "rcpt") {
            relays_ = relays_ && postfix::permits_relay(*restrictions, "permit_mynetworks");
            authenticated_ = authenticated_ && postfix::permits_relay(*restrictions, "permit_sasl_authenticated");
            listed_ = listed_ && postfix::permits_relay(*restrictions, listed_certificates);
            verified_ = verified_ && postfix::permits_relay(*restrictions, all_certificates);
            names_listed_ = names_listed_ || postfix::permits_by_name(*restrictions, listed_certificates);
            names_verified_ = names_verified_ || postfix::permits_by_name(*restrictions, all_certificates);
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
        for (const auto& list : lists) {
            const auto restrictions = postfix::restrictions_of(import_.value(listener.values, list.name));
            bool for_our_domains = false; // permitted so far
            for (const auto& each : restrictions ? *restrictions : std::vector<postfix::Restriction>{}) {
                if (is_sender_login(each) ? owners(listener) != "" : access_.only_as_rule(each)) return true;
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
        sender_login_of_classes(listener);
        bool named = false; // permit_mynetworks, which needs relay.networks; what these may is in the lists
        for (const auto& list : lists) {
            auto restrictions = words_of(listener, list);
            for (const auto& each : restrictions) named = named || each.word == "permit_mynetworks";
            std::erase_if(restrictions, [&](const auto& each) {
                return is_sender_login(each) && !sender_login(listener, list, each.word);
            });
            for (const auto& each : restrictions) sender_login_of_results(listener, list, each);
            const bool plain = std::ranges::all_of(
                restrictions, [](const auto& each) { return std::ranges::find(fixed, each.word) != std::end(fixed); });
            if (!plain || !postfix::permits_relay(restrictions, "permit_mynetworks") || list.key != "relay")
                all.push_back({list.name, list.key, std::move(restrictions)});
        }
        relays_ = relays_ || named;
        access_.add(listener, all,
                    {[&](std::string_view list, const postfix::Restriction& each) { missing(listener, list, each); },
                     [&](std::string_view list, const std::string& part, const std::string& why) {
                         unguarded(listener, list, part, why);
                     },
                     [&](std::string_view argument) {
                         return policy(listener, {"smtpd_recipient_restrictions", "rcpt", ""}, argument, true);
                     }});
    }

    // A restriction that is not an access rule here.
    void missing(const Import::Listener& listener, std::string_view list, const postfix::Restriction& each) {
        const auto whole = fmt::format("{}{}{}", each.word, each.more.empty() ? "" : " ", each.more);
        const auto remark = fmt::format("no counterpart; {}", advice_on(each.word));
        if (only_permits(each.word) || each.word == "warn_if_reject")
            say(listener, list, fmt::format("{}: {}", whole, remark));
        else
            unguarded(listener, list, whole, remark);
    }

    void read(const Import::Listener& listener, const List& list) {
        const auto restrictions = words_of(listener, list);
        std::vector<std::pair<std::string, std::string>> odd; // by advice
        for (const auto& [word, more] : restrictions) {
            if (ends_list(listener, word)) break;
            if (std::ranges::find(fixed, word) != std::end(fixed)) continue;
            if (word == "reject_rbl_client" || word == "permit_dnswl_client")
                on_list(listener, list, word, more);
            else if (word == "check_policy_service")
                policy(listener, list, more);
            else if (names_sender_login(word))
                sender_login(listener, list, word);
            else if (word == "warn_if_reject")
                say(listener, list.name, fmt::format("warn_if_reject {}: only actual rejections are logged", more));
            else {
                const std::string advice(advice_on(word));
                auto whole = fmt::format("{}{}{}", word, more.empty() ? "" : " ", more);
                if (!only_permits(word)) {
                    unguarded(listener, list.name, whole, fmt::format("no counterpart; {}", advice));
                    continue;
                }
                auto same = std::ranges::find(odd, advice, &std::pair<std::string, std::string>::first);
                if (same == odd.end()) same = odd.insert(odd.end(), {advice, ""});
                same->second += (same->second.empty() ? "" : ", ") + std::move(whole);
            }
        }
        for (const auto& [advice, words] : odd)
            say(listener, list.name, fmt::format("{}: no counterpart; {}", words, advice));
    }

    static bool names_sender_login(std::string_view word) {
        return word.starts_with("reject_") && word.ends_with("sender_login_mismatch");
    }
    static postfix::Restriction without_warning(const postfix::Restriction& each) {
        if (each.word != "warn_if_reject") return each;
        const auto blank = std::min(each.more.find(' '), each.more.size());
        return {each.more.substr(0, blank), std::string(trimmed(std::string_view(each.more).substr(blank)))};
    }
    static bool is_sender_login(const postfix::Restriction& each) {
        return names_sender_login(without_warning(each).word);
    }

    // Postfix ignores these restrictions where AUTH is not offered.
    bool has_logins(const Import::Listener& listener) {
        return postfix::flag_of(import_.value(listener.values, "smtpd_sasl_auth_enable")).value_or(false);
    }
    std::string owners(const Import::Listener& listener) {
        return has_logins(listener) ? import_.value(listener.values, "smtpd_sender_login_maps") : std::string();
    }

    // True: it is a rule, with the tables in auth.sender_login_tables. Without tables each user has their own address.
    bool sender_login(const Import::Listener& listener, const List& list, std::string_view word) {
        const auto maps = owners(listener);
        import_.mark_converted("smtpd_sender_login_maps");
        if (maps.empty()) {
            const bool for_users =
                word == "reject_sender_login_mismatch" || word == "reject_authenticated_sender_login_mismatch";
            if (for_users && has_logins(listener)) import_.set("auth.sender_match", "true", list.name);
            return false;
        }
        convert_owners(maps);
        if (sender_logins_ != maps)
            unguarded(listener, list.name, word,
                      fmt::format("{} has other tables: auth.sender_login_tables is for all listeners", listener.name));
        return has_owners();
    }

    bool has_owners() const { return import_.draft.find("auth.sender_login_tables"); }

    // Those of the first listener that has some. What has no counterpart is reported.
    void convert_owners(const std::string& maps) {
        if (!sender_logins_.empty()) return;
        sender_logins_ = maps;
        std::vector<std::string> tables;
        for (const auto& each : postfix::words_of(maps))
            if (auto table = converted_table(import_, "smtpd_sender_login_maps", each))
                tables.push_back(*std::move(table));
        if (!tables.empty()) import_.set("auth.sender_login_tables", toml(tables), "smtpd_sender_login_maps");
    }

    // Classes are for all listeners. Any of them may be the result of a table.
    void sender_login_of_classes(const Import::Listener& listener) {
        access_.leave_out_of_classes([this](const auto& each) { return is_sender_login(each) && !has_owners(); });
        const auto classes = import_.words("smtpd_restriction_classes");
        if (std::ranges::none_of(classes,
                                 [&](const auto& name) { return leads_to_sender_login({name, ""}, true) != false; }))
            return;
        for (const auto& each : import_.listeners)
            if (const auto maps = owners(each); !maps.empty()) convert_owners(maps);
        if (!owners(listener).empty()) sender_login(listener, lists[0], "smtpd_restriction_classes");
    }

    // A class, or a table whose results name such a restriction or may do so.
    void sender_login_of_results(const Import::Listener& listener, const List& list,
                                 const postfix::Restriction& restriction) {
        if (is_sender_login(restriction)) return;
        const auto named = leads_to_sender_login(restriction, has_owners());
        if (named == false) return;
        const auto [word, more] = without_warning(restriction);
        if (!owners(listener).empty()) {
            sender_login(listener, list, word);
            return;
        }
        if (!named) return;
        unguarded(listener, list.name, fmt::format("{}{}{}", word, more.empty() ? "" : " ", more),
                  "it names a reject_sender_login_mismatch that has no effect there in Postfix, without "
                  "smtpd_sender_login_maps or AUTH, but here: see auth.sender_login_tables");
    }

    // `stays`: those in classes are not left out. None: who knows?
    std::optional<bool> leads_to_sender_login(const postfix::Restriction& restriction, bool stays, int depth = 0) {
        const auto [word, more] = without_warning(restriction);
        if (names_sender_login(word)) return stays;
        if (word.starts_with("check_") && word.ends_with("_access")) return sender_login_in(more);
        if (!access_.is_class(word) || depth > 5) return false;
        std::optional<bool> out = false;
        const auto of_class = postfix::restrictions_of(import_.value(word));
        for (const auto& each : of_class ? *of_class : std::vector<postfix::Restriction>{}) {
            const auto named = leads_to_sender_login(each, stays, depth + 1);
            if (named == true) return true;
            if (!named) out.reset();
        }
        return out;
    }

    // Do the table's results name one? None: who knows?
    std::optional<bool> sender_login_in(std::string_view table) {
        constexpr std::string_view text = "sender_login_mismatch";
        while (table.starts_with("proxy:")) table.remove_prefix(6);
        if (smtp::lowered(table).contains(text)) return true;
        const auto typed = postfix::parse_typed(table);
        constexpr std::string_view files[] = {"hash", "btree", "texthash", "dbm",    "cdb",
                                              "sdbm", "lmdb",  "cidr",     "regexp", "pcre"};
        if (!typed) return {};
        if (typed->type == "inline" || typed->type == "static") return false;
        if (std::ranges::find(files, typed->type) == std::end(files)) return {};
        const auto content = import_.environment.read(import_.resolved_path(typed->name));
        if (!content) return {};
        return smtp::lowered(*content).contains(text);
    }

    void on_list(const Import::Listener& listener, const List& list, std::string_view word, const std::string& more) {
        const bool permits = word == "permit_dnswl_client";
        std::string remark;
        if (listener.submission)
            remark = "lists are queried only for clients of relay listeners";
        else if (more.empty() ||
                 !dns_list(more, permits, 1, listener.name, fmt::format("{} in {}", word, list.name), !permits))
            remark = "name the zone, and the answers to react to, in a [dns_list.\"ZONE\"]";
        else
            return;
        if (permits) return say(listener, list.name, fmt::format("{} {}: {}", word, more, remark));
        unguarded(listener, list.name, fmt::format("{} {}", word, more), std::move(remark));
    }

    // "inet:host:port", "unix:private/x", "{ inet:…, timeout=10s, default_action=DUNNO }"
    // The name of its section; nothing: there is none, which was reported.
    std::optional<std::string> policy(const Import::Listener& listener, const List& list, std::string_view text,
                                      bool by_rule = false) {
        Policy out;
        out.by_rule = by_rule;
        out.stage = list.stage, out.origin = fmt::format("check_policy_service in {}", list.name);
        auto words = postfix::words_of(postfix::unbraced(text));
        auto timeout = import_.value("smtpd_policy_service_timeout"),
             action = import_.value("smtpd_policy_service_default_action");
        for (std::size_t i = 1; i < words.size(); ++i) {
            const auto bare = postfix::unbraced(words[i]);
            const auto equals = std::min(bare.find('='), bare.size());
            const auto name = trimmed(bare.substr(0, equals)),
                       value = equals < bare.size() ? trimmed(bare.substr(equals + 1)) : "";
            if (name == "timeout")
                timeout = value;
            else if (name == "default_action")
                action = value;
        }
        const auto address = words.empty() ? std::nullopt : service_address(import_, words[0]);
        if (!address) {
            unguarded(listener, list.name, fmt::format("check_policy_service {}", text),
                      "write its numeric address in a [policy.NAME]");
            return {};
        }
        out.address = *address;
        out.timeout = fmt::format("{}s", postfix::seconds_of(timeout, 's').value_or(100));
        out.on_failure = action.starts_with("DUNNO") || action.starts_with("dunno") || action.starts_with("permit")
                             ? "accept"
                         : action.starts_with('5') || action.starts_with("REJECT") ? "reject"
                                                                                   : "tempfail";
        for (auto& same : policies_)
            if (same.address == out.address && same.stage == out.stage && same.by_rule == by_rule) {
                if (std::ranges::find(same.listeners, listener.name) == same.listeners.end())
                    same.listeners.push_back(listener.name);
                return same.name;
            }
        out.listeners = {listener.name};
        out.name = fmt::format("postfix_{}", policies_.size() + 1);
        policies_.push_back(std::move(out));
        import_.mark_converted("smtpd_policy_service_timeout"),
            import_.mark_converted("smtpd_policy_service_default_action");
        return policies_.back().name;
    }

    static constexpr std::string_view list = "relay_clientcerts", digest = "smtpd_tls_fingerprint_digest",
                                      listed_certificates = "permit_tls_clientcerts",
                                      all_certificates = "permit_tls_all_clientcerts";

    // Listeners that ask for certificates, and where the word does not stand: ours permits relaying on all of them.
    void widened(const std::vector<const Import::Listener*>& others, std::string_view word, std::string_view key) {
        for (const auto* listener : others)
            import_.record_unguarded(*listener->service, fmt::format("no {}", word),
                                     fmt::format("clients that {} permits may relay here too: another listener permits "
                                                 "it, and the key applies to all that ask for certificates",
                                                 key));
    }

    // May some clients of the current listener relay by their certificates, here as there?
    bool permitted_by_certificate() {
        return (listed_ && some_listed_ && !import_.words(list).empty() && import_.value(digest) == "sha256") ||
               (verified_ && some_verified_ && import_.draft.find("tls.client_ca_file"));
    }

    // Which clients may relay by their certificates. Without it they may not, which guards.
    void certificates() {
        import_.mark_converted(list);
        import_.mark_converted(digest);
        if (some_named_ && !some_listed_ && !import_.words(list).empty())
            import_.mark_unsupported(
                list,
                "no list permits relaying by it: add it to relay.client_certificates, which permits "
                "that, if its clients are to be known by permit_tls_clientcerts",
                IfLost::harmless);
        if (some_listed_ && !import_.words(list).empty()) {
            if (import_.value(digest) != "sha256")
                import_.mark_unsupported(
                    list,
                    fmt::format("it has fingerprints by {}: list those by SHA-256 (openssl x509 -noout -fingerprint "
                                "-sha256) in relay.client_certificates",
                                import_.value(digest)),
                    IfLost::harmless);
            else if (const auto tables = converted_tables(import_, list); !tables.empty()) {
                import_.set("relay.client_certificates", toml(tables), list);
                widened(not_for_listed_, listed_certificates, "relay.client_certificates");
            }
        }
        if (some_verified_ && import_.draft.find("tls.client_ca_file")) {
            import_.draft.set("relay.verified_client_certificates", "true", std::string(all_certificates));
            widened(not_for_verified_, all_certificates, "relay.verified_client_certificates");
        }
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
        if (relays_ || (auth && auth->value == "true") || permitted_by_certificate()) return;
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
    // Of the current listener: mynetworks, authenticated clients, those with a certificate.
    bool relays_ = false, authenticated_ = false, listed_ = false, verified_ = false;
    bool names_listed_ = false, names_verified_ = false, some_named_ = false;
    std::vector<const Import::Listener*> not_for_listed_, not_for_verified_;
    bool some_relay_ = false, some_listed_ = false, some_verified_ = false;
    std::vector<const Import::Listener*> not_for_mynetworks_;
    std::map<std::string, DnsList> dns_lists_;
    std::vector<Policy> policies_;
    std::string sender_logins_; // smtpd_sender_login_maps of the first listener that has them
    AccessRules access_;
};

// postscreen's tests of clients become those of [client_tests]. A test whose action is ignore, as it is by default, is
// not made: it rejects no client.
class Postscreen {
public:
    Postscreen(Import& import, const Import::Listener& listener, Restrictions& restrictions)
        : import_(import), listener_(listener), restrictions_(restrictions) {}

    void convert() {
        const bool any = convert_greeting() | convert_lists() | convert_session_tests() | convert_access_list();
        if (!any) return;
        set("enabled", "true", "postscreen_greet_action");
        const auto is_another = [this](const auto& other) { return !other.submission && other.name != listener_.name; };
        if (std::ranges::any_of(import_.listeners, is_another))
            set("listeners", toml(std::vector{listener_.name}), "postscreen_greet_action");
        if (given("postscreen_cache_retention_time")) set_duration("retention", "postscreen_cache_retention_time", 'd');
        if (given("postscreen_pre_queue_limit"))
            if (const auto limit = postfix::number_of(value("postscreen_pre_queue_limit")); limit && *limit > 0)
                set("maximum_waiting", toml(*limit), "postscreen_pre_queue_limit");
    }

private:
    std::string value(std::string_view name) {
        import_.mark_converted(name);
        return import_.value(listener_.values, name);
    }
    bool given(std::string_view name) const { return listener_.values.given(name) != nullptr; } // also by its -o
    // Of a test: "enforce" or "drop"; "" it rejects no client.
    std::string action(std::string_view name) {
        auto text = value(name);
        return text == "enforce" || text == "drop" ? text : "";
    }
    void set(std::string_view key, std::string value, std::string_view from) {
        import_.set(fmt::format("client_tests.{}", key), std::move(value), from);
    }
    void set_duration(std::string_view key, std::string_view from, char unit) {
        if (const auto seconds = postfix::seconds_of(value(from), unit); seconds && *seconds > 0)
            set(key, toml(fmt::format("{}s", *seconds)), from);
    }

    bool convert_greeting() {
        const auto acts = action("postscreen_greet_action");
        const auto wait = postfix::seconds_of(value("postscreen_greet_wait"), 's');
        if (acts.empty() || !wait || *wait == 0) return false;
        import_.set("smtpd.greeting_delay", toml(fmt::format("{}s", *wait)), "postscreen_greet_wait");
        set("early_talk_action", toml(acts), "postscreen_greet_action");
        if (given("postscreen_greet_ttl")) set_duration("early_talk_lifetime", "postscreen_greet_ttl", 's');
        return true;
    }

    bool convert_lists() {
        const auto acts = action("postscreen_dnsbl_action");
        const auto sites = postfix::words_of(value("postscreen_dnsbl_sites"));
        const auto threshold = postfix::number_of(value("postscreen_dnsbl_threshold"));
        if (acts.empty()) {
            import_.add_remark("postscreen_dnsbl_sites",
                               "postscreen_dnsbl_action is ignore: the lists reject no client "
                               "and are not queried");
            return false;
        }
        if (sites.empty()) return false;
        if (threshold) import_.set("smtpd.dns_list_threshold", toml(*threshold), "postscreen_dnsbl_threshold");
        set("dns_list_action", toml(acts), "postscreen_dnsbl_action");
        for (const auto& word : sites) convert_list(word);
        if (given("postscreen_dnsbl_ttl")) set_duration("dns_list_maximum_lifetime", "postscreen_dnsbl_ttl", 'h');
        if (given("postscreen_dnsbl_max_ttl"))
            set_duration("dns_list_maximum_lifetime", "postscreen_dnsbl_max_ttl", 'h');
        if (given("postscreen_dnsbl_min_ttl"))
            set_duration("dns_list_minimum_lifetime", "postscreen_dnsbl_min_ttl", 's');
        if (given("postscreen_dnsbl_timeout")) set_duration("dns_list_timeout", "postscreen_dnsbl_timeout", 's');
        for (const std::string_view name :
             {"postscreen_dnsbl_whitelist_threshold", "postscreen_dnsbl_allowlist_threshold"}) {
            if (!given(name)) continue;
            auto text = value(name);
            if (!text.starts_with('-')) continue; // 0: off
            if (const auto sum = postfix::number_of(text.substr(1)); sum && *sum > 0)
                set("dns_list_allow_threshold", toml(*sum), name);
        }
        return true;
    }

    void convert_list(const std::string& word) {
        const auto star = std::min(word.find('*'), word.size());
        int weight = 1;
        if (star < word.size()) weight = static_cast<int>(std::strtol(word.c_str() + star + 1, nullptr, 10));
        if (weight == 0 || weight == INT_MIN ||
            !restrictions_.dns_list(word.substr(0, star), weight < 0, std::abs(weight), listener_.name,
                                    "postscreen_dnsbl_sites"))
            import_.mark_unsupported("postscreen_dnsbl_sites",
                                     fmt::format("{}: name the zone, and the answers to react to, in a "
                                                 "[dns_list.\"ZONE\"]",
                                                 word));
    }

    bool convert_session_tests() {
        constexpr std::pair<std::string_view, std::string_view> tests[] = {
            {"pipelining", "pipelining_action"},
            {"non_smtp_command", "non_smtp_action"},
            {"bare_newline", "bare_newline_action"},
        };
        std::optional<std::uint64_t> shortest;
        std::string from;
        bool any = false;
        for (const auto& [test, key] : tests) {
            const auto name = fmt::format("postscreen_{}_", test);
            const bool enabled = postfix::flag_of(value(name + "enable")).value_or(false);
            const auto acts = action(name + "action");
            if (!enabled || acts.empty()) continue;
            any = true;
            set(key, toml(acts), name + "action");
            const auto lifetime = postfix::seconds_of(value(name + "ttl"), 's');
            if (!given(name + "ttl") || !lifetime || *lifetime == 0) continue;
            if (!shortest || *lifetime < *shortest) from = name + "ttl", shortest = lifetime;
        }
        if (shortest) set("session_lifetime", toml(fmt::format("{}s", *shortest)), from);
        return any;
    }

    bool convert_access_list() {
        constexpr std::string_view name = "postscreen_access_list";
        // Its default is the older name; either may be given for the service only.
        std::string denied, from;
        for (const std::string_view each : {"postscreen_blacklist_action", "postscreen_denylist_action"})
            if (given(each)) {
                denied = action(each);
                from = each;
            }
        std::vector<std::string> tables;
        for (const auto& word : postfix::words_of(value(name))) {
            if (word == "permit_mynetworks") continue; // these are never tested
            if (const auto table = converted_table(import_, name, word))
                tables.push_back(*table);
            else if (!import_.error && !denied.empty())
                import_.mark_unguarded(name, word, "the table could not be converted");
        }
        if (tables.empty() || import_.error) return false;
        set("tables", toml(tables), name);
        set("denied_action", toml(denied.empty() ? std::string("ignore") : denied), from.empty() ? name : from);
        return true;
    }

    Import& import_;
    const Import::Listener& listener_;
    Restrictions& restrictions_;
};

void postscreen(Import& import, Restrictions& restrictions) {
    const auto listener =
        std::ranges::find_if(import.listeners, [](const auto& each) { return each.service->command == "postscreen"; });
    if (listener != import.listeners.end()) Postscreen(import, *listener, restrictions).convert();
}

} // namespace

// Postfix checks recipients by default, and where a list says reject_unlisted_recipient. Off only if no listener
// checks: there is one setting for all.
void check_of_recipients(Import& import) {
    constexpr std::string_view name = "smtpd_reject_unlisted_recipient";
    import.mark_converted(name);
    const auto checks = [&](const Import::Listener& listener) {
        if (postfix::flag_of(import.value(listener.values, name)).value_or(true)) return true;
        return std::ranges::any_of(lists, [&](const auto& list) {
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
    postscreen(import, restrictions);
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
