// Who this system is, whose mail it takes, and where it puts it: names, domains, tables, local delivery. Data.
#include "daemons/import-postfix/setting_map/setting_map_rows.h"

namespace postrider {

namespace {

using enum Conversion;

// clang-format off

constexpr SettingMapping names[] = {
    {"myhostname", "mta.hostname", custom, "The name is carried over, or what Postfix takes the system's name to be."},
    {"mydomain", "", obsolete, "Put in wherever main.cf speaks of it."},
    {"myorigin", "mta.origin", custom, "A file's name in its place is read."},
    {"mydestination", "local.domains", custom, "Files and tables of domains are read, and the domains in them listed."},
    {"virtual_alias_domains", "virtual_alias.domains", custom, "By default Postfix takes the domains that stand alone in virtual_alias_maps; so does the importer. Tables of domains are read."},
    {"virtual_mailbox_domains", "virtual_mailbox.domains", custom, "Tables of domains are read, and the domains in them listed."},
    {"relay_domains", "relay.domains", custom, "With parent_domain_matches_subdomains, as it is by default, \".DOMAIN\" is listed too."},
    {"mynetworks", "relay.networks", custom, "Files are read. Networks with \"!\" before them have no counterpart. Nobody is listed where no permit_mynetworks stands before the refusals."},
    {"mynetworks_style", "relay.networks", custom, "Where mynetworks is not set, networks are listed as the style has them on this host."},
    {"inet_interfaces", "listen.NAME.addresses", custom, "Names are looked up in no DNS: write addresses."},
    {"inet_protocols", "listen.NAME.addresses, smtp_client.ipv4, smtp_client.ipv6", custom, ""},
    {"proxy_interfaces", "", none, "Mail for an MX host that is this system behind another address is not known to loop. List the domains it is MX for in relay.domains and give them a [route]."},
    {"parent_domain_matches_subdomains", "relay.domains", custom, "Heeded for relay_domains; elsewhere only what is listed counts."},
    {"compatibility_level", "", obsolete, "Heeded where it makes Postfix's defaults others."},
    {"mail_owner", "", obsolete, "The daemons run as mta.user, by default \"postrider\"."},
    {"setgid_group", "", obsolete, "The group is mta.drop_group, by default \"postrider-drop\"."},
    {"default_privs", "local.default_user", text, ""},
    {"append_dot_mydomain", "", none, "A domain without a dot stays as it is. Programs that write such addresses should write them whole.", false, "no"},
    {"append_at_myorigin", "", obsolete, "Addresses without a domain are always completed with mta.origin."},
    {"recipient_delimiter", "local.recipient_delimiter", custom, "Only the first character counts. Not set, it is off in Postfix, and carried over as \"\".", true},
    {"smtputf8_enable", "listen.NAME.smtputf8", custom, ""},
    {"config_directory", "", obsolete, "Where main.cf was read."},
    {"*_directory", "", obsolete, "Postrider's programs and files have places of their own."},
    {"multi_instance_*", "", none, "Each instance is imported for itself; postrider -c FILE names the one that is meant."},
};

constexpr SettingMapping tables_[] = {
    {"virtual_alias_maps", "virtual_alias.tables", tables, ""},
    {"virtual_maps", "", obsolete, "An old name: put in as virtual_alias_maps."},
    {"canonical_maps", "canonical.sender, canonical.recipient", custom, "Only the envelope is rewritten, never the header."},
    {"sender_canonical_maps", "canonical.sender", custom, "Only the envelope is rewritten, never the header."},
    {"recipient_canonical_maps", "canonical.recipient", custom, "Only the envelope is rewritten, never the header."},
    {"*canonical_classes", "", custom, "Heeded for the envelope; header fields are never rewritten."},
    {"relocated_maps", "relocated.tables", tables, ""},
    {"transport_maps", "transport.tables", custom, "Entries that name a transport of master.cf other than smtp, relay, lmtp, local, virtual, error, retry and discard have no counterpart; each is named."},
    {"sender_dependent_relayhost_maps", "sender_relay.tables", tables, ""},
    {"sender_dependent_default_transport_maps", "", none, "Use sender_relay.tables, which say where mail of a sender goes."},
    {"relay_recipient_maps", "relay.recipients", tables, ""},
    {"local_recipient_maps", "smtpd.check_recipients", custom, "Users, aliases and alias tables are always what says who is here; an empty value turns the check off."},
    {"virtual_mailbox_maps", "virtual_mailbox.users", tables, ""},
    {"virtual_mailbox_base", "virtual_mailbox.deliver", custom, ""},
    {"virtual_transport", "virtual_mailbox.deliver", custom, "lmtp and virtual are carried over; a pipe(8) to Dovecot's program becomes Dovecot's LMTP server. Other programs have no counterpart: let a server that speaks LMTP take the mail."},
    {"virtual_uid_maps", "virtual_mailbox.user", custom, "static: and a user of this system with that number. Different users in one table have no counterpart."},
    {"virtual_gid_maps", "", obsolete, "Files get the group of virtual_mailbox.user."},
    {"virtual_minimum_uid", "", obsolete, "virtual_mailbox.user is one user, named."},
    {"virtual_mailbox_limit", "", none, "Virtual mailboxes have no limit of size. Leave quotas to the mail store.", false, "0"},
    {"virtual_alias_expansion_limit", "local.alias_recipients", custom, "The larger of this and what is allowed by default."},
    {"virtual_alias_recursion_limit", "", obsolete, "local.alias_depth bounds aliases of aliases."},
    {"virtual_alias_address_length_limit", "", obsolete, "Addresses are bounded where they are read."},
    {"virtual_mailbox_lock", "", obsolete, "Mailboxes are locked with fcntl(2) and a dot lock."},
    {"smtp_generic_maps", "", none, "Addresses are not rewritten on their way out. Rewrite those of the envelope with [canonical], and let programs write the right From field."},
    {"lmtp_generic_maps", "", none, "Addresses are not rewritten on their way out."},
    {"masquerade_*", "", none, "Domains are not stripped of hosts. Use [canonical] tables with regular expressions for the envelope."},
    {"propagate_unmatched_extensions", "", obsolete, "user+extension is looked up before user, and the extension is kept where the table has @domain only; postrider-addresses(7) tells."},
    {"owner_request_special", "", obsolete, "owner-LIST in alias files is always heeded for the sender of LIST's mail."},
    {"alias_maps", "local.aliases, local.alias_tables", custom, "Text files of aliases(5) are read as they are; no newaliases is needed. NIS has no counterpart."},
    {"alias_database", "", obsolete, "Alias files need not be compiled."},
    {"expand_owner_alias", "", none, "The sender of a list's mail is the address owner-LIST, not what that stands for."},
    {"reset_owner_alias", "", none, "An alias without an owner- keeps the owner of the list it was in."},
    {"remote_header_rewrite_domain", "", obsolete, "Header fields of others are never rewritten."},
    {"local_header_rewrite_clients", "", obsolete, "Header fields are completed on submission listeners and for programs on this host."},
    {"swap_bangpath", "", none, "Bang paths are local parts like others.", false, "no"},
    {"allow_percent_hack", "", none, "user%domain is a local part like others.", false, "no"},
    {"allow_untrusted_routing", "", obsolete, "Source routes are ignored, as RFC 5321 wants."},
    {"resolve_*", "", none, "Addresses are taken as RFC 5321 writes them."},
    {"default_database_type", "", obsolete, "Tables name their type."},
    {"berkeley_db_*", "", obsolete, "Tables are text or LMDB."},
    {"lmdb_map_size", "", obsolete, "Compiled tables are as large as they must be."},
    {"proxy_*_maps", "", obsolete, "Each daemon reads its tables itself; \"proxy:\" before a table falls away."},
    {"authorized_flush_users", "", none, "Whoever is in the group mta.admin_group may."},
    {"authorized_mailq_users", "", none, "Every user of this system may list the queue."},
    {"authorized_submit_users", "", none, "Every user of this system may submit mail."},
    {"authorized_verp_clients", "", none, "There is no VERP in SMTP."},
};

constexpr SettingMapping local[] = {
    {"home_mailbox", "local.mailbox", custom, "With a slash at its end a maildir, else an mbox."},
    {"mail_spool_directory", "local.mailbox", custom, "With a slash at its end maildirs, else mboxes."},
    {"mailbox_command", "local.mailbox_command", text, ""},
    {"mailbox_transport", "local.deliver", custom, "lmtp is carried over; others have no counterpart."},
    {"mailbox_transport_maps", "", none, "Use transport.tables, which take single addresses too."},
    {"mailbox_command_maps", "", none, "Let the users it names write .forward files."},
    {"local_transport", "", custom, "local is what there is. error: with an empty mydestination (a null client) needs nothing. Others have no counterpart: name the domains in relay.domains and give them a [route]."},
    {"luser_relay", "local.catch_all", custom, "Only one plain address or user; $user and the like in it have no counterpart."},
    {"fallback_transport", "", none, "Use local.catch_all, or local.deliver for a server that knows the users."},
    {"fallback_transport_maps", "", none, "Use transport.tables, which take single addresses too."},
    {"mailbox_size_limit", "local.mailbox_size", size, "", true},
    {"forward_path", "local.forward", custom, "$home, $user, $extension and $recipient_delimiter are carried over."},
    {"allow_mail_to_commands", "local.commands_from", custom, ""},
    {"allow_mail_to_files", "local.files_from", custom, ""},
    {"command_time_limit", "local.command_timeout", seconds, ""},
    {"mailbox_delivery_lock", "", obsolete, "Mailboxes are locked with fcntl(2) and a dot lock."},
    {"deliver_lock_*", "", none, "local.lock_timeout says how long a locked mailbox is waited for."},
    {"stale_lock_time", "", obsolete, "local.lock_timeout says how long a locked mailbox is waited for."},
    {"strict_mailbox_ownership", "", obsolete, "A mailbox that is not its user's own is never written."},
    {"require_home_directory", "", none, "Mail of a user whose home directory is missing goes to his mailbox all the same, if that is not in it."},
    {"local_command_shell", "", obsolete, "Commands are run by sh(1)."},
    {"*execution_directory*", "", obsolete, "Commands are run in the user's home directory."},
    {"*expansion_filter", "", obsolete, "Nothing is put into commands; they find what they need in their environment: postrider-local(8)."},
    {"allow_min_user", "", obsolete, "A name that begins with \"-\" is never taken for an option."},
    {"biff", "", obsolete, "Nobody is told by comsat(8) that mail has come; nothing uses it any more."},
    {"prepend_delivered_header", "", obsolete, "Delivered-To and Return-Path stand in delivered mail."},
    {"frozen_delivered_to", "", obsolete, "A loop of aliases is noticed by Delivered-To."},
    {"sun_mailtool_compatibility", "", none, "Nothing uses it any more."},
    {"local_login_sender_maps", "", none, "Users of this system may send as anybody."},
    {"export_environment", "", obsolete, "Commands get PATH and what postrider-local(8) lists."},
    {"import_environment", "", obsolete, "Daemons get the environment that postrider-master(8) lists."},
};
// clang-format on

} // namespace

std::span<const SettingMapping> names_and_domains() { return names; }
std::span<const SettingMapping> address_tables() { return tables_; }
std::span<const SettingMapping> local_delivery() { return local; }

} // namespace postrider
