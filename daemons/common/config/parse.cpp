// Reads TOML into Config by the table of keys. The only file that knows the TOML library.
#include "daemons/common/config/tables.h"
#include "daemons/common/config/units.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <toml++/toml.h>
#include <tuple>

namespace config {

namespace {

struct Place {
    std::uint32_t line = 0, column = 0;
    auto operator<=>(const Place&) const = default;
};

Place place_of(const toml::source_region& region) { return {region.begin.line, region.begin.column}; }

std::string_view type_name(const toml::node& node) {
    switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a text";
    case toml::node_type::integer: return "a number";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
    }
}

// Levenshtein's distance, for short words.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const auto changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

// The word of `known` that was probably meant; always one, for a list of all keys helps nobody.
std::string nearest(std::string_view odd, const std::vector<std::string>& known) {
    odd = odd.substr(0, 64);
    return *std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
        return distance(odd, a) < distance(odd, b);
    });
}

class Reader {
public:
    Reader(Config& config, std::string_view file) : config_(config), file_(file) {}

    void read(const toml::table& root);
    void complete(const System& system); // defaults that depend on others, and checks across keys
    std::vector<Problem> problems();

private:
    void named_sections(const toml::node& node, std::string_view name);
    void section(const toml::node& node, Section section, const std::string& name);
    void value(const toml::node& node, const Key& key, const std::string& path);
    void next_hops(const toml::node& node, std::vector<std::vector<decide::NextHop>>& out,
                   const std::string& path);
    void add_hops(const toml::node& node, std::vector<std::vector<decide::NextHop>>& out, std::size_t level,
                  const std::string& path);
    void check_route(const decide::RouteRule& rule, const std::string& path);
    void check_files();
    void resolve(std::string& path) const;
    std::string key_of_any_section(std::string_view name) const;
    void wrong_type(const toml::node& node, const std::string& path, std::string_view expected);
    void problem(Place place, std::string message);
    void problem_at(const std::string& path, std::string message) {
        problem(places_[path], std::move(message));
    }
    bool given(const std::string& path) const { return places_.contains(path); }

    Config& config_;
    std::string file_;
    std::map<std::string, Place> places_;      // of the keys that the text sets
    std::map<std::string, Place> rule_places_; // of the routes, by pattern
    std::vector<Problem> problems_;
};

// Messages quote the text; control characters in it must not reach a terminal.
void make_printable(std::string& message) {
    std::replace_if(
        message.begin(), message.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    if (message.size() > 1000) message.resize(1000);
}

void Reader::problem(Place place, std::string message) {
    make_printable(message);
    problems_.push_back({file_, place.line, place.column, std::move(message)});
}

std::vector<Problem> Reader::problems() {
    std::sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
        return std::tie(a.line, a.column, a.message) < std::tie(b.line, b.column, b.message);
    });
    return std::move(problems_);
}

void Reader::wrong_type(const toml::node& node, const std::string& path, std::string_view expected) {
    problem(place_of(node.source()), fmt::format("{} is {}; expected {}", path, type_name(node), expected));
}

// "smtpd.workers" for workers; "" if no section has it.
std::string Reader::key_of_any_section(std::string_view name) const {
    for (const auto& section : fixed_sections(config_))
        for (const auto& key : section.keys)
            if (key.name == name) return fmt::format("{}.{}", section.name, name);
    return "";
}

void Reader::read(const toml::table& root) {
    auto sections = fixed_sections(config_);
    std::vector<std::string> known = {"listen", "route"};
    for (const auto& s : sections) known.push_back(s.name);
    for (auto&& [key, node] : root) {
        const std::string name(key.str());
        const auto found =
            std::find_if(sections.begin(), sections.end(), [&](auto& s) { return s.name == name; });
        if (found != sections.end())
            section(node, *found, name);
        else if (name == "listen" || name == "route")
            named_sections(node, name);
        else if (const auto elsewhere = key_of_any_section(name); !node.is_table() && !elsewhere.empty())
            problem(place_of(key.source()),
                    fmt::format("unknown key {} outside of all sections: did you mean {}?", name, elsewhere));
        else
            problem(place_of(key.source()),
                    fmt::format("unknown {} {}: did you mean [{}]?", node.is_table() ? "section" : "key",
                                name, nearest(name, known)));
    }
}

void Reader::named_sections(const toml::node& node, std::string_view name) {
    const auto* table = node.as_table();
    const bool listen = name == "listen";
    const std::string_view pattern = listen ? "[listen.<name>]" : "[route.\"<domain>\"]";
    if (!table) return wrong_type(node, std::string(name), fmt::format("sections {}", pattern));
    for (auto&& [key, inner] : *table) {
        const std::string word(key.str());
        const auto path = listen ? "listen." + word : "route.\"" + word + "\"";
        if (!inner.is_table()) {
            problem(place_of(key.source()), fmt::format("{} stands outside of a section {}", path, pattern));
            continue;
        }
        places_[path] = place_of(key.source());
        if (listen) {
            Listener listener;
            listener.name = word;
            section(inner, table_of(listener), path);
            config_.listeners.push_back(std::move(listener));
            continue;
        }
        decide::RouteRule rule;
        const bool below = word.starts_with('.');
        rule.pattern = word == "*" ? word : domain_name(std::string_view(word).substr(below ? 1 : 0));
        if (rule.pattern.empty())
            problem_at(path, fmt::format("{}: not a domain, \".domain\" or \"*\"", path));
        else if (below)
            rule.pattern.insert(0, ".");
        section(inner, table_of(rule), path);
        check_route(rule, path);
        config_.routes.push_back(std::move(rule));
    }
}

void Reader::section(const toml::node& node, Section section, const std::string& name) {
    const auto* table = node.as_table();
    if (!table) return wrong_type(node, name, fmt::format("a section [{}]", name));
    for (auto&& [key, inner] : *table) {
        const auto known = std::find_if(section.keys.begin(), section.keys.end(),
                                        [&](const Key& k) { return k.name == key.str(); });
        const auto path = fmt::format("{}.{}", name, key.str());
        if (known != section.keys.end()) {
            places_[path] = place_of(key.source());
            value(inner, *known, path);
            continue;
        }
        // A key in the wrong section is likelier than a misspelt one.
        auto meant = key_of_any_section(key.str());
        std::vector<std::string> names;
        for (const auto& k : section.keys) names.emplace_back(k.name);
        const auto close = nearest(key.str(), names);
        if (meant.empty() || distance(key.str(), close) <= 2) meant = close;
        problem(place_of(key.source()), fmt::format("unknown key {}: did you mean {}?", path, meant));
    }
}

template <class... F> struct Overloaded : F... {
    using F::operator()...;
};

void Reader::value(const toml::node& node, const Key& key, const std::string& path) {
    const auto refuse = [&](const toml::node& where, std::string_view why) {
        problem(place_of(where.source()), fmt::format("{}: {}", path, why));
    };
    std::visit(
        Overloaded{
            [&](const Text& text) {
                const auto* given = node.as_string();
                if (!given) return wrong_type(node, path, "a text in quotation marks");
                if (const auto wrong = text.set(given->get()); !wrong.empty()) refuse(node, wrong);
            },
            [&](const List& list) {
                list.clear();
                const auto add = [&](const toml::node& each) {
                    const auto* given = each.as_string();
                    if (!given) return wrong_type(each, path, "texts in quotation marks");
                    if (const auto wrong = list.add(given->get()); !wrong.empty()) refuse(each, wrong);
                };
                if (const auto* array = node.as_array()) {
                    for (const auto& each : *array) add(each);
                } else if (node.is_string()) {
                    add(node);
                } else {
                    wrong_type(node, path, "a list of texts");
                }
            },
            [&](const Count& count) {
                const auto* given = node.as_integer();
                if (!given) return wrong_type(node, path, "a whole number");
                if (given->get() < count.least || given->get() > count.most)
                    return refuse(node, fmt::format("{} is out of range: {} to {}", given->get(), count.least,
                                                    count.most));
                *count.value = static_cast<std::uint32_t>(given->get());
            },
            [&](const Size& size) {
                std::optional<std::uint64_t> bytes;
                if (const auto* given = node.as_string())
                    bytes = parse_size(given->get());
                else if (const auto* number = node.as_integer()) {
                    if (number->get() >= 0) bytes = static_cast<std::uint64_t>(number->get());
                } else {
                    return wrong_type(node, path, "a size such as \"50MiB\"");
                }
                if (!bytes) return refuse(node, "not a size; write it like \"50MiB\", \"100KiB\" or 4096");
                if (*bytes < size.least || *bytes > size.most)
                    return refuse(node, fmt::format("out of range: {} to {}", print_size(size.least),
                                                    print_size(size.most)));
                *size.value = *bytes;
            },
            [&](const Span& span) {
                const auto* given = node.as_string();
                if (!given) return wrong_type(node, path, "a duration such as \"60s\"");
                const auto duration = parse_duration(given->get());
                if (!duration)
                    return refuse(
                        node,
                        fmt::format(
                            "\"{}\" is not a duration; write it like \"60s\", \"10m\", \"5d\" or \"1h30m\"",
                            given->get()));
                if (*duration < span.least || *duration > span.most)
                    return refuse(node, fmt::format("{} is out of range: {} to {}", given->get(),
                                                    print_duration(span.least), print_duration(span.most)));
                *span.value = *duration;
            },
            [&](const Flag& flag) {
                const auto* given = node.as_boolean();
                if (!given) return wrong_type(node, path, "true or false");
                *flag.value = given->get();
            },
            [&](const Fraction& fraction) {
                const auto given = node.value<double>();
                if (!node.is_number()) return wrong_type(node, path, "a fraction such as 0.10");
                if (!(*given >= 0 && *given <= 1)) return refuse(node, "out of range: 0 to 1");
                *fraction.value = *given;
            },
            [&](const Counts& counts) {
                const auto* array = node.as_array();
                if (!array || array->size() != counts.values.size())
                    return refuse(node,
                                  fmt::format("expected a list of {} whole numbers", counts.values.size()));
                for (std::size_t i = 0; i < counts.values.size(); ++i)
                    value((*array)[i],
                          {key.name, Count{&counts.values[i], counts.least, counts.most}, "", ""}, path);
            },
            [&](const NextHops& hops) { next_hops(node, *hops.value, path); },
        },
        key.target);
}

void Reader::next_hops(const toml::node& node, std::vector<std::vector<decide::NextHop>>& out,
                       const std::string& path) {
    out.clear();
    add_hops(node, out, 0, path);
    if (out.empty() && node.is_array())
        problem(place_of(node.source()), fmt::format("{}: the list is empty", path));
}

// Level 0: the value itself; 1: in the list, by preference; 2: in a list inside it, equals of the last.
void Reader::add_hops(const toml::node& node, std::vector<std::vector<decide::NextHop>>& out,
                      std::size_t level, const std::string& path) {
    if (const auto* array = node.as_array(); array && level < 2) {
        if (level == 1) out.emplace_back();
        for (const auto& each : *array) add_hops(each, out, level + 1, path);
        if (level == 1 && out.back().empty()) out.pop_back();
        return;
    }
    const auto* given = node.as_string();
    if (!given)
        return wrong_type(node, path, "a place such as \"[relay.example.net]:25\", or a list of them");
    const auto hop = decide::NextHop::parse(given->get());
    if (!hop) {
        const bool bare = common::IpAddress::parse(given->get()) || common::Endpoint::parse(given->get(), 25);
        return problem(
            place_of(node.source()),
            bare ? fmt::format("{}: an address goes in brackets: \"[192.0.2.1]:25\"", path)
                 : fmt::format("{}: \"{}\" is not a next hop; write \"[host]:port\", \"name\" or \"mx\"",
                               path, given->get()));
    }
    if (level < 2) out.emplace_back();
    out.back().push_back(*hop);
}

void Reader::check_route(const decide::RouteRule& rule, const std::string& path) {
    const auto [first, is_new] = rule_places_.emplace(rule.pattern, places_[path]);
    if (!is_new && !rule.pattern.empty()) { // the library sorts keys: the later one in the file is to blame
        const auto later = std::max(first->second, places_[path]);
        problem(later, fmt::format("there is a route for {} already", rule.pattern));
    }
    if (!given(path + ".next_hop")) return problem_at(path, fmt::format("{}: next_hop is missing", path));
    std::size_t hosts = 0, all = 0;
    for (const auto& equals : rule.next_hops)
        for (const auto& hop : equals) hosts += hop.kind == decide::NextHop::Kind::host, ++all;
    if (hosts != all && all != 1)
        problem_at(path + ".next_hop",
                   fmt::format("{}.next_hop: several places must all be hosts in brackets", path));
}

// Relative names are taken from the directory of the configuration.
void Reader::resolve(std::string& path) const {
    const auto slash = file_.rfind('/');
    if (!path.empty() && path.front() != '/' && !path.starts_with("{home}") && slash != file_.npos)
        path.insert(0, file_.substr(0, slash + 1));
}

void Reader::check_files() {
    const auto note = [&](const std::string& key, const std::string& path) {
        const auto place = places_[key];
        config_.files.push_back({path, key, place.line, place.column});
    };
    resolve(config_.spool.directory);
    resolve(config_.log.file);
    resolve(config_.log.syslog_socket);
    resolve(config_.local.mailbox.path);
    resolve(config_.bounce.templates);
    for (auto& path : config_.local.aliases) {
        resolve(path);
        if (given("local.aliases")) note("local.aliases", path);
    }
    if (!config_.bounce.templates.empty()) note("bounce.templates", config_.bounce.templates);
    if (config_.spool.directory.empty()) problem_at("spool.directory", "spool.directory: must not be empty");
}

void Reader::complete(const System& system) {
    auto& c = config_;
    if (c.mta.hostname.empty()) {
        auto name = domain_name(system.hostname);
        if (name.empty()) name = "localhost";
        c.mta.hostname = name.find('.') == name.npos ? name + ".localdomain" : name;
    }
    if (c.mta.origin.empty()) c.mta.origin = c.mta.hostname;
    if (c.smtp_client.helo.empty()) c.smtp_client.helo = c.mta.hostname;
    if (!given("local.domains")) {
        c.local.domains = {c.mta.hostname};
        if (c.mta.hostname != "localhost") c.local.domains.push_back("localhost");
    }
    if (c.local.users.empty() && !c.mta.users) c.local.users = {system.user};
    if (c.local.postmaster.empty()) c.local.postmaster = c.mta.users ? "root" : c.local.users.front();
    if (c.local.recipient_delimiter.size() > 1)
        problem_at("local.recipient_delimiter", "local.recipient_delimiter: expected one character or \"\"");
    if (!given("relay.networks"))
        c.relay.networks = {*common::Network::parse("127.0.0.0/8"), *common::Network::parse("::1")};
    for (const auto& domain : c.local.domains)
        if (c.relay.domains.contains(domain))
            problem_at("relay.domains", fmt::format("relay.domains: {} is in local.domains too", domain));
    const auto workers = std::clamp(system.processors / 2, 1u, 8u);
    if (c.smtpd.workers == 0) c.smtpd.workers = workers;
    if (c.smtp_client.workers == 0) c.smtp_client.workers = workers;
    if (!c.smtp_client.ipv4 && !c.smtp_client.ipv6)
        problem_at("smtp_client.ipv4", "smtp_client: ipv4 and ipv6 are both off; nothing could be sent");
    if (c.smtpd.soft_errors > c.smtpd.hard_errors)
        problem_at(given("smtpd.soft_errors") ? "smtpd.soft_errors" : "smtpd.hard_errors",
                   "smtpd: soft_errors must not exceed hard_errors");
    if (c.dns.minimum_ttl > c.dns.maximum_ttl)
        problem_at(given("dns.minimum_ttl") ? "dns.minimum_ttl" : "dns.maximum_ttl",
                   "dns: minimum_ttl must not exceed maximum_ttl");
    if (c.master.heartbeat_timeout <= c.master.heartbeat_interval)
        problem_at(given("master.heartbeat_timeout") ? "master.heartbeat_timeout"
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
        if (given(path) && !given(path + ".addresses"))
            problem_at(path, fmt::format("{}: addresses is missing", path));
        for (const auto& address : listener.addresses) {
            if (std::find(taken.begin(), taken.end(), address.to_string()) != taken.end())
                problem_at(path + ".addresses",
                           fmt::format("{}.addresses: another listener has {}", path, address.to_string()));
            taken.push_back(address.to_string());
        }
        if (listener.submitters.empty() && !given(path + ".submitters"))
            listener.submitters = c.relay.networks;
        if (listener.message_size == 0) listener.message_size = c.smtpd.message_size;
        if (listener.recipients == 0) listener.recipients = c.smtpd.recipients;
        if (listener.sessions == 0) listener.sessions = c.smtpd.sessions;
    }
    check_files();
}

std::vector<Problem> one_problem(std::string_view file, Place place, std::string message) {
    return {{std::string(file), place.line, place.column, std::move(message)}};
}

} // namespace

std::expected<Config, std::vector<Problem>> parse(std::string_view text, std::string_view file,
                                                  const System& system) {
    if (text.size() > 4 * MiB)
        return std::unexpected(one_problem(file, {}, "larger than 4MiB: not a configuration"));
    Config config;
    config.file = file;
    Reader reader(config, file);
    try {
        const auto root = toml::parse(text, file);
        reader.read(root);
    } catch (const toml::parse_error& error) {
        std::string message(error.description());
        make_printable(message);
        return std::unexpected(one_problem(file, place_of(error.source()), std::move(message)));
    }
    reader.complete(system);
    auto problems = reader.problems();
    if (!problems.empty()) return std::unexpected(std::move(problems));
    return config;
}

} // namespace config
