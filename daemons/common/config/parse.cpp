// The configuration from its text: the sections there are, defaults that depend on others, checks across
// keys.
#include "daemons/common/config/toml_reader.h"
#include "daemons/common/tables/specification.h"
#include "daemons/decide/mailbox_place.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace config {

namespace {

constexpr std::size_t longest_pool_name = 64, most_pool_addresses = 256;

class Reader {
public:
    Reader(Config& config, TomlReader& toml) : config_(config), toml_(toml) {}

    bool read(std::string_view text);
    void name_system(const System& system);
    void complete(const System& system); // defaults that depend on others, and checks across keys

private:
    void listener(const std::string& name, const NamedSections::Fill& fill);
    template <class T>
    void filter(T made, std::vector<T>& all, const std::string& path, const NamedSections::Fill& fill);
    void check_filters();
    void route(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void retry(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void pool(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void table(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void check_tables();
    void signing(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void check_policies();
    void check_pools();
    void check_dane();
    void check_addresses();
    void check_route(const decide::RouteRule& rule, const std::string& path);
    void check_files();
    void settle_tls(Listener& listener, const std::string& path);
    void settle_auth(Listener& listener, const std::string& path);
    void settle_limits(Listener& listener, const std::string& path);
    void resolve(std::string& path) const;

    Config& config_;
    TomlReader& toml_;
    std::map<std::string, std::vector<std::string>> listeners_named_; // by key
    std::map<std::string, Place> rule_places_;                        // of the routes, by pattern
};

bool Reader::read(std::string_view text) {
    auto sections = fixed_sections(config_);
    const NamedSections named[] = {
        {"listen", "[listen.<name>]", false,
         [this](const auto& word, const auto&, const auto& fill) { listener(word, fill); }},
        {"policy", "[policy.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) {
             PolicyService service;
             service.name = word;
             filter(std::move(service), config_.policies, path, fill);
             if (!toml_.given(path + ".address"))
                 toml_.problem_at(path, fmt::format("{}: address is missing", path));
         }},
        {"milter", "[milter.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) {
             Milter milter;
             milter.name = word;
             filter(std::move(milter), config_.milters, path, fill);
             if (!toml_.given(path + ".address"))
                 toml_.problem_at(path, fmt::format("{}: address is missing", path));
         }},
        {"dns_list", "[dns_list.\"<zone>\"]", true,
         [this](const auto& word, const auto& path, const auto& fill) {
             DnsList list;
             list.zone = domain_name(word);
             if (list.zone.empty()) toml_.problem_at(path, fmt::format("{}: not a domain", path));
             filter(std::move(list), config_.dns_lists, path, fill);
         }},
        {"table", "[table.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { table(word, path, fill); }},
        {"pool", "[pool.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { pool(word, path, fill); }},
        {"retry", "[retry.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { retry(word, path, fill); }},
        {"route", "[route.\"<domain>\"]", true,
         [this](const auto& word, const auto& path, const auto& fill) { route(word, path, fill); }},
        {"dkim", "[dkim.\"<domain>\"]", true,
         [this](const auto& word, const auto& path, const auto& fill) { signing(word, path, fill); }},
    };
    return toml_.read(text, sections, named);
}

void Reader::listener(const std::string& name, const NamedSections::Fill& fill) {
    Listener listener;
    listener.name = name;
    if (name == local_mail)
        toml_.problem_at(fmt::format("listen.{}", name),
                         "listen.local: that name stands for the mail of programs on this host");
    fill(table_of(listener));
    config_.listeners.push_back(std::move(listener));
}

template <class T>
void Reader::filter(T made, std::vector<T>& all, const std::string& path, const NamedSections::Fill& fill) {
    fill(table_of(made));
    listeners_named_[path + ".listeners"] = made.listeners;
    all.push_back(std::move(made));
}

void Reader::signing(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    decide::SigningRule rule;
    rule.domain = domain_name(word);
    if (rule.domain.empty()) toml_.problem_at(path, fmt::format("{}: not a domain", path));
    fill(table_of(rule));
    if (!toml_.given(path + ".keys") || (rule.keys.empty() && toml_.good_so_far()))
        toml_.problem_at(path, fmt::format("{}: keys is missing", path));
    for (auto& key : rule.keys) {
        resolve(key.file);
        const auto place = toml_.place(path + ".keys");
        config_.files.push_back({key.file, path + ".keys", place.line, place.column});
    }
    for (const auto& other : config_.signing) {
        if (other.domain == rule.domain)
            toml_.problem_at(path, fmt::format("there is a section for {} already", rule.domain));
        for (const auto& domain : rule.domains)
            if (other.domains.contains(domain))
                toml_.problem_at(path + ".domains", fmt::format("{}.domains: {} is in [dkim.\"{}\"] too", path,
                                                                domain, other.domain));
    }
    config_.signing.push_back(std::move(rule));
}

void Reader::table(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    LookupTable table;
    table.name = word;
    fill(table_of(table));
    for (const auto key : missing_keys(table))
        if (!toml_.given(fmt::format("{}.{}", path, key)) || toml_.good_so_far())
            toml_.problem_at(path, fmt::format("{}: {} is missing", path, key));
    resolve(table.database);
    if (const auto key = path + ".database"; toml_.given(key)) {
        const auto place = toml_.place(key);
        config_.files.push_back({table.database, key, place.line, place.column});
    }
    config_.tables.push_back(std::move(table));
}

// Every table that is named there is.
void Reader::check_tables() {
    config_.tables_named = toml_.tables_named();
    for (const auto& [text, key, line, column] : config_.tables_named) {
        const auto what = tables::Specification::parse(text);
        if (!what) continue; // said already
        if (what->kind == tables::Kind::section) {
            if (std::ranges::find(config_.tables, what->name, &LookupTable::name) == config_.tables.end())
                toml_.problem({line, column}, fmt::format("{}: there is no [table.{}]", key, what->name));
        } else if (what->address == common::ServiceAddress{}) {
            config_.files.push_back({what->name, key, line, column});
        }
    }
}

void Reader::check_policies() {
    for (const auto& rule : config_.routes) {
        const auto& name = rule.queueing.retry_policy;
        if (name.empty() ||
            std::ranges::count(config_.queue.policies, name, &decide::queue::RetryPolicy::name) > 0)
            continue;
        const auto key = fmt::format("route.\"{}\".retry_policy", rule.pattern);
        toml_.problem_at(key, fmt::format("{}: there is no [retry.{}]", key, name));
    }
}

void Reader::pool(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    Pool pool;
    pool.name = word;
    fill(table_of(pool));
    if (!std::ranges::all_of(word, [](char c) { return c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)); }) ||
        word.size() > longest_pool_name)
        toml_.problem_at(path, fmt::format("{}: a pool's name has letters, digits, \"-\" and \"_\", at most {}", path,
                                           longest_pool_name));
    if (!toml_.given(path + ".addresses") || (pool.addresses.empty() && toml_.good_so_far()))
        toml_.problem_at(path, fmt::format("{}: addresses is missing", path));
    if (pool.addresses.size() > most_pool_addresses)
        toml_.problem_at(path + ".addresses",
                         fmt::format("{}.addresses: at most {} in one pool", path, most_pool_addresses));
    for (auto each = pool.addresses.begin(); each != pool.addresses.end(); ++each)
        if (std::ranges::find(pool.addresses.begin(), each, each->address, &Source::address) != each)
            toml_.problem_at(path + ".addresses",
                             fmt::format("{}.addresses: {} is listed twice", path, each->address.to_string()));
    config_.pools.push_back(std::move(pool));
}

// Every pool that is named there is, and can be used.
void Reader::check_pools() {
    const auto look_for = [&](const std::string& name, const std::string& key) {
        if (!config_.pool(name)) toml_.problem_at(key, fmt::format("{}: there is no [pool.{}]", key, name));
    };
    for (const auto& rule : config_.routes)
        if (!rule.pool.empty()) look_for(rule.pool, fmt::format("route.\"{}\".pool", rule.pattern));
    for (const auto& [sender, name] : config_.pool_choice.by_sender) look_for(name, "pools.by_sender");
    for (auto& pool : config_.pools) {
        for (auto& source : pool.addresses)
            if (source.helo.empty()) source.helo = config_.smtp_client.helo;
        if (std::ranges::none_of(pool.addresses, [&](const Source& each) {
                return each.address.is_v4() ? config_.smtp_client.ipv4 : config_.smtp_client.ipv6;
            }) && !pool.addresses.empty())
            toml_.problem_at(fmt::format("pool.{}.addresses", pool.name),
                             fmt::format("pool.{}.addresses: smtp_client.ipv4 or ipv6 turns all of them off", pool.name));
    }
}

// What demands TLSA records and may not believe them would hold up its mail until it expires.
void Reader::check_dane() {
    if (config_.dns.trust_ad) return;
    const auto look = [&](decide::TlsLevel level, const std::string& key) {
        if (level == decide::TlsLevel::dane_only)
            toml_.problem_at(key, fmt::format("{}: \"dane-only\" needs dns.trust_ad = true", key));
    };
    look(config_.smtp_client.tls, "smtp_client.tls");
    for (const auto& rule : config_.routes) look(rule.tls, fmt::format("route.\"{}\".tls", rule.pattern));
}

// Every domain is of one class, and what its class needs is said.
void Reader::check_addresses() {
    const auto& c = config_;
    const auto& virtuals = c.addresses;
    std::map<std::string_view, std::string_view> classes;
    const auto take = [&](std::string_view key, const auto& domains) {
        for (const auto& domain : domains)
            if (const auto [other, fresh] = classes.emplace(domain, key); !fresh)
                toml_.problem_at(std::string(key), fmt::format("{}: {} is in {} too", key, domain, other->second));
    };
    take("local.domains", c.local.domains);
    take("virtual_alias.domains", virtuals.virtual_alias.domains);
    take("virtual_mailbox.domains", virtuals.virtual_mailbox.domains);
    take("relay.domains", c.relay.domains);
    const auto missing = [&](bool is, std::string key, std::string_view what) {
        if (is && toml_.good_so_far()) toml_.problem_at(key, fmt::format("{}: {}", key, what));
    };
    missing(!virtuals.virtual_alias.domains.empty() && virtuals.virtual_alias.tables.empty(), "virtual_alias.domains",
            "without virtual_alias.tables they have no addresses at all");
    const auto& mailboxes = virtuals.virtual_mailbox;
    missing(!mailboxes.domains.empty() && mailboxes.deliver.empty(), "virtual_mailbox.domains",
            "virtual_mailbox.deliver is missing: where does their mail go?");
    missing(decide::is_mailbox_pattern(mailboxes.deliver) && mailboxes.user.empty() && c.mta.users,
            "virtual_mailbox.deliver", "virtual_mailbox.user is missing: whose files are these?");
    missing(!mailboxes.domains.empty() && mailboxes.users.empty() &&
                mailboxes.deliver.find("{value}") != std::string::npos,
            "virtual_mailbox.deliver", "{value} needs virtual_mailbox.users");
}

void Reader::check_filters() {
    for (const auto& [key, names] : listeners_named_)
        for (const auto& name : names)
            if (std::ranges::find(config_.listeners, name, &Listener::name) == config_.listeners.end() &&
                !(name == local_mail && key.starts_with("milter.")))
                toml_.problem_at(key, fmt::format("{}: there is no [listen.{}]", key, name));
}

void Reader::retry(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    using Kind = decide::queue::RetryPolicy::Kind;
    decide::queue::RetryPolicy policy{.name = word, .kind = Kind::exponential};
    fill(table_of(policy));
    if (word == "exchange")
        toml_.problem_at(path, "retry.exchange: that name stands for the ladder of [queue]");
    if (policy.kind == Kind::steps && policy.waits.empty())
        toml_.problem_at(path, fmt::format("{}: steps is missing", path));
    config_.queue.policies.push_back(std::move(policy));
}

void Reader::route(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    decide::RouteRule rule;
    const bool below = word.starts_with('.');
    rule.pattern = word == "*" ? word : domain_name(std::string_view(word).substr(below ? 1 : 0));
    if (rule.pattern.empty())
        toml_.problem_at(path, fmt::format("{}: not a domain, \".domain\" or \"*\"", path));
    else if (below)
        rule.pattern.insert(0, ".");
    fill(table_of(rule));
    check_route(rule, path);
    if (rule.queueing != decide::queue::RouteSettings{}) config_.queue.routes[rule.pattern] = rule.queueing;
    config_.routes.push_back(std::move(rule));
}

void Reader::check_route(const decide::RouteRule& rule, const std::string& path) {
    const auto [first, is_new] = rule_places_.emplace(rule.pattern, toml_.place(path));
    if (!is_new && !rule.pattern.empty()) { // the library sorts keys: the later one in the file is to blame
        const auto later = std::max(first->second, toml_.place(path));
        toml_.problem(later, fmt::format("there is a route for {} already", rule.pattern));
    }
    if (!toml_.given(path + ".next_hop"))
        return toml_.problem_at(path, fmt::format("{}: next_hop is missing", path));
    std::size_t hosts = 0, all = 0;
    bool has_socket = false;
    for (const auto& equals : rule.next_hops)
        for (const auto& hop : equals) {
            hosts += hop.kind == decide::NextHop::Kind::host, ++all;
            has_socket = has_socket || hop.name.starts_with('/');
        }
    if (hosts != all && all != 1)
        toml_.problem_at(path + ".next_hop",
                         fmt::format("{}.next_hop: several places must all be hosts in brackets", path));
    if (!rule.fallback.empty() && hosts > 0)
        toml_.problem_at(path + ".fallback",
                         fmt::format("{}.fallback: next_hop names hosts in brackets: list it there, behind them", path));
    if (!rule.fallback.empty() && all > 0 && rule.next_hops.front().front().kind == decide::NextHop::Kind::srv)
        toml_.problem_at(path + ".fallback", fmt::format("{}.fallback: only where hosts are found by MX", path));
    if (rule.tls_wrap && hosts != all)
        toml_.problem_at(path + ".tls_wrap", fmt::format("{}.tls_wrap: only for hosts in brackets", path));
    if (rule.tls_wrap && rule.tls == decide::TlsLevel::none)
        toml_.problem_at(path + ".tls", fmt::format("{}.tls: \"none\" contradicts tls_wrap = true", path));
    if (rule.tls_wrap && has_socket)
        toml_.problem_at(path + ".tls_wrap", fmt::format("{}.tls_wrap: a socket of this host takes no TLS", path));
    for (const auto& equals : rule.next_hops)
        if (std::ranges::any_of(equals, [&](auto& hop) { return hop.protocol != equals.front().protocol; }))
            toml_.problem_at(path + ".next_hop",
                             fmt::format("{}.next_hop: equals must all speak SMTP or all speak LMTP", path));
}

// Relative names are taken from the directory of the configuration.
void Reader::resolve(std::string& path) const {
    const auto slash = toml_.file().rfind('/');
    if (!path.empty() && path.front() != '/' && !path.starts_with("{home}") && slash != std::string::npos)
        path.insert(0, toml_.file().substr(0, slash + 1));
}

void Reader::check_files() {
    const auto note = [&](const std::string& key, const std::string& path) {
        const auto place = toml_.place(key);
        config_.files.push_back({path, key, place.line, place.column});
    };
    resolve(config_.spool.directory);
    resolve(config_.log.file);
    resolve(config_.log.syslog_socket);
    resolve(config_.local.mailbox.path);
    resolve(config_.bounce.templates);
    for (auto& path : config_.local.aliases) {
        resolve(path);
        if (toml_.given("local.aliases")) note("local.aliases", path);
    }
    for (auto& path : config_.tls.certificates) {
        resolve(path);
        note("tls.certificates", path);
    }
    for (auto& path : config_.tls.keys) {
        resolve(path);
        note("tls.keys", path);
    }
    resolve(config_.auth.passwords);
    resolve(config_.auth.dovecot);
    if (!config_.auth.passwords.empty()) note("auth.passwords", config_.auth.passwords);
    if (!config_.auth.passwords.empty() && !config_.auth.dovecot.empty())
        toml_.problem_at("auth.dovecot", "auth.dovecot: auth.passwords is named too; only one can decide");
    resolve(config_.smtp_client.credentials);
    if (!config_.smtp_client.credentials.empty()) note("smtp_client.credentials", config_.smtp_client.credentials);
    resolve(config_.smtp_client.tls_authorities);
    if (toml_.given("smtp_client.tls_authorities") && !config_.smtp_client.tls_authorities.empty())
        note("smtp_client.tls_authorities", config_.smtp_client.tls_authorities);
    resolve(config_.tls.client_authorities);
    if (!config_.tls.client_authorities.empty())
        note("tls.client_authorities", config_.tls.client_authorities);
    if (!config_.tls.keys.empty() && config_.tls.keys.size() != config_.tls.certificates.size())
        toml_.problem_at("tls.keys", "tls.keys: expected one for each of tls.certificates, in their order");
    if (!config_.bounce.templates.empty()) note("bounce.templates", config_.bounce.templates);
    if (config_.spool.directory.empty())
        toml_.problem_at("spool.directory", "spool.directory: must not be empty");
}

// What is not configured is as /etc/mailname says, the name that all mail programs of a Debian host share; else as
// the system is called.
void Reader::name_system(const System& system) {
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

void Reader::complete(const System& system) {
    auto& c = config_;
    name_system(system);
    if (c.smtp_client.helo.empty()) c.smtp_client.helo = c.mta.hostname;
    if (!toml_.given("local.domains")) {
        c.local.domains = {c.mta.hostname};
        if (c.mta.origin_from == NameSource::mailname && c.mta.origin != c.mta.hostname)
            c.local.domains.push_back(c.mta.origin); // bare names are users of this host
        if (c.mta.hostname != "localhost") c.local.domains.push_back("localhost");
    }
    if (c.local.users.empty() && !c.mta.users) c.local.users = {system.user};
    if (c.tls_reports.organization.empty()) c.tls_reports.organization = c.mta.hostname;
    for (auto* address : {&c.tls_reports.contact, &c.tls_reports.from})
        if (address->empty()) *address = "postmaster@" + c.mta.hostname;
    if (c.local.postmaster.empty()) c.local.postmaster = c.mta.users ? "root" : c.local.users.front();
    if (c.local.recipient_delimiter.size() > 1)
        toml_.problem_at("local.recipient_delimiter",
                         "local.recipient_delimiter: expected one character or \"\"");
    if (!toml_.given("relay.networks"))
        c.relay.networks = {*common::Network::parse("127.0.0.0/8"), *common::Network::parse("::1")};
    const auto workers = std::clamp(system.processors / 2, 1u, 8u);
    if (c.smtpd.workers == 0) c.smtpd.workers = workers;
    if (c.smtp_client.workers == 0) c.smtp_client.workers = workers;
    if (!c.smtp_client.ipv4 && !c.smtp_client.ipv6)
        toml_.problem_at("smtp_client.ipv4",
                         "smtp_client: ipv4 and ipv6 are both off; nothing could be sent");
    if (!c.testing.connect_to.empty() && c.mta.users)
        toml_.problem_at("testing.connect_to",
                         "testing.connect_to: leads mail astray; only for tests, in single-user mode "
                         "(mta.users = false)");
    if (c.smtpd.soft_errors > c.smtpd.hard_errors)
        toml_.problem_at(toml_.given("smtpd.soft_errors") ? "smtpd.soft_errors" : "smtpd.hard_errors",
                         "smtpd: soft_errors must not exceed hard_errors");
    if (c.dns.minimum_ttl > c.dns.maximum_ttl)
        toml_.problem_at(toml_.given("dns.minimum_ttl") ? "dns.minimum_ttl" : "dns.maximum_ttl",
                         "dns: minimum_ttl must not exceed maximum_ttl");
    if (c.master.heartbeat_timeout <= c.master.heartbeat_interval)
        toml_.problem_at(toml_.given("master.heartbeat_timeout") ? "master.heartbeat_timeout"
                                                                 : "master.heartbeat_interval",
                         "master: heartbeat_timeout must be longer than heartbeat_interval");

    if (c.listeners.empty()) {
        Listener smtp;
        smtp.name = "smtp";
        smtp.addresses = {*common::Endpoint::parse("[::]:25")};
        c.listeners.push_back(std::move(smtp));
    }
    std::vector<std::string> taken;
    for (auto& listener : c.listeners) {
        const auto path = fmt::format("listen.{}", listener.name);
        if (toml_.given(path) && !toml_.given(path + ".addresses"))
            toml_.problem_at(path, fmt::format("{}: addresses is missing", path));
        for (const auto& address : listener.addresses) {
            if (std::find(taken.begin(), taken.end(), address.to_string()) != taken.end())
                toml_.problem_at(path + ".addresses", fmt::format("{}.addresses: another listener has {}",
                                                                  path, address.to_string()));
            taken.push_back(address.to_string());
        }
        settle_tls(listener, path);
        if (listener.message_size == 0) listener.message_size = c.smtpd.message_size;
        if (listener.recipients == 0) listener.recipients = c.smtpd.recipients;
        if (listener.sessions == 0) listener.sessions = c.smtpd.sessions;
        settle_limits(listener, path);
    }
    check_filters();
    check_policies();
    check_pools();
    check_tables();
    check_dane();
    check_addresses();
    check_files();
}

void Reader::settle_tls(Listener& listener, const std::string& path) {
    const bool certified = !config_.tls.certificates.empty();
    if (listener.tls == ListenerTls::by_service) {
        if (listener.service == Service::submission)
            listener.tls = ListenerTls::require;
        else
            listener.tls = certified ? ListenerTls::offer : ListenerTls::no;
    }
    settle_auth(listener, path);
    if (listener.tls == ListenerTls::no || certified) return;
    const auto key = path + ".tls";
    toml_.problem_at(
        toml_.given(key) ? key : path,
        fmt::format("{}: TLS needs tls.certificates; without, say tls = \"no\"{}", path,
                    listener.service == Service::submission ? " (mail and passwords in plain text)" : ""));
}

void Reader::settle_limits(Listener& listener, const std::string& path) {
    constexpr std::pair<const char*, std::uint32_t ClientLimits::*> all[] = {
        {"sessions_per_network", &ClientLimits::sessions_per_network},
        {"connections_per_minute", &ClientLimits::connections_per_minute},
        {"messages_per_minute", &ClientLimits::messages_per_minute},
        {"recipients_per_minute", &ClientLimits::recipients_per_minute},
        {"user_connections_per_minute", &ClientLimits::user_connections_per_minute},
        {"user_messages_per_hour", &ClientLimits::user_messages_per_hour},
        {"user_recipients_per_hour", &ClientLimits::user_recipients_per_hour},
    };
    for (const auto& [key, limit] : all)
        if (!toml_.given(fmt::format("{}.{}", path, key)))
            listener.limits.*limit = config_.smtpd.limits.*limit;
}

void Reader::settle_auth(Listener& listener, const std::string& path) {
    const bool decided = !config_.auth.passwords.empty() || !config_.auth.dovecot.empty();
    if (!toml_.given(path + ".auth")) listener.auth = listener.service == Service::submission && decided;
    if (listener.auth && !decided)
        toml_.problem_at(
            path + ".auth",
            fmt::format("{}.auth: nobody can be checked; name auth.passwords or auth.dovecot", path));
    if (listener.auth && listener.tls == ListenerTls::no && !listener.auth_without_tls)
        toml_.problem_at(
            toml_.given(path + ".auth") ? path + ".auth" : path,
            fmt::format("{}: AUTH needs TLS; for passwords in plain text say auth_without_tls = true "
                        "(auth = false: none)",
                        path));
    if (listener.service == Service::submission && !listener.auth && listener.submitters.empty())
        toml_.problem_at(
            path, fmt::format("{}: nobody could send; name auth.passwords or auth.dovecot, or networks "
                              "in submitters",
                              path));
}

} // namespace

std::expected<Config, std::vector<Problem>> parse(std::string_view text, std::string_view file,
                                                  const System& system) {
    Config config;
    config.file = file;
    TomlReader toml(file);
    if (text.size() > 4 * MiB) {
        toml.problem({}, "larger than 4MiB: not a configuration");
        return std::unexpected(toml.problems());
    }
    Reader reader(config, toml);
    if (reader.read(text)) reader.complete(system);
    auto problems = toml.problems();
    if (!problems.empty()) return std::unexpected(std::move(problems));
    return config;
}

} // namespace config
