// The keys for routes, queues and outgoing connections.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/delivery/dns.h"
#include "daemons/common/config/sections/delivery/smtp_client.h"
#include "daemons/common/config/sections/delivery/tls_reports.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/testing.h"
#include "daemons/common/config/sections/system/tls_versions.h"
#include "daemons/common/text/units.h"
#include "daemons/decide/queue/settings.h"
#include "daemons/decide/routing/routing.h"
#include "libsmtp/auth/sasl_client.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/utf8.h"

namespace config {

namespace {

using AuthFailure = decide::queue::RouteSettings::AuthFailure;
constexpr EnumValue<AuthFailure> auth_failures[] = {{"wait", AuthFailure::wait}, {"return", AuthFailure::giving_back}};

constexpr EnumValue<decide::TlsLevel> tls_levels[] = {
    {"none", decide::TlsLevel::none},          {"may", decide::TlsLevel::may},
    {"dane", decide::TlsLevel::dane},          {"sts", decide::TlsLevel::sts},
    {"encrypt", decide::TlsLevel::encrypt},    {"verify", decide::TlsLevel::verify},
    {"dane-only", decide::TlsLevel::dane_only}};
using PolicyKind = decide::queue::RetryPolicy::Kind;
constexpr EnumValue<PolicyKind> policy_kinds[] = {{"exchange", PolicyKind::exchange},
                                                  {"exponential", PolicyKind::exponential},
                                                  {"fixed", PolicyKind::fixed},
                                                  {"steps", PolicyKind::steps}};

TextKey name_of_policy(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                if (text.empty()) return "the name is empty: expected \"exchange\" or the name of a [retry.<name>]";
                value = text == "exchange" ? "" : text;
                return std::nullopt;
            },
            [&value] { return value.empty() ? std::string("exchange") : value; }};
}

ListKey reply_rules(std::vector<decide::ReplyRule>& values) {
    return list_of<decide::ReplyRule>(values, [](std::string_view text, decide::ReplyRule& value) -> Refusal {
        const auto rule = decide::ReplyRule::parse(text);
        if (!rule)
            return fmt::format("\"{}\" is not a valid rule: expected one such as \"550 5.7.1 at MAIL is "
                               "temporary\"",
                               text);
        value = *rule;
        return std::nullopt;
    });
}

ListKey optional_paths(std::optional<std::vector<std::string>>& values) {
    return {[&values] { values.emplace(); }, [&values](std::string_view text) { return paths(*values).add(text); },
            [&values] { return values.value_or(std::vector<std::string>{}); }};
}

ListKey auth_mechanisms(decide::AuthRule& rule) {
    return {[&rule] { rule.never = false, rule.mechanisms.clear(); },
            [&rule](std::string_view text) -> Refusal {
                if (text == "no" && rule.mechanisms.empty() && !rule.never) {
                    rule.never = true;
                    return std::nullopt;
                }
                if (rule.never || text == "no") return "\"no\" cannot be combined with other values";
                const auto mechanism = smtp::sasl_mechanism_named(text);
                if (!mechanism)
                    return fmt::format("\"{}\" is not a valid mechanism: expected \"no\" or one of "
                                       "SCRAM-SHA-256-PLUS, SCRAM-SHA-256, PLAIN, LOGIN, OAUTHBEARER, XOAUTH2",
                                       text);
                const auto name = std::string(name_of(*mechanism));
                if (std::ranges::find(rule.mechanisms, name) != rule.mechanisms.end())
                    return fmt::format("\"{}\" is listed twice", text);
                rule.mechanisms.push_back(name);
                return std::nullopt;
            },
            [&rule] { return rule.never ? std::vector<std::string>{"no"} : rule.mechanisms; }};
}

ListKey hosts_in_brackets(std::vector<decide::NextHop>& values) {
    return list_of<decide::NextHop>(values, [](std::string_view text, decide::NextHop& value) -> Refusal {
        const auto hop = decide::NextHop::parse(text);
        if (!hop || hop->kind != decide::NextHop::Kind::host)
            return fmt::format("\"{}\" is not a host in brackets: expected one such as \"[relay.example.net]:25\"",
                               text);
        if (hop->protocol != smtp::Protocol::smtp)
            return fmt::format("\"{}\": a fallback host must use SMTP, as the MX hosts before it do", text);
        value = *hop;
        return std::nullopt;
    });
}

ListKey durations(std::vector<smtp::Duration>& values) {
    return {[&values] { values.clear(); },
            [&values](std::string_view text) -> Refusal {
                const auto value = parse_duration(text);
                if (!value || *value <= smtp::Duration{})
                    return fmt::format("\"{}\" is not a valid duration: expected one such as \"5m\"", text);
                values.push_back(*value);
                return std::nullopt;
            },
            [&values] {
                std::vector<std::string> shown;
                for (const auto value : values) shown.push_back(print_duration(value));
                return shown;
            }};
}

TextKey address(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                if (!smtp::Mailbox::parse(text) || !smtp::is_ascii(text))
                    return fmt::format("\"{}\" is not a valid address: expected one such as "
                                       "\"postmaster@example.com\"",
                                       text);
                value = text;
                return std::nullopt;
            },
            [&value] { return value; }};
}

} // namespace

Section section_for(decide::RouteRule& s) {
    return {"route.\"<domain>\"",
            "Where mail for a domain is sent: \"example.com\" matches the domain itself, \".example.com\" all "
            "domains below it, \"*\" all domains without another rule (a relay host). The longest match applies. "
            "Without a rule, mail goes to the domain's MX hosts. Tables of next hops (transport.tables) can name a "
            "route without a dot, [route.\"slow\"], as \"slow:\": with next_hop = \"mx\", mail goes to the MX hosts of "
            "its domain, over links of this route's own.",
            {
                {"next_hop", NextHopsKey{&s.next_hops},
                 "One next hop, or a list in order of preference; next hops in a nested list have equal preference. "
                 "\"[host]:port\" and \"[address]:port\" mean that host itself, \"user@[host]:port\" the same host "
                 "with that account from smtp_client.credentials; \"name\" means the MX hosts of that name; \"mx\" "
                 "means the MX hosts of the recipient's domain; \"srv:name\" means the hosts that accept submitted "
                 "mail for that name according to its SRV records (_submissions, with TLS from the first byte; then "
                 "_submission). \"lmtp:[host]:port\" (port 24 if none is given) and \"lmtp:/path/of/a/socket\" use "
                 "LMTP, as mailbox stores do. A rule has either hosts in brackets and paths, or one name. While a "
                 "next hop is down (queue.link_down_after), the next one in order is used.",
                 "\"[relay.example.net]:25\""},
                {"pool", non_empty_text(s.pool),
                 "Name of the [pool.<name>] of source addresses for mail whose header or sender does not select one.",
                 "\"bulk\""},
                {"generic_tables", optional_lookup_tables(s.generic_tables),
                 "Tables for the addresses in mail to these domains, instead of generic.tables. With an empty list "
                 "these domains see the addresses as they are.",
                 "[]"},
                {"fallback", hosts_in_brackets(s.fallback),
                 "Hosts in brackets, such as \"[relay.example.net]:25\", that get the mail in the same attempt if no "
                 "MX host can be looked up or reached. They use SMTP. They are not used if the domain itself rejects "
                 "the mail (5xx, no such domain), or if this system is one of its MX hosts. Only allowed if next_hop "
                 "is \"mx\" or a name.",
                 ""},
                {"implicit_tls", BoolKey{&s.tls_wrap},
                 "Whether to use TLS from the first byte, as on port 465; STARTTLS and plain text are not used. The "
                 "key tls sets which certificates are accepted: \"verify\" requires one that matches the host's "
                 "name. Only for hosts in brackets.",
                 ""},
                {"tls", one_of(s.tls, tls_levels), "TLS level for mail to these domains, instead of smtp_client.tls.",
                 "\"verify\""},
                {"tls_certificates", optional_paths(s.certificates.certificates),
                 "Files of the certificates shown to servers for mail to these domains, instead of "
                 "smtp_client.tls_certificates; with an empty list none is shown. A connection for which a server "
                 "requested a certificate is only used for mail with the same ones.",
                 "[\"/etc/postrider/partner.pem\"]"},
                {"tls_keys", paths(s.certificates.keys),
                 "Files of the keys of tls_certificates, one for each, in the same order. The default is that each "
                 "key is in the file of its certificate.",
                 "[\"/etc/postrider/partner.key\"]"},
                {"auth", auth_mechanisms(s.auth),
                 "The only AUTH mechanisms to use if smtp_client.credentials has an account at the next hop, or "
                 "\"no\" to send without authentication. The default is the strongest mechanism that both sides "
                 "support, of SCRAM-SHA-256-PLUS, SCRAM-SHA-256, PLAIN and LOGIN, or of OAUTHBEARER and XOAUTH2 if "
                 "the account has a command. Routes that share a next hop should have the same value.",
                 "[\"SCRAM-SHA-256-PLUS\", \"SCRAM-SHA-256\"]"},
                {"auth_failure", one_of(s.queueing.auth_failure, auth_failures),
                 "What happens to mail when the next hop rejects our credentials: \"wait\" keeps it until the "
                 "credentials have been corrected, \"return\" returns mail to its senders when it is due, each time "
                 "the link is tried.",
                 ""},
                {"auth_without_tls", BoolKey{&s.auth.without_tls},
                 "Whether mechanisms that reveal the password (all but SCRAM) may be used without TLS. Anyone who "
                 "can read the traffic then learns the password.",
                 ""},
                {"connections", IntKey{&s.connections, 1, 10'000},
                 "Maximum number of simultaneous connections to this next hop. The default is set in "
                 "[queue].",
                 "100"},
                {"connections_by_backlog", BoolKey{&s.queueing.by_backlog},
                 "Whether to open another connection only for every 20 waiting messages, as Exchange does, for a "
                 "next hop that allows few connections. By default, one is also opened if the open connections would "
                 "need more than half a second for the waiting messages.",
                 ""},
                {"messages_per_second", IntKey{&s.queueing.messages_per_second, 1, 1'000'000},
                 "Maximum number of transactions per second. The default is no limit.", "50"},
                {"messages_per_hour", IntKey{&s.queueing.messages_per_hour, 1, 1'000'000'000},
                 "Maximum number of transactions per hour, spread evenly. The default is no limit.", "10000"},
                {"connections_per_second", IntKey{&s.queueing.connections_per_second, 1, 1'000'000},
                 "Maximum number of new connections per second. The default is no limit.", "5"},
                {"share_rates", BoolKey{&s.queueing.share_rates},
                 "Whether messages_per_second, messages_per_hour and connections_per_second are limits of all nodes of "
                 "the fleet together, at each next hop, instead of each node's own. Set the same limits on all nodes. "
                 "While the store is away, each node keeps to its part, the limit divided by the number of nodes. "
                 "Without fleet.store it has no effect. See postrider-fleet(8).",
                 ""},
                {"retry_policy", name_of_policy(s.queueing.retry_policy),
                 "How a message that failed is retried: \"exchange\" (the retry schedule of [queue]) or the name of "
                 "a [retry.<name>]. The policy is recorded with the message; later changes do not affect mail that "
                 "is already queued.",
                 "\"exchange\""},
                {"reply_overrides", reply_rules(s.replies),
                 "Replies of this site to be interpreted differently: code, enhanced status if it matters, stage "
                 "(MAIL, RCPT, DATA, or END for after the final dot), temporary or permanent. The first rule that "
                 "matches applies.",
                 "[\"550 5.7.1 at MAIL is temporary\"]"},
                {"glitch_interval", DurationKey{&s.queueing.glitch_interval, 1s, 24h},
                 "Overrides queue.glitch_interval.", "\"60s\""},
                {"glitch_count", IntKey{&s.queueing.glitch_count, 1, 1000}, "Overrides queue.glitch_count.", "3"},
                {"retry_interval", DurationKey{&s.queueing.retry_interval, 1s, 24h}, "Overrides queue.retry_interval.",
                 "\"10m\""},
                {"retry_count", IntKey{&s.queueing.retry_count, 1, 1000}, "Overrides queue.retry_count.", "3"},
                {"retry_interval_after", DurationKey{&s.queueing.retry_interval_after, 1s, 24h},
                 "Overrides queue.retry_interval_after.", "\"15m\""},
                {"failures_before_problem", IntKey{&s.queueing.failures_before_problem, 1, 1000},
                 "Overrides queue.failures_before_problem.", "2"},
            }};
}

Section section_for(decide::queue::RetryPolicy& s) {
    return {"retry.<name>",
            "A retry policy, used by routes that name it. It applies to every kind of failure. While a link, a queue "
            "or a route lookup waits after a failure, an attempt that comes due is not made, but counts; when no "
            "attempts are left, the mail is returned to its sender. Messages keep the values they were accepted "
            "with: a reload changes those of later mail, and \"postrider message requeue --policy\" those of queued "
            "mail.",
            {
                {"kind", one_of(s.kind, policy_kinds),
                 "How retries are spaced. \"exponential\": the first wait is base, and each further one factor times "
                 "as long as the one before. \"fixed\": every wait is interval. \"steps\": each wait in steps once.",
                 ""},
                {"base", DurationKey{&s.base, 1s, 24h}, "For \"exponential\": the first wait.", ""},
                {"factor", IntKey{&s.factor, 1, 100},
                 "For \"exponential\": how many times as long as the one before each wait is, up to a day.", ""},
                {"interval", DurationKey{&s.interval, 1s, 24h}, "For \"fixed\": the wait before every retry.", ""},
                {"attempts", IntKey{&s.attempts, 0, 100'000},
                 "For \"exponential\" and \"fixed\": maximum number of attempts; 0 means until the mail "
                 "expires.",
                 ""},
                {"steps", durations(s.waits), "For \"steps\": the waits, in order.",
                 "[\"1m\", \"5m\", \"30m\", \"2h\", \"8h\"]"},
                {"jitter", FractionKey{&s.jitter}, "Maximum fraction by which every wait is lengthened at random.", ""},
            }};
}

Section section_for(Testing& s) {
    return {"testing",
            "For tests of a whole system on one host; only in single-user mode (mta.multi_user = false).",
            {
                {"connect_to",
                 list_of<ConnectTo>(s.connect_to,
                                    [](std::string_view text, ConnectTo& value) -> Refusal {
                                        const auto read = ConnectTo::parse(text);
                                        if (!read)
                                            return fmt::format("\"{}\" is not a valid redirection: expected one such "
                                                               "as \"mx.example.com:25=127.0.0.1:2525\"",
                                                               text);
                                        value = *read;
                                        return std::nullopt;
                                    }),
                 "Redirections of connections: those to the host or address, and port, before \"=\" are made to the "
                 "address and port after it. Names are looked up, and logged, as usual.",
                 ""},
            }};
}

Section section_for(Dns& s) {
    return {
        "dns",
        "DNS lookups.",
        {
            {"servers", endpoints(s.servers, 53),
             "Name servers, queried in this order. The default is those in /etc/resolv.conf.", "[\"127.0.0.1:53\"]"},
            {"timeout", DurationKey{&s.timeout, 100ms, 1min}, "Time limit for a reply; it doubles with every retry.",
             ""},
            {"tries", IntKey{&s.tries, 1, 10}, "Number of times each server is queried.", ""},
            {"edns_size", IntKey{&s.edns_size, 512, 4096},
             "Maximum size of a reply over UDP, in bytes; larger ones are received over TCP.", ""},
            {"cache_entries", IntKey{&s.cache_entries, 0, 10'000'000}, "Maximum number of cached answers, per process.",
             ""},
            {"maximum_ttl", DurationKey{&s.maximum_ttl, 0s, 7 * 24h}, "Maximum time an answer is cached.", ""},
            {"minimum_ttl", DurationKey{&s.minimum_ttl, 0s, 1h}, "Minimum time an answer is cached.", ""},
            {"negative_ttl", DurationKey{&s.negative_ttl, 0s, 24h},
             "Maximum time the answers \"no such name\" and \"no such record\" are cached.", ""},
            {"failure_ttl", DurationKey{&s.failure_ttl, 0s, 1h}, "Minimum time before a failed lookup is repeated.",
             ""},
            {"trust_ad", BoolKey{&s.trust_ad},
             "Whether to trust a name server on this host (127.0.0.0/8, ::1) that reports having validated an answer "
             "with DNSSEC; DANE requires this. Name servers on other hosts are never trusted.",
             ""},
        }};
}

Section section_for(decide::queue::Settings& s) {
    constexpr Duration year = 365 * 24h;
    return {
        "queue",
        "Retries, expiry, and numbers of connections. A link is all mail that shares one next hop (a set of hosts); "
        "a queue is the mail for one domain.",
        {
            {"glitch_interval", DurationKey{&s.glitch_interval, 1s, 24h},
             "Wait after each failure that counts as a glitch.", ""},
            {"glitch_count", IntKey{&s.glitch_count, 1, 100},
             "Number of consecutive failures at which the state changes from glitch to retry.", ""},
            {"retry_interval", DurationKey{&s.retry_interval, 1s, 24h},
             "Wait after each of the next retry_count failures.", ""},
            {"retry_count", IntKey{&s.retry_count, 0, 1000}, "Number of waits of retry_interval.", ""},
            {"retry_interval_after", DurationKey{&s.retry_interval_after, 1s, 7 * 24h},
             "Wait after each further failure.", ""},
            {"jitter", FractionKey{&s.jitter}, "Maximum fraction by which every wait is lengthened at random.", ""},
            {"failures_before_problem", IntKey{&s.failures_before_problem, 0, 1000},
             "Number of failures after which a message becomes a problem message, which lets all others pass; 0 "
             "disables this.",
             ""},
            {"problem_share", IntKey{&s.problem_share, 2, 10'000},
             "Minimum share of problem messages in the deliveries of a busy queue: one in this many.", ""},
            {"healthy_period", DurationKey{&s.health_evidence, 0s, 1h},
             "How long a queue counts as healthy after it delivered mail; during this time a failure concerns one "
             "message only.",
             ""},
            {"link_healthy_period", DurationKey{&s.link_health_evidence, 0s, 1h},
             "Period after a connection was last useful during which a rejected further connection does not count as "
             "a failure of the link.",
             ""},
            {"crashes_before_hold", IntKey{&s.deaths_before_hold, 1, 100},
             "Number of delivery agent crashes, each with the same message alone in progress, after which the "
             "message is held.",
             ""},
            {"local_retry", DurationKey{&s.local_retry, 1s, 24h},
             "Wait after a temporary failure to deliver a message to a mailbox, a file or a command.", ""},
            {"categorize_retry", DurationKey{&s.categorize_retry, 1s, 24h},
             "Wait after a failure to determine recipients; it doubles with every further failure.", ""},
            {"categorize_retry_max", DurationKey{&s.categorize_retry_max, 1s, 7 * 24h},
             "Maximum wait after a failure to determine recipients.", ""},
            {"max_pending_categorizations", IntKey{&s.max_pending_categorizations, 1, 1'000'000},
             "Maximum number of messages whose recipients are determined at the same time.", ""},
            {"recategorize_on_start", BoolKey{&s.recategorize_on_start},
             "Whether to determine the recipients of queued messages again at startup, for use after a change of "
             "aliases or local domains.",
             ""},
            {"routing_retry", DurationKey{&s.routing_retry, 1s, 24h},
             "Wait after a failed lookup of a next hop; it doubles with every further failure.", ""},
            {"routing_retry_max", DurationKey{&s.routing_retry_max, 1s, 7 * 24h},
             "Maximum wait after a failed lookup of a next hop.", ""},
            {"report_retry", DurationKey{&s.submit_retry, 1s, 24h}, "Wait after a report could not be written.", ""},
            {"internal_error_retry", DurationKey{&s.requeue_retry, 1s, 24h}, "Wait after an internal error.", ""},
            {"link_down_after", duration_or_never(s.link_down_after, 0s, 24h),
             "Time in retry after which the link of a configured route is down: its mail is sent to the next hop "
             "that follows in the route. \"0s\" to \"24h\", or \"never\": mail waits for the first one.",
             ""},
            {"link_up_after", DurationKey{&s.link_up_after, 0s, 24h},
             "Minimum time between the two successful probes after which a link that is down is up again.", ""},
            {"reroute_retry", DurationKey{&s.reset_routes_retry, 1s, 24h},
             "Wait before another attempt if some routes could not be looked up again after a link went down or came "
             "up.",
             ""},
            {"overdue_spread", DurationKey{&s.overdue_spread, 0s, 24h},
             "Maximum period over which retries that are overdue at startup are spread; the fewer there are, the "
             "shorter it is.",
             ""},
            {"expiry", DurationKey{&s.expiry, 1s, year},
             "Time after which undelivered mail is returned to its sender. It is recorded when a message is "
             "accepted: a reload changes it for later mail, \"postrider message expire --after\" for queued mail.",
             ""},
            {"report_expiry", DurationKey{&s.report_expiry, 1s, year}, "Time after which undelivered reports expire.",
             ""},
            {"delay_notice", DurationKey{&s.delay_notice, 0s, year},
             "Time after which the sender is notified, once, that mail is delayed; \"0s\" disables this.", ""},
            {"report_merge_window", DurationKey{&s.report_gather, 0s, 10min},
             "Period within which failures of one message share a report.", ""},
            {"lane_weights", IntListKey{s.lane_weights, 1, 1000}, "Shares of high, normal and bulk mail.", ""},
            {"recipients_per_transaction", IntKey{&s.recipients_per_transaction, 1, 10'000},
             "Maximum number of recipients in one transaction.", ""},
            {"batch", IntKey{&s.batch, 1, 1000}, "Maximum number of deliveries handed to one connection at a time.",
             ""},
            {"drain_target", DurationKey{&s.drain_target, 10ms, 1h},
             "Target time for sending the waiting mail of a link: another connection is opened if the open ones "
             "would need longer.",
             ""},
            {"initial_connections_mx", IntKey{&s.window_start, 1, 1000},
             "Maximum number of connections of an MX link before any of them has succeeded.", ""},
            {"initial_connections_route", IntKey{&s.window_start_route, 1, 10'000},
             "Maximum number of connections of the link of a configured route before any of them has succeeded.", ""},
            {"connections_mx", IntKey{&s.connections_mx, 1, 10'000},
             "Maximum number of connections of a link whose hosts come from MX records.", ""},
            {"connections_route", IntKey{&s.connections_route, 1, 10'000},
             "Maximum number of connections of the link of a configured route.", ""},
            {"connections_per_address", IntKey{&s.connections_per_address, 1, 10'000},
             "Maximum number of connections to one remote address, for all links and all pools' source addresses "
             "together: domains with many MX names may all be on one host. For the address of a configured route, "
             "the limit of the route applies.",
             ""},
            {"connections_local", IntKey{&s.connections_local, 1, 1000},
             "Maximum number of simultaneous deliveries to mailboxes and commands. An increase takes effect at the "
             "next start.",
             ""},
            {"connections_per_user", IntKey{&s.connections_per_user, 1, 1000},
             "Maximum number of these deliveries for one user or one virtual mailbox, so that what is slow or locked "
             "for one user does not delay the mail of others.",
             ""},
            {"connections_total", IntKey{&s.connections_total, 1, 100'000},
             "Maximum number of connections of all links together.", ""},
            {"link_share", IntKey{&s.link_share, 1, 1000},
             "Maximum share of connections_total for one link while other links wait: one part in this many.", ""},
            {"messages_per_connection", IntKey{&s.messages_per_connection, 1, 100'000},
             "Maximum number of messages sent over one connection.", ""},
            {"connection_idle_timeout", DurationKey{&s.connection_idle, 0s, 5min},
             "How long a connection without work is kept open.", ""},
            {"connection_backoff", DurationKey{&s.push_back_pause, 0s, 10min},
             "Time during which no connection is added after a server asked for fewer.", ""},
            {"leave_incoming_after", DurationKey{&s.settle_after, 0s, 10min},
             "Time after which an undelivered message is moved from incoming/ to messages/.", ""},
            {"forget_after", DurationKey{&s.forget_after, 1s, 7 * 24h},
             "Time after which a link or queue without work and without state to keep is removed from memory.", ""},
        }};
}

Section section_for(SmtpClient& s) {
    return {
        "smtp_client",
        "Sending mail to other systems. Connection limits and retries are set in [queue].",
        {
            {"workers", IntKey{&s.workers, 1, 64},
             "Number of processes. The default is one for every two processors, at most 8.", "1"},
            {"helo", domain(s.helo), "Name sent in EHLO. The default is the host name.", "\"mail.example.com\""},
            {"connect_timeout", DurationKey{&s.connect_timeout, 1s, 10min}, "Time limit for establishing a connection.",
             ""},
            {"greeting_timeout", DurationKey{&s.greeting_timeout, 1s, 1h}, "Time limit for the server's greeting.", ""},
            {"command_timeout", DurationKey{&s.command_timeout, 1s, 1h},
             "Time limit for the reply to EHLO, MAIL, RCPT, RSET.", ""},
            {"data_timeout", DurationKey{&s.data_timeout, 1s, 1h}, "Time limit for the reply to DATA.", ""},
            {"block_timeout", DurationKey{&s.block_timeout, 1s, 1h},
             "Time limit for the server to accept a block of content.", ""},
            {"final_dot_timeout", DurationKey{&s.final_dot_timeout, 1s, 2h},
             "Time limit for the reply to the end of a message. A short limit causes duplicate messages.", ""},
            {"minimum_rate", SizeKey{&s.minimum_rate, 0, GiB},
             "Minimum rate, in bytes per second, at which a server must accept a message, on average once "
             "block_timeout has passed; 0 disables this. A slower transfer is aborted, and the message is retried.",
             ""},
            {"delivery_timeout", DurationKey{&s.delivery_timeout, 1min, 24h},
             "Time limit for one transaction up to the end of its content, in addition to the time that minimum_rate "
             "allows for the content. A delivery that exceeds it is retried.",
             ""},
            {"addresses_per_attempt", IntKey{&s.addresses_per_attempt, 1, 50},
             "Maximum number of addresses tried in one attempt.", ""},
            {"connection_attempt_delay", DurationKey{&s.connection_attempt_delay, 10ms, 10min},
             "Delay before the next address of a host is tried in parallel if the one before it has not answered, "
             "IPv6 and IPv4 in turn; the first one to answer is used (RFC 8305). With connect_timeout or more, "
             "addresses are tried one after the other.",
             ""},
            {"ipv4", BoolKey{&s.ipv4}, "Whether to use IPv4.", ""},
            {"ipv6", BoolKey{&s.ipv6}, "Whether to use IPv6.", ""},
            {"pipelining", BoolKey{&s.pipelining},
             "Whether to send commands in groups to servers that offer PIPELINING.", ""},
            {"chunking", BoolKey{&s.chunking},
             "Whether to send the first message of a connection with BDAT, in one group with its commands, to "
             "servers that offer CHUNKING and PIPELINING, if it has at most 64 KiB: this saves a round trip.",
             ""},
            {"tls", one_of(s.tls, tls_levels),
             "TLS level. \"none\": always plain text. \"may\": TLS if a server offers STARTTLS and it works, "
             "otherwise plain text. \"dane\": if a host has TLSA records validated by DNSSEC (RFC 7672), its "
             "certificate must be one that they name, and mail waits while it is not; other hosts are treated as "
             "with \"may\". \"sts\": the same as \"dane\"; but if the domain publishes an MTA-STS policy (RFC 8461) "
             "and a host has no such records, mail is sent as the policy demands: only to hosts it names, and only "
             "with a certificate that matches their names. The policy is that of the name whose MX hosts are used; "
             "for hosts in brackets there is none. \"encrypt\": TLS is required; mail waits where it is not "
             "available. \"verify\": the same, and the server's certificate must match the name by which the host "
             "was reached. \"dane-only\": the same as \"dane\", but mail waits if there are no such records. DANE "
             "requires a name server on this host that validates (dns.trust_ad). A route's tls overrides this for "
             "its domains.",
             ""},
            {"tls_minimum_version", one_of(s.tls_minimum_version, tls_versions),
             "Minimum TLS version: \"1.2\" or \"1.3\".", ""},
            {"tls_ciphers", any_text(s.tls_ciphers),
             "Ciphers of TLS 1.2, in the format of openssl-ciphers(1); \"\" for the library's default.", ""},
            {"tls_ca_file", any_text(s.tls_authorities),
             "File with the CA certificates (PEM) used to verify servers; \"\" for none, so that no certificate can "
             "be verified.",
             ""},
            {"tls_certificates", optional_paths(s.certificates.certificates),
             "Files of the certificates shown to servers that request one (PEM; each may be followed by its chain): "
             "one for each kind of key, such as ECDSA and RSA. Under TLS 1.2 the first is shown. Only master reads "
             "them. Changes are detected like those of tls.certificates. A route may have its own.",
             "[\"/etc/postrider/client.pem\"]"},
            {"tls_keys", paths(s.certificates.keys),
             "Files of the keys of tls_certificates, one for each, in the same order. The default is that each key "
             "is in the file of its certificate.",
             "[\"/etc/postrider/client.key\"]"},
            {"header_checks", check_rules(s.header_checks, CheckedPart::outgoing_header),
             "Rules for the header of mail that is sent over SMTP, as content.header_checks: PREPEND, REPLACE, IGNORE, "
             "STRIP, WARN, INFO and DUNNO. The message in the queue stays as it is. Generic addresses are applied "
             "after them; signatures (DKIM) are made of the result. Mail that goes to a content filter, or is "
             "delivered over LMTP, is not changed.",
             "['/^X-Internal-/ IGNORE']"},
            {"mime_header_checks", check_rules(s.mime_header_checks, CheckedPart::outgoing_header),
             "The same for the fields of the parts of a message, and those that describe content in every header, as "
             "content.mime_header_checks.",
             "['/^Content-Disposition:/ INFO']"},
            {"nested_header_checks", check_rules(s.nested_header_checks, CheckedPart::outgoing_header),
             "The same for the header fields of messages that are attached to a message.", "['/^X-Internal-/ IGNORE']"},
            {"body_checks", check_rules(s.body_checks, CheckedPart::outgoing_body),
             "The same for the lines of the body, as content.body_checks; content.body_checks_size applies.",
             "['/^-- internal use only$/ IGNORE']"},
            {"reply_rules", reply_patterns(s.reply_rules),
             "Rules for the replies of servers to MAIL, RCPT, DATA and the end of a message: a regular expression "
             "(Perl-compatible, as in content.header_checks) for the reply as the server sent it, \"550 5.7.1 text\"; "
             "the stage if it matters (at MAIL, at RCPT, at DATA, or at END for after the final dot); and what such a "
             "reply is taken for, \"is temporary\" or \"is permanent\". The first rule that matches applies, unless "
             "reply_overrides of the route do. Log and history show the server's own words, and the rule. A pattern "
             "that takes too long is skipped, which is logged. \"!\" before a pattern means that it does not match; "
             "rules between \"if /pattern/\" (or \"if !/pattern/\") and \"endif\" are tried only where that is so.",
             "['/^550 .*(greylist|try again)/ at RCPT is temporary']"},
            {"credentials", any_text(s.credentials),
             "File of our accounts at next hops: one \"HOST[:PORT] USER:PASSWORD\" per line "
             "(postrider-credentials(5)); if there are several accounts at one host, a next hop names one. If there "
             "is an account for a next hop, the client authenticates (AUTH) before it sends mail. Only master reads "
             "the file; only root and mta.user may have permission to read it. Changes are detected like those of a "
             "certificate. \"\" for none.",
             "\"/etc/postrider/credentials\""},
        }};
}

Section section_for(TlsReports& s) {
    return {
        "tls_reports",
        "Daily reports to other domains about TLS with their mail servers (RFC 8460). A domain gets a report if it "
        "requests one (TXT record _smtp._tls.<domain>) and mail was sent to it that day.",
        {
            {"enabled", BoolKey{&s.enabled}, "Whether to count TLS sessions and send reports.", ""},
            {"organization", any_text(s.organization),
             "Name of the reporting organization. The default is the host name.", "\"Example Ltd\""},
            {"contact", address(s.contact), "Contact address for readers. The default is postmaster of the host name.",
             "\"postmaster@example.com\""},
            {"from", address(s.from),
             "Sender of reports that are sent by mail. The default is postmaster of the host name. Sessions for mail "
             "from this address are not counted; otherwise two systems would report on each other's reports forever.",
             "\"tls-reports@example.com\""},
            {"delay", DurationKey{&s.delay, 0s, 20h},
             "Period after the end of a day (UTC) within which the reports on that day are sent, at a random "
             "time.",
             ""},
        }};
}

} // namespace config
