// Lists of restrictions that become access rules, word by word.
#include "tests/import-postfix/conversion/machine.h"

using namespace postrider;

namespace {

const std::string networks = "mynetworks = 10.0.0.0/8\n";

} // namespace

TEST_CASE("restrictions become the rules of their lists, in their order") {
    struct Row {
        std::string main, key, value;
        std::map<std::string, std::string> files = {};
    };
    const Row rows[] = {
        {"smtpd_client_restrictions = permit_mynetworks, check_client_access cidr:/pf/c, reject_unknown_client",
         "client",
         R"(["permit_mynetworks", "check_client_access cidr:/pf/c", "reject_unknown_client"])",
         {{"/pf/c", "192.0.2.0/24 REJECT\n"}}},
        {"smtpd_helo_restrictions = reject_invalid_helo_hostname,reject_non_fqdn_helo_hostname", "helo",
         R"(["reject_invalid_helo_hostname", "reject_non_fqdn_helo_hostname"])"},
        {"smtpd_sender_restrictions = check_sender_access hash:/pf/s, check_sender_mx_access cidr:/pf/s",
         "sender",
         R"(["check_sender_access text:/pf/s", "check_sender_mx_access cidr:/pf/s"])",
         {{"/pf/s", "a.example REJECT\n"}}},
        // A bare table: of the list's own kind.
        {"smtpd_sender_restrictions = hash:/pf/s, reject_unknown_sender_domain",
         "sender",
         R"(["check_sender_access text:/pf/s", "reject_unknown_sender_domain"])",
         {{"/pf/s", "a.example REJECT\n"}}},
        {"smtpd_recipient_restrictions = permit_mynetworks, proxy:pcre:/pf/r, reject_unauth_destination",
         "recipient",
         R"(["permit_mynetworks", "check_recipient_access regexp:/pf/r", "reject_unauth_destination"])",
         {{"/pf/r", "/x/ REJECT\n"}}},
        {"smtpd_sender_restrictions = check_sender_access pcre:/pf/s",
         "sender",
         R"(["check_sender_access regexp:/pf/s"])",
         {{"/pf/s", "/x/ REJECT\n"}}},
        {"smtpd_sender_restrictions = check_sender_access inline:{ {a.example = REJECT go away} }", "sender",
         R"(["check_sender_access table:smtpd_sender_restrictions_1"])"},
        {"smtpd_recipient_restrictions = reject_rhsbl_sender d.example, reject_rbl_client "
         "b.example=127.0.0.[2..4]",
         "recipient", R"(["reject_rhsbl_sender d.example", "reject_rbl_client b.example=127.0.0.[2..4]"])"},
        {"smtpd_recipient_restrictions = reject_non_fqdn_sender, check_policy_service inet:127.0.0.1:10023, permit",
         "recipient", R"(["reject_non_fqdn_sender", "check_policy_service postfix_1", "permit"])"},
        {"smtpd_recipient_restrictions = reject_unauth_destination, warn_if_reject reject_unknown_sender_domain",
         "recipient", R"(["reject_unauth_destination", "warn_if_reject reject_unknown_sender_domain"])"},
        {"smtpd_data_restrictions = check_sender_access hash:/pf/s, reject_unauth_pipelining",
         "data",
         R"(["check_sender_access text:/pf/s", "reject_unauth_pipelining"])",
         {{"/pf/s", "a.example REJECT\n"}}},
        {"smtpd_client_restrictions = permit_mynetworks, check_client_access cidr:/pf/c, reject",
         "client",
         R"(["permit_mynetworks", "check_client_access cidr:/pf/c", "reject"])",
         {{"/pf/c", "192.0.2.0/24 OK\n"}}},
        // What follows the end of a list was never reached.
        {"smtpd_helo_restrictions = reject_invalid_hostname, permit, reject_unverified_sender", "helo",
         R"(["reject_invalid_hostname", "permit"])"},
        {"smtpd_sender_restrictions = reject_unverified_sender", "sender", R"(["reject_unverified_sender"])"},
        {"smtpd_recipient_restrictions = reject_unauth_destination, reject_unverified_recipient", "recipient",
         R"(["reject_unauth_destination", "reject_unverified_recipient"])"},
        {"smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination, reject_unknown_recipient_domain",
         "relay", R"(["permit_mynetworks", "reject_unauth_destination", "reject_unknown_recipient_domain"])"},
        // permit_mynetworks in any list needs relay.networks, so a list that does not permit them to relay stays.
        {"smtpd_relay_restrictions = permit_sasl_authenticated, reject_unauth_destination\n"
         "smtpd_client_restrictions = permit_mynetworks, reject_unknown_client_hostname",
         "relay", R"(["permit_sasl_authenticated", "reject_unauth_destination"])"},
        {"smtpd_delay_reject = no\nsmtpd_helo_restrictions = reject_invalid_hostname", "delay_reject", "false"},
        {"parent_domain_matches_subdomains =\nsmtpd_helo_restrictions = reject_invalid_hostname", "parent_domains",
         "false"},
        {"smtpd_helo_restrictions = reject_invalid_hostname", "parent_domains", "-"},
        {"smtpd_helo_restrictions = reject_invalid_hostname", "relay", "-"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.main);
        const auto from = imported(networks + row.main + "\n", row.files);
        CHECK(key(from, "access.postfix." + row.key) == row.value);
        CHECK(undecided(from).empty());
    }
}

TEST_CASE("lists that fixed rules and sections cover have no access rules") {
    for (const auto* main :
         {"smtpd_recipient_restrictions = permit_mynetworks, permit_sasl_authenticated, reject_unauth_destination, "
          "reject_rbl_client b.example, check_policy_service inet:127.0.0.1:10023",
          "smtpd_client_restrictions = permit_mynetworks, reject", "smtpd_delay_reject = no",
          "smtpd_restriction_classes = strict\nstrict = reject",
          "smtpd_sender_restrictions = permit, check_sender_access hash:/x"}) {
        CAPTURE(main);
        const auto from = imported(networks + main + "\n");
        CHECK(!from.draft.has_section("access.postfix"));
        CHECK(!from.draft.has_section("access_class.strict"));
    }
}

TEST_CASE("classes, in lists and in tables") {
    const auto from = imported("smtpd_restriction_classes = Strict, greylist\n"
                               "Strict = check_client_access hash:/pf/c, reject\n"
                               "greylist = check_policy_service inet:127.0.0.1:10023\n"
                               "smtpd_recipient_restrictions = reject_unauth_destination, check_recipient_access "
                               "hash:/pf/r, Strict\n",
                               {{"/pf/c", "192.0.2.1 OK\n"}, {"/pf/r", "a@b.example greylist\nc@b.example Strict\n"}});
    CHECK(key(from, "access.postfix.recipient") ==
          R"(["reject_unauth_destination", "check_recipient_access text:/pf/r", "strict"])");
    CHECK(key(from, "access_class.strict.rules") == R"(["check_client_access text:/pf/c", "reject"])");
    CHECK(key(from, "access_class.greylist.rules") == R"(["check_policy_service postfix_1"])");
    CHECK(key(from, "policy.postfix_1.address") == "\"inet:127.0.0.1:10023\"");
    CHECK(undecided(from).empty());
}

TEST_CASE("listeners with the same lists share a section, others have their own") {
    const std::string master = smtp_line +
                               "2525 inet n - n - - smtpd\n"
                               "2526 inet n - n - - smtpd -o smtpd_helo_restrictions=\n"
                               "2527 inet n - n - - smtpd -o smtpd_helo_restrictions=reject_non_fqdn_hostname\n";
    const auto from = imported(networks + "smtpd_helo_restrictions = reject_invalid_hostname\n", {}, master);
    CHECK(key(from, "access.postfix.listeners") == R"(["smtp", "port_2525"])");
    CHECK(key(from, "access.postfix.helo") == R"(["reject_invalid_hostname"])");
    CHECK(key(from, "access.postfix_2.listeners") == R"(["port_2527"])");
    CHECK(key(from, "access.postfix_2.helo") == R"(["reject_non_fqdn_hostname"])");
}

TEST_CASE("a policy service may be asked by rules of one listener and at its stage of another") {
    const std::string master =
        smtp_line + "2525 inet n - n - - smtpd -o smtpd_helo_restrictions=reject_invalid_hostname\n";
    const auto from = imported(
        networks +
            "smtpd_recipient_restrictions = reject_unauth_destination, check_policy_service inet:127.0.0.1:10023\n",
        {}, master);
    CHECK(key(from, "policy.postfix_1.listeners") == R"(["smtp"])");
    CHECK(key(from, "policy.postfix_2.listeners") == "-");
    CHECK(key(from, "access.postfix.recipient") ==
          R"(["reject_unauth_destination", "check_policy_service postfix_2"])");
}

TEST_CASE("networks that a list permits are in relay.networks, what they may is in the lists") {
    const auto from = imported(networks + "smtpd_helo_restrictions = permit_mynetworks, reject_invalid_hostname\n"
                                          "smtpd_recipient_restrictions = reject_unauth_destination\n");
    CHECK(key(from, "relay.networks") == R"(["10.0.0.0/8"])");
    CHECK(key(from, "access.postfix.recipient") == R"(["reject_unauth_destination"])");
    CHECK(key(imported(networks + "smtpd_helo_restrictions = reject_invalid_hostname\nsmtpd_relay_restrictions = "
                                  "reject_unauth_destination\n"),
              "relay.networks") == "[]");
}

TEST_CASE("a number in a table permits, as in Postfix, and is no loss") {
    CHECK(undecided(imported(networks + "smtpd_sender_restrictions = check_sender_access hash:/pf/s\n",
                             {{"/pf/s", "a.example 550\nb.example REDIRECT nowhere\n"}}))
              .empty());
}

TEST_CASE("permission to relay by a table is said to be none") {
    const auto from =
        imported(networks + "smtpd_relay_restrictions =\nsmtpd_recipient_restrictions = check_client_access "
                            "hash:/pf/c, reject_unauth_destination\n",
                 {{"/pf/c", "192.0.2.1 OK\n"}});
    const auto& remarks = result_of(from, "smtpd_recipient_restrictions").remarks;
    CHECK(std::ranges::any_of(remarks, [](const auto& each) { return each.find("relay.networks") != each.npos; }));
}

TEST_CASE("the verification of addresses becomes [verify]") {
    const auto from = imported("smtpd_recipient_restrictions = reject_unauth_destination, reject_unverified_recipient\n"
                               "myorigin = here.example\n"
                               "address_verify_map = btree:/var/lib/postfix/verify\n"
                               "address_verify_positive_expire_time = 20d\naddress_verify_positive_refresh_time = 5\n"
                               "address_verify_negative_expire_time = 2d\naddress_verify_negative_refresh_time = 2\n"
                               "address_verify_poll_count = 5\naddress_verify_poll_delay = 2s\n"
                               "address_verify_sender = probe\naddress_verify_sender_ttl = 1d\n"
                               "unverified_recipient_reject_code = 550\nunverified_recipient_defer_code = 451\n"
                               "unverified_recipient_reject_reason = Unknown here\n"
                               "unverified_sender_reject_code = 553\nunverified_sender_reject_reason = Who?\n"
                               "address_verify_relayhost = [192.0.2.1]\naddress_verify_local_transport = local\n",
                               {});
    const std::pair<std::string_view, std::string_view> expected[] = {
        {"verify.positive_lifetime", "\"20d\""},
        {"verify.positive_refresh", "\"5d\""},
        {"verify.negative_lifetime", "\"2d\""},
        {"verify.negative_refresh", "\"2h\""},
        {"verify.wait", "\"8s\""},
        {"verify.sender", "\"probe@here.example\""},
        {"verify.recipient_reject_code", "550"},
        {"verify.recipient_defer_code", "451"},
        {"verify.recipient_reject_reason", "\"Unknown here\""},
        {"verify.sender_reject_code", "553"},
        {"verify.sender_defer_code", "-"},
        {"verify.sender_reject_reason", "\"Who?\""},
    };
    for (const auto& [path, value] : expected) {
        CAPTURE(path);
        CHECK(key(from, path) == value);
    }
    using Kind = SettingResult::Kind;
    CHECK(result_of(from, "address_verify_map").kind == Kind::converted);
    for (const auto* lost : {"address_verify_sender_ttl", "address_verify_relayhost", "address_verify_local_transport"})
        CHECK(result_of(from, lost).kind == Kind::unsupported);
    CHECK(undecided(from).empty());
    CHECK(key(imported("address_verify_poll_count = 1\n", {}), "verify.wait") == "\"100ms\"");
    CHECK(key(imported("address_verify_sender =\n", {}), "verify.sender") == "\"\"");
}

TEST_CASE("verified addresses are asked for again before an answer expires") {
    const auto refresh = [](const char* main_cf) { return key(imported(main_cf, {}), "verify.negative_refresh"); };
    CHECK(refresh("address_verify_negative_expire_time = 1h\n") == "\"3600s\""); // 3 h are Postfix's default
    CHECK(refresh("address_verify_negative_expire_time = 1\n") == "-");          // a day
    CHECK(refresh("address_verify_negative_refresh_time = 4d\n") == "\"259200s\"");
    CHECK(key(imported("address_verify_positive_expire_time = 5d\n", {}), "verify.positive_refresh") == "\"432000s\"");
}

TEST_CASE("rules about owners of senders have their tables, whatever names the rules") {
    const std::string logins = "smtpd_sasl_auth_enable = yes\n", maps = "smtpd_sender_login_maps = hash:/pf/owners\n",
                      word = "reject_sender_login_mismatch",
                      in_class = "smtpd_restriction_classes = own\nown = " + word;
    const std::map<std::string, std::string> files{{"/pf/owners", "a@b.example ann\n"},
                                                   {"/pf/s", "b.example reject_known_sender_login_mismatch\n"},
                                                   {"/pf/p", "/b/ reject_known_sender_login_mismatch\n"},
                                                   {"/pf/c", "b.example own\n"},
                                                   {"/pf/ok", "b.example OK\n"}};
    for (const auto& named : {"smtpd_sender_restrictions = warn_if_reject " + word,
                              std::string("smtpd_sender_restrictions = check_sender_access hash:/pf/s"),
                              std::string("smtpd_sender_restrictions = warn_if_reject check_sender_access pcre:/pf/p"),
                              std::string("smtpd_sender_restrictions = check_sender_access sqlite:/pf/q.cf"),
                              "smtpd_sender_restrictions = own\n" + in_class,
                              "smtpd_sender_restrictions = check_sender_access hash:/pf/c\n" + in_class}) {
        CAPTURE(named);
        auto all = files;
        all["/pf/q.cf"] = "dbpath = /pf/q\nquery = SELECT x FROM y WHERE z = '%s'\n";
        const auto from = drafted(logins + maps + named + "\n", all);
        CHECK(from.undecided.empty());
        CHECK(key(from, "auth.sender_login_tables") == R"(["text:/pf/owners"])");
    }
    const auto other = drafted(logins + maps + "smtpd_sender_restrictions = check_sender_access hash:/pf/ok\n", files);
    CHECK(key(other, "auth.sender_login_tables") == "-");
    // No effect in Postfix, without tables.
    const auto warned =
        drafted(logins + "smtpd_sender_restrictions = warn_if_reject " + word + ", reject_non_fqdn_sender\n");
    CHECK(key(warned, "access.postfix.sender") == R"(["reject_non_fqdn_sender"])");
    CHECK(key(warned, "auth.sender_match") == "-");
    const auto of_class =
        drafted(logins + "smtpd_sender_restrictions = own\n" + in_class + ", reject_non_fqdn_sender\n");
    CHECK(key(of_class, "access_class.own.rules") == R"(["reject_non_fqdn_sender"])");
    CHECK(of_class.undecided.empty());
    // Results of tables stay.
    for (const auto& where : {logins, maps}) {
        CAPTURE(where);
        const auto result = drafted(where + "smtpd_sender_restrictions = check_sender_access hash:/pf/s\n", files);
        REQUIRE(result.undecided.size() == 1);
        CHECK(result.undecided[0].guard == "smtpd_sender_restrictions: check_sender_access hash:/pf/s");
    }
    const auto within = drafted(logins + "smtpd_sender_restrictions = own\nsmtpd_restriction_classes = own\n"
                                         "own = check_sender_access hash:/pf/s\n",
                                files);
    CHECK(within.undecided.size() == 1);
    // A class, where one listener knows users and another does not.
    const auto both = drafted(maps + "smtpd_sender_restrictions = own\n" + in_class + "\n", files,
                              smtp_line + "587 inet n - n - - smtpd -o smtpd_sasl_auth_enable=yes\n");
    REQUIRE(both.undecided.size() == 1);
    CHECK(both.undecided[0].guard == "smtpd_sender_restrictions: own");
    CHECK(key(both, "auth.sender_login_tables") == R"(["text:/pf/owners"])");
}
