// What guarded in Postfix also guards if it is named in a table that has several parts, or in a list of next hops.
#include "tests/import-postfix/conversion/machine.h"

using namespace postrider;

namespace {

std::string all(const std::vector<std::string>& lines) {
    std::string out;
    for (const auto& line : lines) out += line + "\n";
    return out;
}

bool says(const ImportResult& from, std::string_view setting, std::string_view text) {
    return all(result_of(from, setting).remarks).find(text) != std::string::npos;
}

} // namespace

TEST_CASE("a check of senders' logins that a table of several parts names") {
    const std::string start = "smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = x\n"
                              "smtpd_sender_login_maps = hash:/pf/l\n"
                              "smtpd_sender_restrictions = check_sender_access ";
    const std::map<std::string, std::string> files = {
        {"/pf/l", "boss@a.example boss\n"},
        {"/pf/s", "boss@a.example reject_sender_login_mismatch\n"},
        {"/pf/n", "boss@a.example OK\n"},
    };
    const auto owners = [&](const std::string& table) {
        return key(drafted(start + table + "\n", files), "auth.sender_login_tables");
    };
    const std::string converted = R"(["text:/pf/l"])";
    for (const auto* table :
         {"hash:/pf/s", "unionmap:{hash:/pf/s}", "pipemap:{hash:/pf/s}", "unionmap:{hash:/pf/n, hash:/pf/s}",
          "proxy:unionmap:{proxy:hash:/pf/s}", "unionmap:{pipemap:{hash:/pf/n, unionmap:{hash:/pf/s}}}",
          "unionmap:{inline:{x@a.example=reject_sender_login_mismatch}}",
          "pipemap:{inline:{x@a.example=y}, inline:{y=reject_sender_login_mismatch}}",
          "unionmap:{hash:/pf/n, mysql:/pf/unknown}"}) {
        CAPTURE(table);
        CHECK(owners(table) == converted);
    }
    for (const auto* table : {"unionmap:{hash:/pf/n}", "pipemap:{hash:/pf/n, static:OK}", "pcre:{{/x/ OK}}"}) {
        CAPTURE(table);
        CHECK(owners(table) == "-");
    }
}

TEST_CASE("networks that hold under a condition are worked out") {
    const auto networks = [](const std::string& rules) {
        return key(drafted("mynetworks = cidr:{" + rules + "}\n"), "relay.networks");
    };
    CHECK(networks("{192.0.2.0/24 x}") == R"(["192.0.2.0/24"])");
    CHECK(networks("{if 192.0.2.0/28}, {192.0.2.0/24 x}, {endif}") == R"(["192.0.2.0/28"])");
    CHECK(networks("{if 192.0.2.0/24}, {192.0.2.4 x}, {10.0.0.0/8 y}, {2001:db8::/32 z}, {endif}, {10.0.0.0/16 x}") ==
          R"(["192.0.2.4/32", "10.0.0.0/16"])");
    CHECK(networks("{IF !192.0.2.0/25}, {192.0.2.0/24 x}, {ENDIF}") == R"(["192.0.2.128/25"])");
    CHECK(networks("{if 10.0.0.0/8}, {if !10.1.0.0/16}, {10.0.0.0/14 x}, {endif}, {10.1.2.0/24 x}, {endif}") ==
          R"(["10.2.0.0/15", "10.0.0.0/16", "10.1.2.0/24"])");
    CHECK(networks("{if 192.0.2.0/30}, {!192.0.2.2 x}, {endif}") == R"(["192.0.2.0/31", "192.0.2.3/32"])");
    CHECK(networks("{if 192.0.2.0/30}, {! !192.0.2.2 x}, {endif}") == R"(["192.0.2.2/32"])");
    CHECK(networks("{if 192.0.2.0/30}, {192.0.2.0/24 x}") == R"(["192.0.2.0/30"])"); // to the end, without endif
    // What is negated means others of its family. A half of each address of IPv6, but no IPv4.
    CHECK(networks("{if ::/1}, {!2001:db8::/32 x}, {endif}").find("\"0.0.0.0") == std::string::npos);
    CHECK(networks("{if 8000::/1}, {!192.0.2.0/24 x}, {endif}") == "[]");
    CHECK(networks("{if 2001:db8::/31}, {!2001:db8::/32 x}, {endif}") == R"(["2001:db9::/32"])");
    const auto from = imported("mynetworks = 198.51.100.0/24, cidr:/pf/n\n",
                               {{"/pf/n", "if 192.0.2.0/24\n!192.0.2.0/25\tx\nendif\n"}});
    CHECK(key(from, "relay.networks") == R"(["198.51.100.0/24", "192.0.2.128/25"])");
    CHECK(result_of(from, "mynetworks").kind == SettingResult::Kind::converted);
}

TEST_CASE("a table of networks that is none is for check to refuse, with the reason") {
    const std::pair<std::string, std::string> rows[] = {
        {"{if 192.0.2.1/28}, {192.0.2.0/24 x}, {endif}", "line 1: \"if 192.0.2.1/28\": not a network"},
        {"{if 192.0.2.0/28}, {192.0.2.0/24}, {endif}", "line 2: \"192.0.2.0/24\": no value"},
        {"{endif}, {192.0.2.0/24 x}", "\"endif\" without \"if\""},
        {"{if 192.0.2.0/28 x}, {192.0.2.0/24 x}, {endif}", "text behind the network"},
    };
    for (const auto& [rules, why] : rows) {
        CAPTURE(rules);
        const auto from = drafted("mynetworks = 198.51.100.0/24, cidr:{" + rules + "}\n");
        CHECK(key(from, "relay.networks") ==
              postrider::toml(std::vector{std::string("198.51.100.0/24"), "cidr:{" + rules + "}"}));
        CHECK(says(from, "mynetworks", why));
        CHECK(says(from, "mynetworks", "list its networks in relay.networks"));
        CHECK_FALSE(says(from, "mynetworks", "exceptions"));
    }
}

TEST_CASE("TLS that is demanded of a next hop is demanded where it is one of several") {
    const auto lists = drafted("transport_maps = inline:{ {x.example = smtp:[a.example]}, "
                               "{y.example = smtp:[a.example], [b.example]}, {z.example = smtp:[b.example]} }\n"
                               "smtp_tls_policy_maps = inline:{ {[a.example] = encrypt} }\n");
    CHECK(key(lists, "route.\"x.example\".tls") == "\"encrypt\"");
    CHECK(key(lists, "route.\"y.example\".tls") == "\"encrypt\"");
    CHECK(key(lists, "route.\"y.example\".next_hop") == R"(["[a.example]", "[b.example]"])");
    CHECK(key(lists, "route.\"z.example\".tls") == "-");
    CHECK(undecided(lists).empty());
    // The strictest of them; what demands nothing stays with single hosts.
    for (const auto* order : {"{[a.example] = encrypt}, {[b.example] = verify}, {[c.example] = none}",
                              "{[c.example] = none}, {[b.example] = verify}, {[a.example] = encrypt}"}) {
        const auto from = drafted(fmt::format("transport_maps = inline:{{ {{y.example = smtp:[a.example], [b.example], "
                                              "[c.example]}}, {{x.example = smtp:[c.example]}} }}\n"
                                              "smtp_tls_policy_maps = inline:{{ {} }}\n",
                                              order));
        CHECK(key(from, "route.\"y.example\".tls") == "\"verify\"");
        CHECK(key(from, "route.\"x.example\".tls") == "\"none\"");
        CHECK(says(from, "smtp_tls_policy_maps", "[c.example]: none: one of several next hops"));
    }
    // Two demands, neither of which includes the other.
    const auto both = drafted("transport_maps = inline:{ {y.example = smtp:[a.example], [b.example]} }\n"
                              "smtp_tls_policy_maps = inline:{ {[a.example] = dane-only}, {[b.example] = verify} }\n");
    CHECK(key(both, "route.\"y.example\".tls") == "\"dane-only\"");
    CHECK(all(undecided(both)).find("smtp_tls_policy_maps: [b.example]") != std::string::npos);
    // Lists of other settings.
    const std::string policy = "smtp_tls_policy_maps = inline:{ {[a.example] = encrypt} }\n";
    const auto relayed = drafted("relay_domains = r.example\nrelay_transport = smtp:[b.example], [a.example]\n"
                                 "transport_maps = inline:{ {x.example = smtp:[a.example]} }\n" +
                                 policy);
    CHECK(key(relayed, "route.\"r.example\".tls") == "\"encrypt\"");
    const auto everything = drafted("relayhost = [b.example], [a.example]\n"
                                    "transport_maps = inline:{ {x.example = smtp:[a.example]} }\n" +
                                    policy);
    CHECK(key(everything, "route.\"*\".tls") == "\"encrypt\"");
    // Not a domain's alone.
    const auto star =
        drafted("transport_maps = inline:{ {x.example = smtp:[a.example]}, {* = smtp:[a.example]} }\n" + policy);
    CHECK(all(undecided(star)).find("smtp_tls_policy_maps: [a.example]") != std::string::npos);
}

TEST_CASE("alias files in a table of several parts keep their own form") {
    const std::map<std::string, std::string> files = {
        {"/etc/aliases", "root: ann\n"}, {"/pf/a", "more: ann\n"}, {"/pf/users", "bob x\n"}};
    auto from = drafted("alias_maps = unionmap:{hash:/etc/aliases, proxy:hash:/pf/a, inline:{x=y}}\n", files);
    CHECK(key(from, "local.aliases") == R"(["/etc/aliases", "/pf/a"])");
    CHECK(key(from, "local.alias_tables") == R"(["table:alias_maps_1"])");
    CHECK(key(from, "table.alias_maps_1.kind") == R"("entries")");
    CHECK(says(from, "alias_maps", "of the first one"));
    from = drafted("alias_maps = hash:/etc/aliases\nlocal_recipient_maps = unionmap:{$alias_maps, hash:/pf/users}\n",
                   files);
    CHECK(key(from, "local.known_recipients") == R"(["aliases"])");
    CHECK(key(from, "local.recipients") == R"(["text:/pf/users"])");
    from = drafted("alias_maps = hash:/etc/aliases\n"
                   "local_recipient_maps = unionmap:{proxy:unix:passwd.byname, $alias_maps}\n",
                   files);
    CHECK(key(from, "local.known_recipients") == "-"); // as usual
    CHECK(key(from, "local.recipients") == "-");
    // The values of aliases are no keys here.
    const std::string chain = "pipemap:{hash:/etc/aliases, inline:{ann=x}}";
    from = drafted("alias_maps = " + chain + "\n", files);
    CHECK(key(from, "local.alias_tables") == postrider::toml(std::vector{chain}));
    from = drafted("alias_maps = hash:/etc/aliases\nlocal_recipient_maps = " + chain + "\n", files);
    CHECK(key(from, "local.recipients") == postrider::toml(std::vector{chain}));
}

TEST_CASE("transports that only a part of a table names are imported") {
    const auto from =
        imported("transport_maps = unionmap:{inline:{a.example=slow:}, inline:{b.example=mailman:}}\n", {},
                 smtp_line + "slow unix - - n - - smtp -o smtp_bind_address=192.0.2.7\n"
                             "mailman unix - n n - - pipe user=list argv=/usr/bin/mailman ${nexthop}\n");
    CHECK(key(from, "command.mailman.user") == R"("list")");
    CHECK(from.draft.has_section("route.\"slow\""));
    CHECK_FALSE(says(from, "transport_maps", "cannot be read"));
}

TEST_CASE("results of a table of several parts are examined") {
    const std::string start = "smtpd_sender_restrictions = check_sender_access ";
    const auto lost = [&](const std::string& table) { return all(undecided(drafted(start + table + "\n"))); };
    CHECK(lost("pipemap:{inline:{a=x}, inline:{{x=FILTER smtp:scan.example}}}").contains("in brackets"));
    CHECK(lost("pipemap:{inline:{a=x}, unionmap:{pcre:{{/x/ FILTER smtp:scan.example}}}}").contains("in brackets"));
    CHECK_FALSE(lost("pipemap:{inline:{{a=FILTER smtp:scan.example}}, inline:{x=OK}}").contains("in brackets"));
    drafted(start + "unionmap:{unionmap}\n"); // it stays, for check to refuse
    std::string deep = "hash:/x";
    for (int i = 0; i < 30'000; ++i) deep = "unionmap:{" + deep + "}";
    for (const auto* setting : {"virtual_alias_maps = ", "transport_maps = ", "mydestination = ", "alias_maps = "})
        CHECK(fault(setting + deep + "\n").contains("levels of braces"));
}

TEST_CASE("a domain of two classes is of the first one, of whatever kind its table is") {
    const auto relayed = [](const std::string& destinations, std::map<std::string, std::string> files = {}) {
        return key(drafted("mydestination = " + destinations +
                               "\nrelay_domains = b.example\n"
                               "parent_domain_matches_subdomains = relay_domains\n",
                           std::move(files)),
                   "relay.domains");
    };
    CHECK(relayed("x.example") == R"(["b.example", ".b.example"])");
    CHECK(relayed("hash:/pf/d", {{"/pf/d", ".b.example x\n"}}) == R"(["b.example", ".b.example"])");
    CHECK(relayed("hash:/pf/d", {{"/pf/d", "b.example x\n"}}) == R"([".b.example"])");
    CHECK(relayed("unionmap:{inline:{x.example=x}, hash:/pf/d}", {{"/pf/d", "b.example x\n"}}) == R"([".b.example"])");
    CHECK(relayed("regexp:{{/b\\.example$$/ x}}") == "-");
    CHECK(relayed("static:x") == "-");
    const auto chained =
        drafted("mydestination = pipemap:{inline:{b.example=x}, inline:{x=y}}\nrelay_domains = b.example\n");
    CHECK(says(chained, "relay_domains", "that pipemap:{inline:{b.example=x}, inline:{x=y}} has as well"));
}

TEST_CASE("the program behind an address is that of a service of this host") {
    const auto spawned = [](const std::string& place, const std::string& service) {
        return !undecided(
                    drafted("smtpd_recipient_restrictions = reject_unauth_destination, check_policy_service inet:" +
                                place + "\n",
                            {}, smtp_line + service + " inet n n n - 0 spawn user=nobody argv=/usr/bin/x\n"))
                    .empty();
    };
    CHECK(spawned("[::1]:10031", "[::1]:10031"));
    CHECK(spawned("[::1]:10031", "10031"));
    CHECK(spawned("192.0.2.7:10031", "10031")); // an interface
    CHECK(spawned("192.0.2.9:10031", "192.0.2.9:10031"));
    CHECK_FALSE(spawned("192.0.2.9:10031", "10031"));
    CHECK_FALSE(spawned("192.0.2.9:10031", "0.0.0.0:10031"));
    CHECK_FALSE(spawned("127.0.0.1:10032", "10031"));
}

TEST_CASE("comments among rules in main.cf") {
    const auto from = imported("virtual_alias_maps = pcre:{{# why}, {/x@b/ y}}\n");
    CHECK(key(from, "table.virtual_alias_maps_1.rules") == R"(["/x@b/ y"])");
    CHECK(undecided(drafted("header_checks = pcre:{{# why}, {/^X-A:/ REJECT}}\n")).empty());
}

TEST_CASE("hosts of a list that are left out are no mere remark") {
    for (const auto* main : {"default_transport = smtp:a.example, b.example\n",
                             "relay_domains = r.example\nrelay_transport = smtp:a.example, [b.example]\n"}) {
        CAPTURE(main);
        const auto from = drafted(main);
        CHECK(result_of(from, std::string_view(main).starts_with("d") ? "default_transport" : "relay_transport").kind ==
              SettingResult::Kind::unsupported);
    }
    const auto lmtp = imported("relay_domains = r.example\nrelay_transport = lmtp:[a.example], [b.example]\n");
    CHECK(key(lmtp, "route.\"r.example\".next_hop") == R"(["lmtp:[a.example]", "lmtp:[b.example]"])");
}
