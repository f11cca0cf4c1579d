#include "daemons/common/config/validate.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/listener_settlement.h"
#include "daemons/common/config/load.h"
#include "daemons/common/config/local_listener.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/toml_reader.h"
#include "daemons/common/crypto/tls/context.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/decide/access/sender_login.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/addressing/mailbox_path.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace config {

namespace {

class Settlement {
public:
    Settlement(Config& config, TomlReader& toml) : config_(config), toml_(toml) {}

    void name_system(const System& system);
    void settle_defaults(const System& system);
    void add_short_name(const System& system);
    void check_values();
    void check_filters(const ListenersByKey& listeners_by_key);
    void check_client_tests();
    void check_verify();
    void check_policies();
    void check_loops();
    void settle_pools();
    void check_combined_tables();
    void check_tables();
    void check_access();
    void check_dane();
    void check_ciphers();
    void check_addresses();
    void settle_files();

private:
    template <class F> void for_each_access_list(F take) const;
    void check_access_classes();
    void settle_certificates(decide::CertificateFiles& own, const std::string& section);
    void note_file(const std::string& key, const std::string& path);

    Config& config_;
    TomlReader& toml_;
};

// What is not configured is as /etc/mailname says, the name that all mail programs of a Debian host share; else as
// the system is called.
void Settlement::name_system(const System& system) {
    auto& mta = config_.mta;
    const auto whole = [](std::string name) { return name.find('.') == name.npos ? name + ".localdomain" : name; };
    const auto mailname = domain_name(system.mailname), host = domain_name(system.hostname);
    if (mta.hostname.empty()) {
        mta.hostname_from = mailname.empty() ? NameSource::system : NameSource::mailname;
        mta.hostname = whole(!mailname.empty() ? mailname : !host.empty() ? host : "localhost");
    }
    if (mta.origin.empty()) {
        mta.origin_from = mailname.empty() ? NameSource::hostname : NameSource::mailname;
        mta.origin = mailname.empty() ? mta.hostname : whole(mailname);
    }
}

// Programs make addresses of the name they find the host by. It is not ours where another class of domains has it.
void Settlement::add_short_name(const System& system) {
    auto name = domain_name(system.hostname);
    name.resize(std::min(name.find('.'), name.size()));
    auto& domains = config_.local.domains;
    const auto has = [&](const auto& list) { return std::ranges::find(list, name) != list.end(); };
    if (!name.empty() && name != "localhost" && !has(domains) && !has(config_.addresses.virtual_alias.domains) &&
        !has(config_.addresses.virtual_mailbox.domains) && !has(config_.relay.domains))
        domains.push_back(name);
}

void Settlement::settle_defaults(const System& system) {
    auto& c = config_;
    if (c.smtp_client.helo.empty()) c.smtp_client.helo = c.mta.hostname;
    if (c.mta.node.empty()) c.mta.node = c.mta.hostname;
    c.fleet.node = c.mta.node;
    c.fleet.shares_rates =
        std::ranges::any_of(c.queue.routes, [](const auto& route) { return route.second.share_rates; });
    if (!toml_.is_set("local.domains")) {
        c.local.domains = {c.mta.hostname};
        if (c.mta.origin_from == NameSource::mailname && c.mta.origin != c.mta.hostname)
            c.local.domains.push_back(c.mta.origin); // bare names are users of this host
        add_short_name(system);
        if (c.mta.hostname != "localhost") c.local.domains.push_back("localhost");
    }
    if (c.local.users.empty() && !c.mta.users) c.local.users = {system.user};
    if (c.tls_reports.organization.empty()) c.tls_reports.organization = c.mta.hostname;
    for (auto* address : {&c.tls_reports.contact, &c.tls_reports.from})
        if (address->empty()) *address = "postmaster@" + c.mta.hostname;
    if (c.local.postmaster.empty()) c.local.postmaster = c.mta.users ? "root" : c.local.users.front();
    if (!toml_.is_set("relay.networks"))
        c.relay.networks = {*common::Network::parse("127.0.0.0/8"), *common::Network::parse("::1")};
    const auto workers = std::clamp(system.processors / 2, 1u, 8u);
    if (c.smtpd.workers == 0) c.smtpd.workers = workers;
    if (c.smtp_client.workers == 0) c.smtp_client.workers = workers;
    if (c.listeners.empty()) {
        Listener smtp;
        smtp.name = "smtp";
        smtp.addresses = {*common::Endpoint::parse("[::]:25")};
        c.listeners.push_back(std::move(smtp));
    }
}

// Values that are good by themselves and contradict each other.
void Settlement::check_values() {
    const auto& c = config_;
    if (!c.nodes.empty() && !toml_.is_set("mta.node"))
        toml_.problem_at("node." + c.nodes.front().name,
                         fmt::format("node.{}: set mta.node, the name of this node: other nodes know by it which "
                                     "messages they have, so that it must not change with the host's name",
                                     c.nodes.front().name));
    if (c.fleet.enabled() && !toml_.is_set("mta.node"))
        toml_.problem_at("fleet.store", "fleet.store: set mta.node, the name of this node: the others know it by that "
                                        "name, so that it must not change with the host's name");
    if (!c.fleet.user.empty() && c.fleet.password_file.empty())
        toml_.problem_at("fleet.user", "fleet.user: password_file is not set: the store requires a password of a user");
    if (c.local.recipient_delimiter.size() > 1)
        toml_.problem_at("local.recipient_delimiter", "local.recipient_delimiter: expected one character or \"\"");
    if (!c.smtp_client.ipv4 && !c.smtp_client.ipv6)
        toml_.problem_at("smtp_client.ipv4",
                         "smtp_client: ipv4 and ipv6 are both false: one of them is required for sending mail");
    if (!c.testing.connect_to.empty() && c.mta.users)
        toml_.problem_at("testing.connect_to",
                         "testing.connect_to: redirects mail: only allowed for tests, in single-user mode "
                         "(mta.multi_user = false)");
    if (c.smtpd.soft_errors > c.smtpd.hard_errors)
        toml_.problem_at(toml_.is_set("smtpd.soft_errors") ? "smtpd.soft_errors" : "smtpd.hard_errors",
                         "smtpd: soft_errors must not exceed hard_errors");
    const bool some_ask = std::ranges::any_of(c.listeners, &Listener::client_certificates);
    for (const auto& [key, set] : {std::pair{"relay.client_certificates", !c.relay.client_certificates.empty()},
                                   std::pair{"relay.verified_client_certificates", c.relay.verified_certificates}})
        if (set && !some_ask)
            toml_.problem_at(key, fmt::format("{}: no listener asks clients for certificates: set "
                                              "client_certificates = true in a [listen.NAME]",
                                              key));
    if (c.relay.verified_certificates && c.tls.client_authorities.empty())
        toml_.problem_at("relay.verified_client_certificates",
                         "relay.verified_client_certificates: tls.client_ca_file is not set: no certificate can be "
                         "verified");
    if (c.dns.minimum_ttl > c.dns.maximum_ttl)
        toml_.problem_at(toml_.is_set("dns.minimum_ttl") ? "dns.minimum_ttl" : "dns.maximum_ttl",
                         "dns: minimum_ttl must not exceed maximum_ttl");
    if (!c.http.insecure && !c.http.encrypted())
        for (const auto& endpoint : c.http.listen)
            if (!endpoint.address.is_loopback())
                toml_.problem_at(
                    "http.listen",
                    fmt::format(
                        "http.listen: {} is not an address of loopback: mail and tokens would pass "
                        "in plain text; set http.certificate for HTTPS, or http.insecure = true to allow plain text",
                        endpoint.to_string()));
    if (c.master.heartbeat_timeout <= c.master.heartbeat_interval)
        toml_.problem_at(toml_.is_set("master.heartbeat_timeout") ? "master.heartbeat_timeout"
                                                                  : "master.heartbeat_interval",
                         "master: heartbeat_timeout must be longer than heartbeat_interval");
}

void Settlement::check_filters(const ListenersByKey& listeners_by_key) {
    for (const auto& [key, names] : listeners_by_key)
        for (const auto& name : names)
            if (std::ranges::find(config_.listeners, name, &Listener::name) == config_.listeners.end() &&
                !(name == local_submissions && key.starts_with("milter.")))
                toml_.problem_at(key, fmt::format("{}: there is no [listen.{}]", key, name));
}

// Tests that nothing fails would only cost; users of submission have passwords instead.
void Settlement::check_client_tests() {
    const auto& tests = config_.client_tests;
    if (!tests.enabled) return;
    for (const auto& name : tests.listeners) {
        const auto listener = std::ranges::find(config_.listeners, name, &Listener::name);
        if (listener == config_.listeners.end() || listener->service != Service::relay)
            toml_.problem_at(
                "client_tests.listeners",
                fmt::format("client_tests.listeners: there is no [listen.{}] with service = \"relay\"", name));
    }
    if (tests.dns_minimum_lifetime > tests.dns_maximum_lifetime)
        toml_.problem_at("client_tests.dns_list_minimum_lifetime",
                         "client_tests: dns_list_minimum_lifetime must not exceed dns_list_maximum_lifetime");
    using decide::screening::Action;
    const bool deep =
        tests.pipelining != Action::off || tests.non_smtp != Action::off || tests.bare_newline != Action::off;
    if (config_.smtpd.greeting_delay == Duration::zero() && config_.dns_lists.empty() && !deep &&
        tests.denied.empty() && tests.tables.empty())
        toml_.problem_at(
            "client_tests.enabled",
            "client_tests.enabled: there is nothing to test: set smtpd.greeting_delay, or add a [dns_list]");
}

void Settlement::check_verify() {
    const auto& verify = config_.verify;
    if (verify.positive_refresh > verify.positive_lifetime)
        toml_.problem_at("verify.positive_refresh", "verify: positive_refresh must not exceed positive_lifetime");
    if (verify.negative_refresh > verify.negative_lifetime)
        toml_.problem_at("verify.negative_refresh", "verify: negative_refresh must not exceed negative_lifetime");
}

void Settlement::check_policies() {
    for (const auto& rule : config_.routes) {
        const auto& name = rule.queueing.retry_policy;
        if (name.empty() || std::ranges::count(config_.queue.policies, name, &decide::queue::RetryPolicy::name) > 0)
            continue;
        const auto key = fmt::format("route.\"{}\".retry_policy", rule.pattern);
        toml_.problem_at(key, fmt::format("{}: there is no [retry.{}]", key, name));
    }
}

// A route to ourselves is a loop that only the hop limit would end. So is a content filter that is one of our
// listeners.
void Settlement::check_loops() {
    const auto check_filter = [&](const std::string& key, const std::string& filter) {
        if (filter.empty() || std::ranges::count(config_.routes, filter, &decide::RouteRule::pattern) > 0) return;
        const auto hop = decide::NextHop::parse(filter);
        if (!hop || hop->kind != decide::NextHop::Kind::host)
            return toml_.problem_at(key, fmt::format("{}: \"{}\" is neither a host in brackets, such as "
                                                     "\"[127.0.0.1]:10024\", nor the name of a [route]",
                                                     key, filter));
        if (const auto* listener = local_listener(config_, *hop))
            toml_.problem_at(key, fmt::format("{}: {} is this system itself (listen.{}), not a filter: mail sent there "
                                              "would loop",
                                              key, filter, listener->name));
    };
    for (const auto& listener : config_.listeners) {
        if (listener.service == Service::filtered && !listener.content_filter.empty())
            toml_.problem_at(fmt::format("listen.{}.content_filter", listener.name),
                             fmt::format("listen.{}: mail that comes back from a content filter would go to one again",
                                         listener.name));
        check_filter(fmt::format("listen.{}.content_filter", listener.name), listener.content_filter);
    }
    check_filter("submit.content_filter", config_.submit.content_filter);
    for (const auto& [key, filter] : config_.content.filters()) check_filter(key, filter);
    for (const auto& rule : config_.routes)
        for (const auto& equals : rule.next_hops)
            for (const auto& hop : equals)
                if (const auto* listener = local_listener(config_, hop)) {
                    const auto key = fmt::format("route.\"{}\".next_hop", rule.pattern);
                    toml_.problem_at(key,
                                     fmt::format("{}: {} is this system itself (listen.{}): mail sent there would loop",
                                                 key, hop.to_string(), listener->name));
                }
}

// Every pool that is named there is, can be used, and greets by a name.
void Settlement::settle_pools() {
    const auto look_for = [&](const std::string& name, const std::string& key) {
        if (!config_.pool(name)) toml_.problem_at(key, fmt::format("{}: there is no [pool.{}]", key, name));
    };
    for (const auto& rule : config_.routes)
        if (!rule.pool.empty()) look_for(rule.pool, fmt::format("route.\"{}\".pool", rule.pattern));
    for (const auto& [sender, name] : config_.pool_choice.by_sender) look_for(name, "pools.by_sender");
    for (const auto& rule : config_.sender_rules.rules) {
        const std::string key = "sender_rules.rules";
        if (!rule.pool.empty()) look_for(rule.pool, key);
        for (const auto& name : rule.pools.value_or(SenderRule::Words{})) look_for(name, key);
        for (const auto& name : rule.listener)
            if (name != local_submissions &&
                std::ranges::find(config_.listeners, name, &Listener::name) == config_.listeners.end())
                toml_.problem_at(key, fmt::format("{}: there is no [listen.{}]", key, name));
    }
    for (auto& pool : config_.pools) {
        for (auto& source : pool.addresses)
            if (source.helo.empty()) source.helo = config_.smtp_client.helo;
        if (std::ranges::none_of(pool.addresses,
                                 [&](const SourceAddress& each) {
                                     return each.address.is_v4() ? config_.smtp_client.ipv4 : config_.smtp_client.ipv6;
                                 }) &&
            !pool.addresses.empty())
            toml_.problem_at(
                fmt::format("pool.{}.addresses", pool.name),
                fmt::format("pool.{}.addresses: smtp_client.ipv4 or ipv6 disables all of them", pool.name));
    }
}

// Unions and chains: none contains itself, or more than can be made for each mention of it. The first one at fault is
// named, and not those that contain it.
void Settlement::check_combined_tables() {
    constexpr std::size_t deepest = 5, most = 50;
    struct Size {
        std::size_t depth = 0, tables = 1; // of the tables in it: levels, and how many there are in all
        bool known = false, good = true;
    };
    std::map<std::string_view, Size> sizes;
    const auto size_of = [&](const auto& self, const LookupTable& table) -> const Size& {
        const auto [found, is_new] = sizes.try_emplace(table.name);
        auto& size = found->second;
        if (size.known) return size;
        std::string wrong;
        if (!is_new) wrong = "the table contains itself";
        for (std::size_t i = 0; is_new && i < table.tables.size() && size.good; ++i) {
            const auto what = tables::Specification::parse(table.tables[i]);
            const auto section = what && what->kind == tables::Kind::section
                                     ? std::ranges::find(config_.tables, what->name, &LookupTable::name)
                                     : config_.tables.end();
            const auto part = section == config_.tables.end() ? Size{} : self(self, *section);
            size.good = size.good && part.good;
            size.depth = std::max(size.depth, part.depth + 1), size.tables += part.tables;
        }
        if (is_new && size.good && size.depth > deepest)
            wrong = fmt::format("tables are nested more than {} levels deep", deepest);
        else if (is_new && size.good && size.tables > most + 1)
            wrong = fmt::format("there are more than {} tables in it, with those in the tables listed", most);
        size.known = true;
        if (wrong.empty()) return size;
        size.good = false;
        const auto key = fmt::format("table.{}.tables", table.name);
        toml_.problem_at(key, fmt::format("{}: {}", key, wrong));
        return size;
    };
    for (const auto& table : config_.tables) size_of(size_of, table);
}

// Are its keys networks? Of several tables the first decides.
static bool has_networks(const std::string& specification, const std::vector<LookupTable>& sections, int depth = 0) {
    const auto what = tables::Specification::parse(specification);
    if (!what || depth > 5) return false;
    if (what->kind != tables::Kind::section) return what->kind == tables::Kind::cidr;
    const auto section = std::ranges::find(sections, what->name, &LookupTable::name);
    if (section == sections.end()) return false;
    return section->kind == LookupKind::cidr || (is_combined(section->kind) && !section->tables.empty() &&
                                                 has_networks(section->tables.front(), sections, depth + 1));
}

// Every table that is named there is.
void Settlement::check_tables() {
    config_.table_references = toml_.table_references();
    for_each_access_list([&](const std::string& key, const auto& rules) {
        const auto place = toml_.position(key);
        for (auto& table : tables_of(rules))
            config_.table_references.push_back({std::move(table), key, place.line, place.column});
    });
    for (const auto& [text, key, line, column] : config_.table_references) {
        const auto what = tables::Specification::parse(text);
        if (!what) continue; // said already
        if (key.ends_with(".domain_tables") && has_networks(text, config_.tables))
            toml_.problem({line, column},
                          fmt::format("{}: \"{}\" has networks as its keys, which match no domain", key, text));
        if (what->kind == tables::Kind::section) {
            const auto section = std::ranges::find(config_.tables, what->name, &LookupTable::name);
            if (section == config_.tables.end())
                toml_.problem({line, column}, fmt::format("{}: there is no [table.{}]", key, what->name));
            else if (const bool patterns = has_only_whole_keys(*section); patterns != what->patterns)
                toml_.problem({line, column},
                              fmt::format("{}: \"{}\": [table.{}] has {}: write \"{}:{}\"", key, text, what->name,
                                          patterns ? "patterns as its keys" : "no patterns as its keys",
                                          patterns ? "patterns" : "table", what->name));
        } else if (what->address == common::ServiceAddress{} && what->kind != tables::Kind::fixed) {
            config_.files.push_back({what->name, key, line, column});
        }
    }
}

template <class F> void Settlement::for_each_access_list(F take) const {
    for (const auto& rules : config_.access)
        for (const auto list : access_lists)
            take(fmt::format("access.{}.{}", rules.name, name_of(list)), rules.list(list));
    for (const auto& each : config_.access_classes) take(fmt::format("access_class.{}.rules", each.name), each.rules);
}

// Every class and policy service that rules name is there, and a listener has the rules of one section.
void Settlement::check_access() {
    using decide::access::Check;
    for_each_access_list([&](const std::string& key, const auto& rules) {
        for (const auto& rule : rules) {
            const bool known =
                rule.check == Check::rule_class ? std::ranges::find(config_.access_classes, rule.argument,
                                                                    &AccessClass::name) != config_.access_classes.end()
                : rule.check == Check::policy_service
                    ? std::ranges::find(config_.policies, rule.argument, &PolicyService::name) != config_.policies.end()
                    : true;
            if (decide::access::is_about_sender_login(rule.check) && config_.auth.sender_login_tables.empty())
                toml_.problem_at(key,
                                 fmt::format("{}: \"{}\" needs auth.sender_login_tables, which say who owns a sender",
                                             key, rule.text));
            if (known) continue;
            toml_.problem_at(key, rule.check == Check::rule_class
                                      ? fmt::format("{0}: \"{1}\" is not a rule, and there is no [access_class.{1}]",
                                                    key, rule.argument)
                                      : fmt::format("{}: there is no [policy.{}]", key, rule.argument));
        }
    });
    check_access_classes();
    std::map<std::string, std::string, std::less<>> owners;
    for (const auto& rules : config_.access) {
        const auto key = fmt::format("access.{}.listeners", rules.name);
        for (const auto& name : rules.listeners.empty() ? std::vector<std::string>{""} : rules.listeners)
            if (const auto [other, fresh] = owners.emplace(name, rules.name); !fresh)
                toml_.problem_at(toml_.is_set(key) ? key : "access." + rules.name,
                                 name.empty()
                                     ? fmt::format("access.{}: listeners is missing: [access.{}] has none either",
                                                   rules.name, other->second)
                                     : fmt::format("{}: {} has the rules of [access.{}]", key, name, other->second));
    }
}

// A class that contains itself would never end.
void Settlement::check_access_classes() {
    const auto& classes = config_.access_classes;
    for (const auto& each : classes) {
        std::set<std::string_view> reached;
        std::vector<std::string_view> open = {each.name};
        while (!open.empty()) {
            const auto found = std::ranges::find(classes, open.back(), &AccessClass::name);
            open.pop_back();
            if (found == classes.end()) continue;
            for (const auto& rule : found->rules)
                if (rule.check == decide::access::Check::rule_class && reached.insert(rule.argument).second)
                    open.push_back(rule.argument);
        }
        if (reached.contains(each.name))
            toml_.problem_at(fmt::format("access_class.{}.rules", each.name),
                             fmt::format("access_class.{}.rules: the class contains itself", each.name));
    }
}

// What demands TLSA records and may not believe them would hold up its mail until it expires.
void Settlement::check_dane() {
    if (config_.dns.trust_ad) return;
    const auto look = [&](decide::TlsLevel level, const std::string& key) {
        if (level == decide::TlsLevel::dane_only)
            toml_.problem_at(key, fmt::format("{}: \"dane-only\" requires dns.trust_ad = true", key));
    };
    look(config_.smtp_client.tls, "smtp_client.tls");
    for (const auto& rule : config_.routes) look(rule.tls, fmt::format("route.\"{}\".tls", rule.pattern));
}

// A daemon that cannot make sense of them would not come up.
void Settlement::check_ciphers() {
    const auto look = [&](const std::string& ciphers, const std::string& key) {
        if (const auto good = tls::check_ciphers(ciphers, key); !good) toml_.problem_at(key, good.error().what);
    };
    look(config_.tls.ciphers, "tls.ciphers");
    look(config_.smtp_client.tls_ciphers, "smtp_client.tls_ciphers");
}

// Each domain belongs to one class; reports what a class needs and lacks.
void Settlement::check_addresses() {
    const auto& c = config_;
    const auto& virtuals = c.addresses;
    std::map<std::string_view, std::string_view> classes;
    const auto take = [&](std::string_view key, const auto& domains) {
        for (const auto& domain : domains)
            if (const auto [other, fresh] = classes.emplace(domain, key); !fresh)
                toml_.problem_at(std::string(key), fmt::format("{}: {} is also in {}", key, domain, other->second));
    };
    take("local.domains", c.local.domains);
    take("virtual_alias.domains", virtuals.virtual_alias.domains);
    take("virtual_mailbox.domains", virtuals.virtual_mailbox.domains);
    take("relay.domains", c.relay.domains);
    const auto missing = [&](bool is, std::string key, std::string_view what) {
        if (is && toml_.ok()) toml_.problem_at(key, fmt::format("{}: {}", key, what));
    };
    const auto key_of = [](std::string section, const auto& lists) {
        return section + (lists.domains.empty() ? ".domain_tables" : ".domains");
    };
    const auto any = [](const auto& lists) { return !lists.domains.empty() || !lists.domain_tables.empty(); };
    const auto& aliases = virtuals.virtual_alias;
    missing(any(aliases) && aliases.tables.empty(), key_of("virtual_alias", aliases),
            "virtual_alias.tables is missing: without it, these domains have no addresses");
    const auto& mailboxes = virtuals.virtual_mailbox;
    missing(any(mailboxes) && mailboxes.deliver.empty(), key_of("virtual_mailbox", mailboxes),
            "virtual_mailbox.deliver is missing: set where mail for these domains is delivered");
    missing(decide::is_mailbox_pattern(mailboxes.deliver) && mailboxes.user.empty() && c.mta.users,
            "virtual_mailbox.deliver", "virtual_mailbox.user is missing: set the owner of these files");
    for (const auto& command : c.commands)
        missing(command.user.empty() && c.mta.users, fmt::format("command.{}", command.name),
                "user is missing: set the user that the program runs as");
    const auto program = decide::name_of_command(mailboxes.deliver);
    missing(!program.empty() && std::ranges::find(c.commands, program, &MailCommand::name) == c.commands.end(),
            "virtual_mailbox.deliver", fmt::format("there is no [command.{}]", program));
    missing(any(mailboxes) && mailboxes.users.empty() && mailboxes.deliver.find("{value}") != std::string::npos,
            "virtual_mailbox.deliver", "{value} requires virtual_mailbox.recipients");
}

void Settlement::note_file(const std::string& key, const std::string& path) {
    const auto place = toml_.position(key);
    config_.files.push_back({path, key, place.line, place.column});
}

// Those that we show to servers.
void Settlement::settle_certificates(decide::CertificateFiles& own, const std::string& section) {
    const auto list = section + ".tls_certificates", keys = section + ".tls_keys";
    if (!own.keys.empty() && own.keys.size() != own.size()) {
        toml_.problem_at(keys, fmt::format("{}: expected one for each of {}, in the same order", keys,
                                           own.certificates ? list : list + ", which is missing"));
        own.keys.clear();
    }
    if (!own.certificates) return;
    for (auto& path : *own.certificates) {
        toml_.resolve(path);
        note_file(list, path);
    }
    for (auto& path : own.keys) {
        toml_.resolve(path);
        note_file(keys, path);
    }
}

// File names become absolute; those that must exist are recorded.
void Settlement::settle_files() {
    const auto note = [&](const std::string& key, const std::string& path) { note_file(key, path); };
    toml_.resolve(config_.spool.directory);
    toml_.resolve(config_.history.directory);
    toml_.resolve(config_.log.file);
    toml_.resolve(config_.log.syslog_socket);
    toml_.resolve(config_.local.mailbox.path);
    toml_.resolve(config_.bounce.templates);
    for (auto& path : config_.local.aliases) {
        if (const auto colon = path.find(':'); colon != path.npos && path.find('/') == colon + 1)
            toml_.problem_at("local.aliases", fmt::format("local.aliases: \"{}\": expected the name of a file, "
                                                          "without \"{}\"",
                                                          path, path.substr(0, colon + 1)));
        toml_.resolve(path);
        if (toml_.is_set("local.aliases")) note("local.aliases", path);
    }
    for (auto& path : config_.tls.certificates) {
        toml_.resolve(path);
        note("tls.certificates", path);
    }
    for (auto& path : config_.tls.keys) {
        toml_.resolve(path);
        note("tls.keys", path);
    }
    toml_.resolve(config_.http.certificate);
    toml_.resolve(config_.http.key);
    if (config_.http.encrypted()) note("http.certificate", config_.http.certificate);
    if (!config_.http.key.empty()) note("http.key", config_.http.key);
    for (const auto& [key, file] : {std::pair{"fleet.password_file", &config_.fleet.password_file},
                                    std::pair{"fleet.ca_file", &config_.fleet.ca_file}}) {
        if (file->empty()) continue;
        toml_.resolve(*file);
        note(key, *file);
    }
    if (!config_.http.key.empty() && !config_.http.encrypted())
        toml_.problem_at("http.key", "http.key: http.certificate is not set: set both, or none of them");
    toml_.resolve(config_.auth.passwords);
    toml_.resolve(config_.auth.dovecot);
    if (!config_.auth.passwords.empty()) note("auth.passwords", config_.auth.passwords);
    if (!config_.auth.passwords.empty() && !config_.auth.dovecot.empty())
        toml_.problem_at("auth.dovecot", "auth.dovecot: auth.passwords is also set: only one of them is allowed");
    toml_.resolve(config_.smtp_client.credentials);
    if (!config_.smtp_client.credentials.empty()) note("smtp_client.credentials", config_.smtp_client.credentials);
    toml_.resolve(config_.smtp_client.tls_authorities);
    if (toml_.is_set("smtp_client.tls_ca_file") && !config_.smtp_client.tls_authorities.empty())
        note("smtp_client.tls_ca_file", config_.smtp_client.tls_authorities);
    settle_certificates(config_.smtp_client.certificates, "smtp_client");
    for (auto& rule : config_.routes) {
        const auto section = fmt::format("route.\"{}\"", rule.pattern);
        settle_certificates(rule.certificates, section);
        if (rule.certificates.size() > 0 && rule.tls == decide::TlsLevel::none)
            toml_.problem_at(section + ".tls_certificates",
                             fmt::format("{}.tls_certificates: tls = \"none\" uses no TLS, so none is shown", section));
    }
    toml_.resolve(config_.tls.client_authorities);
    if (!config_.tls.client_authorities.empty()) note("tls.client_ca_file", config_.tls.client_authorities);
    if (!config_.tls.keys.empty() && config_.tls.keys.size() != config_.tls.certificates.size())
        toml_.problem_at("tls.keys", "tls.keys: expected one for each of tls.certificates, in the same order");
    if (!config_.bounce.templates.empty()) note("bounce.templates", config_.bounce.templates);
    if (config_.spool.directory.empty()) toml_.problem_at("spool.directory", "spool.directory: must not be empty");
}

} // namespace

void validate(Config& config, TomlReader& toml, const ListenersByKey& listeners_by_key, const System& system) {
    Settlement settlement(config, toml);
    settlement.name_system(system);
    settlement.settle_defaults(system);
    settlement.check_values();
    ListenerSettlement({config.tls, config.auth, config.relay, config.smtpd, config.idempotency}, toml)
        .settle(config.listeners);
    settlement.check_filters(listeners_by_key);
    settlement.check_client_tests();
    settlement.check_verify();
    settlement.check_policies();
    settlement.check_loops();
    settlement.settle_pools();
    settlement.check_combined_tables();
    settlement.check_tables();
    settlement.check_access();
    settlement.check_dane();
    settlement.check_ciphers();
    settlement.check_addresses();
    settlement.settle_files();
}

} // namespace config
