// Who this system is, whose mail it takes, and where it puts it: names, domains, tables, local delivery. Data.
#include "daemons/import-postfix/setting_map/setting_map_rows.h"

namespace postrider {

namespace {

using enum Conversion;
using enum IfLost;

// clang-format off

constexpr SettingMapping names[] = {
    {"myhostname", "mta.hostname", custom, harmless,
     "The name is carried over; if it is not set, the name that Postfix would take for the system."},
    {"mydomain", "", obsolete, harmless, "Its value is substituted wherever main.cf refers to it."},
    {"myorigin", "mta.origin", custom, harmless, "If the value is a file name, the file is read."},
    {"mydestination", "local.domains, local.domain_tables", custom, harmless, "Files of domains are read, and their domains are listed; tables remain tables. In all lists of domains a table without a counterpart stays as it is, for check to refuse, and an exception (\"!\") of what the rest of the list takes is a line of [undecided]."},
    {"virtual_alias_domains", "virtual_alias.domains, virtual_alias.domain_tables", custom, harmless, "By default Postfix uses the domains that are keys of virtual_alias_maps, and so does the importer."},
    {"virtual_mailbox_domains", "virtual_mailbox.domains, virtual_mailbox.domain_tables", custom, harmless,
     "Tables of domains, also in databases, remain tables. If virtual(8) is to deliver, but virtual_mailbox_maps is not set, no address has a mailbox: all but those of virtual aliases are refused, which is a line of [undecided], unless text tables of transport_maps lead all of these domains elsewhere."},
    {"relay_domains", "relay.domains, relay.domain_tables", custom, harmless,
     "With parent_domain_matches_subdomains at its default, \".DOMAIN\" is listed too, and relay.parent_domains is set for tables."},
    {"mynetworks", "relay.networks", custom, unguarded, "Files are read. Networks preceded by \"!\" have no counterpart, except in tables of networks, where they and \"if\" are worked out. No networks are listed if no permit_mynetworks precedes the rejecting restrictions."},
    {"mynetworks_style", "relay.networks", custom, unguarded,
     "If mynetworks is not set, the networks that the style means on this host are listed."},
    {"inet_interfaces", "listen.NAME.addresses", custom, unguarded, "Host names are not resolved: write addresses."},
    {"inet_protocols", "listen.NAME.addresses, smtp_client.ipv4, smtp_client.ipv6", custom, harmless, ""},
    {"proxy_interfaces", "", none, harmless, "If an MX host is this system behind another address, the mail loop is not detected. List the domains it is MX for in relay.domains and give them a [route]."},
    {"parent_domain_matches_subdomains", "relay.domains, relay.parent_domains, access.NAME.parent_domains", custom, harmless,
     "Applied to relay_domains and to access tables; elsewhere only listed domains match."},
    {"compatibility_level", "", obsolete, harmless, "Applied where it changes Postfix's defaults."},
    {"mail_owner", "", obsolete, harmless, "The daemons run as mta.user, by default \"postrider\"."},
    {"setgid_group", "", obsolete, harmless, "The group is mta.drop_group, by default \"postrider-drop\"."},
    {"default_privs", "local.default_user", text, unguarded, ""},
    {"append_dot_mydomain", "canonical.sender, canonical.recipient, canonical.header_sender, canonical.header_recipient", custom, harmless,
     "If it is set to yes, a table of one regular expression completes domains without a dot, in the envelope and, for local_header_rewrite_clients, in the header. Postfix's default without a compatibility_level is not carried over. Recipients of clients that may not relay are not completed."},
    {"append_at_myorigin", "", none, harmless, "Addresses without a domain are always completed with mta.origin.", false, "yes"},
    {"recipient_delimiter", "local.recipient_delimiter", custom, harmless,
     "Only the first character is used. If it is not set, it is off in Postfix and carried over as \"\".", true},
    {"smtputf8_enable", "listen.NAME.smtputf8", custom, harmless, ""},
    {"config_directory", "", obsolete, harmless, "It is the directory from which main.cf was read."},
    {"*_directory", "", obsolete, harmless, "Postrider has its own directories for programs and files."},
    {"multi_instance_*", "", none, harmless, "Import each instance separately; postrider -c FILE selects one."},
};

constexpr SettingMapping tables_[] = {
    {"virtual_alias_maps", "virtual_alias.tables", tables, harmless, ""},
    {"virtual_maps", "", obsolete, harmless, "An old name; it is imported as virtual_alias_maps."},
    {"canonical_maps", "canonical.sender, canonical.recipient, canonical.header_sender, canonical.header_recipient", custom, harmless, "By canonical_classes; canonical.common if there are also tables for senders or recipients. canonical.repeat is set, as Postfix looks results up again."},
    {"sender_canonical_maps", "canonical.sender, canonical.header_sender", custom, harmless, "By sender_canonical_classes."},
    {"recipient_canonical_maps", "canonical.recipient, canonical.header_recipient", custom, harmless, "By recipient_canonical_classes."},
    {"*canonical_classes", "", custom, harmless, "Each class has its own list of tables."},
    {"relocated_maps", "relocated.tables", tables, harmless, ""},
    {"transport_maps", "transport.tables", custom, harmless, "An SMTP transport of master.cf that the tables name, also in rules of patterns, becomes a [route] of its name, with its source addresses, limits, tls, fallback hosts and generic_tables; a program becomes a [command.NAME]. Entries that name anything else beside smtp, relay, lmtp, local, virtual, error, retry and discard are reported."},
    {"sender_dependent_relayhost_maps", "sender_relay.tables", tables, harmless, ""},
    {"sender_dependent_default_transport_maps", "pools.by_sender, sender_relay.tables", custom, harmless, "Transports of master.cf that only have source addresses of their own (smtp_bind_address, smtp_helo_name) become a [pool] each, SMTP transports with more a [route] of their name; these and next hops become entries of sender_relay.tables. Only the entries of text files are carried over."},
    {"relay_recipient_maps", "relay.recipients", tables, unguarded, ""},
    {"local_recipient_maps", "local.recipients, local.known_recipients", custom, unguarded,
     "An empty value becomes local.check_recipients = false. Users of this system and aliases become "
     "local.known_recipients, other tables local.recipients. Undecided beside mailbox_transport, fallback_transport, "
     "their _maps or a local_transport, which deliver to aliases and users of this system only."},
    {"virtual_mailbox_maps", "virtual_mailbox.recipients", tables, unguarded, ""},
    {"virtual_mailbox_base", "virtual_mailbox.deliver", custom, harmless, ""},
    {"virtual_transport", "virtual_mailbox.deliver", custom, harmless, "lmtp, smtp, transports of master.cf for these, and virtual are carried over; a pipe(8) to Dovecot's program becomes Dovecot's LMTP server. Another program becomes a [command.NAME]."},
    {"virtual_uid_maps", "virtual_mailbox.user", custom, harmless,
     "static: with the number of a user of this system is carried over. Different users in one table have no counterpart."},
    {"virtual_gid_maps", "", obsolete, harmless, "Files get the group of virtual_mailbox.user."},
    {"virtual_minimum_uid", "", obsolete, harmless, "virtual_mailbox.user names a single user."},
    {"virtual_mailbox_limit", "", none, unguarded, "Virtual mailboxes have no size limit. Leave quotas to the mail store.", false, "0"},
    {"virtual_alias_expansion_limit", "local.alias_recipients", custom, harmless, "The larger of this value and the default is used."},
    {"virtual_alias_recursion_limit", "", obsolete, harmless, "local.alias_depth limits nested aliases."},
    {"virtual_alias_address_length_limit", "", obsolete, harmless, "The length of addresses is limited when they are read."},
    {"virtual_mailbox_lock", "", obsolete, harmless, "Mailboxes are locked with fcntl(2) and a dot lock."},
    {"smtp_generic_maps", "generic.tables", custom, harmless, "With generic in propagate_unmatched_extensions, generic.propagate_extension is set. A name alone is looked up for local.domains and mta.origin, not for an address literal of this host."},
    {"lmtp_generic_maps", "", none, harmless, "Mail that is delivered over LMTP keeps its addresses."},
    {"masquerade_domains", "masquerade.domains", custom, harmless, ""},
    {"masquerade_classes", "masquerade.classes", custom, harmless, ""},
    {"masquerade_exceptions", "masquerade.exceptions", custom, harmless, "Names are carried over; tables have no counterpart."},
    {"propagate_unmatched_extensions", "", obsolete, harmless, "user+extension is looked up before user, and the extension is kept if only @domain is in the table: see postrider-addresses(7)."},
    {"owner_request_special", "", obsolete, harmless, "owner-LIST in alias files always becomes the sender of LIST's mail."},
    {"alias_maps", "local.aliases, local.alias_tables", custom, harmless,
     "Text files in the format of aliases(5) are read directly; newaliases is not needed. NIS has no counterpart."},
    {"alias_database", "", obsolete, harmless, "Alias files need not be compiled."},
    {"expand_owner_alias", "", none, harmless,
     "The sender of a list's mail is the address owner-LIST, not the address to which it expands."},
    {"reset_owner_alias", "", none, harmless, "An alias without an owner- keeps the owner of the list that contains it."},
    {"remote_header_rewrite_domain", "masquerade.header_origins", custom, harmless, "If it is set, headers of mail from all clients are masqueraded. Addresses without a domain in the headers of other clients\' mail stay as they are."},
    {"local_header_rewrite_clients", "masquerade.header_origins, canonical.header_origins", custom, harmless,
     "permit_inet_interfaces, permit_mynetworks and permit_sasl_authenticated are carried over, for masquerading, canonical tables and append_dot_mydomain. Header fields are completed on submission listeners and for programs on this host."},
    {"swap_bangpath", "", none, harmless, "Bang paths are ordinary local parts.", false, "no"},
    {"allow_percent_hack", "", none, harmless, "user%domain is an ordinary local part.", false, "no"},
    {"allow_untrusted_routing", "", none, harmless, "Never: strangers' recipients with %, ! or @ in the local part are rejected where the mail is passed on to another host; source routes are ignored.", false, "no"},
    {"resolve_*", "", none, harmless, "Addresses are interpreted as in RFC 5321."},
    {"default_database_type", "", obsolete, harmless, "Each table is configured with its type."},
    {"berkeley_db_*", "", obsolete, harmless, "Tables are text or LMDB."},
    {"lmdb_map_size", "", obsolete, harmless, "Compiled tables are as large as necessary."},
    {"proxy_*_maps", "", obsolete, harmless, "Each daemon reads its tables itself; \"proxy:\" before a table is removed."},
    {"authorized_flush_users", "", none, harmless, "Members of the group mta.admin_group may do this."},
    {"authorized_mailq_users", "", none, unguarded, "Every user of this system may list the queue."},
    {"authorized_submit_users", "", none, unguarded, "Every user of this system may submit mail."},
    {"authorized_verp_clients", "", none, harmless, "VERP is not supported."},
};

constexpr SettingMapping local[] = {
    {"home_mailbox", "local.mailbox", custom, harmless, "A value that ends with a slash becomes a maildir, any other an mbox."},
    {"mail_spool_directory", "local.mailbox", custom, harmless, "A value that ends with a slash becomes maildirs, any other mboxes."},
    {"mailbox_command", "local.mailbox_command", text, harmless, ""},
    {"mailbox_transport", "local.deliver", custom, harmless, "lmtp, and a transport of master.cf for it, are carried over, for users of this system only; undecided if aliases lead to other names. Others have no counterpart and are undecided."},
    {"mailbox_transport_maps", "", none, harmless, "Use transport.tables, which also accept single addresses."},
    {"mailbox_command_maps", "", none, harmless, "Use .forward files of the users it names."},
    {"local_transport", "", custom, unguarded, "local is the only transport; an LMTP server becomes local.deliver, after aliases, for users of this system only; undecided if local_recipient_maps names others. error:, retry: and discard: become a table of transport.tables. Others have no counterpart and are undecided: list the domains in relay.domains and give them a [route]."},
    {"luser_relay", "local.catch_all", custom, harmless,
     "Only a single plain address or user is carried over; $user and similar names in it have no counterpart."},
    {"fallback_transport", "", none, harmless, "Use local.catch_all, or local.deliver for a server that knows the users."},
    {"fallback_transport_maps", "", none, harmless, "Use transport.tables, which also accept single addresses."},
    {"mailbox_size_limit", "local.mailbox_size", size, unguarded, "", true},
    {"forward_path", "local.forward", custom, harmless, "$home, $user, $extension and $recipient_delimiter are carried over."},
    {"allow_mail_to_commands", "local.commands_from", custom, unguarded, ""},
    {"allow_mail_to_files", "local.files_from", custom, unguarded, ""},
    {"command_time_limit", "local.command_timeout", seconds, harmless, ""},
    {"mailbox_delivery_lock", "", obsolete, harmless, "Mailboxes are locked with fcntl(2) and a dot lock."},
    {"deliver_lock_*", "", none, harmless, "local.lock_timeout limits the wait for a locked mailbox."},
    {"stale_lock_time", "", obsolete, harmless, "local.lock_timeout limits the wait for a locked mailbox."},
    {"strict_mailbox_ownership", "", obsolete, unguarded, "Postrider never writes to a mailbox that its user does not own."},
    {"require_home_directory", "", none, harmless,
     "Mail for a user whose home directory is missing is delivered anyway, if the mailbox is elsewhere."},
    {"local_command_shell", "", obsolete, harmless, "Commands are run by sh(1)."},
    {"*execution_directory*", "", obsolete, harmless, "Commands are run in the user's home directory."},
    {"*expansion_filter", "", obsolete, unguarded,
     "Nothing is inserted into commands; they get the values in their environment: see postrider-local(8)."},
    {"allow_min_user", "", obsolete, unguarded, "A name that begins with \"-\" is never treated as an option."},
    {"biff", "", obsolete, harmless, "Users are not notified through comsat(8), which is obsolete."},
    {"prepend_delivered_header", "", obsolete, harmless, "Delivered-To and Return-Path are always added."},
    {"frozen_delivered_to", "", obsolete, harmless, "Loops of aliases are detected by Delivered-To."},
    {"sun_mailtool_compatibility", "", none, harmless, "It is obsolete."},
    {"local_login_sender_maps", "", none, unguarded, "Users of this system may send with any sender address."},
    {"export_environment", "", obsolete, harmless, "Commands get PATH and the variables listed in postrider-local(8)."},
    {"import_environment", "", obsolete, harmless, "Daemons get the environment listed in postrider-master(8)."},
};
// clang-format on

} // namespace

std::span<const SettingMapping> names_and_domains() { return names; }
std::span<const SettingMapping> address_tables() { return tables_; }
std::span<const SettingMapping> local_delivery() { return local; }

} // namespace postrider
