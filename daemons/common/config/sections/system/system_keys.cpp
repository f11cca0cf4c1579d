// The keys of the system itself, of its spool and log, and of the lifetime and return of mail.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/system/log.h"
#include "daemons/common/config/sections/system/master.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/text/units.h"

namespace config {

namespace {

constexpr EnumValue<LogLevel> levels[] = {
    {"error", LogLevel::error}, {"warning", LogLevel::warning}, {"info", LogLevel::info}, {"debug", LogLevel::debug}};

// As other nodes take it: the log and the journal show it.
TextKey node_name(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                constexpr std::size_t longest = 255;
                const auto allowed = [](char c) { return c > ' ' && c < 0x7f && c != ':' && c != '['; };
                if (text.empty() || text.size() > longest || !std::ranges::all_of(text, allowed))
                    return fmt::format("expected one word of at most {} ASCII characters, without \":\" and \"[\"",
                                       longest);
                value = text;
                return std::nullopt;
            },
            [&value] { return value; }};
}

// A mailbox's form and path: "maildir:PATH", "mbox:PATH".
TextKey mailbox(Mailbox& value) {
    return {[&](std::string_view text) -> Refusal {
                Mailbox read;
                if (text.starts_with("maildir:"))
                    read.format = MailboxFormat::maildir;
                else if (!text.starts_with("mbox:"))
                    return "expected \"maildir:PATH\" or \"mbox:PATH\"";
                read.path = text.substr(text.find(':') + 1);
                if (read.path.empty()) return "the path is missing: expected \"maildir:PATH\" or \"mbox:PATH\"";
                for (auto open = read.path.find('{'); open != read.path.npos; open = read.path.find('{', open + 1)) {
                    const auto rest = std::string_view(read.path).substr(open);
                    if (!rest.starts_with("{user}") && !rest.starts_with("{home}"))
                        return "only {user} and {home} are allowed in braces";
                }
                value = read;
                return std::nullopt;
            },
            [&] { return value.to_string(); }};
}

} // namespace

Section section_for(Mta& s) {
    return {"mta",
            "Identity of this system.",
            {
                {"hostname", domain(s.hostname),
                 "Fully qualified name of this host, used in the greeting, in EHLO, in Received fields and in "
                 "reports. The default is the name in /etc/mailname if that file exists, otherwise the system's host "
                 "name; .localdomain is appended to a name without a dot.",
                 "\"mail.example.com\""},
                {"origin", domain(s.origin),
                 "Domain that is appended to addresses without one. The default is the name in /etc/mailname if that "
                 "file exists, otherwise the host name.",
                 "\"example.com\""},
                {"node", node_name(s.node),
                 "Name of this node, if there are several that messages are moved between: it must be different on "
                 "each of them, and must not change while messages are being moved, because other nodes know by it "
                 "which messages they have. Required if there are [node] sections; otherwise the default is "
                 "mta.hostname.",
                 "\"mx1\""},
                {"multi_user", BoolKey{&s.users},
                 "Whether to serve all users of this system. If false, everything runs as the user who starts it, "
                 "and mail is delivered only to the users listed in local.users (single-user mode).",
                 ""},
                {"user", non_empty_text(s.user),
                 "User that the daemons run as when Postrider is started by root. Master and the local daemon remain "
                 "root.",
                 ""},
                {"drop_group", non_empty_text(s.drop_group),
                 "Group of the set-gid helper that writes to the drop directory.", ""},
                {"admin_group", non_empty_text(s.admin_group), "Group whose members may use the control socket.", ""},
            }};
}

Section section_for(Spool& s) {
    return {
        "spool",
        "Storage of mail from acceptance until every recipient is accounted for.",
        {
            {"directory", any_text(s.directory),
             "Spool directory. It must be on one local file system. If you change it, make the default path a "
             "symbolic link to it: while Postrider is not running, programs on this host leave their mail there.",
             ""},
            {"minimum_free", SizeKey{&s.minimum_free, 0, 1024 * GiB},
             "Minimum free space. If less is free, new mail is rejected temporarily (452 4.3.1).", ""},
            {"minimum_free_inodes", IntKey{&s.minimum_free_inodes, 0, 1'000'000'000},
             "Minimum number of free inodes. If fewer are free, new mail is rejected temporarily (452 "
             "4.3.1).",
             ""},
            {"reserve", SizeKey{&s.reserve, 0, 16 * GiB},
             "Space reserved so that reports can still be written when the disk is full.", ""},
            {"scrub_interval", DurationKey{&s.scrub_interval, 0s, 24h * 365},
             "Interval at which every queued message is read again, to find damage while it can still be "
             "repaired; \"0s\" disables this.",
             ""},
            {"sync_threads", IntKey{&s.sync_threads, 1, 256},
             "Number of files synced in parallel by each process that writes to the spool, and read in parallel "
             "by the queue-manager at startup.",
             ""},
            {"reused_files", IntKey{&s.reused_files, 0, 60'000},
             "Maximum number of files of 32 KiB that each process that writes to the spool uses again and again: "
             "writing over an existing file costs less than creating one for every message. They are created when "
             "they are needed first, and removed when the process has ended; at most an eighth of the descriptors that "
             "the process may have open are used for them. 0 means a new file for every message. Applied at start.",
             ""},
            {"content_memory", SizeKey{&s.content_memory, 8 * MiB, 64 * GiB},
             "Memory for messages being received, for each process that writes to the spool (each smtpd worker, "
             "and pickup). When half of it is in use, contents are written to their files earlier; at three "
             "quarters, senders of large messages must wait; when all of it is in use, new messages are rejected "
             "temporarily (452 4.3.1).",
             ""},
            {"bad_age", DurationKey{&s.bad_age, 0s, 24h * 3650},
             "How long messages in bad/ (undeliverable mail without a sender to report to) are kept; \"0s\" "
             "means forever.",
             ""},
            {"bad_size", SizeKey{&s.bad_size, 0, 1024 * GiB},
             "Maximum size of bad/. If it is exceeded, the oldest messages are removed. 0 means no limit.", ""},
            {"quarantine_age", DurationKey{&s.quarantine_age, 0s, 24h * 3650},
             "How long damaged files in quarantine/, and submissions in quarantine/incomplete/, are kept; \"0s\" "
             "means forever.",
             ""},
            {"quarantine_size", SizeKey{&s.quarantine_size, 0, 1024 * GiB},
             "Maximum size of each of quarantine/ and quarantine/incomplete/. If it is exceeded, the oldest "
             "files there are removed. 0 means no limit.",
             ""},
            {"removed_age", DurationKey{&s.removed_age, 0s, 24h * 365},
             "How long messages removed by an operator can be restored (\"postrider message restore\"); \"0s\" "
             "means not at all.",
             ""},
            {"removed_size", SizeKey{&s.removed_size, 0, 1024 * GiB},
             "Maximum total size of the removed messages that are kept for this. If it is exceeded, the oldest "
             "ones can no longer be restored. 0 means no limit.",
             ""},
        }};
}

Section section_for(Log& s) {
    return {"log",
            "Destinations of log lines. Their format is the one that mail log analyzers support.",
            {
                {"file", any_text(s.file),
                 "Log file; \"\" for none. It is reopened by \"postrider logs reopen\" and at reload; /dev/stdout is "
                 "allowed.",
                 ""},
                {"syslog", BoolKey{&s.syslog}, "Whether to send every line to syslog as well, with facility mail.", ""},
                {"syslog_socket", any_text(s.syslog_socket), "Datagram socket of the syslog daemon.", ""},
                {"name", non_empty_text(s.name), "Name that precedes \"/smtpd[123]:\" in every line.", ""},
                {"level", one_of(s.level, levels),
                 "Minimum severity of the lines that are written: error, warning, info, debug.", ""},
                {"json", BoolKey{&s.json}, "Whether to write the log file as one JSON object per line.", ""},
                {"buffer", SizeKey{&s.buffer, 4 * KiB, GiB},
                 "Buffer for lines waiting for a slow destination, per process. Lines that exceed it are lost; their "
                 "number is logged.",
                 ""},
            }};
}

constexpr std::string_view kinds_of_known_recipients[] = {"users", "aliases"};

Section section_for(Local& s) {
    Section section{
        "local",
        "Mail for users of this system.",
        {
            {"domains", domains(s.domains),
             "Domains whose mail is delivered on this host. The default is the host name, its short form, and "
             "localhost.",
             "[\"mail.example.com\", \"localhost\"]"},
            {"domain_tables", lookup_tables(s.domain_tables),
             "Tables of further such domains: an entry with the domain as its key, with any value that is not empty. A "
             "file of names alone is no table: list them in domains. While one of these tables does not answer, mail "
             "for domains that no list names waits.",
             "[\"lmdb:/etc/postrider/local_domains\"]"},
            {"aliases", paths(s.aliases),
             "Alias files in the format of aliases(5), searched in this order. Changes are detected within two "
             "seconds. A file listed here must exist when the configuration is checked; the default file may be "
             "missing. If a file disappears later, mail waits.",
             ""},
            {"mailbox", mailbox(s.mailbox),
             "Mailbox of a user: \"maildir:PATH\" or \"mbox:PATH\". In the path, {user} and {home} stand for the "
             "recipient's name and home directory.",
             ""},
            {"users", non_empty_texts(s.users),
             "Users to whom mail is delivered. If empty: all users of the system, or, in single-user mode, the user "
             "who runs Postrider.",
             ""},
            {"check_recipients", BoolKey{&s.check_recipients},
             "Whether to reject unknown users of these domains at RCPT (550 5.1.1), if smtpd.check_recipients is on. "
             "Recipients in other domains are not affected. Those that have moved ([relocated]) or whose transport "
             "rejects them (\"error:\" in transport.tables) are rejected in any case.",
             ""},
            {"known_recipients", one_of_list(s.known_recipients, kinds_of_known_recipients),
             "What makes a recipient in these domains known at RCPT: \"users\", \"aliases\" (files and tables). "
             "postmaster and mailer-daemon are always known. An empty list leaves the tables in recipients.",
             ""},
            {"recipients", lookup_tables(s.recipients),
             "Tables of recipients in these domains that are known besides: user+extension@domain, user@domain, user, "
             "@domain. Without a transport, a user or an alias their mail is returned.",
             "[\"text:/etc/postrider/local_recipients\"]"},
            {"postmaster", any_text(s.postmaster),
             "User or address that gets mail for postmaster if there is no alias for it. The default is root, or, in "
             "single-user mode, the first user in users. Mail for mailer-daemon goes to postmaster too, unless there "
             "is an alias for it.",
             "\"root\""},
            {"recipient_delimiter", any_text(s.recipient_delimiter),
             "Character that separates a user from an extension: mail for user+anything is delivered to user. \"\" "
             "disables this.",
             ""},
            {"minimum_uid", IntKey{&s.minimum_uid, 1, 4'294'967'294},
             "Minimum user ID. Mailboxes of users with a lower ID are never written.", ""},
            {"lock_timeout", DurationKey{&s.lock_timeout, 1s, 10min},
             "Time limit for locking an mbox that another process has locked; after that, the delivery is deferred.",
             ""},
            {"alias_depth", IntKey{&s.alias_depth, 1, 1000}, "Maximum depth of aliases that refer to other aliases.",
             ""},
            {"alias_recipients", IntKey{&s.alias_recipients, 1, 200'000},
             "Maximum number of recipients that one address may expand to. Mail for an address that would expand to "
             "more waits.",
             ""},
        }};
    for (auto& key : delivery_keys(s.delivery)) section.keys.push_back(std::move(key));
    for (auto& key : alias_keys(s.alias_rules)) section.keys.push_back(std::move(key));
    return section;
}

Section section_for(Master& s) {
    return {
        "master",
        "Starting and supervising the daemons.",
        {
            {"heartbeat_interval", DurationKey{&s.heartbeat_interval, 100ms, 1h},
             "Interval at which master checks that each daemon responds.", ""},
            {"heartbeat_timeout", DurationKey{&s.heartbeat_timeout, 1s, 1h},
             "Time limit for a daemon to respond. A daemon that has not responded for this long is killed and "
             "restarted.",
             ""},
            {"restart_delay", DurationKey{&s.restart_delay, 10ms, 1min},
             "Delay before a daemon that died is restarted; it doubles while the daemon keeps dying.", ""},
            {"restart_delay_limit", DurationKey{&s.restart_delay_limit, 1s, 1h}, "Maximum delay before a restart.", ""},
            {"stop_timeout", DurationKey{&s.stop_timeout, 1s, 1h},
             "Time limit for the daemons to finish work in progress when they are stopped.", ""},
            {"reload_limit", IntKey{&s.reload_limit, 0, 1'000'000'000},
             "Maximum number of queued messages that \"postrider reload\" may return to their senders or "
             "reroute. A configuration that would affect more is not applied unless --force is given. 0 means no "
             "limit.",
             ""},
        }};
}

} // namespace config
