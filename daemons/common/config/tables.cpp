#include "daemons/common/config/kinds.h"
#include "daemons/common/config/units.h"

namespace config {

namespace {

constexpr Word<LogLevel> levels[] = {{"error", LogLevel::error},
                                     {"warning", LogLevel::warning},
                                     {"info", LogLevel::info},
                                     {"debug", LogLevel::debug}};
constexpr Word<Service> services[] = {{"relay", Service::relay}, {"submission", Service::submission}};
constexpr Word<ListenerTls> listener_tls[] = {{"no", ListenerTls::no},
                                              {"offer", ListenerTls::offer},
                                              {"require", ListenerTls::require},
                                              {"implicit", ListenerTls::implicit}};
constexpr Word<Vrfy> vrfy_answers[] = {
    {"off", Vrfy::off}, {"noncommittal", Vrfy::noncommittal}, {"verify", Vrfy::verify}};
constexpr std::string_view sasl_mechanisms[] = {"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256", "PLAIN", "LOGIN"};
constexpr Word<TlsVersion> tls_versions[] = {{"1.2", TlsVersion::tls_1_2}, {"1.3", TlsVersion::tls_1_3}};
constexpr Word<decide::TlsLevel> tls_levels[] = {{"none", decide::TlsLevel::none},
                                                 {"may", decide::TlsLevel::may},
                                                 {"encrypt", decide::TlsLevel::encrypt},
                                                 {"verify", decide::TlsLevel::verify}};
constexpr Word<BareNewlines> newlines[] = {{"normalise", BareNewlines::normalise},
                                           {"reject", BareNewlines::reject}};

using PolicyKind = decide::queue::RetryPolicy::Kind;
constexpr Word<PolicyKind> policy_kinds[] = {{"exchange", PolicyKind::exchange},
                                             {"exponential", PolicyKind::exponential},
                                             {"fixed", PolicyKind::fixed},
                                             {"steps", PolicyKind::steps}};

Text name_of_policy(std::string& value) {
    return {[&value](std::string_view text) -> std::string {
                if (text.empty()) return "the name is empty";
                value = text == "exchange" ? "" : text;
                return "";
            },
            [&value] { return value.empty() ? std::string("exchange") : value; }};
}

List reply_rules(std::vector<decide::ReplyRule>& values) {
    return list_of<decide::ReplyRule>(
        values, [](std::string_view text, decide::ReplyRule& value) -> std::string {
            const auto rule = decide::ReplyRule::parse(text);
            if (!rule)
                return fmt::format("\"{}\" makes no sense; say as \"550 5.7.1 at MAIL is temporary\"", text);
            value = *rule;
            return "";
        });
}

List durations(std::vector<smtp::Duration>& values) {
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

} // namespace

Section table_of(Mta& s) {
    return {"mta",
            "Who this system is.",
            {
                {"hostname", domain(s.hostname),
                 "Full name of this host: in the greeting, in EHLO, in Received fields and reports. By "
                 "default the "
                 "system's name (with .localdomain added if it has no dot).",
                 "\"mail.example.com\""},
                {"origin", domain(s.origin),
                 "Domain that completes addresses written without one. By default the host name.",
                 "\"example.com\""},
                {"users", Flag{&s.users},
                 "With false everything runs as the user who starts it, and mail is delivered only to the "
                 "users that "
                 "local.users lists (single-user mode).",
                 ""},
                {"user", word(s.user), "The user the daemons run as when started by root. Master and the local daemon stay root.", ""},
                {"drop_group", word(s.drop_group),
                 "Group of the set-gid helper that writes to the drop directory.", ""},
                {"admin_group", word(s.admin_group), "Group whose members may use the control socket.", ""},
            }};
}

Section table_of(Spool& s) {
    return {"spool",
            "Where mail is kept from acceptance to the end.",
            {
                {"directory", any_text(s.directory),
                 "The spool's directory. It must lie on one local file system.", ""},
                {"minimum_free", Size{&s.minimum_free, 0, 1024 * GiB},
                 "With less free space than this, new mail is refused for the time being (452 4.3.1).", ""},
                {"minimum_free_inodes", Count{&s.minimum_free_inodes, 0, 1'000'000'000},
                 "The same for free inodes.", ""},
                {"reserve", Size{&s.reserve, 0, 16 * GiB},
                 "Space kept back so that reports can still be written when the disk is full.", ""},
                {"scrub_interval", Span{&s.scrub_interval, 0s, 24h * 365},
                 "Mail that waits is read again once in this time, to find damage while it may be mended; "
                 "\"0s\" turns this off.",
                 ""},
                {"sync_threads", Count{&s.sync_threads, 1, 256},
                 "How many files each writing process makes durable side by side, and the queue-manager reads side by "
                 "side at its start.",
                 ""},
            }};
}

Section table_of(Log& s) {
    return {"log",
            "Where log lines go. Their format is the one mail log analysers know.",
            {
                {"file", any_text(s.file),
                 "Log file; \"\" for none. Re-opened on SIGHUP; /dev/stdout is allowed.", ""},
                {"syslog", Flag{&s.syslog}, "Also send every line to syslog, facility mail.", ""},
                {"syslog_socket", any_text(s.syslog_socket), "The datagram socket syslog listens on.", ""},
                {"name", word(s.name), "What stands before \"/smtpd[123]:\" in every line.", ""},
                {"level", one_of(s.level, levels),
                 "The least important lines written: error, warning, info, debug.", ""},
                {"json", Flag{&s.json}, "The file gets one JSON object per line instead.", ""},
                {"buffer", Size{&s.buffer, 4 * KiB, GiB},
                 "Lines waiting for a slow sink, per process. What exceeds it is counted, lost, and the "
                 "count logged.",
                 ""},
            }};
}

Section table_of(Local& s) {
    return {
        "local",
        "Mail for people on this system.",
        {
            {"domains", domains(s.domains),
             "Domains whose mail is delivered here. By default the host name and localhost.",
             "[\"mail.example.com\", \"localhost\"]"},
            {"aliases", paths(s.aliases),
             "Alias files in the format of aliases(5), asked in this order. A change is noticed within two "
             "seconds. A file named here must exist when the configuration is checked; the default one may "
             "be "
             "missing.",
             ""},
            {"mailbox", mailbox(s.mailbox),
             "\"maildir:PATH\" or \"mbox:PATH\"; {user} and {home} in it stand for the recipient's name and "
             "home "
             "directory.",
             ""},
            {"users", words(s.users),
             "Deliver only to these users. Empty: to all users of the system; in single-user mode, to the "
             "user "
             "who runs it.",
             ""},
            {"postmaster", any_text(s.postmaster),
             "Where mail for postmaster (and mailer-daemon) goes when no alias says so: a user or an "
             "address. By "
             "default root; in single-user mode the first of users.",
             "\"root\""},
            {"recipient_delimiter", any_text(s.recipient_delimiter),
             "user+anything is delivered like user; \"\" turns this off.", ""},
            {"minimum_uid", Count{&s.minimum_uid, 1, 4'294'967'294},
             "Mailboxes of users with a lower number are never written.", ""},
            {"lock_timeout", Span{&s.lock_timeout, 1s, 10min},
             "How long a delivery waits for an mbox that somebody else has locked, before it is deferred.",
             ""},
            {"alias_depth", Count{&s.alias_depth, 1, 1000}, "Aliases of aliases: how deep.", ""},
            {"alias_recipients", Count{&s.alias_recipients, 1, 1'000'000},
             "How many recipients one address may become.", ""},
        }};
}

Section table_of(Listener& s) {
    return {
        "listen.<name>",
        "One section per service that listens, with a name of your choice. Without any, [listen.smtp] on "
        "*:25.",
        {
            {"addresses", endpoints(s.addresses, 0),
             "Addresses and ports to listen on. \"*:25\" is every address, IPv6 and IPv4.", "[\"*:25\"]"},
            {"service", one_of(s.service, services),
             "\"relay\" takes mail from other systems for our domains (port 25); \"submission\" takes mail "
             "from our "
             "own users' programs for anywhere and completes its header (port 587).",
             ""},
            {"tls", one_of(s.tls, listener_tls),
             "\"offer\" STARTTLS, \"require\" it before anything else, \"implicit\" TLS from the first byte "
             "(port 465), or \"no\". By default \"require\" on submission; elsewhere \"offer\" where "
             "tls.certificates names one, else \"no\".",
             "\"no\""},
            {"client_certificates", Flag{&s.client_certificates},
             "Ask clients for a certificate; log and message say whether tls.client_authorities vouch for "
             "it.",
             ""},
            {"auth", Flag{&s.auth},
             "Let clients authenticate; who has may send to anywhere. By default on submission where [auth] "
             "names who decides.",
             ""},
            {"auth_without_tls", Flag{&s.auth_without_tls},
             "Offer that in plain text too: whoever listens on the way reads the passwords.", ""},
            {"submitters", networks(s.submitters),
             "submission: networks that may send without authenticating. Others are asked to (530).", ""},
            {"proxy_networks", networks(s.proxy_networks),
             "Balancers that connect here on behalf of clients: each connection must begin with a header of "
             "the PROXY protocol (version 1 or 2), and what it says counts as the client in every respect. "
             "All other peers are refused (554 5.7.1).",
             "[\"192.0.2.10\"]"},
            {"xclient_networks", networks(s.xclient_networks),
             "Proxies that may say by XCLIENT who the client is and who it has authenticated as; from then on "
             "the session is that client's in every respect. Others get 550 5.7.0.",
             "[\"192.0.2.11\"]"},
            {"xforward_networks", networks(s.xforward_networks),
             "Mail servers that may say by XFORWARD where a message came from before; this is only for the "
             "log. Others get 550 5.7.0.",
             "[\"127.0.0.1\"]"},
            {"message_size", Size{&s.message_size, 1 * KiB, 4 * GiB},
             "As smtpd.message_size, for this listener.", "\"50MiB\""},
            {"recipients", Count{&s.recipients, 1, 1'000'000}, "As smtpd.recipients, for this listener.",
             "1000"},
            {"sessions", Count{&s.sessions, 1, 1'000'000}, "As smtpd.sessions, for this listener.", "5000"},
            {"sessions_per_network", Count{&s.limits.sessions_per_network, 1, 1'000'000},
             "As smtpd.sessions_per_network, for who connects to this listener; so the following.", "500"},
            {"connections_per_minute", Count{&s.limits.connections_per_minute, 0, 10'000'000},
             "As in [smtpd].", ""},
            {"messages_per_minute", Count{&s.limits.messages_per_minute, 0, 10'000'000}, "As in [smtpd].", ""},
            {"recipients_per_minute", Count{&s.limits.recipients_per_minute, 0, 10'000'000}, "As in [smtpd].",
             ""},
            {"user_connections_per_minute", Count{&s.limits.user_connections_per_minute, 0, 10'000'000},
             "As in [smtpd].", ""},
            {"user_messages_per_hour", Count{&s.limits.user_messages_per_hour, 0, 10'000'000},
             "As in [smtpd].", ""},
            {"user_recipients_per_hour", Count{&s.limits.user_recipients_per_hour, 0, 10'000'000},
             "As in [smtpd].", ""},
            {"smtputf8", Flag{&s.smtputf8},
             "Take addresses and header fields in UTF-8 (SMTPUTF8). Such mail goes back to its sender where "
             "the "
             "next system does not take it and it has no form in ASCII.",
             ""},
            {"vrfy", one_of(s.vrfy, vrfy_answers),
             "What VRFY says: \"noncommittal\" (252, whoever was asked about), \"verify\" (as RCPT would "
             "answer, so that anybody can find out who is here), or \"off\" (502).",
             ""},
            {"etrn_networks", networks(s.etrn_networks),
             "Clients that may ask by ETRN for the mail waiting for a domain to be tried now. Not offered "
             "where "
             "nobody may.",
             "[\"192.0.2.0/24\"]"},
            {"etrn_users", Flag{&s.etrn_users}, "Clients that have authenticated may too.", ""},
        }};
}

Section table_of(Relay& s) {
    return {
        "relay",
        "Whose mail is passed on without authentication. All other mail for elsewhere is refused with 554 5.7.1.",
        {
            {"networks", networks(s.networks), "Clients that may send to any domain.", ""},
            {"domains", domain_set(s.domains),
             "Domains accepted from everybody and sent on by their route or MX (a secondary MX, a gateway). "
             "\".example.com\" is everything below example.com.",
             "[\"example.net\", \".example.net\"]"},
        }};
}

Section table_of(decide::RouteRule& s) {
    return {"route.\"<domain>\"",
            "Where mail for a domain goes: \"example.com\" for itself, \".example.com\" for everything below "
            "it, \"*\" "
            "for what no other rule serves (a relay host). The longest match wins. Without a rule: the "
            "domain's MX.",
            {
                {"next_hop", NextHops{&s.next_hops},
                 "One place or a list in order of preference; places in a list inside the list are equals. "
                 "\"[host]:port\" and \"[address]:port\" are a host itself; \"name\" is the MX hosts of that "
                 "name; "
                 "\"mx\" is the MX hosts of the recipient's domain. A rule is either hosts in brackets or "
                 "one name. The next in order serves while the one before it is down "
                 "(queue.link_down_after).",
                 "\"[relay.example.net]:25\""},
                {"tls", one_of(s.tls, tls_levels), "As smtp_client.tls, for mail to these domains.", "\"may\""},
                {"connections", Count{&s.connections, 1, 10'000},
                 "Connections at the same time to this next hop. By default those of [queue].", "100"},
                {"messages_per_second", Count{&s.queueing.messages_per_second, 1, 1'000'000},
                 "At most so many transactions a second. By default no limit.", "50"},
                {"messages_per_hour", Count{&s.queueing.messages_per_hour, 1, 1'000'000'000},
                 "At most so many transactions an hour, evenly. By default no limit.", "10000"},
                {"connections_per_second", Count{&s.queueing.connections_per_second, 1, 1'000'000},
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
                {"glitch_interval", Span{&s.queueing.glitch_interval, 1s, 24h}, "Instead of that of [queue].",
                 "\"60s\""},
                {"glitch_count", Count{&s.queueing.glitch_count, 1, 1000}, "Instead of that of [queue].", "3"},
                {"retry_interval", Span{&s.queueing.retry_interval, 1s, 24h}, "Instead of that of [queue].",
                 "\"10m\""},
                {"retry_count", Count{&s.queueing.retry_count, 1, 1000}, "Instead of that of [queue].", "3"},
                {"retry_interval_after", Span{&s.queueing.retry_interval_after, 1s, 24h},
                 "Instead of that of [queue].", "\"15m\""},
                {"failures_before_problem", Count{&s.queueing.failures_before_problem, 1, 1000},
                 "Instead of that of [queue].", "2"},
            }};
}

Section table_of(decide::queue::RetryPolicy& s) {
    return {"retry.<name>",
            "A way to try again, used by routes that name it. A link's failures count for the messages their "
            "tries were made for; when no try is left, the mail goes back to its sender.",
            {
                {"kind", one_of(s.kind, policy_kinds),
                 "exponential: base, then factor times as long each time. fixed: every interval. steps: each of "
                 "steps once.",
                 ""},
                {"base", Span{&s.base, 1s, 24h}, "exponential: the first wait.", ""},
                {"factor", Count{&s.factor, 1, 100}, "exponential: how much longer each wait is, up to a day.", ""},
                {"interval", Span{&s.interval, 1s, 24h}, "fixed: every wait.", ""},
                {"attempts", Count{&s.attempts, 0, 100'000},
                 "exponential, fixed: tries in all; 0: until the mail expires.", ""},
                {"steps", durations(s.waits), "steps: the waits, one after the other.",
                 "[\"1m\", \"5m\", \"30m\", \"2h\", \"8h\"]"},
                {"jitter", Fraction{&s.jitter}, "Every wait is made longer by up to this fraction, at random.", ""},
            }};
}

Section table_of(Dns& s) {
    return {
        "dns",
        "Name look-ups.",
        {
            {"servers", endpoints(s.servers, 53),
             "Name servers, asked in this order. By default those of /etc/resolv.conf.",
             "[\"127.0.0.1:53\"]"},
            {"timeout", Span{&s.timeout, 100ms, 1min}, "Wait for an answer; doubles with every further try.",
             ""},
            {"tries", Count{&s.tries, 1, 10}, "How often each server is asked.", ""},
            {"edns_size", Count{&s.edns_size, 512, 4096}, "Largest answer by UDP; larger ones come by TCP.",
             ""},
            {"cache_entries", Count{&s.cache_entries, 0, 10'000'000}, "Answers remembered, per process.", ""},
            {"maximum_ttl", Span{&s.maximum_ttl, 0s, 7 * 24h}, "No answer is believed for longer.", ""},
            {"minimum_ttl", Span{&s.minimum_ttl, 0s, 1h}, "Every answer is believed for at least that long.",
             ""},
            {"negative_ttl", Span{&s.negative_ttl, 0s, 24h},
             "\"No such name\" and \"no such record\" are believed for no longer.", ""},
            {"failure_ttl", Span{&s.failure_ttl, 0s, 1h},
             "A look-up that failed is not repeated before that.", ""},
        }};
}

Section table_of(decide::queue::Settings& s) {
    constexpr Duration year = 365 * 24h;
    return {
        "queue",
        "Waiting, retrying, giving up; how many connections. A link is all mail that shares one next hop (a "
        "set of "
        "hosts); a queue is the mail for one domain.",
        {
            {"glitch_interval", Span{&s.glitch_interval, 1s, 24h}, "Wait after a first failure.", ""},
            {"glitch_count", Count{&s.glitch_count, 1, 100},
             "Failures in a row until it is no glitch any more.", ""},
            {"retry_interval", Span{&s.retry_interval, 1s, 24h}, "The wait after that.", ""},
            {"retry_count", Count{&s.retry_count, 0, 1000}, "So many waits of that length.", ""},
            {"retry_interval_after", Span{&s.retry_interval_after, 1s, 7 * 24h}, "All further waits.", ""},
            {"jitter", Fraction{&s.jitter}, "Every wait is made longer by up to this fraction, at random.",
             ""},
            {"failures_before_problem", Count{&s.failures_before_problem, 0, 1000},
             "A message that failed so often lets all others pass; 0 turns this off.", ""},
            {"problem_share", Count{&s.problem_share, 2, 10'000},
             "On a busy queue one delivery in so many is such a message all the same.", ""},
            {"health_evidence", Span{&s.health_evidence, 0s, 1h},
             "A queue that delivered mail so recently is healthy; a failure then concerns one message only.",
             ""},
            {"link_health_evidence", Span{&s.link_health_evidence, 0s, 1h},
             "While a connection was useful so recently, a refused further one does not fail the link.", ""},
            {"deaths_before_hold", Count{&s.deaths_before_hold, 1, 100},
             "A message that was alone in the hands of a process when it crashed, so many times, is held.",
             ""},
            {"local_retry", Span{&s.local_retry, 1s, 24h}, "Wait when delivery to a mailbox failed for now.",
             ""},
            {"categorize_retry", Span{&s.categorize_retry, 1s, 24h},
             "Wait when recipients could not be worked out; doubles.", ""},
            {"categorize_retry_max", Span{&s.categorize_retry_max, 1s, 7 * 24h}, "The longest such wait.",
             ""},
            {"max_pending_categorizations", Count{&s.max_pending_categorizations, 1, 1'000'000},
             "Messages whose recipients are being worked out at the same time.", ""},
            {"recategorize_on_start", Flag{&s.recategorize_on_start},
             "Recipients found in the spool are worked out anew: after aliases or local domains were changed.",
             ""},
            {"routing_retry", Span{&s.routing_retry, 1s, 24h},
             "Wait when the next hop could not be looked up; doubles.", ""},
            {"routing_retry_max", Span{&s.routing_retry_max, 1s, 7 * 24h}, "The longest such wait.", ""},
            {"submit_retry", Span{&s.submit_retry, 1s, 24h}, "Wait when a report could not be written.", ""},
            {"requeue_retry", Span{&s.requeue_retry, 1s, 24h}, "Wait after an error of our own.", ""},
            {"link_down_after", Span{&s.link_down_after, 0s, 24h},
             "The link of a configured route that has been in retry for so long is down: its mail goes by the "
             "route's next one.",
             ""},
            {"link_up_after", Span{&s.link_up_after, 0s, 24h},
             "A link that is down is up again after two good probes so far apart.", ""},
            {"reset_routes_retry", Span{&s.reset_routes_retry, 1s, 24h},
             "Routes are looked up anew when a link goes down or comes up; wait when that did not work for all.",
             ""},
            {"overdue_spread", Span{&s.overdue_spread, 0s, 24h},
             "Mail whose retry is overdue at start is spread over up to this time, the less of it the shorter.",
             ""},
            {"expiry", Span{&s.expiry, 1s, year}, "Mail not delivered by then goes back to its sender.", ""},
            {"report_expiry", Span{&s.report_expiry, 1s, year}, "The same for reports.", ""},
            {"delay_notice", Span{&s.delay_notice, 0s, year},
             "The sender is told once that mail is delayed, after this time; \"0s\" turns this off.", ""},
            {"report_gather", Span{&s.report_gather, 0s, 10min},
             "Failures of one message within this time share a report.", ""},
            {"lane_weights", Counts{s.lane_weights, 1, 1000}, "Shares of high, normal and bulk mail.", ""},
            {"recipients_per_transaction", Count{&s.recipients_per_transaction, 1, 10'000},
             "Recipients sent in one go.", ""},
            {"batch", Count{&s.batch, 1, 1000}, "Deliveries handed to one connection at a time.", ""},
            {"drain_target", Span{&s.drain_target, 10ms, 1h},
             "Another connection is opened when the open ones would take longer for what waits.", ""},
            {"window_start", Count{&s.window_start, 1, 1000},
             "Connections of an MX link before any of them succeeded.", ""},
            {"window_start_route", Count{&s.window_start_route, 1, 10'000},
             "Connections of the link of a configured route before any of them succeeded.", ""},
            {"connections_mx", Count{&s.connections_mx, 1, 10'000},
             "Connections of a link whose hosts come from MX records.", ""},
            {"connections_route", Count{&s.connections_route, 1, 10'000},
             "Connections of the link of a configured route.", ""},
            {"connections_per_address", Count{&s.connections_per_address, 1, 10'000},
             "Connections to one remote address, whatever links they belong to: domains with many MX names may "
             "all lie on one host. For the address of a configured route its own limit holds.",
             ""},
            {"connections_local", Count{&s.connections_local, 1, 1000},
             "Deliveries to mailboxes at the same time.", ""},
            {"connections_total", Count{&s.connections_total, 1, 100'000},
             "Connections of all links together.", ""},
            {"link_share", Count{&s.link_share, 1, 1000},
             "While others wait, no link holds more than one part in so many of them.", ""},
            {"messages_per_connection", Count{&s.messages_per_connection, 1, 100'000},
             "Messages until a connection is closed.", ""},
            {"connection_idle", Span{&s.connection_idle, 0s, 5min},
             "How long a connection without work is kept.", ""},
            {"push_back_pause", Span{&s.push_back_pause, 0s, 10min},
             "After a server asked for fewer connections, none is added for so long.", ""},
            {"settle_after", Span{&s.settle_after, 0s, 10min},
             "A message not delivered by then is moved from incoming/ to messages/.", ""},
            {"forget_after", Span{&s.forget_after, 1s, 7 * 24h},
             "A link or queue with nothing to do and nothing to remember is forgotten.", ""},
        }};
}

Section table_of(SmtpClient& s) {
    return {
        "smtp_client",
        "Sending to other systems. Limits of connections and retries are in [queue].",
        {
            {"workers", Count{&s.workers, 1, 64},
             "Processes. By default one for every two processors, 8 at most.", "1"},
            {"helo", domain(s.helo), "Name given in EHLO. By default the host name.", "\"mail.example.com\""},
            {"connect_timeout", Span{&s.connect_timeout, 1s, 10min}, "For a connection to come up.", ""},
            {"greeting_timeout", Span{&s.greeting_timeout, 1s, 1h}, "For the server's first line.", ""},
            {"command_timeout", Span{&s.command_timeout, 1s, 1h}, "For the reply to EHLO, MAIL, RCPT, RSET.",
             ""},
            {"data_timeout", Span{&s.data_timeout, 1s, 1h}, "For the reply to DATA.", ""},
            {"block_timeout", Span{&s.block_timeout, 1s, 1h}, "For a block of content to be taken.", ""},
            {"final_dot_timeout", Span{&s.final_dot_timeout, 1s, 2h},
             "For the verdict on a message. A short one makes duplicates.", ""},
            {"addresses_per_attempt", Count{&s.addresses_per_attempt, 1, 50},
             "Addresses tried before an attempt has failed.", ""},
            {"ipv4", Flag{&s.ipv4}, "Use IPv4.", ""},
            {"ipv6", Flag{&s.ipv6}, "Use IPv6.", ""},
            {"pipelining", Flag{&s.pipelining}, "Send commands in groups to servers that offer PIPELINING.",
             ""},
            {"tls", one_of(s.tls, tls_levels),
             "\"none\": plain text always. \"may\": TLS where a server offers STARTTLS and it works, else "
             "plain text. \"encrypt\": TLS or not at all; mail waits where there is none. \"verify\": the same, "
             "and the server's certificate must prove the name of the host it was reached by. A route's tls "
             "says otherwise for its domains.",
             ""},
            {"tls_minimum_version", one_of(s.tls_minimum_version, tls_versions),
             "The oldest version of TLS spoken: \"1.2\" or \"1.3\".", ""},
            {"tls_ciphers", any_text(s.tls_ciphers),
             "Ciphers of TLS 1.2, in the words of openssl-ciphers(1); \"\" for those of the library.", ""},
            {"tls_authorities", any_text(s.tls_authorities),
             "File with the certificates (PEM) that vouch for those of servers; \"\" for none: then nothing "
             "can be verified.",
             ""},
        }};
}

Section table_of(Smtpd& s) {
    return {
        "smtpd",
        "Receiving from other systems and programs over SMTP.",
        {
            {"workers", Count{&s.workers, 1, 64},
             "Processes. By default one for every two processors, 8 at most.", "1"},
            {"message_size", Size{&s.message_size, 1 * KiB, 4 * GiB}, "Largest message accepted.", ""},
            {"recipients", Count{&s.recipients, 1, 1'000'000}, "Recipients per message; more get 452 4.5.3.",
             ""},
            {"command_line", Count{&s.command_line, 512, 65'536}, "Longest command line, in bytes.", ""},
            {"header_size", Size{&s.header_size, 4 * KiB, 64 * MiB}, "Largest header; more gets 552 5.3.4.",
             ""},
            {"header_fields", Count{&s.header_fields, 10, 1'000'000},
             "Fields in a header; more get 554 5.6.0.", ""},
            {"received_fields", Count{&s.received_fields, 10, 1000},
             "A message that has come through more systems is in a loop (554 5.4.6).", ""},
            {"commands", Count{&s.commands, 100, 10'000'000},
             "Commands without a message among them; then 421.", ""},
            {"soft_errors", Count{&s.soft_errors, 1, 1000}, "From here on every error costs error_delay.",
             ""},
            {"hard_errors", Count{&s.hard_errors, 1, 1000}, "Errors until the session is ended (421).", ""},
            {"error_delay", Span{&s.error_delay, 0s, 1min}, "Pause before the reply to an error.", ""},
            {"command_timeout", Span{&s.command_timeout, 1s, 1h}, "For a complete command.", ""},
            {"data_timeout", Span{&s.data_timeout, 1s, 1h}, "For the next bytes of a message.", ""},
            {"minimum_rate", Size{&s.minimum_rate, 0, GiB},
             "Bytes a second a client must send of a message, measured over a minute; 0 turns this off.", ""},
            {"sessions", Count{&s.sessions, 1, 1'000'000}, "Sessions per process; more get 421.", ""},
            {"sessions_per_network", Count{&s.limits.sessions_per_network, 1, 1'000'000},
             "Sessions of one client network (an IPv4 address, an IPv6 /64) per process.", ""},
            {"connections_per_minute", Count{&s.limits.connections_per_minute, 0, 10'000'000},
             "New connections of one client network per process and minute; 0 turns this off.", ""},
            {"bare_newlines", one_of(s.bare_newlines, newlines),
             "A bare CR or LF in a message: \"normalise\" makes it CRLF, \"reject\" refuses the message.",
             ""},
            {"check_recipients", Flag{&s.check_recipients},
             "Refuse unknown local users at RCPT (550 5.1.1) instead of reporting them afterwards.", ""},
            {"reverse_names", Flag{&s.reverse_names},
             "Look up the client's name (PTR, confirmed by A or AAAA) for log and Received field.", ""},
            {"reverse_name_timeout", Span{&s.reverse_name_timeout, 100ms, 1min},
             "After that the client is \"unknown\".", ""},
            {"proxy_timeout", Span{&s.proxy_timeout, 100ms, 1min},
             "For the header of the PROXY protocol, from listen.<name>.proxy_networks.", ""},
            {"greeting_delay", Span{&s.greeting_delay, 0s, 1min},
             "How long clients outside relay.networks wait for the greeting. Who speaks before it (most "
             "programs that only send junk) is refused with 554 5.5.0.",
             ""},
            {"dns_list_threshold", Count{&s.dns_list_threshold, 1, 1000},
             "Clients whose [dns_list] weights add up to this are refused (554 5.7.1).", ""},
            {"messages_per_minute", Count{&s.limits.messages_per_minute, 0, 10'000'000},
             "Messages from one client network outside relay.networks, per listener, process and minute; "
             "more get 450 4.7.1. 0 turns this off.",
             ""},
            {"recipients_per_minute", Count{&s.limits.recipients_per_minute, 0, 10'000'000},
             "The same for recipients.", ""},
            {"user_connections_per_minute", Count{&s.limits.user_connections_per_minute, 0, 10'000'000},
             "Connections in which one user authenticates, per listener, process and minute; more get 421 "
             "4.7.0. 0 turns this off.",
             ""},
            {"user_messages_per_hour", Count{&s.limits.user_messages_per_hour, 0, 10'000'000},
             "Messages from one authenticated user, per listener, process and hour; more get 450 4.7.1. 0 "
             "turns this off.",
             ""},
            {"user_recipients_per_hour", Count{&s.limits.user_recipients_per_hour, 0, 10'000'000},
             "The same for recipients.", ""},
            {"etrn_per_hour", Count{&s.etrn_per_hour, 0, 10'000'000},
             "ETRN commands of one client network, per process and hour; more get 458. 0 turns this off.",
             ""},
        }};
}

Section table_of(Tls& s) {
    return {
        "tls",
        "Certificates and rules for TLS. Certificates are read again at reload and, within a minute, when "
        "their files change.",
        {
            {"certificates", paths(s.certificates),
             "Files with a certificate and its chain (PEM), read before rights are dropped. The first serves "
             "clients that ask for no name (SNI) or for one that none of them has.",
             ""},
            {"keys", paths(s.keys),
             "Files with their private keys, in the same order. Without any, each key is in the file of its "
             "certificate.",
             ""},
            {"client_authorities", any_text(s.client_authorities),
             "File with the certificates (PEM) that vouch for those of clients; \"\" for none.", ""},
            {"minimum_version", one_of(s.minimum_version, tls_versions),
             "The oldest version of TLS spoken: \"1.2\" or \"1.3\".", ""},
            {"ciphers", any_text(s.ciphers),
             "Ciphers of TLS 1.2, in the words of openssl-ciphers(1); \"\" for those of the library.", ""},
            {"session_tickets", Flag{&s.session_tickets},
             "Let clients come back without a whole handshake. The keys are shared by all workers and live "
             "in memory only.",
             ""},
            {"ticket_lifetime", Span{&s.ticket_lifetime, 1min, 7 * 24h},
             "So long a key seals tickets; then a new one does, and the old one opens for as long again.",
             ""},
            {"handshake_timeout", Span{&s.handshake_timeout, 1s, 10min}, "For the handshake of a client.",
             ""},
        }};
}

Section table_of(Auth& s) {
    return {
        "auth",
        "Who may authenticate (AUTH): a file that \"postrider passwd\" writes, or Dovecot's auth service.",
        {
            {"passwords", any_text(s.passwords),
             "File with users and their passwords, hashed; only master reads it. A change is noticed like "
             "that of a certificate.",
             ""},
            {"dovecot", any_text(s.dovecot), "UNIX socket of Dovecot's auth service (auth-client) instead.",
             ""},
            {"mechanisms", one_of_list(s.mechanisms, sasl_mechanisms),
             "What is offered. Those that end in -PLUS only under TLS and with the password file.", ""},
            {"failure_delay", Span{&s.failure_delay, 0s, 1min}, "Pause before the reply to a wrong password.",
             ""},
            {"failures_per_network", Count{&s.failures_per_network, 0, 1'000'000},
             "After so many wrong passwords from one network, per process, within failure_window, AUTH is "
             "answered 421; 0 turns this off.",
             ""},
            {"failure_window", Span{&s.failure_window, 1s, 24h}, "So long are failures remembered.", ""},
            {"checks", Count{&s.checks, 1, 1000},
             "Passwords checked, or questions put to Dovecot, at the same time, per process. A check takes "
             "much time on purpose.",
             ""},
            {"checks_waiting", Count{&s.checks_waiting, 0, 100'000},
             "How many may wait for that; more are told to try again later (454 4.7.0).", ""},
            {"sender_match", Flag{&s.sender_match},
             "An authenticated user may only send as himself: NAME in a local domain or the origin, NAME "
             "itself if it is an address, and those the password file lists for him (553 5.7.1).",
             ""},
        }};
}

Section table_of(Submit& s) {
    return {
        "submit",
        "Mail from programs on this host: sendmail(1), the submit socket, the drop directory.",
        {
            {"message_size", Size{&s.message_size, 1 * KiB, 4 * GiB}, "Largest message accepted.", ""},
            {"recipients", Count{&s.recipients, 1, 1'000'000}, "Recipients per message.", ""},
            {"connections", Count{&s.connections, 1, 10'000}, "Submissions at the same time.", ""},
            {"connections_per_user", Count{&s.connections_per_user, 1, 10'000}, "The same, of one user.", ""},
            {"user_messages_per_hour", Count{&s.user_messages_per_hour, 0, 10'000'000},
             "Messages of one user; sendmail exits with 75 (try again later) at more. 0 turns this off.", ""},
            {"user_bytes_per_hour", Size{&s.user_bytes_per_hour, 0, 1024 * GiB}, "The same for their sizes.",
             ""},
            {"timeout", Span{&s.timeout, 1s, 1h}, "For the next bytes of a submission.", ""},
            {"drop_interval", Span{&s.drop_interval, 1s, 1h},
             "The drop directory is watched, and looked through that often all the same.", ""},
        }};
}

Section table_of(Bounce& s) {
    return {
        "bounce",
        "Reports to senders: what failed, what is delayed.",
        {
            {"display_name", any_text(s.display_name), "Name in front of the report's From address.", ""},
            {"templates", any_text(s.templates),
             "Directory with texts of your own; \"\" for the built-in ones.", ""},
            {"dsn_full_content_limit", Size{&s.full_content_limit, 0, 64 * MiB},
             "A report on a larger message carries its header only.", ""},
            {"dsn_over_quota_partial_headers", Flag{&s.over_quota_partial_headers},
             "A report to a mailbox that is over quota carries only the most important header fields.", ""},
        }};
}

Section table_of(Master& s) {
    return {"master",
            "Starting and watching the daemons.",
            {
                {"heartbeat_interval", Span{&s.heartbeat_interval, 100ms, 1h},
                 "How often every daemon is asked.", ""},
                {"heartbeat_timeout", Span{&s.heartbeat_timeout, 1s, 1h},
                 "A daemon that has not answered for so long is killed and started anew.", ""},
                {"restart_delay", Span{&s.restart_delay, 10ms, 1min},
                 "Before a daemon that died is started again; doubles while it keeps dying.", ""},
                {"restart_delay_limit", Span{&s.restart_delay_limit, 1s, 1h}, "The longest such delay.", ""},
                {"stop_timeout", Span{&s.stop_timeout, 1s, 1h},
                 "At stop: how long daemons may take to finish what is in flight.", ""},
            }};
}

std::vector<Section> fixed_sections(Config& c) {
    return {table_of(c.mta),    table_of(c.spool), table_of(c.log),         table_of(c.local),
            table_of(c.relay),  table_of(c.dns),   table_of(c.tls),         table_of(c.auth),
            table_of(c.queue),  table_of(c.smtpd), table_of(c.content), table_of(c.copies),
            table_of(c.smtp_client), table_of(c.submit),
            table_of(c.bounce), table_of(c.master)};
}

} // namespace config
