#include "libsmtp/text/utf8.h"
#include "tests/import-postfix/conversion/machine.h"
#include <fmt/format.h>

using namespace postrider;

TEST_CASE("each setting comes out as one key") {
    struct Row {
        std::string main, path, value;
        std::map<std::string, std::string> files = {};
    };
    const Row rows[] = {
        {"myhostname = a.b.example", "mta.hostname", "\"a.b.example\""},
        {"myorigin = $mydomain", "mta.origin", "\"site.example\""},
        {"myorigin = here\nmydestination = there, here", "mta.origin", "\"here.localdomain\""},
        {"myorigin = here\nmydestination = there, here", "local.domains", R"(["there", "here", "here.localdomain"])"},
        {"myorigin = here\nmydestination = there", "local.domains", R"(["there"])"},
        {"relayhost = # relay.example will be set later", "route.\"*\".next_hop", "-"},
        {"myorigin = /etc/mailname", "mta.origin", "\"mail.example\"", {{"/etc/mailname", "mail.example\n"}}},
        {"mydestination = $myhostname, /pf/domains",
         "local.domains",
         R"(["mx.site.example", "one.example", "two.example"])",
         {{"/pf/domains", "one.example\n# no\ntwo.example\n"}}},
        {"mydestination = a.example, hash:/pf/domains, regexp:/pf/more",
         "local.domain_tables",
         R"(["text:/pf/domains", "regexp:/pf/more"])",
         {{"/pf/domains", "one.example x\n"}, {"/pf/more", "/x/ x\n"}}},
        {"mydestination = hash:/pf/domains", "local.domains", "[]", {{"/pf/domains", "one.example x\n"}}},
        {"mydestination =", "local.domains", "[]"},
        {"relay_domains = one.example", "relay.domains", R"(["one.example", ".one.example"])"},
        {"relay_domains = one.example\nparent_domain_matches_subdomains =", "relay.domains", R"(["one.example"])"},
        {"relay_domains = $mydestination, proxy:sqlite:/pf/q",
         "relay.domain_tables",
         R"(["table:relay_domains_1"])",
         {{"/pf/q", "dbpath = /x\nquery = SELECT a FROM b WHERE c = '%s'\n"}, {"/x", ""}}},
        {"relay_domains = lmdb:/pf/relayed", "relay.parent_domains", "true", {{"/pf/relayed.lmdb", "x"}}},
        {"relay_domains = lmdb:/pf/relayed\nparent_domain_matches_subdomains =",
         "relay.parent_domains",
         "-",
         {{"/pf/relayed.lmdb", "x"}}},
        {"virtual_alias_maps = hash:/pf/virtual",
         "virtual_alias.domain_tables",
         R"(["text:/pf/virtual"])",
         {{"/pf/virtual", "v.example x\na@v.example b@c.example\n"}}},
        {"virtual_alias_maps = sqlite:/pf/q", // one table for both
         "virtual_alias.domain_tables",
         R"(["table:virtual_alias_maps_1"])",
         {{"/pf/q", "dbpath = /x\nquery = SELECT a FROM b WHERE c = '%s'\n"}, {"/x", ""}}},
        {"virtual_alias_maps = cidr:/pf/c", "virtual_alias.domain_tables", "-", {{"/pf/c", ""}}},
        {"virtual_alias_maps = hash:/pf/virtual\nvirtual_alias_domains =",
         "virtual_alias.domain_tables",
         "-",
         {{"/pf/virtual", "v.example x\na@v.example b@c.example\n"}}},
        {"virtual_alias_maps = hash:/pf/virtual\nvirtual_alias_domains = v.example, pcre:/pf/p",
         "virtual_alias.domains",
         R"(["v.example"])",
         {{"/pf/virtual", "a@v.example b@c.example\n"}, {"/pf/p", "/x/ x\n"}}},
        {"virtual_mailbox_domains = proxy:mysql:/pf/m.cf, b.example, ldap:/pf/l.cf\nvirtual_transport = "
         "lmtp:unix:/run/lmtp",
         "virtual_mailbox.domain_tables",
         R"(["mysql:/pf/m.cf", "ldap:/pf/l.cf"])",
         {{"/pf/m.cf", "dbname = d\nquery = SELECT a FROM b WHERE c = '%s'\n"}, {"/pf/l.cf", "search_base = dc=x\n"}}},
        {"virtual_mailbox_domains = $virtual_mailbox_maps\nvirtual_mailbox_maps = hash:/pf/boxes\nvirtual_transport = "
         "lmtp:unix:/run/lmtp",
         "virtual_mailbox.domain_tables",
         R"(["text:/pf/boxes"])",
         {{"/pf/boxes", "b.example x\na@b.example x\n"}}},
        {"virtual_mailbox_domains = static:all\nvirtual_transport = lmtp:unix:/run/lmtp",
         "virtual_mailbox.domain_tables", R"(["static:all"])"},
        {"virtual_mailbox_domains = pgsql:/pf/d.cf\nvirtual_transport = lmtp:unix:/run/lmtp",
         "virtual_mailbox.deliver",
         R"("lmtp:/run/lmtp")",
         {{"/pf/d.cf", "dbname = d\nquery = SELECT a\n"}}},
        {"virtual_alias_maps = proxy:hash:/pf/virtual",
         "virtual_alias.tables",
         R"(["text:/pf/virtual"])",
         {{"/pf/virtual", "a@v.example b@c.example\n"}}},
        {"virtual_alias_maps = hash:/etc/postfix/virtual",
         "virtual_alias.tables",
         R"(["text:/pf/virtual"])",
         {{"/pf/virtual", "a@v.example b@c.example\n"}}},
        {"virtual_alias_maps = lmdb:/pf/virtual",
         "virtual_alias.tables",
         R"(["lmdb:/pf/virtual"])",
         {{"/pf/virtual.lmdb", "x"}}},
        {"virtual_alias_maps = cidr:/pf/c, pcre:/pf/p",
         "virtual_alias.tables",
         R"(["cidr:/pf/c", "regexp:/pf/p"])",
         {{"/pf/c", ""}, {"/pf/p", ""}}},
        {"virtual_alias_maps = sqlite:/pf/q",
         "table.virtual_alias_maps_1.query",
         R"("SELECT a FROM b WHERE c = :key")",
         {{"/pf/q", "dbpath = /x\nquery = SELECT a FROM b WHERE c = '%s'\n"}, {"/x", ""}}},
        {"virtual_alias_maps = proxy:mysql:/pf/m.cf",
         "virtual_alias.tables",
         R"(["mysql:/pf/m.cf"])",
         {{"/pf/m.cf",
           "hosts = localhost\nuser = u\npassword = p\ndbname = d\nquery = SELECT a FROM b WHERE c = '%s'\n"}}},
        {"virtual_alias_maps = pgsql:/pf/p.cf, ldap:/pf/l.cf",
         "virtual_alias.tables",
         R"(["pgsql:/pf/p.cf", "ldap:/pf/l.cf"])",
         {{"/pf/p.cf", "dbname = d\nquery = SELECT a\n"}, {"/pf/l.cf", "search_base = dc=x\nbind = sasl\n"}}},
        {"virtual_alias_maps = socketmap:unix:map:users", "virtual_alias.tables",
         R"(["socketmap:unix:/var/spool/postfix/map:users"])"},
        {"mynetworks = 127.0.0.0/8 [::1]/128 /pf/nets",
         "relay.networks",
         R"(["127.0.0.0/8", "[::1]/128", "10.0.0.0/8"])",
         {{"/pf/nets", "10.0.0.0/8\n"}}},
        {"mynetworks = 127.0.0.0/8 [::ffff:127.0.0.0]/104 [::1]/128 127.0.0.0/8", "relay.networks",
         R"(["127.0.0.0/8", "[::1]/128"])"},
        {"mynetworks_style = host", "relay.networks",
         R"(["127.0.0.0/8", "::1/128", "192.0.2.7/32", "2001:db8::7/128"])"},
        {"mynetworks_style = subnet", "relay.networks",
         R"(["127.0.0.0/8", "::1/128", "192.0.2.0/24", "2001:db8::/64"])"},
        {"smtpd_relay_restrictions = permit_sasl_authenticated, reject_unauth_destination", "relay.networks", "[]"},
        {"relayhost = [smtp.example]:submission", "route.\"*\".next_hop", R"("[smtp.example]:587")"},
        {"relayhost = smtp.example", "route.\"*\".next_hop", R"("smtp.example")"},
        {"relayhost = [a.example], [b.example]", "route.\"*\".next_hop", R"(["[a.example]", "[b.example]"])"},
        {"relayhost = [a.example]:465\nsmtp_tls_wrappermode = yes\nsmtp_tls_security_level = encrypt",
         "route.\"*\".implicit_tls", "true"},
        {"default_transport = smtp:[a.example]", "route.\"*\".next_hop", R"("[a.example]")"},
        {"relay_domains = r.example\nrelay_transport = smtp:[in.example]", "route.\"r.example\".next_hop",
         R"("[in.example]")"},
        {"smtp_fallback_relay = [f.example]", "route.\"*\".fallback", R"(["[f.example]"])"},
        {"transport_maps = hash:/pf/t",
         "transport.tables",
         R"(["text:/pf/t"])",
         {{"/pf/t", "a.example smtp:[b.example]\n"}}},
        {"smtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:/pf/sasl",
         "smtp_client.credentials",
         "\"/pf/sasl\"",
         {{"/pf/sasl", "[smtp.example]:587 me:secret\n"}}},
        {"smtp_tls_policy_maps = hash:/pf/tls",
         "route.\"a.example\".tls",
         "\"verify\"",
         {{"/pf/tls", "a.example secure match=x\n"}}},
        {"relayhost = [r.example]:587\nsmtp_tls_policy_maps = hash:/pf/tls",
         "route.\"*\".tls",
         "\"encrypt\"",
         {{"/pf/tls", "[r.example]:587 encrypt\n"}}},
        {"sender_dependent_relayhost_maps = hash:/pf/s",
         "sender_relay.tables",
         R"(["text:/pf/s"])",
         {{"/pf/s", "@a.example [b.example]\n"}}},
        {"message_size_limit = 1000000", "smtpd.message_size", "1000000"},
        {"", "smtpd.message_size", "10240000"},
        {"maximal_queue_lifetime = 3", "queue.expiry", "\"3d\""},
        {"bounce_queue_lifetime = 36h", "queue.report_expiry", "\"36h\""},
        {"delay_warning_time = 2", "queue.delay_notice", "\"2h\""},
        {"", "queue.delay_notice", "\"0s\""},
        {"default_destination_concurrency_limit = 7", "queue.connections_mx", "7"},
        {"smtp_destination_rate_delay = 1s", "route.\"*\".messages_per_second", "1"},
        {"smtp_destination_rate_delay = 60s", "route.\"*\".messages_per_hour", "60"},
        {"smtp_tls_security_level = dane", "smtp_client.tls", "\"dane\""},
        {"smtp_tls_protocols = >=TLSv1.3", "smtp_client.tls_minimum_version", "\"1.3\""},
        {"smtp_tls_protocols = !SSLv2, !SSLv3", "smtp_client.tls_minimum_version", "\"1.2\""},
        {"smtp_tls_protocols = TLSv1.3", "smtp_client.tls_minimum_version", "\"1.3\""},
        // Only old versions: with 1.3 as the oldest, servers that know 1.2 would get their mail without TLS.
        {"smtp_tls_mandatory_protocols = !SSLv2, !SSLv3, TLSv1", "smtp_client.tls_minimum_version", "\"1.2\""},
        {"smtpd_tls_mandatory_protocols = TLSv1", "tls.minimum_version", "\"1.2\""},
        {"smtpd_tls_exclude_ciphers = aNULL, AES256-SHA:KRB5-DE5 AES+SHA256", "tls.ciphers",
         "\"DEFAULT:!aNULL:!AES256-SHA:!KRB5-DE5:!AES+SHA256\""},
        {"smtp_tls_exclude_ciphers = AES256-SHA", "smtp_client.tls_ciphers", "\"DEFAULT:!AES256-SHA\""},
        {"smtp_bind_address = 192.0.2.7", "route.\"*\".pool", "\"postfix\""},
        {"home_mailbox = Maildir/", "local.mailbox", "\"maildir:{home}/Maildir\""},
        {"home_mailbox = Mailbox", "local.mailbox", "\"mbox:{home}/Mailbox\""},
        {"mail_spool_directory = /srv/mail/", "local.mailbox", "\"maildir:/srv/mail/{user}\""},
        {"mailbox_command = /usr/bin/procmail -a \"$EXTENSION\"", "local.mailbox_command",
         R"("/usr/bin/procmail -a \"$EXTENSION\"")"},
        {"mailbox_transport = lmtp:unix:private/lmtp", "local.deliver", "\"lmtp:/var/spool/postfix/private/lmtp\""},
        {"luser_relay = info@a.example", "local.catch_all", "\"info@a.example\""},
        {"recipient_delimiter = +-", "local.recipient_delimiter", "\"+\""},
        {"", "local.recipient_delimiter", "\"\""},
        {"recipient_delimiter = -\nforward_path = $home/.forward${recipient_delimiter}${extension}", "local.forward",
         R"(["{home}/.forward-{extension}"])"},
        {"allow_mail_to_commands = alias,include", "local.commands_from", R"(["aliases", "includes"])"},
        {"local_recipient_maps =", "local.check_recipients", "false"},
        {"local_recipient_maps = $alias_maps hash:/pf/l",
         "local.recipients",
         R"(["text:/pf/l"])",
         {{"/pf/l", "a x\n"}}},
        {"local_recipient_maps = $alias_maps hash:/pf/l",
         "local.known_recipients",
         R"(["aliases"])",
         {{"/pf/l", "a x\n"}}},
        {"local_recipient_maps = proxy:unix:passwd.byname $alias_maps regexp:/pf/l",
         "local.recipients",
         R"(["regexp:/pf/l"])",
         {{"/pf/l", "/^a@/ x\n"}}},
        {"local_recipient_maps = proxy:unix:passwd.byname $alias_maps regexp:/pf/l",
         "local.known_recipients",
         "-",
         {{"/pf/l", "/^a@/ x\n"}}},
        {"local_recipient_maps = $alias_maps", "local.known_recipients", R"(["aliases"])"},
        {"local_recipient_maps =", "smtpd.check_recipients", "-"}, // recipients of other classes are still checked
        {"smtpd_reject_unlisted_recipient = no", "smtpd.check_recipients", "false"},
        {"smtpd_reject_unlisted_recipient = no\nsmtpd_recipient_restrictions = reject_unauth_destination, "
         "reject_unlisted_recipient",
         "smtpd.check_recipients", "-"},
        {"virtual_mailbox_domains = b.example\nvirtual_mailbox_maps = hash:/pf/b\nvirtual_mailbox_base = /srv\n"
         "virtual_uid_maps = static:5000",
         "virtual_mailbox.deliver",
         "\"maildir:/srv/{value}\"",
         {{"/pf/b", "a@b.example b/a/\n"}}},
        {"virtual_mailbox_domains = b.example\nvirtual_transport = lmtp:inet:[::1]:24", "virtual_mailbox.deliver",
         "\"lmtp:[::1]\""},
        {"canonical_maps = hash:/pf/c\ncanonical_classes = envelope_sender",
         "canonical.sender",
         R"(["text:/pf/c"])",
         {{"/pf/c", "a b\n"}}},
        {"canonical_maps = hash:/pf/c\ncanonical_classes = envelope_sender",
         "canonical.header_sender",
         "-",
         {{"/pf/c", "a b\n"}}},
        {"canonical_maps = hash:/pf/c\nsender_canonical_maps = hash:/pf/s",
         "canonical.header_sender",
         R"(["text:/pf/s"])",
         {{"/pf/c", "a b\n"}, {"/pf/s", "a b\n"}}},
        {"canonical_maps = hash:/pf/c\nsender_canonical_maps = hash:/pf/s",
         "canonical.header_recipient",
         "-",
         {{"/pf/c", "a b\n"}, {"/pf/s", "a b\n"}}},
        {"canonical_maps = hash:/pf/c\nsender_canonical_maps = hash:/pf/s\ncanonical_classes = "
         "envelope_sender, header_recipient",
         "canonical.common_classes",
         R"(["envelope_sender", "header_recipient"])",
         {{"/pf/c", "a b\n"}, {"/pf/s", "a b\n"}}},
        {"canonical_maps = hash:/pf/c\nsender_canonical_maps = hash:/pf/s",
         "canonical.common",
         R"(["text:/pf/c"])",
         {{"/pf/c", "a b\n"}, {"/pf/s", "a b\n"}}},
        {"canonical_maps = hash:/pf/c", "canonical.repeat", "true", {{"/pf/c", "a b\n"}}},
        {"canonical_maps = hash:/pf/c", "canonical.header_recipient", R"(["text:/pf/c"])", {{"/pf/c", "a b\n"}}},
        {"canonical_maps =", "canonical.repeat", "-"},
        {"sender_canonical_maps = hash:/pf/s\nsender_canonical_classes = envelope_sender",
         "canonical.header_origins",
         "-",
         {{"/pf/s", "a b\n"}}},
        {"soft_bounce = yes", "bounce.soft_bounce", "true"},
        {"notify_classes = bounce, delay, 2bounce", "bounce.postmaster_copy",
         R"(["failed", "delayed", "undeliverable"])"},
        {"always_bcc = a@b.example", "automatic_bcc.always", R"(["a@b.example"])"},
        {"virtual_mailbox_domains = b.example\nvirtual_mailbox_maps = proxy:static:all\nvirtual_transport = "
         "lmtp:inet:[::1]:24",
         "virtual_mailbox.recipients", R"(["static:all"])"},
        {"myorigin = $mydomain\nalways_bcc = archive", "automatic_bcc.always", R"(["archive@site.example"])"},
        {"recipient_bcc_maps = hash:/pf/bcc",
         "automatic_bcc.by_recipient",
         R"(["@a.example b@c.example"])",
         {{"/pf/bcc", "@a.example b@c.example\n"}}},
        {"header_checks = regexp:/pf/h",
         "content.header_checks",
         R"(["/^X-A:/ IGNORE", "/z/ IGNORE", "if /x/", "/^X-B:/ IGNORE", "endif"])",
         {{"/pf/h", "/^X-A:/ IGNORE\n/z/ IGNORE\nif /x/\n/^X-B:/ IGNORE\nendif\n/y/ FILTER a:b\n"}}},
        {"relay_domains = a.example\nrelay_transport = relay:[m1.example], [m2.example]:26",
         "route.\"a.example\".next_hop", R"(["[m1.example]", "[m2.example]:26"])"},
        {"default_transport = smtp:[m1.example] [m2.example]", "route.\"*\".next_hop",
         R"(["[m1.example]", "[m2.example]"])"},
        {"transport_maps = inline:{ {a.example = smtp:[m1.example], [m2.example]} }", "table.transport_maps_1.entries",
         R"(["a.example smtp:[m1.example], [m2.example]"])"},
        {"append_dot_mydomain = yes\nsender_canonical_maps = hash:/pf/s\nmydomain = site.example",
         "canonical.header_sender",
         R"(["patterns:append_dot_mydomain_1", "text:/pf/s"])",
         {{"/pf/s", "a b\n"}}},
        {"append_dot_mydomain = yes", "canonical.recipient", R"(["patterns:append_dot_mydomain_1"])"},
        {"append_dot_mydomain = yes", "canonical.repeat", "true"},
        {"append_dot_mydomain = yes", "canonical.header_origins", R"(["local"])"},
        {"append_dot_mydomain = yes", "table.append_dot_mydomain_1.rules",
         R"(["/^(.*)@([^@.\\[\\]]+)$/ $1@$2.site.example"])"},
        {"append_dot_mydomain = no", "canonical.recipient", "-"},
        // A domain of two classes is in the first one, as in Postfix.
        {"mydestination = a.example\nrelay_domains = $mydestination, b.example", "relay.domains",
         R"([".a.example", "b.example", ".b.example"])"},
        {"mydestination = a.example\nvirtual_alias_domains = a.example, b.example\nvirtual_alias_maps = "
         "inline:{x@b.example=y}",
         "virtual_alias.domains", R"(["b.example"])"},
        {"mydestination = a.example, hash:/pf/d\nrelay_domains = b.example, c.example",
         "relay.domains",
         R"([".b.example", "c.example", ".c.example"])",
         {{"/pf/d", "b.example x\n"}}},
        {"mydestination =\nvirtual_mailbox_domains = pcre:{{/^b\\./ x}}\nvirtual_mailbox_maps = static:x\n"
         "relay_domains = b.example, "
         "c.example\nvirtual_transport = lmtp:unix:/x\nparent_domain_matches_subdomains =",
         "relay.domains", R"(["c.example"])"},
        {"header_checks = pcre:{{/^X-A: (.)/ PREPEND X-B: $$1}, {if /^Subject:/} {/a/ HOLD},{endif}}",
         "content.header_checks", R"(["/^X-A: (.)/ PREPEND X-B: $1", "if /^Subject:/", "/a/ HOLD", "endif"])"},
        {"virtual_alias_maps = proxy:pcre:{ { /^(a+)@x$$/ $$1@b.example } }, inline:{ c@x=d, { e@x = f@y, g@z } }",
         "virtual_alias.tables", R"(["patterns:virtual_alias_maps_1", "table:virtual_alias_maps_2"])"},
        {"virtual_alias_maps = pcre:{ { /^(a+)@x$$/ $$1@b.example } }", "table.virtual_alias_maps_1.rules",
         R"(["/^(a+)@x$/ $1@b.example"])"},
        {"virtual_alias_maps = regexp:{ { /^(a+)@x$$/ b@c.example } }", "table.virtual_alias_maps_1.kind",
         R"("regexp")"},
        {"virtual_alias_maps = inline:{ c@x=d, { e@x = f@y, g@z } }", "table.virtual_alias_maps_1.entries",
         R"(["c@x d", "e@x f@y, g@z"])"},
        {"smtpd_client_restrictions = check_client_access cidr:{{192.0.2.0/24 REJECT}, {!10.0.0.0/8 DUNNO}}",
         "access.postfix.client", R"(["check_client_access patterns:smtpd_client_restrictions_1"])"},
        {"smtpd_client_restrictions = check_client_access cidr:{{192.0.2.0/24 REJECT}, {!10.0.0.0/8 DUNNO}}",
         "table.smtpd_client_restrictions_1.rules", R"(["192.0.2.0/24 REJECT", "!10.0.0.0/8 DUNNO"])"},
        {"mynetworks = cidr:{{192.0.2.0/24 x}, {10.0.0.0/8 y}}", "relay.networks", R"(["192.0.2.0/24", "10.0.0.0/8"])"},
        {"virtual_alias_maps = unionmap:{texthash:/pf/v, pcre:/pf/p, inline:{a@b=c}}",
         "virtual_alias.tables",
         R"(["table:virtual_alias_maps_1"])",
         {{"/pf/v", "a@b c\n"}, {"/pf/p", "/x@b/ y@b\n"}}},
        {"virtual_alias_maps = unionmap:{texthash:/pf/v, pcre:/pf/p, inline:{a@b=c}}",
         "table.virtual_alias_maps_1.tables",
         R"(["text:/pf/v", "regexp:/pf/p", "table:virtual_alias_maps_2"])",
         {{"/pf/v", "a@b c\n"}, {"/pf/p", "/x@b/ y@b\n"}}},
        {"virtual_alias_maps = pipemap:{pcre:{{/x@b/ y}}, static:z@b}", "virtual_alias.tables",
         R"(["patterns:virtual_alias_maps_1"])"},
        {"virtual_alias_maps = pipemap:{pcre:{{/x@b/ y}}, static:z@b}", "table.virtual_alias_maps_1.kind",
         R"("chain")"},
        {"header_checks = regexp:/pf/h",
         "content.header_checks",
         R"(["if ! /x/i", "if /y/", "/a/ HOLD", "endif", "endif", "/a/ WARN", "/a/ WARN"])",
         {{"/pf/h", "IF ! /x/i   /b/ REJECT\nif/y/\n/a/ HOLD\nEndIf x\nendif\nendif\n/a/ WARN\n/a/ WARN\n"}}},
        {"header_checks = regexp:/pf/h pcre:/pf/i",
         "content.header_checks",
         R"(["if /x/", "if /y/", "/a/ HOLD", "endif", "endif", "/a/ WARN"])",
         {{"/pf/h", "if /x/\nif /y/\n/a/ HOLD\n"}, {"/pf/i", "/a/ WARN\n"}}},
        {"header_checks = regexp:/pf/h",
         "content.header_checks",
         R"(["/a/ WARN"])",
         {{"/pf/h", "if /(/\nif /y/\n/a/ HOLD\nendif\n/b/ HOLD\nendif\n/a/ WARN\n"}}},
        {"header_checks = regexp:/pf/h",
         "content.mime_header_checks",
         R"(["/^X-A:/ IGNORE"])",
         {{"/pf/h", "/^X-A:/ IGNORE\n"}}},
        {"header_checks = regexp:/pf/h",
         "content.nested_header_checks",
         R"(["/^X-A:/ IGNORE"])",
         {{"/pf/h", "/^X-A:/ IGNORE\n"}}},
        {"header_checks = regexp:/pf/h\nnested_header_checks =\nmime_header_checks = pcre:/pf/m",
         "content.nested_header_checks",
         "-",
         {{"/pf/h", "/^X-A:/ IGNORE\n"}, {"/pf/m", "/name/ INFO\n"}}},
        {"header_checks = regexp:/pf/h\nmime_header_checks = pcre:/pf/m",
         "content.mime_header_checks",
         R"(["/name/ INFO"])",
         {{"/pf/h", "/^X-A:/ IGNORE\n"}, {"/pf/m", "/name/ INFO\n"}}},
        {"body_checks = pcre:/pf/b",
         "content.body_checks",
         R"(["/^x/ REPLACE any line"])",
         {{"/pf/b", "/^x/ REPLACE any line\n"}}},
        {"body_checks_size_limit = 1000", "content.body_checks_size", "1000"},
        {"smtp_header_checks = pcre:/pf/h",
         "smtp_client.header_checks",
         R"(["/^X-A:/ STRIP"])",
         {{"/pf/h", "/^X-A:/ STRIP\n/^X-B:/ HOLD\n"}}},
        {"smtp_mime_header_checks = pcre:/pf/h",
         "smtp_client.mime_header_checks",
         R"(["/^X-A:/ INFO"])",
         {{"/pf/h", "/^X-A:/ INFO\n"}}},
        {"smtp_nested_header_checks = pcre:/pf/h",
         "smtp_client.nested_header_checks",
         R"(["/^X-A:/ INFO"])",
         {{"/pf/h", "/^X-A:/ INFO\n"}}},
        {"smtp_body_checks = pcre:/pf/h",
         "smtp_client.body_checks",
         R"(["/^X-A:/ IGNORE"])",
         {{"/pf/h", "/^X-A:/ IGNORE\n"}}},
        {"smtp_generic_maps = hash:/pf/g", "generic.tables", R"(["text:/pf/g"])", {{"/pf/g", "a b\n"}}},
        {"smtp_generic_maps = hash:/pf/g", "generic.propagate_extension", "-", {{"/pf/g", "a b\n"}}},
        {"smtp_generic_maps = hash:/pf/g\npropagate_unmatched_extensions = canonical, generic",
         "generic.propagate_extension",
         "true",
         {{"/pf/g", "a b\n"}}},
        {"masquerade_domains = $mydomain !lab.$mydomain !!x.example", "masquerade.domains",
         R"(["site.example", "!lab.site.example", "x.example"])"},
        {"masquerade_domains = a.example", "masquerade.header_origins", R"(["local"])"},
        {"masquerade_domains = a.example\nlocal_header_rewrite_clients = permit_mynetworks, permit_sasl_authenticated\n"
         "remote_header_rewrite_domain = domain.invalid",
         "masquerade.header_origins", R"(["local", "submission", "authenticated", "networks", "other"])"},
        {"masquerade_domains = a.example", "masquerade.classes", "-"},
        {"masquerade_domains = a.example\nmasquerade_classes = envelope_recipient header_sender", "masquerade.classes",
         R"(["envelope_recipient", "header_sender"])"},
        {"masquerade_domains = a.example\nmasquerade_exceptions = root, hash:/x", "masquerade.exceptions",
         R"(["root"])"},
        {"smtpd_recipient_restrictions = reject_rbl_client z.example=127.0.0.[2..3]", "dns_list.\"z.example\".answers",
         R"(["127.0.0.2", "127.0.0.3"])"},
        {"smtpd_recipient_restrictions = reject_rbl_client Z.Example", "dns_list.\"z.example\".weight", "1"},
        {"smtpd_recipient_restrictions = check_policy_service { inet:127.0.0.1:10023, default_action=DUNNO }",
         "policy.postfix_1.on_failure", "\"accept\""},
        {"smtpd_data_restrictions = check_policy_service unix:private/p", "policy.postfix_1.stage", "\"data\""},
        {"smtpd_milters = inet:8891@localhost", "milter.postfix_01.address", "\"inet:127.0.0.1:8891\""},
        {"non_smtpd_milters = unix:m", "milter.postfix_01.listeners", R"(["local"])"},
        {"inet_protocols = ipv4", "listen.smtp.addresses", R"(["0.0.0.0:25"])"},
        {"inet_interfaces = loopback-only", "listen.smtp.addresses", R"(["127.0.0.1:25", "[::1]:25"])"},
        {"inet_interfaces = 192.0.2.7, [2001:db8::7]", "listen.smtp.addresses",
         R"(["192.0.2.7:25", "[2001:db8::7]:25"])"},
        {"disable_vrfy_command = yes", "listen.smtp.vrfy", "\"off\""},
        {"smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = private/auth", "auth.dovecot",
         "\"/var/spool/postfix/private/auth\""},
        {"smtpd_client_connection_rate_limit = 30\nanvil_rate_time_unit = 30s", "smtpd.connections_per_minute", "60"},
        {"smtpd_etrn_restrictions = permit_mynetworks, reject\nmynetworks = 10.0.0.0/8", "listen.smtp.etrn_networks",
         R"(["10.0.0.0/8"])"},
        {"syslog_name = mta", "log.name", "\"mta\""},
        {"maillog_file = /var/log/x", "log.file", "\"/var/log/x\""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.main);
        const auto from = imported(row.main + "\n", row.files);
        CHECK(key(from, row.path) == row.value);
        for (const auto& each : from.results) // what is carried over without a remark says nothing
            CHECK((each.kind != SettingResult::Kind::converted || each.remarks.empty()));
    }
}

TEST_CASE("what has no counterpart is said with its reason, at its line") {
    const std::pair<std::string, std::string> rows[] = {
        {"smtpd_banner = hello", "the greeting is"},
        {"content_filter = amavis:[127.0.0.1]:10024", "is not a transport that speaks SMTP"},
        {"smtpd_sender_restrictions = check_sender_access hash:/x", "/x: there is no such file"},
        {"smtpd_sender_restrictions = reject_unlisted_sender",
         "reject_unlisted_sender: no counterpart; senders are not looked up"},
        {"unverified_recipient_reject_code = 250", "warn_if_reject"},
        {"unverified_sender_defer_code = 550", "expected a code from 400 to 499"},
        {"smtpd_client_restrictions = reject_rbl_client bl\"x.example", "name the zone"},
        {"smtpd_client_restrictions = reject_rbl_client bl.example\x1b[2J", "name the zone"},
        {"mailbox_transport = cyrus", "only lmtp has a counterpart"},
        {"luser_relay = $user@other.example", "local.catch_all"},
        {"luser_relay = ann", "unknown users are not rejected at RCPT"},
        {"smtpd_sasl_auth_enable = yes", "postrider passwd"},
        {"unheard_of = 1", "no such setting"},
        {"smtpd_tls_cert_file = /no/such.pem", "there is no such file; postrider check requires it"},
        {"postscreen_greet_wait = 10s", "it has no effect in Postrider"},
        {"header_checks = pcre:/no/such", "/no/such: there is no such file"},
        {"body_checks = pcre:/x", "/x: there is no such file"},
    };
    for (const auto& [main, said] : rows) {
        CAPTURE(main);
        const auto name = main.substr(0, main.find(' '));
        auto from = imported(main + "\n");
        const auto& found = result_of(from, name);
        CHECK(found.kind != SettingResult::Kind::converted);
        CHECK(found.line == 2);
        REQUIRE(!found.remarks.empty());
        CHECK_MESSAGE(found.remarks.back().find(said) != std::string::npos, found.remarks.back());
        CHECK(from.text().find("line 2: " + name) != std::string::npos);
    }
}

TEST_CASE(
    "what says whose mail is taken, who may relay and who is there is never dropped: it stays for check to refuse") {
    struct Row {
        std::string main, path, stands, said;
    };
    const Row rows[] = {
        {"relay_domains = a.example\nrelay_recipient_maps = mysql:/pf/r.cf", "relay.recipients",
         R"(["mysql:/pf/r.cf"])", "there is no such file"},
        {"relay_recipient_maps = hash:/no/such", "relay.recipients", R"(["text:/no/such"])", "there is no such file"},
        {"relay_domains = a.example, /no/such", "relay.domains", R"(["a.example", ".a.example", "/no/such"])",
         "there is no such file"},
        {"mydestination = /etc/mailname, ldap:/pf/l.cf", "local.domains", R"(["/etc/mailname"])",
         "there is no such file"},
        {"mydestination = ldap:/pf/l.cf", "local.domain_tables", R"(["ldap:/pf/l.cf"])", "there is no such file"},
        {"virtual_mailbox_domains = proxy:pgsql:/pf/d.cf", "virtual_mailbox.domain_tables", R"(["pgsql:/pf/d.cf"])",
         "there is no such file"},
        {"virtual_mailbox_domains = memcache:/pf/d.cf", "virtual_mailbox.domain_tables", R"(["memcache:/pf/d.cf"])",
         "have no counterpart"},
        {"virtual_mailbox_domains = b.example\nvirtual_transport = mine", "virtual_mailbox.domains", R"(["b.example"])",
         ""},
        {"virtual_transport = mine\nvirtual_mailbox_domains = b.example", "virtual_mailbox.deliver", "-",
         "as postrider check requires"},
        {"virtual_alias_maps = ldap:/pf/l", "virtual_alias.tables", R"(["ldap:/pf/l"])", "there is no such file"},
        {"mynetworks = !10.0.0.1, 10.0.0.0/8", "relay.networks", R"(["!10.0.0.1", "10.0.0.0/8"])",
         "exceptions have no counterpart"},
        {"mynetworks = /no/such", "relay.networks", R"(["/no/such"])", "there is no such file"},
        {"smtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = static:me:secret", "smtp_client.credentials",
         R"("/etc/postrider/credentials")", ""},
        {"smtpd_tls_security_level = encrypt\nsmtpd_tls_cert_file = /no/such", "listen.smtp.tls", R"("require")", ""},
        {"smtp_tls_policy_maps = hash:/no/such.policy", R"(route."hash:/no/such.policy".tls)", R"("verify")",
         "until there is a [route]"},
        {"smtp_tls_policy_maps = mysql:/pf/policy", R"(route."mysql:/pf/policy".tls)", R"("verify")",
         "until there is a [route]"},
        {"smtpd_tls_cert_file = /no/such", "tls.certificates", R"(["/no/such"])", "postrider check requires it"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.main);
        auto from = drafted(row.main + "\n");
        CHECK(key(from, row.path) == row.stands);
        const auto text = from.text();
        CHECK(text.find("secret") == text.npos);
        if (row.said.empty()) continue;
        std::string all;
        for (const auto& each : from.results)
            for (const auto& remark : each.remarks) all += remark + "\n";
        CHECK_MESSAGE(all.find(row.said) != std::string::npos, all);
    }
}

TEST_CASE("tables in databases: what differs from Postfix is named") {
    const auto remarks = [](const std::string& main, const std::string& path, const std::string& text) {
        const auto from = imported(main + "\n", {{path, text}});
        std::string all;
        for (const auto& each : from.results)
            for (const auto& remark : each.remarks) all += remark + "\n";
        return all;
    };
    const auto directory = [&](const std::string& text) {
        return remarks("virtual_alias_maps = ldap:/pf/l.cf", "/pf/l.cf", "search_base = dc=x\n" + text);
    };
    constexpr auto version = "version 3 of the protocol";
    CHECK(directory("# no\nversion_of = x\n").find("unknown parameter") != std::string::npos);
    CHECK(directory("result_attribute =\n  mail\n# \nversions: not a parameter\n").find("expected") !=
          std::string::npos);
    CHECK(directory("bind = no\n").find(version) != std::string::npos);
    CHECK(directory("Version = 3\n").find(version) == std::string::npos);
    const auto server = remarks("virtual_alias_maps = mysql:/pf/m.cf", "/pf/m.cf", "query = SELECT 1\n");
    CHECK(server.find("[client]") != std::string::npos);
}

TEST_CASE("who refuses all strangers has a listener for his own people") {
    for (const auto* list :
         {"smtpd_client_restrictions = permit_mynetworks, reject",
          "smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination, reject_rbl_client x.example, "
          "reject"}) {
        const auto from = imported(std::string("mynetworks = 10.0.0.0/8\n") + list + "\n");
        CHECK(key(from, "listen.smtp.service") == "\"submission\"");
        CHECK(key(from, "listen.smtp.submission_networks") == R"(["10.0.0.0/8"])");
        CHECK(key(from, "listen.smtp.auth") == "false");
    }
    for (const auto* list : {"smtpd_client_restrictions = permit_mynetworks",
                             "smtpd_recipient_restrictions = permit_mynetworks, permit_auth_destination, reject",
                             "smtpd_client_restrictions = permit_mynetworks, check_client_access cidr:/x, reject"})
        CHECK(key(imported(std::string("mynetworks = 10.0.0.0/8\n") + list + "\n"), "listen.smtp.service") ==
              "\"relay\"");
}

TEST_CASE("clients relay where no list stands in their way") {
    const std::pair<std::string, std::string> rows[] = {
        {"smtpd_recipient_restrictions = reject_unauth_destination, permit_mynetworks", "[]"},
        {"smtpd_relay_restrictions = reject_unauth_destination\nsmtpd_recipient_restrictions = permit_mynetworks",
         "[]"},
        {"smtpd_relay_restrictions =\nsmtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination",
         R"(["10.0.0.0/8"])"},
        {"smtpd_client_restrictions = permit_mynetworks, reject_unknown_client_hostname", R"(["10.0.0.0/8"])"},
    };
    for (const auto& [main, networks] : rows) {
        CAPTURE(main);
        CHECK(key(imported("mynetworks = 10.0.0.0/8\n" + main + "\n"), "relay.networks") == networks);
    }
    const std::string dovecot =
        "smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = private/auth\n"
        "smtpd_tls_cert_file = /pf/c\nsmtpd_tls_security_level = may\n";
    CHECK(key(imported(dovecot, {{"/pf/c", "x"}}), "listen.smtp.auth") == "true");
    CHECK(key(imported(dovecot + "smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination\n",
                       {{"/pf/c", "x"}}),
              "listen.smtp.auth") == "false");
}

TEST_CASE("accounts by sender are named by their next hops") {
    const std::string on = "smtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:/pf/sasl\n";
    const std::map<std::string, std::string> files = {
        {"/pf/sasl",
         "ann@a.example ann@a.example:secret1\n@b.example bee:secret2\nben@b.example ben:secret3\ncarl@c.example "
         "carl:secret4\n[relay.example]:587 usual:secret5\n"},
        {"/pf/relays",
         "ann@a.example [smtp.a.example]:587\n@b.example smtp.b.example:submission\n@d.example [smtp.d.example]\n"}};
    auto from =
        imported("relayhost = [relay.example]:587\n" + on +
                     "smtp_sender_dependent_authentication = yes\nsender_dependent_relayhost_maps = hash:/pf/relays\n",
                 files);
    CHECK(key(from, "sender_relay.tables") == R"(["table:sender_accounts"])");
    const auto entries = key(from, "table.sender_accounts.entries");
    for (const auto* entry : {"ann@a.example ann@a.example@[smtp.a.example]:587", "@b.example bee@[smtp.b.example]:587",
                              "ben@b.example ben@[smtp.b.example]:587", "carl@c.example carl@[relay.example]:587",
                              "@d.example [smtp.d.example]\""})
        CHECK_MESSAGE(entries.find(entry) != std::string::npos, entries);
    CHECK(key(from, "smtp_client.credentials") == "\"/etc/postrider/credentials\"");
    CHECK(from.text().find("secret") == std::string::npos);
    const auto missing = drafted(
        "smtp_sasl_auth_enable = yes\nsmtp_sasl_password_maps = hash:/no/such\nsmtp_sender_dependent_authentication "
        "= yes\n");
    CHECK(key(missing, "smtp_client.credentials") == "\"/etc/postrider/credentials\"");
    // Keys that are senders count only where that is said.
    const auto without = imported("relayhost = [relay.example]:587\n" + on, files);
    CHECK(key(without, "table.sender_accounts.entries") == "-");
    CHECK(key(without, "smtp_client.credentials") == "\"/etc/postrider/credentials\"");
}

TEST_CASE("virtual mailboxes that Dovecot's program filled go to its server") {
    const auto from = imported(
        "virtual_mailbox_domains = b.example\nvirtual_transport = dovecot\n", {},
        smtp_line + "dovecot unix - n n - - pipe flags=DRhu user=vmail argv=/usr/lib/dovecot/deliver -f ${sender} -d "
                    "${recipient}\n");
    CHECK(key(from, "virtual_mailbox.deliver") == "\"lmtp:/run/dovecot/lmtp\"");
    CHECK(result_of(from, "virtual_transport").kind == SettingResult::Kind::with_remark);
}

TEST_CASE("programs behind pipe(8) become commands, if they are used and their words have counterparts") {
    const auto from = imported(
        "transport_maps = hash:/pf/transport\nvirtual_mailbox_domains = b.example\nvirtual_transport = drop\n"
        "mailman_time_limit = 2m\n",
        {{"/pf/transport", "lists.example mailman:\nfax.example fax:any\nodd.example odd:\ndots.example a.b:\n"}},
        smtp_line +
            "mailman unix - n n - - pipe flags=FRu user=list:list argv=/usr/lib/mailman/bin/postfix-to-mailman.py "
            "${nexthop} ${user}\n"
            "fax unix - n n - 1 pipe flags= null_sender= user=fax argv=/usr/bin/faxmail -d -n $(user) -f $sender a$$b\n"
            "drop unix - n n - - pipe flags=D user=vmail argv=/usr/bin/maildrop -d ${recipient}\n"
            "odd unix - n n - - pipe user=x argv=/bin/x ${client_address}\n"
            "a.b unix - n n - - pipe user=x argv=/bin/x\n"
            "uucp unix - n n - - pipe user=uucp argv=uux -r\n");
    CHECK(key(from, "command.mailman.run") ==
          R"(["/usr/lib/mailman/bin/postfix-to-mailman.py", "{domain}", "{user}"])");
    CHECK(key(from, "command.mailman.user") == "\"list\"");
    CHECK(key(from, "command.mailman.from_line") == "true");
    CHECK(key(from, "command.mailman.timeout") == "\"120s\"");
    CHECK(result_of(from, "mailman unix").kind == SettingResult::Kind::with_remark);
    CHECK(key(from, "command.fax.run") == R"(["/usr/bin/faxmail", "-d", "-n", "{user}", "-f", "{sender}", "a$b"])");
    CHECK(key(from, "command.fax.null_sender") == "\"\"");
    CHECK(result_of(from, "fax unix").kind == SettingResult::Kind::converted);
    CHECK(key(from, "virtual_mailbox.deliver") == "\"command:drop\"");
    CHECK(key(from, "command.drop.run") == R"(["/usr/bin/maildrop", "-d", "{recipient}"])");
    CHECK(!from.draft.has_section("command.odd"));
    CHECK(result_of(from, "odd unix").remarks ==
          std::vector<std::string>{"${client_address} in argv has no counterpart: write a [command.odd]"});
    CHECK(!from.draft.has_section("command.uucp"));
    CHECK(result_of(from, "uucp unix").kind == SettingResult::Kind::converted);
    CHECK(result_of(from, "transport_maps").remarks.size() == 2); // odd.example, dots.example
    CHECK(result_of(from, "a.b unix").remarks ==
          std::vector<std::string>{"its name is not one for a section: write a [command.a.b]"});
}

TEST_CASE("limits and addresses that apply elsewhere are said") {
    const auto limits = imported("scan_destination_recipient_limit = 1\nprogram_destination_recipient_limit = 1\n", {},
                                 smtp_line + "scan unix - - n - 2 smtp\nprogram unix - n n - - pipe user=vmail "
                                             "argv=/bin/cat\n");
    REQUIRE(result_of(limits, "scan_destination_recipient_limit").remarks.size() == 1);
    CHECK(result_of(limits, "scan_destination_recipient_limit").remarks[0].contains("recipients_per_transaction"));
    CHECK(result_of(limits, "program_destination_recipient_limit").remarks.empty());
    CHECK(result_of(imported("smtp_bind_address = 192.0.2.7\n"), "smtp_bind_address").remarks.empty());
    const auto bound = imported("smtp_bind_address = 192.0.2.7\ntransport_maps = hash:/pf/t\n",
                                {{"/pf/t", "x.example smtp:[y.example]\n"}});
    REQUIRE(result_of(bound, "smtp_bind_address").remarks.size() == 1);
    CHECK(result_of(bound, "smtp_bind_address").remarks[0].contains("transport table"));
}

TEST_CASE("a filter behind the queue is one matter") {
    const auto from = imported(
        "content_filter = amavis:[127.0.0.1]:10024\nsmtpd_milters = inet:127.0.0.1:8891\n", {},
        smtp_line +
            "amavis unix - - n - 2 smtp -o smtp_data_done_timeout=1200\n127.0.0.1:10025 inet n - n - - smtpd -o "
            "content_filter= -o mynetworks=127.0.0.0/8 -o smtpd_recipient_restrictions=permit_mynetworks,reject -o "
            "receive_override_options=no_unknown_recipient_checks,no_milters -o "
            "smtpd_authorized_xforward_hosts=127.0.0.0/8\n");
    CHECK(result_of(from, "content_filter").kind == SettingResult::Kind::converted);
    CHECK(result_of(from, "amavis unix").remarks ==
          std::vector<std::string>{"-o smtp_data_done_timeout: applies to all servers: see [smtp_client]"});
    CHECK(key(from, "listen.smtp.content_filter") == "\"amavis\"");
    CHECK(key(from, "submit.content_filter") == "\"amavis\"");
    CHECK(key(from, "route.\"amavis\".next_hop") == "\"[127.0.0.1]:10024\"");
    CHECK(key(from, "route.\"amavis\".connections") == "2");
    CHECK(key(from, "listen.port_10025.addresses") == "[\"127.0.0.1:10025\"]");
    CHECK(key(from, "listen.port_10025.service") == "\"filtered\"");
    CHECK(key(from, "listen.port_10025.submission_networks") == "[\"127.0.0.0/8\"]");
    CHECK(key(from, "listen.port_10025.xforward_networks") == "[\"127.0.0.0/8\"]");
    CHECK(key(from, "listen.port_10025.content_filter") == "-");
    CHECK(key(from, "milter.postfix_01.listeners") == "[\"smtp\"]");
    const auto direct = imported(
        "content_filter = smtp:127.0.0.1:10026\n", {},
        smtp_line + "submission inet n - n - - smtpd -o content_filter=lmtp:unix:private/scan\npickup unix n - n 60 1 "
                    "pickup -o content_filter=\nlmtp unix - - n - - lmtp\n");
    CHECK(key(direct, "listen.smtp.content_filter") == "\"[127.0.0.1]:10026\"");
    CHECK(key(direct, "listen.submission.content_filter").starts_with("\"lmtp:/"));
    CHECK(key(direct, "submit.content_filter") == "-");
    // Ports of one filter: mail of users goes to another.
    const auto ports = imported(
        "content_filter = amavis:[127.0.0.1]:10024\n", {},
        smtp_line + "submission inet n - n - - smtpd -o content_filter=amavis:[127.0.0.1]:10026\npickup unix n - n 60 "
                    "1 pickup -o content_filter=amavis:[127.0.0.1]:10026\namavis unix - - n - 2 smtp\n");
    const auto hop_for = [&](const char* filtered) {
        return key(ports, fmt::format("route.{}.next_hop", key(ports, fmt::format("{}.content_filter", filtered))));
    };
    CHECK(hop_for("listen.smtp") == "\"[127.0.0.1]:10024\"");
    CHECK(hop_for("listen.submission") == "\"[127.0.0.1]:10026\"");
    CHECK(hop_for("submit") == "\"[127.0.0.1]:10026\"");
    CHECK(ports.draft.sections("route.").size() == 2);
    CHECK(key(ports, "route.\"amavis-2\".connections") == "2");
    const auto own =
        imported("", {},
                 "smtp inet n - n - - smtpd -o content_filter=spam\nspam unix - n n - - pipe flags=Rq user=spam "
                 "argv=/usr/bin/spamc -e /usr/sbin/sendmail -oi -f ${sender} ${recipient}\n");
    CHECK(result_of(own, "smtp inet").kind == SettingResult::Kind::unsupported);
}

TEST_CASE("what comes out is TOML for a terminal, whatever a value has in it") {
    // ESC, and CSI as one character of its own (U+009B), clear the screen of some terminals.
    for (const auto* name : {"unheard_of", "myhostname", "relayhost", "smtpd_tls_security_level", "syslog_name",
                             "luser_relay", "mydestination", "smtpd_milters", "recipient_delimiter"})
        for (const auto* value : {"\x1b[2J", "\xc2\x9b[2J", "a\"b", "a\\b", "\xc3\xa9"}) {
            CAPTURE(name);
            CAPTURE(value);
            auto from = drafted(fmt::format("{} = x{}\nsmtpd_sasl_auth_enable = yes\n", name, value));
            const auto text = from.text();
            CHECK(smtp::is_utf8_text(text));
            CHECK(text.find('\x1b') == text.npos);
            CHECK_NOTHROW(toml::parse(text));
        }
}

TEST_CASE("a default that is written down is no loss") {
    for (const auto* name : {"smtpd_banner = $myhostname ESMTP $mail_name (Debian)", "append_dot_mydomain = no",
                             "smtp_bind_address = 0.0.0.0", "smtpd_tls_ciphers = high",
                             "smtpd_tls_exclude_ciphers = aNULL, MD5, DES", "disable_vrfy_command = no",
                             "body_checks =", "smtpd_helo_required = no", "unverified_recipient_reject_code = 450"})
        CHECK(imported(std::string(name) + "\n").count(SettingResult::Kind::converted) == 3);
}

TEST_CASE("rules for replies become ours as far as they change what a reply means") {
    const auto from =
        imported("smtp_reply_filter = pcre:/pf/replies\n",
                 {{"/pf/replies", "/^554 5\\.7\\.1 (.*greylist.*)/ 450 4.7.1 $1\n/^421/i 521 gone\n/^250-X/ 250-Y\n"}});
    CHECK(key(from, "smtp_client.reply_rules") ==
          R"(["/^554 5\\.7\\.1 (.*greylist.*)/ is temporary", "/^421/i is permanent"])");
    CHECK(result_of(from, "smtp_reply_filter").kind == SettingResult::Kind::unsupported); // the third
}

TEST_CASE("a rule for replies without its condition, or behind one that is left out, would mean something else") {
    const auto rules = [](const std::string& text) {
        const auto from = imported("smtp_reply_filter = pcre:/pf/replies\n", {{"/pf/replies", text}});
        CHECK(result_of(from, "smtp_reply_filter").kind == SettingResult::Kind::unsupported);
        return key(from, "smtp_client.reply_rules");
    };
    CHECK(rules("if /^4/\n/graylist/ 421 4.7.0 x\nendif\n") == "-");
    CHECK(rules("/^421/ 521 gone\n!/^5/ 450 wait\n/graylist/ 421 4.7.0 x\n") == R"(["/^421/ is permanent"])");
}

TEST_CASE("services become listeners") {
    const auto from = imported(
        "smtpd_tls_chain_files = /pf/all.pem\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = private/auth\nmynetworks "
        "= 10.0.0.0/8\n"
        "mua_restrictions = permit_sasl_authenticated, reject\n",
        {{"/pf/all.pem", "-----BEGIN PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\n"}},
        "smtp inet n - n - - postscreen -o postscreen_greet_action=enforce\nsmtpd pass - - n - - smtpd\n"
        "submission inet n - y - 5 smtpd\n -o smtpd_tls_security_level=encrypt -o smtpd_sasl_auth_enable=yes\n -o "
        "smtpd_client_restrictions=$mua_restrictions\n -o smtpd_tls_loglevel=2 -o smtpd_proxy_filter=x\n"
        "127.0.0.1:465 inet n - n - - smtpd -o smtpd_tls_wrappermode=yes -o smtpd_sasl_auth_enable=yes\n"
        "127.0.0.1:10025 inet n - n - - smtpd\nqmqp inet n - n - - qmqpd\nmaildrop unix - n n - - pipe flags=D "
        "user=x argv=/bin/x\nslow unix - - n - - smtp\n");
    CHECK(key(from, "listen.smtp.service") == "\"relay\"");
    CHECK(key(from, "listen.submission.service") == "\"submission\"");
    CHECK(key(from, "listen.submission.tls") == "\"require\"");
    CHECK(key(from, "listen.submission.auth") == "true");
    CHECK(key(from, "listen.submission.submission_networks") == "-");
    CHECK(key(from, "listen.submissions.tls") == "\"implicit\"");
    CHECK(key(from, "listen.submissions.submission_networks") == R"(["10.0.0.0/8"])");
    CHECK(key(from, "listen.port_10025.addresses") == R"(["127.0.0.1:10025"])");
    CHECK(key(from, "smtpd.greeting_delay") == "\"6s\"");
    CHECK(key(from, "tls.certificates") == R"(["/pf/all.pem"])");
    CHECK(result_of(from, "submission inet").kind == SettingResult::Kind::unsupported); // smtpd_proxy_filter
    CHECK(result_of(from, "submission inet").remarks.size() == 2); // smtpd_proxy_filter, the limit of processes
    CHECK(result_of(from, "qmqp inet").kind == SettingResult::Kind::unsupported);
    CHECK(result_of(from, "slow unix").kind == SettingResult::Kind::unsupported);
    CHECK(result_of(from, "maildrop unix").kind == SettingResult::Kind::converted);
}

TEST_CASE("broken files end the work with file and line") {
    CHECK(fault("nonsense\n") == "/pf/main.cf:1: \"nonsense\": no \"=\" after the name");
    CHECK(fault("a = $b\nb = $a\n").starts_with("/pf/main.cf:1: a: ${b} refers to itself (b, a, b)"));
    CHECK(fault("x = 1\nvirtual_alias_maps = hash:/secret\n", {{"/secret", "forbidden"}}) ==
          "/pf/main.cf:2: virtual_alias_maps: /secret: Permission denied");
    CHECK(fault("virtual_alias_maps = hash:/t\n", {{"/t", "good one\nlonely\n"}}) ==
          "/t:2: \"lonely\": the key has no value");
    CHECK(fault("message_size_limit = much\n") == "/pf/main.cf:1: message_size_limit: \"much\" is not a whole number");
    CHECK(fault("soft_bounce = perhaps\n") == "/pf/main.cf:1: soft_bounce: \"perhaps\" is neither yes nor no");
    CHECK(fault("maximal_queue_lifetime = long\n")
              .starts_with("/pf/main.cf:1: maximal_queue_lifetime: \"long\" is not a time"));
    CHECK(fault("myorigin = \xff\n") == "/pf/main.cf:1: not UTF-8: convert the file to that encoding");
    Machine nothing;
    CHECK(import_postfix(nothing.environment()).error().to_string() == "/pf/main.cf: No such file or directory");
}

TEST_CASE("what the check refuses is left out with the reason") {
    auto from = imported("bounce_queue_lifetime = 1d\n");
    const auto text = from.text();
    const auto line = static_cast<std::uint32_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("report_expiry")), '\n') + 1);
    CHECK(from.draft.key_at_line(line) == "queue.report_expiry");
    CHECK(from.draft.key_at_line(line - 2 - 2) != "queue.report_expiry");
    from.drop_key("queue.report_expiry", "too odd");
    CHECK(key(from, "queue.report_expiry") == "-");
    CHECK(result_of(from, "bounce_queue_lifetime").kind == SettingResult::Kind::unsupported);
    CHECK(from.text().find("does not accept it: too odd") != std::string::npos);
}
