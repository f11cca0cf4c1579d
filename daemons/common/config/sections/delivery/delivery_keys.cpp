// The keys of where mail goes, how it waits and how it leaves.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/delivery/dns.h"
#include "daemons/common/config/sections/delivery/smtp_client.h"
#include "daemons/common/config/sections/delivery/tls_reports.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/testing.h"
#include "daemons/common/config/sections/system/tls_versions.h"
#include "daemons/decide/queue/settings.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/common/text/units.h"
#include "libsmtp/message/address.h"
#include "libsmtp/auth/sasl_client.h"
#include "libsmtp/text/utf8.h"

namespace config {

namespace {

using AuthFailure = decide::queue::RouteSettings::AuthFailure;
constexpr EnumValue<AuthFailure> auth_failures[] = {{"wait", AuthFailure::wait}, {"return", AuthFailure::giving_back}};

constexpr EnumValue<decide::TlsLevel> tls_levels[] = {{"none", decide::TlsLevel::none},
                                                 {"may", decide::TlsLevel::may},
                                                 {"dane", decide::TlsLevel::dane},
                                                 {"sts", decide::TlsLevel::sts},
                                                 {"encrypt", decide::TlsLevel::encrypt},
                                                 {"verify", decide::TlsLevel::verify},
                                                 {"dane-only", decide::TlsLevel::dane_only}};
using PolicyKind = decide::queue::RetryPolicy::Kind;
constexpr EnumValue<PolicyKind> policy_kinds[] = {{"exchange", PolicyKind::exchange},
                                             {"exponential", PolicyKind::exponential},
                                             {"fixed", PolicyKind::fixed},
                                             {"steps", PolicyKind::steps}};

TextKey name_of_policy(std::string& value) {
    return {[&value](std::string_view text) -> std::string {
                if (text.empty()) return "the name is empty";
                value = text == "exchange" ? "" : text;
                return "";
            },
            [&value] { return value.empty() ? std::string("exchange") : value; }};
}

ListKey reply_rules(std::vector<decide::ReplyRule>& values) {
    return list_of<decide::ReplyRule>(
        values, [](std::string_view text, decide::ReplyRule& value) -> std::string {
            const auto rule = decide::ReplyRule::parse(text);
            if (!rule)
                return fmt::format("\"{}\" makes no sense; say as \"550 5.7.1 at MAIL is temporary\"", text);
            value = *rule;
            return "";
        });
}

ListKey auth_mechanisms(decide::AuthRule& rule) {
    return {[&rule] { rule.never = false, rule.mechanisms.clear(); },
            [&rule](std::string_view text) -> std::string {
                if (text == "no" && rule.mechanisms.empty() && !rule.never) {
                    rule.never = true;
                    return "";
                }
                if (rule.never || text == "no") return "\"no\" stands alone";
                const auto mechanism = smtp::sasl_mechanism_named(text);
                if (!mechanism)
                    return fmt::format("\"{}\" is neither \"no\" nor one of SCRAM-SHA-256-PLUS, SCRAM-SHA-256, PLAIN, "
                                       "LOGIN, OAUTHBEARER, XOAUTH2",
                                       text);
                const auto name = std::string(name_of(*mechanism));
                if (std::ranges::find(rule.mechanisms, name) != rule.mechanisms.end())
                    return fmt::format("\"{}\" is listed twice", text);
                rule.mechanisms.push_back(name);
                return "";
            },
            [&rule] { return rule.never ? std::vector<std::string>{"no"} : rule.mechanisms; }};
}

ListKey hosts_in_brackets(std::vector<decide::NextHop>& values) {
    return list_of<decide::NextHop>(values, [](std::string_view text, decide::NextHop& value) -> std::string {
        const auto hop = decide::NextHop::parse(text);
        if (!hop || hop->kind != decide::NextHop::Kind::host)
            return fmt::format("\"{}\" is no host in brackets such as \"[relay.example.net]:25\"", text);
        if (hop->protocol != smtp::Protocol::smtp)
            return fmt::format("\"{}\": a fallback speaks SMTP, as the MX hosts before it do", text);
        value = *hop;
        return "";
    });
}

ListKey durations(std::vector<smtp::Duration>& values) {
    return {[&values] { values.clear(); },
            [&values](std::string_view text) -> std::string {
                const auto value = parse_duration(text);
                if (!value || *value <= smtp::Duration{})
                    return fmt::format("\"{}\" is no duration such as \"5m\"", text);
                values.push_back(*value);
                return "";
            },
            [&values] {
                std::vector<std::string> shown;
                for (const auto value : values) shown.push_back(print_duration(value));
                return shown;
            }};
}

TextKey address(std::string& value) {
    return {[&value](std::string_view text) -> std::string {
                if (!smtp::Mailbox::parse(text) || !smtp::is_ascii(text))
                    return fmt::format("\"{}\" is no address such as \"postmaster@example.com\"", text);
                value = text;
                return "";
            },
            [&value] { return value; }};
}

} // namespace

Section section_for(decide::RouteRule& s) {
    return {
        "route.\"<domain>\"",
        "Where mail for a domain goes: \"example.com\" for itself, \".example.com\" for everything below "
        "it, \"*\" "
        "for what no other rule serves (a relay host). The longest match wins. Without a rule: the "
        "domain's MX.",
        {
            {"next_hop", NextHopsKey{&s.next_hops},
             "One place or a list in order of preference; places in a list inside the list are equals. "
             "\"[host]:port\" and \"[address]:port\" are a host itself, \"user@[host]:port\" the same with the account "
             "of smtp_client.credentials to be used there; \"name\" is the MX hosts of that "
             "name; "
             "\"mx\" is the MX hosts of the recipient's domain; \"srv:name\" is where that name takes "
             "submitted mail by its SRV records (_submissions: TLS from the first byte; then _submission). "
             "\"lmtp:[host]:port\" (24 where no port is named) and \"lmtp:/path/of/a/socket\" speak LMTP, as "
             "mailbox stores do. A rule is either hosts in brackets and paths, or one name. The next in order "
             "serves while the one before it is down "
             "(queue.link_down_after).",
             "\"[relay.example.net]:25\""},
            {"pool", non_empty_text(s.pool), "The [pool.<name>] of source addresses for mail that names none itself.",
             "\"bulk\""},
            {"fallback", hosts_in_brackets(s.fallback),
             "Hosts in brackets, as \"[relay.example.net]:25\", that take the mail when none of the MX hosts "
             "can be looked up or reached, in the same attempt. They speak SMTP. Not when the domain itself refuses (5xx, no such domain), nor when this "
             "system is one of its MX hosts. Only with \"mx\" or a name.",
             ""},
            {"tls_wrap", BoolKey{&s.tls_wrap},
             "TLS from the first byte, as at port 465; no STARTTLS, never plain text. Whose certificate it is, tls "
             "says: \"verify\" demands that it proves the name. Only for hosts in brackets.",
             ""},
            {"tls", one_of(s.tls, tls_levels), "As smtp_client.tls, for mail to these domains.", "\"verify\""},
            {"auth", auth_mechanisms(s.auth),
             "The only mechanisms of AUTH to be used where smtp_client.credentials has an account at the next "
             "hop, or \"no\": it is not used. By default the strongest that both sides know, of "
             "SCRAM-SHA-256-PLUS, SCRAM-SHA-256, PLAIN and LOGIN, or of OAUTHBEARER and XOAUTH2 where the "
             "account has a command. Routes that share a next hop should agree.",
             "[\"SCRAM-SHA-256-PLUS\", \"SCRAM-SHA-256\"]"},
            {"auth_failure", one_of(s.queueing.auth_failure, auth_failures),
             "What becomes of mail when the next hop refuses our credentials: \"wait\" until they are put right, or "
             "\"return\" what is due to its senders, each time that the link is tried.",
             ""},
            {"auth_without_tls", BoolKey{&s.auth.without_tls},
             "Mechanisms that show the password (all but SCRAM) may be used in plain text too: whoever listens on "
             "the way reads it.",
             ""},
            {"connections", IntKey{&s.connections, 1, 10'000},
             "Connections at the same time to this next hop. By default those of [queue].", "100"},
            {"connections_by_backlog", BoolKey{&s.queueing.by_backlog},
             "Whether a further connection is opened only for every 20 messages that wait, as Exchange does it, "
             "for a next hop that allows few connections. By default also when those that are open would need "
             "longer than half a second for what waits.",
             ""},
            {"messages_per_second", IntKey{&s.queueing.messages_per_second, 1, 1'000'000},
             "At most so many transactions a second. By default no limit.", "50"},
            {"messages_per_hour", IntKey{&s.queueing.messages_per_hour, 1, 1'000'000'000},
             "At most so many transactions an hour, evenly. By default no limit.", "10000"},
            {"connections_per_second", IntKey{&s.queueing.connections_per_second, 1, 1'000'000},
             "At most so many new connections a second. By default no limit.", "5"},
            {"retry_policy", name_of_policy(s.queueing.retry_policy),
             "How a message that failed is tried again: \"exchange\" (the ladder of [queue]) or a "
             "[retry.<name>]. It is recorded with the message; later changes do not alter mail already "
             "queued.",
             "\"exchange\""},
            {"replies", reply_rules(s.replies),
             "Replies this site means otherwise than it says: code, enhanced status if it matters, stage "
             "(MAIL, RCPT, DATA, END: after the final dot), temporary or permanent. The first that fits "
             "counts.",
             "[\"550 5.7.1 at MAIL is temporary\"]"},
            {"glitch_interval", DurationKey{&s.queueing.glitch_interval, 1s, 24h}, "Instead of that of [queue].",
             "\"60s\""},
            {"glitch_count", IntKey{&s.queueing.glitch_count, 1, 1000}, "Instead of that of [queue].", "3"},
            {"retry_interval", DurationKey{&s.queueing.retry_interval, 1s, 24h}, "Instead of that of [queue].",
             "\"10m\""},
            {"retry_count", IntKey{&s.queueing.retry_count, 1, 1000}, "Instead of that of [queue].", "3"},
            {"retry_interval_after", DurationKey{&s.queueing.retry_interval_after, 1s, 24h},
             "Instead of that of [queue].", "\"15m\""},
            {"failures_before_problem", IntKey{&s.queueing.failures_before_problem, 1, 1000},
             "Instead of that of [queue].", "2"},
        }};
}

Section section_for(decide::queue::RetryPolicy& s) {
    return {"retry.<name>",
            "A way to try again, used by routes that name it. It holds for every kind of failure. While a link, a queue "
            "or a route look-up waits after a failure, a try that comes due is not made, and counts; when no try is left, "
            "the mail goes back to its sender. Messages keep the values that they began with: a reload changes those of "
            "later mail, and \"postrider message requeue --policy\" those of queued mail.",
            {
                {"kind", one_of(s.kind, policy_kinds),
                 "exponential: base, then factor times as long each time. fixed: every interval. steps: each of "
                 "steps once.",
                 ""},
                {"base", DurationKey{&s.base, 1s, 24h}, "exponential: the first wait.", ""},
                {"factor", IntKey{&s.factor, 1, 100}, "exponential: how much longer each wait is, up to a day.", ""},
                {"interval", DurationKey{&s.interval, 1s, 24h}, "fixed: every wait.", ""},
                {"attempts", IntKey{&s.attempts, 0, 100'000},
                 "exponential, fixed: tries in all; 0: until the mail expires.", ""},
                {"steps", durations(s.waits), "steps: the waits, one after the other.",
                 "[\"1m\", \"5m\", \"30m\", \"2h\", \"8h\"]"},
                {"jitter", FractionKey{&s.jitter}, "Every wait is made longer by up to this fraction, at random.", ""},
            }};
}

Section section_for(Testing& s) {
    return {"testing",
            "For tests of a whole system on one host; only in single-user mode (mta.users = false).",
            {
                {"connect_to",
                 list_of<ConnectTo>(s.connect_to,
                                    [](std::string_view text, ConnectTo& value) -> std::string {
                                        const auto read = ConnectTo::parse(text);
                                        if (!read)
                                            return fmt::format("\"{}\" makes no sense; say as "
                                                               "\"mx.example.com:25=127.0.0.1:2525\"",
                                                               text);
                                        value = *read;
                                        return "";
                                    }),
                 "Whoever is to be connected to at that host, or address, and port is really at that address "
                 "and port. Names are looked up, and logged, all the same.",
                 ""},
            }};
}

Section section_for(Dns& s) {
    return {
        "dns",
        "Name look-ups.",
        {
            {"servers", endpoints(s.servers, 53),
             "Name servers, asked in this order. By default those of /etc/resolv.conf.",
             "[\"127.0.0.1:53\"]"},
            {"timeout", DurationKey{&s.timeout, 100ms, 1min}, "Wait for an answer; doubles with every further try.",
             ""},
            {"tries", IntKey{&s.tries, 1, 10}, "How often each server is asked.", ""},
            {"edns_size", IntKey{&s.edns_size, 512, 4096}, "Largest answer by UDP; larger ones come by TCP.",
             ""},
            {"cache_entries", IntKey{&s.cache_entries, 0, 10'000'000}, "Answers remembered, per process.", ""},
            {"maximum_ttl", DurationKey{&s.maximum_ttl, 0s, 7 * 24h}, "No answer is believed for longer.", ""},
            {"minimum_ttl", DurationKey{&s.minimum_ttl, 0s, 1h}, "Every answer is believed for at least that long.",
             ""},
            {"negative_ttl", DurationKey{&s.negative_ttl, 0s, 24h},
             "\"No such name\" and \"no such record\" are believed for no longer.", ""},
            {"failure_ttl", DurationKey{&s.failure_ttl, 0s, 1h},
             "A look-up that failed is not repeated before that.", ""},
            {"trust_ad", BoolKey{&s.trust_ad},
             "A name server on this host (127.0.0.0/8, ::1) that says it has validated an answer by DNSSEC is "
             "believed; DANE needs that. One that is not on this host never is.",
             ""},
        }};
}

Section section_for(decide::queue::Settings& s) {
    constexpr Duration year = 365 * 24h;
    return {
        "queue",
        "Waiting, retrying, giving up; how many connections. A link is all mail that shares one next hop (a "
        "set of "
        "hosts); a queue is the mail for one domain.",
        {
            {"glitch_interval", DurationKey{&s.glitch_interval, 1s, 24h}, "Wait after a first failure.", ""},
            {"glitch_count", IntKey{&s.glitch_count, 1, 100}, "Failures in a row until it is no glitch any more.",
             ""},
            {"retry_interval", DurationKey{&s.retry_interval, 1s, 24h}, "The wait after that.", ""},
            {"retry_count", IntKey{&s.retry_count, 0, 1000}, "So many waits of that length.", ""},
            {"retry_interval_after", DurationKey{&s.retry_interval_after, 1s, 7 * 24h}, "All further waits.", ""},
            {"jitter", FractionKey{&s.jitter}, "Every wait is made longer by up to this fraction, at random.", ""},
            {"failures_before_problem", IntKey{&s.failures_before_problem, 0, 1000},
             "A message that failed so often lets all others pass; 0 turns this off.", ""},
            {"problem_share", IntKey{&s.problem_share, 2, 10'000},
             "On a busy queue one delivery in so many is such a message all the same.", ""},
            {"health_evidence", DurationKey{&s.health_evidence, 0s, 1h},
             "A queue that delivered mail so recently is healthy; a failure then concerns one message only.", ""},
            {"link_health_evidence", DurationKey{&s.link_health_evidence, 0s, 1h},
             "While a connection was useful so recently, a refused further one does not fail the link.", ""},
            {"deaths_before_hold", IntKey{&s.deaths_before_hold, 1, 100},
             "A message that was alone in the hands of a process when it crashed, so many times, is held.", ""},
            {"local_retry", DurationKey{&s.local_retry, 1s, 24h},
             "Wait when a message could not be delivered into a mailbox, a file or a command for now.", ""},
            {"categorize_retry", DurationKey{&s.categorize_retry, 1s, 24h},
             "Wait when recipients could not be worked out; doubles.", ""},
            {"categorize_retry_max", DurationKey{&s.categorize_retry_max, 1s, 7 * 24h}, "The longest such wait.", ""},
            {"max_pending_categorizations", IntKey{&s.max_pending_categorizations, 1, 1'000'000},
             "Messages whose recipients are being worked out at the same time.", ""},
            {"recategorize_on_start", BoolKey{&s.recategorize_on_start},
             "Recipients found in the spool are worked out anew: after aliases or local domains were changed.", ""},
            {"routing_retry", DurationKey{&s.routing_retry, 1s, 24h},
             "Wait when the next hop could not be looked up; doubles.", ""},
            {"routing_retry_max", DurationKey{&s.routing_retry_max, 1s, 7 * 24h}, "The longest such wait.", ""},
            {"submit_retry", DurationKey{&s.submit_retry, 1s, 24h}, "Wait when a report could not be written.", ""},
            {"requeue_retry", DurationKey{&s.requeue_retry, 1s, 24h}, "Wait after an error of our own.", ""},
            {"link_down_after", duration_or_never(s.link_down_after, 0s, 24h),
             "The link of a configured route that has been in retry for so long is down: its mail goes by the "
             "route's next one. \"0s\" to \"24h\", or \"never\": mail waits for the first.",
             ""},
            {"link_up_after", DurationKey{&s.link_up_after, 0s, 24h},
             "A link that is down is up again after two good probes so far apart.", ""},
            {"reset_routes_retry", DurationKey{&s.reset_routes_retry, 1s, 24h},
             "Routes are looked up anew when a link goes down or comes up; wait when that did not work for all.", ""},
            {"overdue_spread", DurationKey{&s.overdue_spread, 0s, 24h},
             "Mail whose retry is overdue at start is spread over up to this time, the less of it the shorter.", ""},
            {"expiry", DurationKey{&s.expiry, 1s, year},
             "Mail not delivered by then goes back to its sender. Recorded when a message is accepted: a reload "
             "changes it for later mail, \"postrider message expire --after\" for queued mail.",
             ""},
            {"report_expiry", DurationKey{&s.report_expiry, 1s, year}, "The same for reports.", ""},
            {"delay_notice", DurationKey{&s.delay_notice, 0s, year},
             "The sender is told once that mail is delayed, after this time; \"0s\" turns this off.", ""},
            {"report_gather", DurationKey{&s.report_gather, 0s, 10min},
             "Failures of one message within this time share a report.", ""},
            {"lane_weights", IntListKey{s.lane_weights, 1, 1000}, "Shares of high, normal and bulk mail.", ""},
            {"recipients_per_transaction", IntKey{&s.recipients_per_transaction, 1, 10'000},
             "Recipients sent in one go.", ""},
            {"batch", IntKey{&s.batch, 1, 1000}, "Deliveries handed to one connection at a time.", ""},
            {"drain_target", DurationKey{&s.drain_target, 10ms, 1h},
             "Another connection is opened when the open ones would take longer for what waits.", ""},
            {"window_start", IntKey{&s.window_start, 1, 1000},
             "Connections of an MX link before any of them succeeded.", ""},
            {"window_start_route", IntKey{&s.window_start_route, 1, 10'000},
             "Connections of the link of a configured route before any of them succeeded.", ""},
            {"connections_mx", IntKey{&s.connections_mx, 1, 10'000},
             "Connections of a link whose hosts come from MX records.", ""},
            {"connections_route", IntKey{&s.connections_route, 1, 10'000},
             "Connections of the link of a configured route.", ""},
            {"connections_per_address", IntKey{&s.connections_per_address, 1, 10'000},
             "Connections to one remote address, whatever links they belong to and from whichever pool's addresses they "
             "come: domains with many MX names may all lie on one host. For the address of a configured route its own limit holds.",
             ""},
            {"connections_local", IntKey{&s.connections_local, 1, 1000},
             "Deliveries to mailboxes and commands at the same time. A larger number counts from the next start on.",
             ""},
            {"connections_per_user", IntKey{&s.connections_per_user, 1, 1000},
             "Of these, deliveries for one user, or one virtual mailbox: what is slow or locked for one does not keep "
             "others' mail waiting.",
             ""},
            {"connections_total", IntKey{&s.connections_total, 1, 100'000}, "Connections of all links together.", ""},
            {"link_share", IntKey{&s.link_share, 1, 1000},
             "While others wait, no link holds more than one part in so many of them.", ""},
            {"messages_per_connection", IntKey{&s.messages_per_connection, 1, 100'000},
             "Messages until a connection is closed.", ""},
            {"connection_idle", DurationKey{&s.connection_idle, 0s, 5min},
             "How long a connection without work is kept.", ""},
            {"push_back_pause", DurationKey{&s.push_back_pause, 0s, 10min},
             "After a server asked for fewer connections, none is added for so long.", ""},
            {"settle_after", DurationKey{&s.settle_after, 0s, 10min},
             "A message not delivered by then is moved from incoming/ to messages/.", ""},
            {"forget_after", DurationKey{&s.forget_after, 1s, 7 * 24h},
             "A link or queue with nothing to do and nothing to remember is forgotten.", ""},
        }};
}

Section section_for(SmtpClient& s) {
    return {
        "smtp_client",
        "Sending to other systems. Limits of connections and retries are in [queue].",
        {
            {"workers", IntKey{&s.workers, 1, 64}, "Processes. By default one for every two processors, 8 at most.",
             "1"},
            {"helo", domain(s.helo), "Name given in EHLO. By default the host name.", "\"mail.example.com\""},
            {"connect_timeout", DurationKey{&s.connect_timeout, 1s, 10min}, "For a connection to come up.", ""},
            {"greeting_timeout", DurationKey{&s.greeting_timeout, 1s, 1h}, "For the server's first line.", ""},
            {"command_timeout", DurationKey{&s.command_timeout, 1s, 1h}, "For the reply to EHLO, MAIL, RCPT, RSET.",
             ""},
            {"data_timeout", DurationKey{&s.data_timeout, 1s, 1h}, "For the reply to DATA.", ""},
            {"block_timeout", DurationKey{&s.block_timeout, 1s, 1h}, "For a block of content to be taken.", ""},
            {"final_dot_timeout", DurationKey{&s.final_dot_timeout, 1s, 2h},
             "For the verdict on a message. A short one makes duplicates.", ""},
            {"minimum_rate", SizeKey{&s.minimum_rate, 0, GiB},
             "Bytes per second that a server must take of a message, on average once block_timeout has passed; 0 "
             "turns this off. A slower transfer is ended, and the message is tried again.",
             ""},
            {"delivery_timeout", DurationKey{&s.delivery_timeout, 1min, 24h},
             "Time limit for one transaction up to the end of its content, in addition to the time that "
             "minimum_rate allows for the content. What is not done by then is tried again.",
             ""},
            {"addresses_per_attempt", IntKey{&s.addresses_per_attempt, 1, 50},
             "Addresses tried before an attempt has failed.", ""},
            {"connection_attempt_delay", DurationKey{&s.connection_attempt_delay, 10ms, 10min},
             "While an address of a host has not answered, its next one is tried beside it after so long, IPv6 "
             "and IPv4 in turn; the first that answers serves (RFC 8305). With connect_timeout or more: one "
             "after the other.",
             ""},
            {"ipv4", BoolKey{&s.ipv4}, "Use IPv4.", ""},
            {"ipv6", BoolKey{&s.ipv6}, "Use IPv6.", ""},
            {"pipelining", BoolKey{&s.pipelining}, "Send commands in groups to servers that offer PIPELINING.", ""},
            {"chunking", BoolKey{&s.chunking},
             "Send the first message of a connection by BDAT, in one group with its commands, to servers that "
             "offer CHUNKING and PIPELINING, if it has at most 64 KiB: that saves a round trip.",
             ""},
            {"tls", one_of(s.tls, tls_levels),
             "\"none\": plain text always. \"may\": TLS where a server offers STARTTLS and it works, else "
             "plain text. \"dane\": where DNSSEC vouches for a host's TLSA records (RFC 7672) its certificate must "
             "be one that they name, and mail waits while it is not; other hosts as with \"may\". "
             "\"sts\": as \"dane\", and where the domain publishes an MTA-STS policy (RFC 8461) and a host has no such "
             "records, mail goes as the policy demands: only to hosts it names, and only with a certificate that "
             "proves their names. A policy is that of the name whose MX hosts are used; for hosts in brackets there "
             "is none. "
             "\"encrypt\": TLS or not at all; mail waits where there is none. \"verify\": the same, "
             "and the server's certificate must prove the name of the host it was reached by. \"dane-only\": "
             "as \"dane\", and mail waits where there are no such records. DANE needs a name server on this host "
             "that validates (dns.trust_ad). A route's tls says otherwise for its domains.",
             ""},
            {"tls_minimum_version", one_of(s.tls_minimum_version, tls_versions),
             "The oldest version of TLS spoken: \"1.2\" or \"1.3\".", ""},
            {"tls_ciphers", any_text(s.tls_ciphers),
             "Ciphers of TLS 1.2, in the words of openssl-ciphers(1); \"\" for those of the library.", ""},
            {"tls_authorities", any_text(s.tls_authorities),
             "File with the certificates (PEM) that vouch for those of servers; \"\" for none: then nothing "
             "can be verified.",
             ""},
            {"credentials", any_text(s.credentials),
             "File of our accounts at next hops: one \"HOST[:PORT] USER:PASSWORD\" per line "
             "(postrider-credentials(5)); of several at one host a next hop names one. Whoever has an account there authenticates (AUTH) before any mail is "
             "sent. Only master reads it; nobody but root and mta.user may be able to. A change is noticed like "
             "that of a certificate. \"\" for none.",
             "\"/etc/postrider/credentials\""},
        }};
}

Section section_for(TlsReports& s) {
    return {
        "tls_reports",
        "Daily reports to other domains on how TLS with their mail servers went (RFC 8460). A domain gets one "
        "if it asks for it (TXT record _smtp._tls.<domain>) and mail was sent to it that day.",
        {
            {"enabled", BoolKey{&s.enabled}, "Count TLS sessions and send reports.", ""},
            {"organization", any_text(s.organization), "Who reports. By default the host name.",
             "\"Example Ltd\""},
            {"contact", address(s.contact), "Whom readers may ask. By default postmaster of the host name.",
             "\"postmaster@example.com\""},
            {"from", address(s.from),
             "Sender of reports that go by mail. By default postmaster of the host name. Sessions for mail from "
             "this address are not counted, or two systems would report on their reports for ever.",
             "\"tls-reports@example.com\""},
            {"delay", DurationKey{&s.delay, 0s, 20h},
             "Reports on a day (UTC) are sent at a random time within so long after its end.", ""},
        }};
}

} // namespace config
