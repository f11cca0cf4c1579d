// The keys of the system itself, of its spool and log, and of mail that stays or goes back.
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

constexpr EnumValue<LogLevel> levels[] = {{"error", LogLevel::error},
                                     {"warning", LogLevel::warning},
                                     {"info", LogLevel::info},
                                     {"debug", LogLevel::debug}};

// A mailbox's form and path: "maildir:PATH", "mbox:PATH".
TextKey mailbox(Mailbox& value) {
    return {[&](std::string_view text) -> std::string {
                Mailbox read;
                if (text.starts_with("maildir:"))
                    read.format = MailboxFormat::maildir;
                else if (!text.starts_with("mbox:"))
                    return "expected \"maildir:PATH\" or \"mbox:PATH\"";
                read.path = text.substr(text.find(':') + 1);
                if (read.path.empty()) return "the path is missing";
                for (auto open = read.path.find('{'); open != read.path.npos;
                     open = read.path.find('{', open + 1)) {
                    const auto rest = std::string_view(read.path).substr(open);
                    if (!rest.starts_with("{user}") && !rest.starts_with("{home}"))
                        return "only {user} and {home} may stand in braces";
                }
                value = read;
                return "";
            },
            [&] { return value.to_string(); }};
}

} // namespace

Section section_for(Mta& s) {
    return {"mta",
            "Who this system is.",
            {
                {"hostname", domain(s.hostname),
                 "Full name of this host: in the greeting, in EHLO, in Received fields and reports. By "
                 "default what /etc/mailname says, where there is that file, else the system's name (with "
                 ".localdomain added if it has no dot).",
                 "\"mail.example.com\""},
                {"origin", domain(s.origin),
                 "Domain that completes addresses written without one. By default what /etc/mailname says, else the "
                 "host name.",
                 "\"example.com\""},
                {"users", BoolKey{&s.users},
                 "With false everything runs as the user who starts it, and mail is delivered only to the "
                 "users that "
                 "local.users lists (single-user mode).",
                 ""},
                {"user", non_empty_text(s.user),
                 "The user the daemons run as when started by root. Master and the local daemon stay root.", ""},
                {"drop_group", non_empty_text(s.drop_group),
                 "Group of the set-gid helper that writes to the drop directory.", ""},
                {"admin_group", non_empty_text(s.admin_group), "Group whose members may use the control socket.", ""},
            }};
}

Section section_for(Spool& s) {
    return {
        "spool",
        "Where mail is kept from acceptance to the end.",
        {
            {"directory", any_text(s.directory),
             "The spool's directory. It must lie on one local file system. Elsewhere than by default, make the "
             "default place a link to it: while Postrider does not run, programs of this host leave their mail "
             "there.",
             ""},
            {"minimum_free", SizeKey{&s.minimum_free, 0, 1024 * GiB},
             "With less free space than this, new mail is refused for the time being (452 4.3.1).", ""},
            {"minimum_free_inodes", IntKey{&s.minimum_free_inodes, 0, 1'000'000'000}, "The same for free inodes.",
             ""},
            {"reserve", SizeKey{&s.reserve, 0, 16 * GiB},
             "Space kept back so that reports can still be written when the disk is full.", ""},
            {"scrub_interval", DurationKey{&s.scrub_interval, 0s, 24h * 365},
             "Mail that waits is read again once in this time, to find damage while it may be mended; "
             "\"0s\" turns this off.",
             ""},
            {"sync_threads", IntKey{&s.sync_threads, 1, 256},
             "How many files each writing process makes durable side by side, and the queue-manager reads side by "
             "side at its start.",
             ""},
            {"content_memory", SizeKey{&s.content_memory, 8 * MiB, 64 * GiB},
             "Memory for messages being received, per writing process (each worker of smtpd, pickup). When half of it is "
             "in use, contents go to their files sooner; at three quarters senders of large messages wait; when "
             "it is used up, new messages are refused for the time being (452 4.3.1).",
             ""},
            {"bad_age", DurationKey{&s.bad_age, 0s, 24h * 3650},
             "Messages in bad/ (nobody could be told what became of them) are kept for this long; \"0s\": for ever.",
             ""},
            {"bad_size", SizeKey{&s.bad_size, 0, 1024 * GiB},
             "Disk space for bad/; beyond it the oldest messages are removed. 0 turns this off.", ""},
            {"quarantine_age", DurationKey{&s.quarantine_age, 0s, 24h * 3650},
             "Damaged files in quarantine/, and submissions in quarantine/incomplete/, are kept for this long; "
             "\"0s\": for ever.",
             ""},
            {"quarantine_size", SizeKey{&s.quarantine_size, 0, 1024 * GiB},
             "Disk space for each of the two; beyond it the oldest files are removed. 0 turns this off.", ""},
            {"removed_age", DurationKey{&s.removed_age, 0s, 24h * 365},
             "What an operator removed can be brought back for this long (\"postrider message restore\"); \"0s\": not "
             "at all.",
             ""},
            {"removed_size", SizeKey{&s.removed_size, 0, 1024 * GiB},
             "Disk space for it; beyond it the oldest messages can no longer be brought back. 0 turns this off.", ""},
        }};
}

Section section_for(Log& s) {
    return {"log",
            "Where log lines go. Their format is the one mail log analysers know.",
            {
                {"file", any_text(s.file),
                 "Log file; \"\" for none. Opened anew by \"postrider logs reopen\" and by a reload; "
                 "/dev/stdout is allowed.",
                 ""},
                {"syslog", BoolKey{&s.syslog}, "Also send every line to syslog, facility mail.", ""},
                {"syslog_socket", any_text(s.syslog_socket), "The datagram socket syslog listens on.", ""},
                {"name", non_empty_text(s.name), "What stands before \"/smtpd[123]:\" in every line.", ""},
                {"level", one_of(s.level, levels),
                 "The least important lines written: error, warning, info, debug.", ""},
                {"json", BoolKey{&s.json}, "The file gets one JSON object per line instead.", ""},
                {"buffer", SizeKey{&s.buffer, 4 * KiB, GiB},
                 "Lines waiting for a slow sink, per process. What exceeds it is counted, lost, and the "
                 "count logged.",
                 ""},
            }};
}

Section section_for(Local& s) {
    Section section{
        "local",
        "Mail for people on this system.",
        {
            {"domains", domains(s.domains),
             "Domains whose mail is delivered here. By default the host name, also in its short form, and localhost.",
             "[\"mail.example.com\", \"localhost\"]"},
            {"aliases", paths(s.aliases),
             "Alias files in the format of aliases(5), asked in this order. A change is noticed within two "
             "seconds. A file named here must exist when the configuration is checked; the default one may "
             "be "
             "missing. One that disappears later makes mail wait.",
             ""},
            {"mailbox", mailbox(s.mailbox),
             "\"maildir:PATH\" or \"mbox:PATH\"; {user} and {home} in it stand for the recipient's name and "
             "home "
             "directory.",
             ""},
            {"users", non_empty_texts(s.users),
             "Deliver only to these users. Empty: to all users of the system; in single-user mode, to the "
             "user "
             "who runs it.",
             ""},
            {"postmaster", any_text(s.postmaster),
             "Where mail for postmaster goes when no alias says so: a user or an address. By default root; in "
             "single-user mode the first of users. Mail for mailer-daemon is postmaster's, unless an alias says otherwise.",
             "\"root\""},
            {"recipient_delimiter", any_text(s.recipient_delimiter),
             "user+anything is delivered like user; \"\" turns this off.", ""},
            {"minimum_uid", IntKey{&s.minimum_uid, 1, 4'294'967'294},
             "Mailboxes of users with a lower number are never written.", ""},
            {"lock_timeout", DurationKey{&s.lock_timeout, 1s, 10min},
             "How long a delivery waits for an mbox that somebody else has locked, before it is deferred.",
             ""},
            {"alias_depth", IntKey{&s.alias_depth, 1, 1000}, "Aliases of aliases: how deep.", ""},
            {"alias_recipients", IntKey{&s.alias_recipients, 1, 200'000},
             "How many recipients one address may become; mail for one that would become more waits.", ""},
        }};
    for (auto& key : delivery_keys(s.delivery)) section.keys.push_back(std::move(key));
    for (auto& key : alias_keys(s.alias_rules)) section.keys.push_back(std::move(key));
    return section;
}

Section section_for(Master& s) {
    return {"master",
            "Starting and watching the daemons.",
            {
                {"heartbeat_interval", DurationKey{&s.heartbeat_interval, 100ms, 1h},
                 "How often every daemon is asked.", ""},
                {"heartbeat_timeout", DurationKey{&s.heartbeat_timeout, 1s, 1h},
                 "A daemon that has not answered for so long is killed and started anew.", ""},
                {"restart_delay", DurationKey{&s.restart_delay, 10ms, 1min},
                 "Before a daemon that died is started again; doubles while it keeps dying.", ""},
                {"restart_delay_limit", DurationKey{&s.restart_delay_limit, 1s, 1h}, "The longest such delay.", ""},
                {"stop_timeout", DurationKey{&s.stop_timeout, 1s, 1h},
                 "At stop: how long daemons may take to finish what is in flight.", ""},
                {"reload_limit", IntKey{&s.reload_limit, 0, 1'000'000'000},
                 "\"postrider reload\" takes over no configuration by which more queued messages than this would go back to "
                 "their senders or go another way, unless --force is given; 0: it takes over any.",
                 ""},
            }};
}

} // namespace config
