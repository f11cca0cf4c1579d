// postconf(1): the parameters that scripts ask for, answered from our configuration. Nothing can be set: what
// is read here is written in postrider.toml.
#include "daemons/common/config/config.h"
#include "daemons/postfix-commands/command.h"
#include <algorithm>
#include <fmt/format.h>
#include <sysexits.h>

namespace postfix_commands {

namespace {

// What postmap(1) takes.
constexpr std::string_view kinds_of_tables =
    "btree\ncdb\ncidr\ndbm\nhash\nlmdb\npcre\nregexp\nsocketmap\ntable\ntcp\ntexthash";

std::string joined(const auto& values, auto text) {
    std::string out;
    for (const auto& value : values) {
        if (!out.empty()) out += ", ";
        out += text(value);
    }
    return out;
}

// The domains that a section names, and its tables of domains.
std::vector<std::string> with_tables(const auto& section) {
    std::vector<std::string> out(section.domains.begin(), section.domains.end());
    out.insert(out.end(), section.domain_tables.begin(), section.domain_tables.end());
    return out;
}

std::string seconds(smtp::Duration time) {
    return fmt::format("{}s", std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

std::map<std::string, std::string, std::less<>> parameters(const config::Config& config) {
    const auto as_is = [](const std::string& text) { return text; };
    auto directory = config.file.substr(0, config.file.rfind('/') == config.file.npos ? 0 : config.file.rfind('/'));
    std::string relay_host;
    for (const auto& route : config.routes)
        if (route.pattern == "*" && !route.next_hops.empty() && !route.next_hops[0].empty())
            relay_host = route.next_hops[0][0].to_string();
    const auto domain = config.mta.hostname.find('.');
    return {
        {"alias_database", joined(config.local.aliases, as_is)},
        {"alias_maps", joined(config.local.aliases, as_is)},
        {"config_directory", directory.empty() ? "." : directory},
        {"home_mailbox", config.local.mailbox.path.starts_with("{home}/") ? config.local.mailbox.path.substr(7) : ""},
        {"inet_interfaces",
         joined(config.listeners,
                [](auto& l) { return joined(l.addresses, [](auto& a) { return a.address.to_string(); }); })},
        {"mail_owner", config.mta.user},
        {"mail_version", POSTRIDER_VERSION},
        {"mailbox_size_limit", std::to_string(config.local.delivery.mailbox_size)},
        {"maillog_file", config.log.file},
        {"maximal_queue_lifetime", seconds(config.queue.expiry)},
        {"message_size_limit", std::to_string(config.smtpd.message_size)},
        {"mydestination", joined(with_tables(config.local), as_is)},
        {"mydomain", domain == std::string::npos ? config.mta.hostname : config.mta.hostname.substr(domain + 1)},
        {"myhostname", config.mta.hostname},
        {"mynetworks", joined(config.relay.networks, [](auto& n) { return n.to_string(); })},
        {"myorigin", config.mta.origin},
        {"queue_directory", config.spool.directory},
        {"recipient_delimiter", config.local.recipient_delimiter},
        {"relay_domains", joined(with_tables(config.relay), as_is)},
        {"relayhost", relay_host},
        {"setgid_group", config.mta.drop_group},
        {"smtp_helo_name", config.smtp_client.helo},
        {"syslog_facility", "mail"},
        {"syslog_name", config.log.name},
    };
}

} // namespace

int postconf(const Invocation& invocation) {
    for (const char letter : {'e', 'X', '#', 'M', 'P', 'F', 'b', 't', 'T'})
        if (invocation.has(letter))
            return fatal(invocation, fmt::format("-{} is not supported: settings are in postrider.toml; see "
                                                 "postrider.toml(5), and run \"postrider check\" after a change",
                                                 letter));
    if (invocation.has('m')) {
        fmt::print("{}\n", kinds_of_tables);
        return EX_OK;
    }
    if (invocation.has('l')) {
        fmt::print("fcntl\ndotlock\n");
        return EX_OK;
    }
    if (invocation.has('a')) {
        fmt::print("dovecot\n");
        return EX_OK;
    }
    if (invocation.has('A')) return EX_OK;
    const auto config = parse_config(invocation);
    if (!config) return invocation.failure_status;
    const auto known = parameters(*config);
    const bool bare = invocation.has('h');
    const auto print = [&](std::string_view name, std::string_view value) {
        if (bare)
            fmt::print("{}\n", value);
        else if (invocation.has('H'))
            fmt::print("{}\n", name);
        else
            fmt::print("{} ={}{}\n", name, value.empty() ? "" : " ", value);
    };
    if (invocation.words.empty())
        for (const auto& [name, value] : known) print(name, value);
    for (const auto& name : invocation.words) {
        const auto found = known.find(name);
        if (found == known.end())
            warning(invocation, name + ": unknown parameter");
        else
            print(name, found->second);
    }
    return EX_OK;
}

} // namespace postfix_commands
