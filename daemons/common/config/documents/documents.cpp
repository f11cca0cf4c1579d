// The annotated sample and the manual page, generated from the table of keys.
#include "daemons/common/config/documents/documents.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/fixed_sections.h"
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/overloaded.h"
#include "daemons/common/config/schema/shown_value.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/text/mdoc.h"
#include "daemons/common/text/units.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace config {

namespace {

// The default as TOML, or the example where the default depends on the machine.
std::string shown(const Key& key) { return key.example.empty() ? shown_value(key) : std::string(key.example); }

std::string_view kind_of(const Key& key) {
    constexpr std::string_view kinds[] = {"string",  "list of strings", "integer",          "size",     "duration",
                                          "boolean", "fraction",        "list of integers", "next hops"};
    return kinds[key.target.index()];
}

// "1 to 100"; "" where the kind says it all.
std::string range_of(const Key& key) {
    const auto range = [](const auto& min, const auto& max) { return fmt::format("{} to {}", min, max); };
    return std::visit(
        Overloaded{
            [&](const IntKey& count) { return range(count.min, count.max); },
            [&](const SizeKey& size) { return range(print_size(size.min), print_size(size.max)); },
            [&](const DurationKey& span) { return range(print_duration(span.min), print_duration(span.max)); },
            [&](const FractionKey&) { return range(0, 1); },
            [&](const IntListKey& counts) { return range(counts.min, counts.max); },
            [](const auto&) { return std::string(); },
        },
        key.target);
}

// `text` in lines of at most `width` characters behind `prefix`; a sentence starts a new line if `sentences`.
std::string wrapped(std::string_view text, std::string_view prefix, std::size_t width, bool sentences) {
    std::string out, line;
    const auto flush = [&] {
        if (!line.empty()) out += fmt::format("{}{}\n", prefix, line);
        line.clear();
    };
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (!line.empty() && prefix.size() + line.size() + 1 + word.size() > width) flush();
        if (!line.empty()) line += ' ';
        line += word;
        if (sentences && (word.ends_with('.') || word.ends_with(':'))) flush();
    }
    flush();
    return out;
}

// The keys' documentation is in the *_keys.cpp files. Values of the default Config are copied, so it need not outlive
// the call.
template <class F> void each_section(F&& take) {
    Config config;
    config.relay.networks = {*common::Network::parse("127.0.0.0/8"), *common::Network::parse("::1")};
    Listener listener;
    decide::RouteRule rule;
    decide::SigningRule signing;
    decide::queue::RetryPolicy retry{.kind = decide::queue::RetryPolicy::Kind::exponential};
    PolicyService policy;
    DnsList dns_list;
    AccessRules access;
    AccessClass access_class;
    Milter milter;
    Pool pool;
    LookupTable lookup;
    MailCommand command;
    Hook hook;
    Node node;
    for (auto& section : fixed_sections(config)) {
        take(section);
        if (section.name == "history") take(section_for(hook));
        if (section.name == "http") take(section_for(node));
        if (section.name == "local") take(section_for(listener));
        if (section.name == "local") take(section_for(lookup));
        if (section.name == "transport") take(section_for(command));
        if (section.name == "smtpd") {
            take(section_for(policy));
            take(section_for(dns_list));
            take(section_for(access));
            take(section_for(access_class));
            take(section_for(milter));
        }
        if (section.name == "relay") take(section_for(rule));
        if (section.name == "smtp_client") take(section_for(pool));
        if (section.name == "queue") take(section_for(retry));
        if (section.name == "pools") take(section_for(signing));
    }
}

constexpr std::string_view manual_head =
    R"(.\" Generated from daemons/common/config/sections/*/*_keys.cpp by config-documents; edit those.
.Dd November 24, 2026
.Dt POSTRIDER.TOML 5
.Os Postrider
.Sh NAME
.Nm postrider.toml
.Nd configuration of the Postrider mail transfer agent
.Sh DESCRIPTION
.Nm
is a TOML file that configures all parts of
.Xr postrider 1 .
It is read from the file given with
.Fl c ,
or else from the one named in the environment variable
.Ev POSTRIDER_CONFIG ,
or else from
.Pa /etc/postrider/postrider.toml .
Every key has a default; an empty file is a valid configuration.
.Pp
If a key or section is unknown, a value has the wrong type or is out of range,
or a file is missing, the whole configuration is rejected before anything is
started or reloaded.
The error message has file, line, column and the most similar key.
.Dl postrider check
reports such errors without starting anything.
Running daemons continue with the configuration they were started with.
Commands that connect to them still work, with a warning: they use the valid
part of the file, or the configuration that master keeps for them
.Pq Xr postrider-master 8 .
.Pp
A section
.Li [undecided]
is written by
.Xr postrider-from-postfix 7 :
each of its lines names something that guarded in Postfix and that the imported
configuration does not have.
.Ic postrider check
reports each as an error until the line is deleted.
.Pp
Durations are strings of a number and a unit
.Pq Cm ms , s , m , h , d , w ,
such as
.Ql 60s ,
.Ql 10m
or
.Ql 1h30m .
Sizes are numbers of bytes, or strings such as
.Ql 100KiB ,
.Ql 50MiB ,
.Ql 1GiB .
A list of one element may be written without brackets.
Relative file names are relative to the directory of the configuration file.
.Pp
Below, each key is shown with its default, or with an example if the default
depends on the machine; in parentheses are the type of its value, and its
minimum and maximum.
.Sh SECTIONS AND KEYS
)";

constexpr std::string_view manual_tail = R"(.Sh FILES
.Bl -tag -width Ds
.It Pa /etc/postrider/postrider.toml
The configuration; the installed file contains every key, commented out.
.El
.Sh EXAMPLES
A host that accepts mail for example.com and delivers it to its users:
.Bd -literal -offset indent
[mta]
hostname = "mail.example.com"

[local]
domains = ["example.com", "mail.example.com", "localhost"]
mailbox = "maildir:{home}/Maildir"
.Ed
.Pp
A host that sends all mail through a relay host at which it has an account
.Pq see Xr postrider-credentials 5 ;
.Xr postrider-smtp-client 8
has more examples of sending mail:
.Bd -literal -offset indent
[smtp_client]
credentials = "/etc/postrider/credentials"

[route."*"]
next_hop = "[relay.example.net]:587"
tls = "verify"
.Ed
.Pp
Users who authenticate on ports 587 and 465:
.Bd -literal -offset indent
[tls]
certificates = ["/etc/postrider/mail.example.com.pem"]

[auth]
passwords = "/etc/postrider/passwords"

[listen.smtp]
addresses = ["*:25"]

[listen.submission]
addresses = ["*:587"]
service = "submission"

[listen.submissions]
addresses = ["*:465"]
service = "submission"
tls = "implicit"
.Ed
.Pp
A single user without privileges, with all files below one directory:
.Bd -literal -offset indent
[mta]
multi_user = false

[spool]
directory = "spool"

[log]
file = "postrider.log"
syslog = false

[local]
mailbox = "maildir:mail"

[listen.relay]
addresses = ["127.0.0.1:2525"]
.Ed
.Sh SEE ALSO
.Xr postrider 1 ,
.Xr aliases 5 ,
.Xr postrider-access 5 ,
.Xr postrider-credentials 5 ,
.Xr postrider-tables 5 ,
.Xr postrider 7 ,
.Xr postrider-addresses 7 ,
.Xr postrider-from-postfix 7 ,
.Xr postrider-log 7 ,
.Xr postrider-suppression 7 ,
.Xr postrider-http 8 ,
.Xr postrider-local 8 ,
.Xr postrider-metrics 8 ,
.Xr postrider-queue-manager 8 ,
.Xr postrider-router 8 ,
.Xr postrider-smtp-client 8 ,
.Xr postrider-smtpd 8
)";

} // namespace

std::string sample() {
    std::string out = wrapped(
        "Configuration of the Postrider mail transfer agent. Every key is listed here, commented out, with its "
        "default (or with an example if the default depends on the machine). \"man 5 postrider.toml\" describes the "
        "same keys in more detail. Durations: \"60s\", \"10m\", \"5d\". Sizes: \"50MiB\". In brackets: minimum and "
        "maximum of a value. Relative file names are relative to the directory of this file. \"postrider check\" "
        "reports errors in this file before anything is started.",
        "# ", 100, false);
    each_section([&](const Section& section) {
        std::string name = section.name;
        const bool named = name.find('<') != name.npos;
        if (name.starts_with("listen")) name = "listen.smtp";
        if (name.starts_with("access.")) name = "access.strangers";
        if (name.starts_with("access_class")) name = "access_class.insiders_only";
        if (name.starts_with("policy")) name = "policy.greylisting";
        if (name.starts_with("milter")) name = "milter.opendkim";
        if (name.starts_with("table")) name = "table.users";
        if (name.starts_with("dns_list")) name = "dns_list.\"bl.example.net\"";
        if (name.starts_with("dkim")) name = "dkim.\"example.com\"";
        if (name.starts_with("hook")) name = "hook.shop";
        if (name.starts_with("node")) name = "node.mx2";
        if (name.starts_with("command")) name = "command.sympa";
        if (name.starts_with("retry")) name = "retry.quick";
        if (name.starts_with("pool.")) name = "pool.bulk";
        if (name.starts_with("route")) name = "route.\"*\"";
        out += "\n" + wrapped(section.meaning, "# ", 100, false);
        out += fmt::format("{}[{}]\n", named ? "#" : "", name);
        for (const auto& key : section.keys) {
            const auto range = range_of(key);
            const auto meaning = range.empty() ? std::string(key.meaning) : fmt::format("{} [{}]", key.meaning, range);
            out += "\n" + wrapped(meaning, "# ", 100, false) + fmt::format("#{} = {}\n", key.name, shown(key));
        }
    });
    return out;
}

std::string manual() {
    std::string out(manual_head);
    each_section([&](const Section& section) {
        out += fmt::format(".Ss [{}]\\&\n", common::mdoc(section.name)) +
               wrapped(common::mdoc(section.meaning), "", 80, true);
        out += ".Bl -tag -width Ds\n";
        for (const auto& key : section.keys) {
            const auto range = range_of(key);
            out += fmt::format(".It Cm {} No = {} Pq {}{}{}\n", key.name, common::mdoc(shown(key)), kind_of(key),
                               range.empty() ? "" : ", ", range) +
                   wrapped(common::mdoc(key.meaning), "", 80, true);
        }
        out += ".El\n";
    });
    return out.append(manual_tail);
}

} // namespace config
