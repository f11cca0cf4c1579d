// Lists that name files and databases.
#include "tests/import-postfix/conversion/machine.h"

using namespace postrider;

TEST_CASE("who may submit without AUTH: mynetworks in a file counts") {
    const auto result =
        imported("mynetworks = /etc/postfix/networks", {{"/pf/networks", "10.0.0.0/8\n# old\n127.0.0.1\n"}},
                 smtp_line + "587 inet n - n - - smtpd\n");
    const auto* networks = result.draft.find("listen.submission.submission_networks");
    REQUIRE(networks);
    CHECK(networks->value == R"(["10.0.0.0/8", "127.0.0.1"])");
}

TEST_CASE("domains that are in a database stay there") {
    const auto result = drafted("virtual_mailbox_domains = proxy:mysql:/etc/postfix/domains.cf\n"
                                "virtual_transport = lmtp:unix:private/lmtp",
                                {{"/pf/domains.cf", "dbname = d\nquery = SELECT a\n"}});
    const auto found = std::ranges::find(result.results, "virtual_mailbox_domains", &SettingResult::name);
    REQUIRE(found != result.results.end());
    CHECK(found->kind == SettingResult::Kind::with_remark);
    REQUIRE(found->remarks.size() == 2); // and a group of options that is not read
    CHECK(found->remarks[1].find("the package postrider-maps is required") != found->remarks[1].npos);
    const auto* tables = result.draft.find("virtual_mailbox.domain_tables");
    REQUIRE(tables);
    CHECK(tables->value == R"(["mysql:/pf/domains.cf"])");
    CHECK_FALSE(result.draft.find("virtual_mailbox.domains"));
}

namespace {

// What the configuration's parser says of this key, or of the first thing that is wrong. "" nothing.
std::string refusal_of(ImportResult from) {
    from.draft.remove("undecided.");
    const auto config = config::parse(from.text(), "postrider.toml", {"mx.site.example", "someone", 2});
    return config ? "" : config.error().front().to_string();
}

} // namespace

TEST_CASE("a table of domains that cannot be converted stays, and check refuses it") {
    struct Row {
        std::string main, path, stands;
        std::map<std::string, std::string> files = {};
    };
    const std::string deliver = "\nvirtual_transport = lmtp:unix:/run/lmtp";
    const std::map<std::string, std::string> by_parts = {
        {"/pf/q", "dbpath = /x\nquery = SELECT a FROM b WHERE c = '%u'\n"}};
    const Row rows[] = {
        {"virtual_mailbox_domains = proxy:sqlite:/pf/q" + deliver, "virtual_mailbox.domain_tables",
         R"(["sqlite:/pf/q"])", by_parts},
        {"virtual_mailbox_domains = sqlite:/no/such" + deliver, "virtual_mailbox.domain_tables",
         R"(["sqlite:/no/such"])"},
        {"mydestination = a.example, socketmap:inet:maphost:3000:dom", "local.domain_tables",
         R"(["socketmap:inet:maphost:3000:dom"])"},
        {"relay_domains = a.example, tcp:maphost:3000", "relay.domain_tables", R"(["tcp:maphost:3000"])"},
        {"relay_domains = hash:relay", "relay.domain_tables", R"(["hash:relay"])"},
        {"relay_domains = pcre:relay", "relay.domain_tables", R"(["pcre:relay"])"},
        {"relay_domains = mysql:relay", "relay.domain_tables", R"(["mysql:relay"])"},
        {"relay_domains = nis:relayed", "relay.domain_tables", R"(["nis:relayed"])"},
        {"virtual_alias_domains = sqlite:/pf/q", "virtual_alias.domain_tables", R"(["sqlite:/pf/q"])", by_parts},
        {"virtual_alias_domains = memcache:/pf/q", "virtual_alias.domain_tables", R"(["memcache:/pf/q"])", by_parts},
        {"virtual_alias_domains = /no/such", "virtual_alias.domains", R"(["/no/such"])"},
        {"virtual_alias_maps = sqlite:/pf/q", "virtual_alias.domain_tables", R"(["sqlite:/pf/q"])", by_parts},
    };
    for (const auto& row : rows) {
        CAPTURE(row.main);
        const auto from = drafted(row.main + "\n", row.files);
        CHECK(key(from, row.path) == row.stands);
        CHECK(refusal_of(from).find(row.stands.substr(row.stands.size() - 6, 4)) != std::string::npos);
        const auto name = row.main.substr(0, row.main.find(' '));
        CHECK(result_of(from, name).kind == SettingResult::Kind::unsupported);
    }
    // Here it would be valid.
    const auto valid = drafted("relay_domains = tcp:unix:/run/x\n");
    CHECK(key(valid, "relay.domain_tables") == "-");
    CHECK(undecided(valid).size() == 1);
}

TEST_CASE("what has no domains is no table of them") {
    for (const auto* word : {"cidr:nets", "cidr:/pf/nets", "unix:passwd.byname"}) {
        CAPTURE(word);
        const auto from =
            imported(fmt::format("relay_domains = {}, a.example\n", word), {{"/pf/nets", "10.0.0.0/8 x\n"}});
        CHECK(key(from, "relay.domain_tables") == "-");
        CHECK(undecided(from).empty());
        CHECK(result_of(from, "relay_domains").remarks.size() == 1);
    }
}

TEST_CASE("exceptions that keep mail out are to be decided") {
    struct Row {
        std::string main, line; // "": there is none
        std::map<std::string, std::string> files = {};
    };
    const std::map<std::string, std::string> files = {{"/pf/d.cf", "dbname = d\nquery = SELECT a\n"},
                                                      {"/pf/text", "a.example x\n"},
                                                      {"/pf/list", "!x.example\nb.example\n"},
                                                      {"/pf/nets", "10.0.0.0/8 x\n"}};
    const Row rows[] = {
        {"relay_domains = !secret.example, mysql:/pf/d.cf", "relay_domains: !secret.example"},
        {"mydestination = !.secret.example, hash:/pf/text", "mydestination: !.secret.example"},
        {"virtual_alias_domains = /pf/list, mysql:/pf/d.cf\nvirtual_alias_maps = hash:/pf/text",
         "virtual_alias_domains: !x.example"},
        {"relay_domains = !hash:/pf/text, a.example", "relay_domains: !hash:/pf/text"},
        {"relay_domains = !/pf/list, a.example", "relay_domains: !/pf/list"},
        {"relay_domains = !a.b.example, b.example", "relay_domains: !a.b.example"},
        {"relay_domains = !a.b.example, b.example\nparent_domain_matches_subdomains =", ""},
        {"relay_domains = !b.example, a.b.example, xb.example", ""},
        {"relay_domains = !x.example, y.example, cidr:/pf/nets", ""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.main);
        const auto lines = undecided(drafted(row.main + "\n", files));
        REQUIRE(lines.size() == (row.line.empty() ? 0 : 1));
        if (!row.line.empty()) CHECK_MESSAGE(lines[0].find(row.line + " = ") != std::string::npos, lines[0]);
    }
}

TEST_CASE("networks are no domains; exceptions have no counterpart") {
    const auto result =
        drafted("relay_domains = cidr:/etc/postfix/nets, !x.example, y.example", {{"/pf/nets", "10.0.0.0/8 x\n"}});
    CHECK_FALSE(result.draft.find("relay.domain_tables"));
    const auto found = std::ranges::find(result.results, "relay_domains", &SettingResult::name);
    REQUIRE(found->remarks.size() == 2);
    CHECK(found->remarks[0] == "cidr:/etc/postfix/nets: networks match no domain; omitted");
}

TEST_CASE("the next hop of relayed domains in tables") {
    const std::map<std::string, std::string> files = {
        {"/pf/relayed", "a.example x\n"}, {"/pf/empty", ""}, {"/pf/d.cf", "dbname = d\nquery = SELECT a\n"}};
    const auto text = drafted("relay_domains = hash:/pf/relayed\nrelay_transport = smtp:[in.example]", files);
    CHECK(text.draft.find("route.\"a.example\".next_hop")->value == R"("[in.example]")");
    const auto remarks_on = [](const ImportResult& result) {
        return std::ranges::find(result.results, "relay_transport", &SettingResult::name)->remarks;
    };
    CHECK(remarks_on(text).at(0).find("get no next hop") != std::string::npos);
    // Mail for a domain that has no route of its own would be taken, and returned.
    const auto undecided_for = [&](const std::string& main) {
        const auto lines = undecided(drafted("parent_domain_matches_subdomains =\n" + main, files));
        CHECK(std::ranges::all_of(lines, [](auto& each) { return each.find("relay_transport = ") != each.npos; }));
        return lines.size();
    };
    const std::string database = "relay_domains = pgsql:/pf/d.cf\n";
    CHECK(undecided_for(database + "relay_transport = smtp:[in.example]") == 1);
    CHECK(undecided_for("relay_domains = hash:/pf/relayed\nrelay_transport = smtp:[in.example]") == 1);
    CHECK(undecided_for("relay_domains = hash:/pf/empty\nrelay_transport = smtp:[in.example]") == 1);
    CHECK(undecided_for(database + "relay_transport = pipe-of-ours") == 1);
    CHECK(undecided_for(database + "relay_transport = discard:") == 1);
    CHECK(undecided_for(database + "default_transport = smtp:[out.example]\nrelay_transport = relay") == 1);
    CHECK(undecided_for(database + "relayhost = [out.example]\nrelay_transport = smtp:[in.example]") == 1);
    CHECK(undecided_for(database + "relay_transport = relay") == 0);
    CHECK(undecided_for(database + "relay_transport = smtp:") == 0);
    CHECK(undecided_for(database + "relayhost = [out.example]\nrelay_transport = relay") == 0);
    CHECK(undecided_for(database + "relayhost = [out.example]\nrelay_transport = smtp:[out.example]") == 0);
    CHECK(undecided_for("relay_domains = a.example, cidr:/pf/empty\nrelay_transport = smtp:[in.example]") == 0);
}

TEST_CASE("domains of mailboxes without a table of mailboxes: refused addresses, once that is decided") {
    const auto from = imported("virtual_mailbox_domains = a.example\nvirtual_alias_maps = hash:/pf/v\n",
                               {{"/pf/v", "info@a.example ann@remote.example\n"}});
    CHECK(key(from, "virtual_mailbox.domains") == R"(["a.example"])");
    CHECK(key(from, "virtual_mailbox.recipients") == R"(["table:virtual_mailbox_maps_1"])");
    CHECK(key(from, "virtual_mailbox.deliver") == R"("maildir:/var/mail/{domain}/{user}")");
    CHECK(key(from, "virtual_mailbox.user") == R"("nobody")");
    const auto lines = undecided(drafted("virtual_mailbox_domains = a.example\n"));
    REQUIRE(lines.size() == 1);
    CHECK(lines.front().contains("virtual_mailbox_domains: there is no virtual_mailbox_maps"));
    CHECK(lines.front().contains("virtual_mailbox.deliver"));
    const auto own = imported("virtual_mailbox_domains = a.example\nvirtual_mailbox_base = /srv\nvirtual_uid_maps = "
                              "static:5000\n");
    CHECK(key(own, "virtual_mailbox.deliver") == R"("maildir:/srv/{domain}/{user}")");
    CHECK(key(own, "virtual_mailbox.user") == R"("vmail")");
    // The server that keeps the mail knows its users: all are accepted, as by Postfix.
    const auto lmtp = imported("virtual_mailbox_domains = a.example\nvirtual_transport = lmtp:unix:/run/lmtp\n");
    CHECK(key(lmtp, "virtual_mailbox.recipients") == "-");
    CHECK(key(lmtp, "virtual_mailbox.deliver") == R"("lmtp:/run/lmtp")");
    CHECK(undecided(lmtp).empty());
}

TEST_CASE("domains of mailboxes without a table of mailboxes that transport_maps delivers") {
    const std::string main = "virtual_mailbox_domains = a.example\ntransport_maps = hash:/pf/t\n";
    const auto lmtp = "lmtp:unix:/run/lmtp\n";
    for (const auto* key_of_table : {"a.example ", "* "}) {
        const auto from = imported(main, {{"/pf/t", std::string(key_of_table) + lmtp}});
        CHECK(key(from, "virtual_mailbox.recipients") == "-");
        CHECK(key(from, "virtual_mailbox.deliver") != "-");
        CHECK(undecided(from).empty());
        CHECK(result_of(from, "virtual_mailbox_domains").kind == SettingResult::Kind::with_remark);
    }
    for (const auto* line : {"b.example lmtp:unix:/run/lmtp\n", "a.example :\n", "a.example virtual:\n"}) {
        const auto from = drafted(main, {{"/pf/t", line}});
        CHECK(key(from, "virtual_mailbox.recipients") != "-");
        const auto lines = undecided(from);
        REQUIRE(!lines.empty());
        CHECK(lines.front().contains("unless transport_maps"));
        CHECK(lines.front().contains("remove virtual_mailbox.recipients"));
    }
    const auto lines = undecided(drafted("virtual_mailbox_domains = a.example\n"));
    REQUIRE(lines.size() == 1);
    CHECK(lines.front().contains("in virtual_mailbox.deliver, and remove virtual_mailbox.recipients"));
}

TEST_CASE("a directory of mailboxes that is no path is refused by name") {
    const auto from = drafted("virtual_mailbox_domains = a.example\nvirtual_mailbox_maps = hash:/pf/m\n"
                              "virtual_mailbox_base = {directory}\nvirtual_uid_maps = static:5000\n",
                              {{"/pf/m", "ann@a.example ann/\n"}});
    CHECK(result_of(from, "virtual_mailbox_base")
              .remarks.front()
              .contains("put the directory into "
                        "virtual_mailbox.deliver"));
    CHECK(refusal_of(from).contains("virtual_mailbox.deliver"));
}

TEST_CASE("a domain that a list names and a database may have for an earlier class is answered by name") {
    const std::map<std::string, std::string> files = {{"/pf/d.cf", "dbname = d\nquery = SELECT a\n"},
                                                      {"/pf/m.cf", "dbname = d\nquery = SELECT m\n"},
                                                      {"/pf/r", "x y\n"}};
    struct Row {
        std::string main, setting, table;
        bool to_be_decided = false;
    };
    const std::string mailboxes = "virtual_mailbox_domains = mysql:/pf/d.cf\nvirtual_transport = lmtp:unix:/run/lmtp\n";
    const Row rows[] = {
        {"mydestination = mysql:/pf/d.cf\nrelay_domains = a.example\n", "relay_domains", "mysql:/pf/d.cf", true},
        {"mydestination = unionmap:{inline:{b.example=x}, mysql:/pf/d.cf}\nrelay_domains = a.example\n",
         "relay_domains", "mysql:/pf/d.cf", true},
        {"mydestination = mysql:/pf/d.cf\nrelay_domains = a.example\nrelay_recipient_maps = hash:/pf/r\n",
         "relay_domains", "mysql:/pf/d.cf"},
        {mailboxes + "virtual_mailbox_maps = mysql:/pf/m.cf\nrelay_domains = a.example\n", "relay_domains",
         "mysql:/pf/d.cf", true},
        {mailboxes + "relay_domains = a.example\n", "relay_domains", "mysql:/pf/d.cf"}, // all are taken there, too
        {"virtual_alias_domains = pgsql:/pf/d.cf\nvirtual_alias_maps = hash:/pf/r\nrelay_domains = a.example\n",
         "relay_domains", "pgsql:/pf/d.cf", true},
        {"virtual_alias_maps = mysql:/pf/m.cf\nvirtual_mailbox_domains = a.example\nvirtual_mailbox_maps = hash:/pf/r\n"
         "virtual_mailbox_base = /srv\nvirtual_uid_maps = static:5000\n",
         "virtual_mailbox_domains", "mysql:/pf/m.cf"},
        {"mydestination = mysql:/pf/d.cf\nvirtual_mailbox_domains = a.example\n", "virtual_mailbox_domains",
         "mysql:/pf/d.cf"}, // all of them are refused
        {"mydestination = mysql:/pf/d.cf\nvirtual_mailbox_domains = a.example\nvirtual_transport = lmtp:unix:/l\n",
         "virtual_mailbox_domains", "mysql:/pf/d.cf", true},
        // Nothing is named, the names are text of an earlier class, or nothing else has them.
        {"mydestination = mysql:/pf/d.cf\nrelay_domains = pgsql:/pf/d.cf\n", "relay_domains", ""},
        {"mydestination = a.example, mysql:/pf/d.cf\nrelay_domains = a.example\n", "relay_domains", ""},
        {"mydestination = a.example\nrelay_domains = mysql:/pf/d.cf, b.example\n", "relay_domains", ""},
        {"mydestination = hash:/pf/r\nrelay_domains = b.example\n", "relay_domains", ""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.main);
        const auto from = drafted(row.main, files);
        const auto& remarks = result_of(from, row.setting).remarks;
        const auto found = std::ranges::find_if(
            remarks, [](const auto& each) { return each.find("names decide before tables") != each.npos; });
        CHECK((found == remarks.end()) == row.table.empty());
        if (found != remarks.end()) CHECK(found->find(row.table + " has as well") != found->npos);
        const auto lines = undecided(from);
        CHECK(std::ranges::any_of(lines, [&](const auto& line) {
                  return line.find(row.setting + ": " + row.table) != line.npos;
              }) == row.to_be_decided);
    }
}

TEST_CASE("a compiled table without its text is used, and it is said how to make either from the other") {
    const auto from =
        imported("virtual_alias_maps = lmdb:/pf/v\nvirtual_alias_domains = a.example\n", {{"/pf/v.lmdb", "compiled"}});
    CHECK(key(from, "virtual_alias.tables") == R"(["lmdb:/pf/v"])");
    REQUIRE(result_of(from, "virtual_alias_maps").remarks.size() == 1);
    CHECK(result_of(from, "virtual_alias_maps").remarks.front().contains("\"postmap -s lmdb:/pf/v >/pf/v\""));
    const auto text = imported("virtual_alias_maps = lmdb:/pf/v\nvirtual_alias_domains = a.example\n",
                               {{"/pf/v.lmdb", "compiled"}, {"/pf/v", "x@a.example ann\n"}});
    CHECK(key(text, "virtual_alias.tables") == R"(["text:/pf/v"])");
}

TEST_CASE("a table with random values is for check to refuse, with what is possible instead") {
    const auto from = drafted("transport_maps = randmap:{smtp:[a.example], smtp:[b.example]}\n");
    CHECK(key(from, "transport.tables") ==
          postrider::toml(std::vector<std::string>{"randmap:{smtp:[a.example], smtp:[b.example]}"}));
    CHECK(result_of(from, "transport_maps").remarks.front().contains("may name several hosts"));
    CHECK(refusal_of(from).contains("randmap"));
}
