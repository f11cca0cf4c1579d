// The configuration from its text: the existing sections, each
// checked by itself. Checks across sections are in validate.cpp.
#include "daemons/common/config/fixed_sections.h"
#include "daemons/common/config/inventory.h"
#include "daemons/common/config/load.h"
#include "daemons/common/config/partial_config.h"
#include "daemons/common/config/schema/shown_value.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/toml_reader.h"
#include "daemons/common/config/validate.h"
#include "daemons/common/lookup/format/rules.h"
#include "daemons/common/net/web_address.h"
#include "daemons/decide/routing/transport_entry.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <map>

namespace config {

namespace {

constexpr std::size_t longest_pool_name = 64, most_pool_addresses = 256;

class Reader {
public:
    Reader(Config& config, TomlReader& toml) : config_(config), toml_(toml) {}

    bool read(std::string_view text);
    const ListenersByKey& listeners_by_key() const { return listeners_named_; }

private:
    void check_name(std::string_view word, const std::string& path, std::string_view kind, std::size_t longest);
    void listener(const std::string& name, const NamedSections::Fill& fill);
    template <class T>
    void filter(T made, std::vector<T>& all, const std::string& path, const NamedSections::Fill& fill);
    void route(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void retry(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void pool(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void access_class(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void check_rules_of(const LookupTable& table, const std::string& path);
    void table(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void command(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void signing(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void node(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void hook(const std::string& word, const std::string& path, const NamedSections::Fill& fill);
    void check_route(const decide::RouteRule& rule, const std::string& path);

    Config& config_;
    TomlReader& toml_;
    ListenersByKey listeners_named_;
    std::map<std::string, Position> rule_places_; // of the routes, by pattern
};

// What import-postfix could not carry over although it guards something: for the operator to decide.
Section undecided() {
    return {"undecided", "", {}, [](std::string_view key, std::string_view text) {
                text.remove_suffix(text.ends_with('.') ? 1 : 0);
                return fmt::format("undecided: {}: {}. Delete this line when you have decided", key, text);
            }};
}

bool Reader::read(std::string_view text) {
    auto sections = fixed_sections(config_);
    sections.push_back(undecided());
    const NamedSections named[] = {
        {"listen", "[listen.<name>]", false,
         [this](const auto& word, const auto&, const auto& fill) { listener(word, fill); }},
        {"policy", "[policy.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) {
             PolicyService service;
             service.name = word;
             filter(std::move(service), config_.policies, path, fill);
             if (!toml_.is_set(path + ".address"))
                 toml_.problem_at(path, fmt::format("{}: required key \"address\" is missing", path));
         }},
        {"milter", "[milter.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) {
             Milter milter;
             milter.name = word;
             filter(std::move(milter), config_.milters, path, fill);
             if (!toml_.is_set(path + ".address"))
                 toml_.problem_at(path, fmt::format("{}: required key \"address\" is missing", path));
         }},
        {"dns_list", "[dns_list.\"<zone>\"]", true,
         [this](const auto& word, const auto& path, const auto& fill) {
             DnsList list;
             list.zone = domain_name(word);
             if (list.zone.empty()) toml_.problem_at(path, fmt::format("{}: not a valid domain", path));
             filter(std::move(list), config_.dns_lists, path, fill);
         }},
        {"access", "[access.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) {
             AccessRules rules;
             rules.name = word;
             filter(std::move(rules), config_.access, path, fill);
         }},
        {"access_class", "[access_class.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { access_class(word, path, fill); }},
        {"table", "[table.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { table(word, path, fill); }},
        {"command", "[command.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { command(word, path, fill); }},
        {"pool", "[pool.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { pool(word, path, fill); }},
        {"hook", "[hook.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { hook(word, path, fill); }},
        {"node", "[node.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { node(word, path, fill); }},
        {"retry", "[retry.<name>]", false,
         [this](const auto& word, const auto& path, const auto& fill) { retry(word, path, fill); }},
        {"route", "[route.\"<domain>\"]", true,
         [this](const auto& word, const auto& path, const auto& fill) { route(word, path, fill); }},
        {"dkim", "[dkim.\"<domain>\"]", true,
         [this](const auto& word, const auto& path, const auto& fill) { signing(word, path, fill); }},
    };
    return toml_.read(text, sections, named);
}

void Reader::check_name(std::string_view word, const std::string& path, std::string_view kind, std::size_t longest) {
    const auto allowed = [](char c) { return c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
    if (!std::ranges::all_of(word, allowed) || word.size() > longest)
        toml_.problem_at(path, fmt::format("{}: not a valid {} name: expected letters, digits, \"-\" and \"_\", at "
                                           "most {}",
                                           path, kind, longest));
}

void Reader::listener(const std::string& name, const NamedSections::Fill& fill) {
    Listener listener;
    listener.name = name;
    if (name == local_submissions)
        toml_.problem_at(fmt::format("listen.{}", name),
                         "listen.local: \"local\" is reserved for mail from programs on this host: choose another "
                         "name");
    fill(section_for(listener));
    config_.listeners.push_back(std::move(listener));
}

template <class T>
void Reader::filter(T made, std::vector<T>& all, const std::string& path, const NamedSections::Fill& fill) {
    fill(section_for(made));
    listeners_named_[path + ".listeners"] = made.listeners;
    all.push_back(std::move(made));
}

void Reader::signing(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    decide::SigningRule rule;
    rule.domain = domain_name(word);
    if (rule.domain.empty()) toml_.problem_at(path, fmt::format("{}: not a valid domain", path));
    fill(section_for(rule));
    if (!toml_.is_set(path + ".keys") || (rule.keys.empty() && toml_.ok()))
        toml_.problem_at(path, fmt::format("{}: required key \"keys\" is missing", path));
    for (auto& key : rule.keys) {
        toml_.resolve(key.file);
        const auto place = toml_.position(path + ".keys");
        config_.files.push_back({key.file, path + ".keys", place.line, place.column});
    }
    for (const auto& other : config_.signing) {
        if (other.domain == rule.domain) toml_.problem_at(path, fmt::format("duplicate section for {}", rule.domain));
        for (const auto& domain : rule.domains)
            if (other.domains.contains(domain))
                toml_.problem_at(path + ".domains",
                                 fmt::format("{}.domains: {} is also in [dkim.\"{}\"]", path, domain, other.domain));
    }
    config_.signing.push_back(std::move(rule));
}

void Reader::command(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    MailCommand command;
    command.name = word;
    fill(section_for(command));
    check_name(word, path, "command", MailCommand::longest_name);
    if (decide::TransportEntry::parse(word + ":") || word == "command")
        toml_.problem_at(path, fmt::format("{}: \"{}\" has a meaning of its own in transport tables: choose another "
                                           "name",
                                           path, word));
    if (command.run.empty() && (toml_.ok() || !toml_.is_set(path + ".run")))
        toml_.problem_at(path, fmt::format("{}: required key \"run\" is missing", path));
    if (!command.run.empty() && !command.run.front().starts_with('/'))
        toml_.problem_at(path + ".run", fmt::format("{}.run: expected the absolute path of a program first", path));
    config_.commands.push_back(std::move(command));
}

void Reader::hook(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    Hook hook;
    hook.name = word;
    fill(section_for(hook));
    check_name(word, path, "hook", Hook::longest_name);
    const bool web = toml_.is_set(path + ".url"), command = !hook.command.empty();
    const auto only = [&](bool present, std::string_view key, std::string_view with) {
        if (!present && toml_.is_set(fmt::format("{}.{}", path, key)))
            toml_.problem_at(fmt::format("{}.{}", path, key),
                             fmt::format("{}.{}: only allowed with {}", path, key, with));
    };
    if (web && command) toml_.problem_at(path + ".command", fmt::format("{}: either url or command, not both", path));
    if (!web && !command && (toml_.ok() || !toml_.is_set(path + ".command")))
        toml_.problem_at(path, fmt::format("{}: required key \"url\" or \"command\" is missing", path));
    only(web, "secret_file", "url");
    only(web, "headers", "url");
    only(web, "allow_http", "url");
    if (web && hook.secret_file.empty())
        toml_.problem_at(path, fmt::format("{}: required key \"secret_file\" is missing", path));
    const auto address = common::WebAddress::parse(hook.url);
    if (address && !address->encrypted && !hook.allow_http && !address->is_loopback())
        toml_.problem_at(path + ".url", fmt::format("{}.url: http:// to another host sends addresses in plain text: "
                                                    "use https://, or set allow_http = true",
                                                    path));
    if (hook.events.empty() && toml_.ok())
        toml_.problem_at(path + ".events", fmt::format("{}.events: the list is empty", path));
    if (hook.retry.empty() && toml_.ok())
        toml_.problem_at(path + ".retry", fmt::format("{}.retry: the list is empty", path));
    if (hook.headers.size() > Hook::most_headers)
        toml_.problem_at(path + ".headers",
                         fmt::format("{}.headers: expected at most {} fields", path, Hook::most_headers));
    if (!hook.secret_file.empty()) {
        toml_.resolve(hook.secret_file);
        const auto place = toml_.position(path + ".secret_file");
        config_.files.push_back({hook.secret_file, path + ".secret_file", place.line, place.column});
    }
    if (!hook.command.empty()) {
        const auto place = toml_.position(path + ".command");
        config_.files.push_back({hook.command.front(), path + ".command", place.line, place.column});
    }
    if (config_.hooks.size() == Hook::most)
        toml_.problem_at(path, fmt::format("{}: too many hooks: expected at most {}", path, Hook::most));
    config_.hooks.push_back(std::move(hook));
}

void Reader::node(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    Node node;
    node.name = word;
    fill(section_for(node));
    check_name(word, path, "node", Node::longest_name);
    const auto required = [&](bool present, std::string_view key) {
        if (!present && (toml_.ok() || !toml_.is_set(fmt::format("{}.{}", path, key))))
            toml_.problem_at(path, fmt::format("{}: required key \"{}\" is missing", path, key));
    };
    required(!node.url.empty(), "url");
    required(!node.token_file.empty(), "token_file");
    const auto address = common::WebAddress::parse(node.url);
    if (address && !address->encrypted && !node.allow_http && !address->is_loopback())
        toml_.problem_at(path + ".url", fmt::format("{}.url: http:// to another host sends messages in plain text: use "
                                                    "https://, or set allow_http = true",
                                                    path));
    const auto file = [&](std::string& name, std::string_view key) {
        if (name.empty()) return;
        toml_.resolve(name);
        const auto place = toml_.position(fmt::format("{}.{}", path, key));
        config_.files.push_back({name, fmt::format("{}.{}", path, key), place.line, place.column});
    };
    file(node.token_file, "token_file");
    file(node.ca_file, "ca_file");
    if (config_.nodes.size() == Node::most)
        toml_.problem_at(path, fmt::format("{}: too many nodes: expected at most {}", path, Node::most));
    config_.nodes.push_back(std::move(node));
}

void Reader::access_class(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    AccessClass made;
    made.name = word;
    fill(section_for(made));
    const auto as_rule = decide::access::Rule::parse(word);
    if (!as_rule || as_rule->check != decide::access::Check::rule_class || as_rule->argument != word)
        toml_.problem_at(path, fmt::format("{}: not a valid name of a class: expected lower-case letters, digits, "
                                           "\"-\" and \"_\", and not the name of a rule",
                                           path));
    config_.access_classes.push_back(std::move(made));
}

// What a daemon would skip in a file is refused here.
void Reader::check_rules_of(const LookupTable& table, const std::string& path) {
    if (table.kind != LookupKind::regexp && table.kind != LookupKind::cidr) return;
    const auto text = fmt::format("{}", fmt::join(table.rules, "\n"));
    const auto rules =
        table.kind == LookupKind::regexp ? tables::RuleTable::read_regexp(text) : tables::RuleTable::read_cidr(text);
    for (const auto& [number, problem] : rules->problems().first())
        toml_.problem_at(path + ".rules", fmt::format("{}.rules: \"{}\": {}", path,
                                                      smtp::printable(table.rules[number - 1], 100), problem));
}

void Reader::table(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    LookupTable table;
    table.name = word;
    fill(section_for(table));
    for (const auto key : missing_keys(table))
        if (!toml_.is_set(fmt::format("{}.{}", path, key)) || toml_.ok())
            toml_.problem_at(path, fmt::format("{}: required key \"{}\" is missing", path, key));
    check_rules_of(table, path);
    toml_.resolve(table.database);
    if (const auto key = path + ".database"; toml_.is_set(key)) {
        const auto place = toml_.position(key);
        config_.files.push_back({table.database, key, place.line, place.column});
    }
    config_.tables.push_back(std::move(table));
}

void Reader::pool(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    Pool pool;
    pool.name = word;
    fill(section_for(pool));
    check_name(word, path, "pool", longest_pool_name);
    if (!toml_.is_set(path + ".addresses") || (pool.addresses.empty() && toml_.ok()))
        toml_.problem_at(path, fmt::format("{}: required key \"addresses\" is missing", path));
    if (pool.addresses.size() > most_pool_addresses)
        toml_.problem_at(path + ".addresses",
                         fmt::format("{}.addresses: too many addresses: expected at most {} in one "
                                     "pool",
                                     path, most_pool_addresses));
    for (auto each = pool.addresses.begin(); each != pool.addresses.end(); ++each)
        if (std::ranges::find(pool.addresses.begin(), each, each->address, &SourceAddress::address) != each)
            toml_.problem_at(path + ".addresses",
                             fmt::format("{}.addresses: {} is listed twice", path, each->address.to_string()));
    config_.pools.push_back(std::move(pool));
}

void Reader::retry(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    using Kind = decide::queue::RetryPolicy::Kind;
    decide::queue::RetryPolicy policy{.name = word, .kind = Kind::exponential};
    fill(section_for(policy));
    if (word == "exchange")
        toml_.problem_at(path, "retry.exchange: \"exchange\" is reserved for the retry schedule of [queue]: choose "
                               "another name");
    if (policy.kind == Kind::steps && policy.waits.empty())
        toml_.problem_at(path, fmt::format("{}: required key \"steps\" is missing", path));
    config_.queue.policies.push_back(std::move(policy));
}

void Reader::route(const std::string& word, const std::string& path, const NamedSections::Fill& fill) {
    decide::RouteRule rule;
    const bool below = word.starts_with('.');
    rule.pattern = word == "*" ? word : domain_name(std::string_view(word).substr(below ? 1 : 0));
    if (rule.pattern.empty())
        toml_.problem_at(path, fmt::format("{}: not a valid pattern: expected a domain, \".domain\" or \"*\"", path));
    else if (below)
        rule.pattern.insert(0, ".");
    fill(section_for(rule));
    check_route(rule, path);
    if (rule.queueing != decide::queue::RouteSettings{}) config_.queue.routes[rule.pattern] = rule.queueing;
    config_.routes.push_back(std::move(rule));
}

void Reader::check_route(const decide::RouteRule& rule, const std::string& path) {
    const auto [first, is_new] = rule_places_.emplace(rule.pattern, toml_.position(path));
    if (!is_new && !rule.pattern.empty()) { // the library sorts keys: report the one further down in the file
        const auto later = std::max(first->second, toml_.position(path));
        toml_.problem(later, fmt::format("duplicate route for {}", rule.pattern));
    }
    if (!toml_.is_set(path + ".next_hop"))
        return toml_.problem_at(path, fmt::format("{}: required key \"next_hop\" is missing", path));
    std::size_t hosts = 0, all = 0;
    bool has_socket = false;
    for (const auto& equals : rule.next_hops)
        for (const auto& hop : equals) {
            hosts += hop.kind == decide::NextHop::Kind::host, ++all;
            has_socket = has_socket || hop.name.starts_with('/');
        }
    if (hosts != all && all != 1)
        toml_.problem_at(path + ".next_hop",
                         fmt::format("{}.next_hop: several next hops must all be hosts in brackets", path));
    if (!rule.fallback.empty() && hosts > 0)
        toml_.problem_at(path + ".fallback",
                         fmt::format("{}.fallback: next_hop names hosts in brackets: add these to the end of that "
                                     "list instead",
                                     path));
    if (!rule.fallback.empty() && all > 0 && rule.next_hops.front().front().kind == decide::NextHop::Kind::srv)
        toml_.problem_at(path + ".fallback", fmt::format("{}.fallback: only allowed if hosts are found by MX", path));
    if (rule.tls_wrap && hosts != all)
        toml_.problem_at(path + ".implicit_tls",
                         fmt::format("{}.implicit_tls: only allowed for hosts in brackets", path));
    if (rule.tls_wrap && rule.tls == decide::TlsLevel::none)
        toml_.problem_at(path + ".tls", fmt::format("{}.tls: \"none\" contradicts implicit_tls = true", path));
    if (rule.tls_wrap && has_socket)
        toml_.problem_at(path + ".implicit_tls",
                         fmt::format("{}.implicit_tls: not allowed for a socket on this host", path));
    for (const auto& equals : rule.next_hops)
        if (std::ranges::any_of(equals, [&](auto& hop) { return hop.protocol != equals.front().protocol; }))
            toml_.problem_at(path + ".next_hop",
                             fmt::format("{}.next_hop: next hops of equal preference must all use SMTP or all use "
                                         "LMTP",
                                         path));
}

struct Parsed {
    PartialConfig partial;
    bool is_toml = false;
    bool spool_is_known = false; // no problem concerns [spool], nor a word that probably meant it
};

Setting setting_of(const std::string& section, const Key& key, std::uint32_t line) {
    return {section, std::string(key.name), shown_value(key), line, key.guarded};
}

// `settings`: all of them are put there, unless it is null.
Parsed parse_all(std::string_view text, std::string_view file, const System& system,
                 std::vector<Setting>* settings = nullptr) {
    Parsed out;
    auto& config = out.partial.config;
    config.file = file;
    TomlReader toml(file, renamed_keys());
    std::vector<Setting> of_named;
    if (settings != nullptr)
        toml.on_named_section([&](const std::string& path, const Section& section) {
            for (const auto& key : section.keys)
                if (const auto line = toml.position(fmt::format("{}.{}", path, key.name)).line; line > 0)
                    of_named.push_back(setting_of(path, key, line));
        });
    if (text.size() > max_config_size) {
        toml.problem({}, "larger than 4MiB: not a configuration");
    } else {
        Reader reader(config, toml);
        out.is_toml = reader.read(text);
        if (out.is_toml) validate(config, toml, reader.listeners_by_key(), system);
    }
    if (settings != nullptr) {
        for (const auto& section : fixed_sections(config))
            for (const auto& key : section.keys)
                settings->push_back(
                    setting_of(section.name, key, toml.position(fmt::format("{}.{}", section.name, key.name)).line));
        std::ranges::move(of_named, std::back_inserter(*settings));
    }
    out.spool_is_known = !toml.has_problem("spool");
    out.partial.problems = toml.problems();
    return out;
}

} // namespace

std::expected<Config, std::vector<Problem>> parse(std::string_view text, std::string_view file, const System& system) {
    auto parsed = parse_all(text, file, system);
    if (!parsed.partial.problems.empty()) return std::unexpected(std::move(parsed.partial.problems));
    return std::move(parsed.partial.config);
}

std::vector<Setting> settings_in_force(std::string_view text, std::string_view file, const System& system) {
    std::vector<Setting> settings;
    const auto parsed = parse_all(text, file, system, &settings);
    return parsed.partial.problems.empty() ? settings : std::vector<Setting>{};
}

std::expected<PartialConfig, std::vector<Problem>> load_partial(const std::string& file, const System& system) {
    const auto text = read_text(file);
    if (!text) return std::unexpected(std::vector<Problem>{text.error()});
    auto parsed = parse_all(*text, file, system);
    if (!parsed.is_toml || !parsed.spool_is_known) return std::unexpected(std::move(parsed.partial.problems));
    return std::move(parsed.partial);
}

} // namespace config
