// SMTP transports of master.cf with settings of their own become routes that tables name.
#include "tests/import-postfix/conversion/machine.h"
#include <fmt/ranges.h>

using namespace postrider;

TEST_CASE("a transport that transport_maps names is a route of its name") {
    const auto from = imported(
        "transport_maps = inline:{ {gmail.example=slow:} {yahoo.example=slow:[relay.example]:26} "
        "{gone.example=other:} }\n"
        "slow_destination_concurrency_limit = 3\nslow_destination_rate_delay = 2s\n"
        "careful_destination_concurrency_limit = 7\n",
        {},
        smtp_line +
            "slow unix - - n - 5 smtp -o smtp_bind_address=192.0.2.7 -o smtp_helo_name=slow.example -o "
            "smtp_tls_security_level=encrypt -o smtp_fallback_relay=[last.example] -o syslog_name=postfix-slow\n"
            "careful unix - - n - - smtp\n");
    CHECK(key(from, "route.\"slow\".next_hop") == R"("mx")");
    CHECK(key(from, "route.\"slow\".connections") == "1"); // a delay has one at a time
    CHECK(key(from, "route.\"slow\".messages_per_hour") == "1800");
    CHECK(key(from, "route.\"slow\".tls") == R"("encrypt")");
    CHECK(key(from, "route.\"slow\".fallback") == R"(["[last.example]"])");
    CHECK(key(from, "route.\"slow\".pool") == R"("slow")");
    CHECK(key(from, "pool.slow.addresses") == R"(["192.0.2.7 slow.example"])");
    CHECK(result_of(from, "slow unix").kind == SettingResult::Kind::with_remark); // of its processes
    CHECK(result_of(from, "slow_destination_rate_delay").kind == SettingResult::Kind::converted);
    CHECK(key(from, "route.\"careful\".next_hop") == "-"); // nothing names it
    const auto remarks = fmt::format("{}", fmt::join(result_of(from, "transport_maps").remarks, "\n"));
    CHECK(remarks.find("gone.example other:") != std::string::npos);
    CHECK_MESSAGE(remarks.find("example slow:") == std::string::npos, remarks);
}

TEST_CASE("a transport that only a table of patterns names is a route of its name, or a program") {
    const std::string master = smtp_line +
                               "slow unix - - n - - smtp -o smtp_tls_security_level=encrypt\n"
                               "Lists unix - n n - - pipe flags=R user=list argv=/usr/bin/lists ${nexthop}\n"
                               "unused unix - - n - - smtp -o smtp_tls_security_level=none\n";
    const std::string rules = "if !/^root@/\n"
                              "/^.*@x\\.example$/ slow:[relay.example]\n"
                              "endif\n"
                              "!/@/ slow:\n"
                              "/^(.+)@lists\\.(.+)$/i Lists:$2\n"
                              "/@(.+)\\.by-port\\.example$/ smtp:[relay.example]:$1\n"
                              "/@(.+)\\.by-host\\.example$/ slow:[$1.example]\n"
                              "/^-(/ skipped:\n";
    const auto remarks = [](const ImportResult& from) {
        return fmt::format("{}", fmt::join(result_of(from, "transport_maps").remarks, "\n"));
    };
    for (const auto* table : {"regexp:/pf/t", "proxy:pcre:/pf/t", "unionmap:{pcre:/pf/t}"}) {
        CAPTURE(table);
        const auto from = imported(fmt::format("transport_maps = {}\n", table), {{"/pf/t", rules}}, master);
        CHECK(key(from, "route.\"slow\".tls") == R"("encrypt")");
        CHECK(key(from, "command.Lists.user") == R"("list")");
        CHECK(key(from, "route.\"unused\".tls") == "-");
        CHECK(remarks(from).find("waits until") == std::string::npos);
    }
    const auto in_place = imported("transport_maps = pcre:{{/@x/ slow:}}\n", {}, master);
    CHECK(key(in_place, "route.\"slow\".tls") == R"("encrypt")");
    const auto fixed = imported("transport_maps = static:slow:[relay.example]\n", {}, master);
    CHECK(key(fixed, "route.\"slow\".tls") == R"("encrypt")");
    // What cannot be carried over is said by name.
    const auto odd = drafted("transport_maps = pcre:/pf/t\n",
                             {{"/pf/t", "/@(slow|fast)/ $1:\n/@x/ missing:\n/@(.+)/ smtp:[a b$1]\n"}}, master);
    CHECK(remarks(odd).contains("/pf/t line 1: \"/@(slow|fast)/ $1:\": the name of the transport is made of what the "
                                "pattern catches"));
    CHECK(remarks(odd).contains("line 2: \"/@x/ missing:\": master.cf has no transport of that name"));
    CHECK(remarks(odd).contains("line 3: \"/@(.+)/ smtp:[a b$1]\": with what the pattern catches"));
}

TEST_CASE("a transport by sender that has more than source addresses is a route") {
    const auto from = imported("sender_dependent_default_transport_maps = inline:{ {@a.example=Slow:} "
                               "{@b.example=slow:[relay.example]} }\nSlow_destination_concurrency_limit = 4\n",
                               {},
                               smtp_line + "Slow unix - - n - - smtp -o smtp_tls_security_level=none\n"
                                           "slow unix - - n - - smtp -o smtp_tls_security_level=none\n");
    CHECK(key(from, "table.sender_transports.entries") == R"(["@a.example slow:", "@b.example slow:[relay.example]"])");
    CHECK(key(from, "route.\"slow\".tls") == R"("none")");
}

TEST_CASE("FILTER of checks and access tables: its transport becomes a route of that name") {
    const auto from = drafted(
        "header_checks = regexp:/pf/h\nsmtpd_sender_restrictions = check_sender_access hash:/pf/s\n",
        {{"/pf/h", "/^X-Spam/ FILTER Scan:[127.0.0.1]:10024\n/^X-Mail/ FILTER deliver:unix:private/scan\n"},
         {"/pf/s", "a.example FILTER Scan:[127.0.0.1]:10025\nb.example FILTER lmtp:unix:/run/scan\n"}},
        smtp_line + "Scan unix - - n - 2 smtp\n  -o smtp_send_xforward_command=yes\ndeliver unix - - n - - lmtp\n"
                    "127.0.0.1:10030 inet n - n - - smtpd -o content_filter=\n");
    const auto rules = key(from, "content.header_checks");
    CHECK_MESSAGE(rules.find("\"/^X-Spam/ FILTER scan:[127.0.0.1]:10024\"") != std::string::npos, rules);
    CHECK_MESSAGE(rules.find("\"/^X-Mail/ FILTER lmtp:/var/spool/postfix/private/scan\"") != std::string::npos, rules);
    CHECK(key(from, "route.\"scan\".next_hop") == "\"[127.0.0.1]:10025\"");
    CHECK(key(from, "route.\"scan\".connections") == "2");
    CHECK(from.undecided.empty());
    const auto pipe = drafted("header_checks = regexp:/pf/h\n", {{"/pf/h", "/^X-Spam/ FILTER spam:x\n"}},
                              smtp_line + "spam unix - n n - - pipe flags=Rq user=spam argv=/usr/bin/scan\n");
    REQUIRE(pipe.undecided.size() == 1);
    CHECK(pipe.undecided[0].advice.find("a program behind the queue") != std::string::npos);
}

TEST_CASE("FILTER without a content_filter: a listener takes the mail back, or the rule is undecided") {
    const std::string checks = "header_checks = regexp:/pf/h\n";
    const std::map<std::string, std::string> files{{"/pf/h", "/./ FILTER smtp:[127.0.0.1]:10024\n"},
                                                   {"/pf/s", "a.example FILTER smtp:[127.0.0.1]:10024\n"}};
    const auto rule = R"(["/./ FILTER [127.0.0.1]:10024"])";
    for (const auto* mark : {"-o content_filter=", "-o receive_override_options=no_header_body_checks,no_milters",
                             "-o content_filter= -o smtpd_recipient_restrictions=permit_mynetworks,reject"}) {
        CAPTURE(mark);
        const auto from = imported(checks, files, smtp_line + "127.0.0.1:10025 inet n - n - - smtpd " + mark + "\n");
        CHECK(key(from, "content.header_checks") == rule);
        CHECK(key(from, "listen.port_10025.service") == R"("filtered")");
        CHECK(key(from, "listen.port_10025.submission_networks") == key(from, "relay.networks"));
        CHECK(key(from, "listen.port_10025.auth") == "false");
        CHECK(key(from, "listen.smtp.service") == R"("relay")");
        CHECK(from.undecided.empty());
    }
    const auto own = imported("smtpd_sender_restrictions = check_sender_access hash:/pf/s\n", files,
                              smtp_line + "[::1]:10025 inet n - n - - smtpd -o content_filter= -o mynetworks=[::1]/128 "
                                          "-o smtpd_sender_restrictions=\n");
    CHECK(key(own, "listen.port_10025.service") == R"("filtered")");
    CHECK(key(own, "listen.port_10025.submission_networks") == R"(["[::1]/128"])");
    CHECK(own.undecided.empty());
    // Others' mail comes there, or nothing marks it.
    for (const auto* line :
         {"", "587 inet n - n - - smtpd -o receive_override_options=no_header_body_checks\n",
          "2525 inet n - n - - smtpd -o smtpd_sasl_auth_enable=yes -o receive_override_options=no_header_body_checks\n",
          "127.0.0.1:10025 inet n - n - - smtpd\n"}) {
        CAPTURE(line);
        const auto from =
            drafted(checks + "smtpd_sasl_type = dovecot\nsmtpd_sasl_path = private/auth\n", files, smtp_line + line);
        CHECK(key(from, "content.header_checks") == "-");
        CHECK(from.draft.sections_with("service", R"("filtered")").empty());
        REQUIRE(from.undecided.size() == 1);
        CHECK(from.undecided[0].guard == "header_checks: regexp:/pf/h line 1");
        CHECK(from.undecided[0].advice.find("takes the mail back") != std::string::npos);
    }
    // Without FILTER, such a listener is one as any other.
    const auto plain = imported("", {}, smtp_line + "127.0.0.1:10025 inet n - n - - smtpd -o content_filter=\n");
    CHECK(key(plain, "listen.port_10025.service") == R"("relay")");
    // No network may send there: the operator decides.
    const auto closed =
        drafted(checks, files, smtp_line + "127.0.0.1:10025 inet n - n - - smtpd -o content_filter= -o mynetworks=\n");
    CHECK(key(closed, "listen.port_10025.service") == R"("relay")");
    REQUIRE(closed.undecided.size() == 1);
    CHECK_MESSAGE(closed.undecided[0].advice.find("submission_networks") != std::string::npos,
                  closed.undecided[0].advice);
}

TEST_CASE("default_transport and relay_transport of that kind: its settings are those of the routes") {
    const auto from = imported(
        "relayhost = [relay.example]\ndefault_transport = out\nrelay_domains = r.example\n"
        "parent_domain_matches_subdomains =\n"
        "relay_transport = In:[in.example]:26\nout_destination_concurrency_limit = 4\n",
        {},
        smtp_line + "out unix - - n - - smtp -o smtp_bind_address=192.0.2.7 -o smtp_tls_security_level=encrypt\n"
                    "In unix - - n - 3 smtp\n");
    CHECK(key(from, "route.\"*\".next_hop") == R"("[relay.example]")");
    CHECK(key(from, "route.\"*\".tls") == R"("encrypt")");
    CHECK(key(from, "route.\"*\".pool") == R"("out")");
    CHECK(key(from, "route.\"*\".connections") == "4");
    CHECK(key(from, "route.\"r.example\".next_hop") == R"("[in.example]:26")");
    CHECK(key(from, "route.\"r.example\".connections") == "3");
    CHECK(result_of(from, "default_transport").kind == SettingResult::Kind::converted);
    CHECK(result_of(from, "relay_transport").kind == SettingResult::Kind::converted);
    CHECK(result_of(from, "out unix").kind == SettingResult::Kind::converted);
    // Without a next hop of its own: the relay host's, or none.
    const auto hopless = imported("default_transport = out:\nrelay_domains = r.example\nrelay_transport = out\n", {},
                                  smtp_line + "out unix - - n - - smtp -o smtp_tls_security_level=verify\n");
    CHECK(key(hopless, "route.\"*\".next_hop") == R"("mx")");
    CHECK(key(hopless, "route.\"*\".tls") == R"("verify")");
    CHECK(key(hopless, "route.\"r.example\".next_hop") == R"("mx")");
    CHECK(key(hopless, "route.\"r.example\".tls") == R"("verify")");
}

TEST_CASE("relay_transport without a next hop has relayhost's, not that of default_transport") {
    const auto out = smtp_line + "out unix - - n - - smtp -o smtp_tls_security_level=verify\n";
    const auto hop_of = [&](const std::string& main) {
        return key(imported(main + "relay_domains = r.example\nparent_domain_matches_subdomains =\n", {}, out),
                   "route.\"r.example\".next_hop");
    };
    CHECK(hop_of("default_transport = out:[gateway.example]\nrelay_transport = out\n") == R"("mx")");
    CHECK(hop_of("default_transport = smtp:[gateway.example]\nrelay_transport = out:\n") == R"("mx")");
    CHECK(hop_of("default_transport = out:[gateway.example]\n") == R"("mx")"); // relay: has none either
    CHECK(hop_of("default_transport = smtp:[gateway.example]\nrelay_transport = relay\n") == R"("mx")");
    CHECK(hop_of("relayhost = [gateway.example]\nrelay_transport = out\n") == R"("[gateway.example]")");
    CHECK(hop_of("relayhost = [gateway.example]\ndefault_transport = out:[other.example]\n") == "-"); // as all mail
    CHECK(hop_of("default_transport = out\n") == "-");
}

TEST_CASE("what a default_transport of that kind sets for itself wins over main.cf's settings of smtp") {
    const auto from = imported("default_transport = out\nsmtp_bind_address = 192.0.2.8\n"
                               "smtp_destination_concurrency_limit = 9\nsmtp_destination_rate_delay = 1s\n"
                               "default_destination_rate_delay = 2s\nout_destination_rate_delay = 4s\n",
                               {}, smtp_line + "out unix - - n - - smtp -o smtp_bind_address=192.0.2.7\n");
    CHECK(key(from, "route.\"*\".pool") == R"("out")");
    CHECK(key(from, "pool.out.addresses") == R"(["192.0.2.7"])");
    CHECK(key(from, "pool.postfix.addresses") == "-");
    CHECK(key(from, "route.\"*\".connections") == "1");
    CHECK(key(from, "route.\"*\".messages_per_hour") == "900");
    CHECK(key(from, "route.\"*\".messages_per_second") == "-");
    CHECK(key(from, "queue.connections_mx") == "-");
    CHECK(result_of(from, "smtp_bind_address").kind == SettingResult::Kind::with_remark);
    CHECK(result_of(from, "smtp_destination_concurrency_limit").kind == SettingResult::Kind::with_remark);
    CHECK(result_of(from, "smtp_destination_rate_delay").kind == SettingResult::Kind::with_remark);
    // What it does not set is that of all transports.
    const auto mixed = imported("default_transport = out\nsmtp_bind_address = 192.0.2.8\n"
                                "smtp_bind_address6 = 2001:db8::8\ndefault_destination_rate_delay = 1s\n"
                                "default_destination_concurrency_limit = 5\n",
                                {}, smtp_line + "out unix - - n - - smtp -o smtp_bind_address=192.0.2.7\n");
    CHECK(key(mixed, "pool.out.addresses") == R"(["192.0.2.7", "2001:db8::8"])");
    CHECK(key(mixed, "route.\"*\".messages_per_second") == "1");
    CHECK(key(mixed, "queue.connections_route") == "5");
    const auto none = imported("default_transport = out\nsmtp_bind_address = 192.0.2.8\n"
                               "default_destination_rate_delay = 1s\nout_destination_rate_delay = 0s\n",
                               {}, smtp_line + "out unix - - n - - smtp -o smtp_bind_address=\n");
    CHECK(key(none, "route.\"*\".pool") == "-"); // the system chooses
    CHECK(key(none, "route.\"*\".messages_per_second") == "-");
    const auto same = imported("default_transport = out\nsmtp_bind_address = 192.0.2.8\n", {},
                               smtp_line + "out unix - - n - - smtp\n");
    CHECK(key(same, "route.\"*\".pool") == R"("postfix")");
    CHECK(key(same, "pool.postfix.addresses") == R"(["192.0.2.8"])");
}

TEST_CASE("a transport that leaves its source address to the system does not get main.cf's") {
    const std::string main =
        "smtp_bind_address = 192.0.2.8\ntransport_maps = inline:{ {a.example=inside:} {b.example=slow:} }\n";
    for (const auto* own : {"", "0.0.0.0"}) {
        CAPTURE(own);
        const auto from = imported(main, {},
                                   fmt::format("{}inside unix - - n - - smtp -o smtp_bind_address={}\n"
                                               "slow unix - - n - - smtp\n",
                                               smtp_line, own));
        CHECK(key(from, "route.\"inside\".next_hop") == R"("mx")");
        CHECK(key(from, "route.\"inside\".pool") == "-");
        CHECK(key(from, "route.\"slow\".pool") == R"("postfix")");
        CHECK(key(from, "route.\"*\".pool") == R"("postfix")");
    }
}

TEST_CASE("a local_transport that speaks LMTP: it wins over mailbox_transport, and users only it knows are rejected") {
    const std::string lmtp = "local_transport = lmtp:unix:/run/two\n";
    const auto both = imported("mailbox_transport = lmtp:unix:/run/one\n" + lmtp);
    CHECK(key(both, "local.deliver") == R"("lmtp:/run/two")");
    CHECK(result_of(both, "local_transport").kind == SettingResult::Kind::with_remark);
    CHECK(both.undecided.empty());
    REQUIRE(result_of(both, "local_transport").remarks.size() == 1);
    CHECK(result_of(both, "local_transport").remarks[0].find("virtual_mailbox.domains") != std::string::npos);
    CHECK(result_of(both, "mailbox_transport").kind == SettingResult::Kind::with_remark);
    CHECK(imported(lmtp + "local_recipient_maps = unix:passwd.byname $alias_maps\n").undecided.empty());
    for (const auto* list : {"local_recipient_maps =\n", "local_recipient_maps = hash:/pf/users\n"}) {
        CAPTURE(list);
        const auto from = drafted(lmtp + list, {{"/pf/users", "ann@a.example x\n"}});
        CHECK(std::ranges::any_of(from.undecided, [](const auto& each) {
            return each.guard == "local_transport = lmtp:unix:/run/two" &&
                   each.advice.find("virtual_mailbox.domains") != std::string::npos;
        }));
    }
}

TEST_CASE("a transport that FILTER names anywhere is no other SMTP transport") {
    const auto back = std::string("127.0.0.1:10025 inet n - n - - smtpd -o content_filter=\n");
    const auto scan = back + "scan unix - - n - - smtp\n";
    const std::map<std::string, std::string> files{{"/pf/s", "a.example FILTER scan:[127.0.0.1]:10024\n"}};
    const std::string table = "check_sender_access hash:/pf/s";
    for (const auto& [main, over] : {std::pair<std::string, std::string>{"smtpd_sender_restrictions = " + table, ""},
                                     {"", " -o smtpd_sender_restrictions=check_sender_access,hash:/pf/s"},
                                     {"smtpd_sender_restrictions = check_sender_access proxy:hash:/pf/s", ""},
                                     {"smtpd_sender_restrictions = check_sender_access inline:{ { a.example = FILTER "
                                      "scan:[127.0.0.1]:10024 } }",
                                      ""}}) {
        CAPTURE(main);
        const auto from = drafted(main + "\n", files, "smtp inet n - n - - smtpd" + over + "\n" + scan);
        CHECK(key(from, "route.\"scan\".next_hop") == R"("[127.0.0.1]:10024")");
        CHECK(result_of(from, "scan unix").kind == SettingResult::Kind::converted);
    }
    // Rules of outgoing mail have no FILTER: no route for it.
    const auto outgoing = drafted("smtp_header_checks = regexp:/pf/h\n",
                                  {{"/pf/h", "/^X/ FILTER scan:[127.0.0.1]:10024\n"}}, smtp_line + scan);
    CHECK(key(outgoing, "route.\"scan\".next_hop") == "-");
    CHECK(result_of(outgoing, "scan unix").kind == SettingResult::Kind::unsupported);
    CHECK(outgoing.undecided.size() == 1);
}

TEST_CASE("transports of master.cf for mailboxes: where they lead") {
    const auto store = smtp_line + "store unix - - n - - lmtp -o lmtp_connect_timeout=3\nweb unix - - n - - smtp\n";
    const auto key_of = [&](const std::string& main, const std::string& name) {
        return key(drafted(main, {}, store), name);
    };
    CHECK(key_of("virtual_mailbox_domains = b.example\nvirtual_transport = store:unix:private/lmtp",
                 "virtual_mailbox.deliver") == R"("lmtp:/var/spool/postfix/private/lmtp")");
    CHECK(key_of("virtual_mailbox_domains = b.example\nvirtual_transport = web:[127.0.0.1]:2525",
                 "virtual_mailbox.deliver") == R"("[127.0.0.1]:2525")");
    CHECK(key_of("mailbox_transport = store:unix:/run/lmtp", "local.deliver") == R"("lmtp:/run/lmtp")");
    CHECK(key_of("local_transport = lmtp:unix:/run/lmtp", "local.deliver") == R"("lmtp:/run/lmtp")");
    CHECK(key_of("mailbox_transport = web:[127.0.0.1]:2525", "local.deliver") == "-");
}

TEST_CASE("another local(8) is named, since transport tables cannot name it") {
    const auto from = imported("", {}, smtp_line + "mylocal unix - n n - - local\nlocal unix - n n - - local\n");
    CHECK(result_of(from, "mylocal unix").kind == SettingResult::Kind::unsupported);
    CHECK(result_of(from, "mylocal unix").remarks.front() ==
          "another local(8): write \"local:\" instead of \"mylocal:\" into transport tables");
    CHECK(std::ranges::none_of(from.results, [](const auto& each) { return each.name == "local unix"; }));
}

TEST_CASE("a rule of transport_maps that cannot be read here has to be decided") {
    const std::string master = smtp_line + "slow unix - - n - - smtp -o smtp_tls_security_level=encrypt\n";
    const auto import = [&](const char* type, const char* rule) {
        return drafted(fmt::format("transport_maps = {}:/pf/t\n", type), {{"/pf/t", rule}}, master);
    };
    const auto both = import("regexp", "/@a\\.example$/!/^root@/ slow:[relay.example]\n");
    const auto lines = fmt::format("{}", fmt::join(undecided(both), "\n"));
    CHECK_MESSAGE(lines.find("transport_maps: /pf/t line 1") != lines.npos, lines);
    CHECK(lines.find("slow unix: smtp_tls_security_level") != lines.npos);
    CHECK_FALSE(both.draft.has_section("route.\"slow\""));
    // What both of them read, and what both of them skip.
    const auto twice = import("regexp", "!!/@a\\.example$/ slow:[relay.example]\n");
    CHECK(undecided(twice).empty());
    CHECK(twice.draft.has_section("route.\"slow\""));
    CHECK(undecided(import("pcre", "/(/ slow:[relay.example]\n/a/ slow:\n")).empty());
    CHECK(fmt::format("{}", fmt::join(undecided(import("pcre", "/(/ slow:[relay.example]\n")), "\n"))
              .find("slow unix: smtp_tls_security_level") != std::string::npos);
}
