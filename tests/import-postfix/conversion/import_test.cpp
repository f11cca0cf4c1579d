#include "libsmtp/text/utf8.h"
#include "tests/import-postfix/conversion/machine.h"
#include <fmt/format.h>

using namespace postrider;

TEST_CASE("a remark behind a value is named, and the value before it used") {
    const auto from = imported("mailbox_size_limit = 0 # no limit\nsoft_bounce = yes # for now\n"
                               "maximal_queue_lifetime = 2d\t# short\n");
    CHECK(key(from, "local.mailbox_size") == "0");
    CHECK(key(from, "bounce.soft_bounce") == "true");
    CHECK(key(from, "queue.expiry") == R"("2d")");
    for (const auto* name : {"mailbox_size_limit", "soft_bounce", "maximal_queue_lifetime"})
        CHECK(result_of(from, name).remarks.front().contains("a remark must be on a line of its own"));
    CHECK(fault("message_size_limit = much # too much\n").contains("is not a whole number"));
    CHECK(fault("message_size_limit = # none\n").contains("is not a whole number"));
}

TEST_CASE("a luser_relay that is no address is left out, by name") {
    const auto from = imported("luser_relay = local:ann\n");
    CHECK(key(from, "local.catch_all") == "-");
    CHECK(result_of(from, "luser_relay").remarks.front().contains("\"local:ann\" is neither a user nor an address"));
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

TEST_CASE("nor do rules of the next table of replies stay") {
    const auto from = imported("smtp_reply_filter = pcre:/pf/one, pcre:/pf/two\n",
                               {{"/pf/one", "/^421/ 521 gone\n/^450/ 250 ok\n"}, {"/pf/two", "/^450/ 550 no\n"}});
    CHECK(key(from, "smtp_client.reply_rules") == R"(["/^421/ is permanent"])");
    CHECK(result_of(from, "smtp_reply_filter").remarks.front().contains("and the tables behind it"));
    const auto lost = imported("smtp_reply_filter = pcre:/pf/gone, pcre:/pf/two\n", {{"/pf/two", "/^450/ 550 no\n"}});
    CHECK(key(lost, "smtp_client.reply_rules") == "-");
    // "!" twice is none.
    const auto twice = imported("smtp_reply_filter = pcre:/pf/one\n", {{"/pf/one", "! !/^421/ 521 gone\n"}});
    CHECK(key(twice, "smtp_client.reply_rules") == R"(["/^421/ is permanent"])");
}

TEST_CASE("conditions of rules for replies, and negated patterns, are kept") {
    const auto from = imported("smtp_reply_filter = pcre:/pf/replies, pcre:{{/last/ 550 no}}\n",
                               {{"/pf/replies", "if !/^2/  x\n!/5\\.7\\.1/ 450 wait\nIF /^4/i\n/graylist/ 421 4.7.0 x\n"
                                                "endif\nendif\nendif\nif /^5/\n/spam/ 450 x\n"}});
    CHECK(key(from, "smtp_client.reply_rules") ==
          postrider::toml(std::vector<std::string>{"if !/^2/", "!/5\\.7\\.1/ is temporary", "if /^4/i",
                                                   "/graylist/ is temporary", "endif", "endif", "if /^5/",
                                                   "/spam/ is temporary", "endif", "/last/ is permanent"}));
    CHECK(result_of(from, "smtp_reply_filter").kind == SettingResult::Kind::with_remark); // of what is ignored
}

TEST_CASE("a rule for replies behind one that is left out would mean something else") {
    const auto rules = [](const std::string& text) {
        const auto from = imported("smtp_reply_filter = pcre:/pf/replies\n", {{"/pf/replies", text}});
        CHECK(result_of(from, "smtp_reply_filter").kind == SettingResult::Kind::unsupported);
        return key(from, "smtp_client.reply_rules");
    };
    CHECK(rules("if /(/\n/graylist/ 421 4.7.0 x\nendif\n") == "-");
    CHECK(rules("/^421/ 521 gone\n/^5/ 250 good\n/graylist/ 421 4.7.0 x\n") == R"(["/^421/ is permanent"])");
    CHECK(rules("if /^4/\n/^421/ 521 gone\n/^450/ 250 good\nendif\n/x/ 421 x\n") ==
          R"(["if /^4/", "/^421/ is permanent", "endif"])");
}

TEST_CASE("names without a domain that Postfix would not complete, or otherwise, are answered by name") {
    CHECK(result_of(imported("append_at_myorigin = no\n"), "append_at_myorigin").kind ==
          SettingResult::Kind::unsupported);
    CHECK(result_of(imported("append_at_myorigin = yes\n"), "append_at_myorigin").kind ==
          SettingResult::Kind::converted);
    const auto from = imported("remote_header_rewrite_domain = domain.invalid\n");
    CHECK(result_of(from, "remote_header_rewrite_domain").remarks.front().contains("stay as they are"));
    CHECK(result_of(imported("remote_header_rewrite_domain =\n"), "remote_header_rewrite_domain").kind ==
          SettingResult::Kind::converted);
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
