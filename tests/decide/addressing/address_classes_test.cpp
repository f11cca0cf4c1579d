// Classes of addresses, and what is rewritten on the way to them.
#include "tests/decide/addressing/expansion_world.h"
#include <doctest/doctest.h>

using namespace expansion_tests;

TEST_CASE("canonical forms come first, and only once") {
    World w;
    w.table(&Tables::recipient_canonical, "text:/c") = {{"old@far.example", "new@far.example"},
                                                        {"new@far.example", "wrong@far.example"},
                                                        {"alice", "alice.smith@far.example"},
                                                        {"@gone.example", "@here.example"}};
    w.table(&Tables::sender_canonical, "text:/s") = {{"sender@far.example", "Public@far.example"}};
    CHECK(w.expand({"old@far.example"}) == "0:remote new@far.example from Public@far.example");
    CHECK(w.expand({"OLD+x@far.example"}) == "0:remote new+x@far.example from Public@far.example");
    CHECK(w.expand({"alice@here.example"}) == "0:remote alice.smith@far.example from Public@far.example");
    CHECK(w.expand({"bob@gone.example"}) == "0:local bob from Public@far.example");
    CHECK(w.expand({"x@far.example"}) == "0:remote from Public@far.example");
    w.sender = "";
    CHECK(w.expand({"x@far.example"}) == "0:remote");
    w.sender = "sender@far.example";
    w.unreadable = {"text:/s"};
    CHECK(w.expand({"x@far.example", "bob"}) == "0:deferred 4.3.0; 1:deferred 4.3.0");
    w.unreadable = {};
    w.unknown_yet = {"sender@far.example", "x@far.example"};
    CHECK(w.expand({"x@far.example"}) == "needs text:/c x@far.example needs text:/s sender@far.example ");
}

TEST_CASE("canonical tables one after the other, and again and again") {
    World w;
    w.table(&Tables::recipient_canonical,
            "text:/r") = {{"a@far.example", "b@far.example"},           {"b@far.example", "c@far.example"},
                          {"loop1@far.example", "loop2@far.example"},   {"loop2@far.example", "loop1@far.example"},
                          {"three1@far.example", "three2@far.example"}, {"three2@far.example", "three3@far.example"},
                          {"three3@far.example", "three1@far.example"}, {"self@far.example", "Self@far.example"}};
    w.table(&Tables::common_recipient_canonical, "text:/c") = {{"b@far.example", "d@far.example"},
                                                               {"c@far.example", "e+y@far.example"},
                                                               {"e@far.example", "f@far.example"},
                                                               {"only@far.example", "a@far.example"}};
    w.table(&Tables::sender_canonical, "text:/s") = {{"sender@far.example", "one@far.example"}};
    w.table(&Tables::common_sender_canonical, "text:/cs") = {{"one@far.example", "two@far.example"},
                                                             {"two@far.example", "three@far.example"}};
    CHECK(w.expand({"a@far.example"}) == "0:remote d@far.example from two@far.example");
    CHECK(w.expand({"only@far.example"}) == "0:remote a@far.example from two@far.example");
    CHECK(w.expand({"loop1@far.example"}) == "0:remote loop2@far.example from two@far.example");
    w.settings.canonical_repeated = true;
    CHECK(w.expand({"a@far.example"}) == "0:remote f+y@far.example from three@far.example");
    CHECK(w.expand({"only@far.example"}) == "0:remote a@far.example from three@far.example");
    CHECK(w.expand({"self@far.example"}) == "0:remote Self@far.example from three@far.example");
    // In a circle: what they are after ten times.
    CHECK(w.expand({"loop1@far.example"}) == "0:remote from three@far.example"); // itself again
    CHECK(w.check("loop1@far.example") == "known");
    CHECK(w.expand({"three1@far.example"}) == "0:remote three2@far.example from three@far.example");
    w.table(&Tables::common_recipient_canonical, "text:/c")["three2@far.example"] = "then@far.example";
    CHECK(w.expand({"three1@far.example"}) == "0:remote then@far.example from three@far.example");
    CHECK(w.check("a@far.example") == "known");
}

TEST_CASE("virtual aliases: the order of look-ups, extensions, catch-alls") {
    World w;
    auto& v = w.table(&Tables::virtual_alias, "text:/v");
    v = {{"info@lists.example", "alice, bob"},
         {"info+special@lists.example", "carol"},
         {"sales@lists.example", "sales-team@far.example"},
         {"@lists.example", "root"},
         {"@moved.example", "@far.example"},
         {"carol", "carol@boxes.example"},
         {"chain@lists.example", "info@lists.example x@far.example"}};
    w.classes["moved.example"] = AddressClass::virtual_alias;
    CHECK(w.expand({"info@lists.example"}) == "0:local alice; 0:local bob");
    CHECK(w.expand({"INFO+special@Lists.Example"}).starts_with("0:remote carol@boxes.example"));
    CHECK(w.expand({"sales+x@lists.example"}) == "0:remote sales-team+x@far.example");
    CHECK(w.expand({"whoever+x@lists.example"}) == "0:local root");
    CHECK(w.expand({"ann+x@moved.example"}) == "0:remote ann+x@far.example");
    CHECK(w.expand({"chain@lists.example"}) == "0:local alice; 0:local bob; 0:remote x@far.example");
    CHECK(w.expand({"carol@localhost"}) == "0:remote carol@boxes.example");
    v.erase("@lists.example");
    CHECK(w.expand({"whoever@lists.example"}) == "0:failed 5.1.1");
    CHECK(w.why({"whoever@lists.example"}) == "User unknown in virtual alias table");
}

TEST_CASE("virtual aliases may keep a copy, and loops are cut") {
    World w;
    auto& v = w.table(&Tables::virtual_alias, "text:/v");
    v = {{"alice@here.example", "alice@here.example, x@far.example"},
         {"same@far.example", "same@far.example"},
         {"a@lists.example", "b@lists.example"},
         {"b@lists.example", "a@lists.example"}};
    CHECK(w.expand({"alice@here.example"}) == "0:local alice; 0:remote x@far.example");
    CHECK(w.expand({"same@far.example"}) == "0:remote");
    CHECK(w.expand({"a@lists.example"}) == "0:failed 5.4.6");
    for (int i = 0; i < 60; ++i) v[fmt::format("d{}@lists.example", i)] = fmt::format("d{}@lists.example", i + 1);
    CHECK(w.expand({"d0@lists.example"}) == "0:deferred 4.3.5");
    w.settings.recipients = 3;
    v["many@lists.example"] = "a1@far.example a2@far.example a3@far.example a4@far.example";
    CHECK(w.expand({"many@lists.example"}) == "0:deferred 4.3.5");
}

TEST_CASE("tables of patterns are asked for whole addresses only, as they were written") {
    World w;
    w.table(&Tables::virtual_alias, "regexp:/v") = {
        {"Info+X@lists.example", "alice"}, {"info@lists.example", "bob"}, {"@lists.example", "bob"}};
    CHECK(w.expand({"Info+X@lists.example"}) == "0:local alice");
    CHECK(w.expand({"info+y@lists.example"}) == "0:failed 5.1.1");
    w.table(&Tables::virtual_alias, "text:/2") = {{"info@lists.example", "carol"}};
    CHECK(w.expand({"info+y@lists.example"}) == "0:local carol");
}

TEST_CASE("aliases and virtual aliases: what leaves a list begins anew, names of this system do not") {
    World w;
    w.table(&Tables::virtual_alias, "text:/v") = {{"alice@here.example", "list@here.example"},
                                                  {"info@lists.example", "bob"}};
    w.aliases = {{"list", {"alice", "info@lists.example"}}};
    CHECK(w.expand({"list@here.example"}) == "0:local alice; 0:local bob");
    CHECK(w.expand({"alice@here.example"}) == "0:local alice; 0:local bob");
}

TEST_CASE("virtual mailboxes") {
    World w;
    auto& mailboxes = w.table(&Tables::mailboxes, "text:/m");
    w.settings.mailbox = "lmtp:/run/dovecot/lmtp";
    w.settings.mailbox_user = "vmail";
    mailboxes = {{"ann@boxes.example", "boxes/ann/"}};
    CHECK(w.expand({"ann@boxes.example"}) == "0:remote by lmtp:/run/dovecot/lmtp");
    CHECK(w.expand({"Ann+x@boxes.example"}) == "0:remote by lmtp:/run/dovecot/lmtp");
    CHECK(w.expand({"bob@boxes.example"}) == "0:failed 5.1.1");
    CHECK(w.why({"bob@boxes.example"}) == "User unknown in virtual mailbox table");
    w.settings.mailbox = "maildir:/srv/mail/{domain}/{user}/";
    CHECK(w.expand({"Ann+x@Boxes.example"}) == "0:local vmail maildir:/srv/mail/boxes.example/ann/");
    w.settings.mailbox = "mbox:/srv/mail/{value}";
    CHECK(w.expand({"ann@boxes.example"}) == "0:local vmail mbox:/srv/mail/boxes/ann/");
    CHECK(w.expand({"ann@boxes.example", "ann+x@boxes.example"}) ==
          "0:local vmail mbox:/srv/mail/boxes/ann/; 1:discard 2.1.5");
    mailboxes["@boxes.example"] = "../../etc";
    CHECK(w.expand({"x@boxes.example"}) == "0:failed 5.1.3");
    w.settings.tables.mailboxes.clear();
    w.settings.mailbox = "maildir:/srv/mail/{user}";
    CHECK(w.expand({"x@boxes.example"}) == "0:local vmail maildir:/srv/mail/x");
    CHECK(w.expand({"\"../x\"@boxes.example"}) == "0:failed 5.1.3");
}

TEST_CASE("relay domains, with or without their recipients") {
    World w;
    CHECK(w.expand({"x@inner.example"}) == "0:remote");
    w.table(&Tables::relay_recipients, "text:/r") = {{"ann@inner.example", "ok"}};
    CHECK(w.expand({"ann@inner.example", "x@inner.example"}) == "0:remote; 1:failed 5.1.1");
    CHECK(w.expanded({"x@inner.example"}).recipients[0].text == "User unknown in relay recipient table");
    w.unreadable = {"text:/r"};
    CHECK(w.expand({"x@inner.example"}) == "0:deferred 4.3.0");
}

TEST_CASE("who has moved is told where to") {
    World w;
    w.table(&Tables::relocated, "text:/r") = {
        {"alice@here.example", "alice@far.example"}, {"bob", "Bob Ltd, +44 1"}, {"@inner.example", "nowhere"}};
    CHECK(w.expand({"alice@here.example", "bob+x@localhost", "x@inner.example", "carol"}) ==
          "0:failed 5.1.6; 1:failed 5.1.6; 2:failed 5.1.6; 3:local carol");
    CHECK(w.why({"alice@here.example"}) == "User has moved to alice@far.example");
}

TEST_CASE("transports by recipient") {
    World w;
    auto& t = w.table(&Tables::transport, "text:/t");
    t = {{"far.example", "smtp:[relay.example]:2525"},
         {"ann@far.example", "lmtp:unix:/run/ann"},
         {".below.example", "[b.example]"},
         {"void.example", "discard:"},
         {"closed.example", "error:5.2.1 closed for ever"},
         {"later.example", "defer:"},
         {"odd.example", "ftp:[x]"},
         {"inner.example", ":"},
         {"alice@here.example", "[mail.far.example]"}};
    CHECK(w.expand({"x@far.example"}) == "0:remote by [relay.example]:2525");
    CHECK(w.expand({"Ann+x@Far.example"}) == "0:remote by lmtp:/run/ann");
    CHECK(w.expand({"x@a.b.below.example", "x@below.example"}) == "0:remote by [b.example]; 1:remote");
    CHECK(w.expand({"x@void.example"}) == "0:discard 2.0.0");
    CHECK(w.why({"x@void.example"}) == "discarded: as configured in a transport table");
    CHECK(w.expand({"x@closed.example"}) == "0:failed 5.2.1");
    CHECK(w.why({"x@closed.example"}) == "closed for ever");
    CHECK(w.expand({"x@later.example"}) == "0:deferred 4.0.0");
    CHECK(w.expand({"x@odd.example"}) == "0:deferred 4.3.5");
    CHECK(w.expand({"x@inner.example"}) == "0:remote");
    CHECK(w.expand({"alice", "bob"}) == "0:remote alice@here.example by [mail.far.example]; 1:local bob");
    CHECK(w.expand({"alice@here.example"}) == "0:remote by [mail.far.example]");
    t["*"] = "[hub.example]";
    CHECK(w.expand({"x@anywhere.example"}) == "0:remote by [hub.example]");
}

TEST_CASE("a transport table makes an address one of users here, or of virtual mailboxes") {
    World w;
    w.aliases = {{"team", {"bob", "x@far.example"}}};
    auto& t = w.table(&Tables::transport, "text:/t");
    t = {{"far.example", "local:"},     {"boxes.example", "local:"},     {"here.example", "local:"},
         {"inner.example", "virtual:"}, {"x@boxes.example", "virtual:"}, {"carol@here.example", "virtual:"}};
    CHECK(w.expand({"Alice@Far.example"}) == "0:local alice");
    CHECK(w.expand({"alice+x@far.example"}) == "0:local alice");
    CHECK(w.expand({"nobody@far.example"}) == "0:failed 5.1.1");
    CHECK(w.expand({"alice@here.example", "alice"}) == "0:local alice; 1:discard 2.1.5");
    CHECK(w.expand({"alice@boxes.example"}) == "0:local alice");
    w.aliases = {{"team", {"bob", "alice@else.example"}}};
    CHECK(w.expand({"team@far.example"}) == "0:local bob; 0:remote alice@else.example");

    // Where [virtual_mailbox] says nothing, mail waits, and says so.
    CHECK(w.expand({"ann@inner.example"}) == "0:deferred 4.3.5");
    CHECK(w.why({"ann@inner.example"}) == "a transport table has \"virtual:\" for <ann@inner.example>, but "
                                          "virtual_mailbox.deliver is not set");
    w.settings.mailbox = "maildir:/mail/{domain}/{user}/";
    w.settings.mailbox_user = "vmail";
    CHECK(w.expand({"Ann+x@inner.example"}) == "0:local vmail maildir:/mail/inner.example/ann/");
    CHECK(w.expand({"x@boxes.example"}) == "0:local vmail maildir:/mail/boxes.example/x/");
    CHECK(w.expand({"carol@here.example"}) == "0:local vmail maildir:/mail/here.example/carol/");
    w.table(&Tables::mailboxes, "text:/m") = {{"ann@inner.example", "x"}};
    CHECK(w.expand({"ann@inner.example"}) == "0:local vmail maildir:/mail/inner.example/ann/");
    CHECK(w.expand({"bob@inner.example"}) == "0:failed 5.1.1");
    CHECK(w.why({"bob@inner.example"}) == "User unknown in virtual mailbox table");
    w.settings.mailbox = "lmtp:/run/lmtp";
    CHECK(w.expand({"ann@inner.example"}) == "0:remote by lmtp:/run/lmtp");
    w.unknown_yet = {"ann@inner.example"};
    CHECK(w.expand({"ann@inner.example"}).starts_with("needs "));
}

TEST_CASE("the sender's own relay, for mail to elsewhere that nothing else speaks of") {
    World w;
    w.table(&Tables::sender_relay, "text:/s") = {
        {"@far.example", "[far-relay.example]:587"}, {"ann@far.example", "mx"}, {"<>", "[null.example]"}};
    w.routed = "routed.example";
    CHECK(w.expand({"x@else.example", "x@inner.example", "x@routed.example", "bob"}) ==
          "0:remote by [far-relay.example]:587; 1:remote; 2:remote; 3:local bob");
    w.sender = "ann+x@far.example";
    CHECK(w.expand({"x@else.example"}) == "0:remote by mx");
    w.sender = "";
    CHECK(w.expand({"x@else.example"}) == "0:remote by [null.example]");
    w.sender = "x@else.example";
    CHECK(w.expand({"x@else.example"}) == "0:remote");
    w.sender = "x@far.example";
    for (const auto* none : {"local:", "virtual:", "discard:"}) {
        w.tables["text:/s"] = {{"@far.example", none}};
        CHECK_MESSAGE(w.expand({"x@else.example"}) == "0:deferred 4.3.5", none);
    }
}

TEST_CASE("recipients are checked as their class has it, and aliases are not followed") {
    World w;
    w.aliases = {{"team", {"nobody"}}};
    w.table(&Tables::recipient_canonical, "text:/c") = {{"old@here.example", "bob@here.example"},
                                                        {"away@here.example", "x@far.example"}};
    w.table(&Tables::virtual_alias, "text:/v") = {{"info@lists.example", "x"}, {"carl@here.example", "x"}};
    w.table(&Tables::mailboxes, "text:/m") = {{"ann@boxes.example", "x"}};
    w.table(&Tables::relay_recipients, "text:/r") = {{"ann@inner.example", "x"}};
    w.table(&Tables::relocated, "text:/l") = {{"gone@here.example", "gone@far.example"}};
    w.table(&Tables::transport, "text:/t") = {{"root@here.example", "error:5.2.1 closed"}};
    for (const auto* known :
         {"alice@here.example", "Alice+x@localhost", "team@here.example", "team+x@here.example",
          "postmaster@here.example", "postmaster", "Mailer-Daemon@localhost", "old@here.example", "away@here.example",
          "info+x@lists.example", "carl@here.example", "ann@boxes.example", "Ann+x@inner.example"})
        CHECK_MESSAGE(w.check(known) == "known", known);
    CHECK(w.check("nobody@here.example") == "unknown 5.1.1 User unknown in local recipient table");
    CHECK(w.check("a b@here.example").starts_with("unknown 5.1.3"));
    CHECK(w.check("x@lists.example") == "unknown 5.1.1 User unknown in virtual alias table");
    CHECK(w.check("x@boxes.example") == "unknown 5.1.1 User unknown in virtual mailbox table");
    CHECK(w.check("x@inner.example") == "unknown 5.1.1 User unknown in relay recipient table");
    CHECK(w.check("gone@here.example") == "unknown 5.1.6 User has moved to gone@far.example");
    CHECK(w.check("root@here.example") == "unknown 5.2.1 closed");
    CHECK(w.check("alice@far.example") == "not ours");
    w.suppressed["alice@here.example"] = "no mail";
    CHECK(w.check("alice@here.example") == "unknown 5.7.1 no mail");
    w.settings.catch_all = "bob";
    CHECK(w.check("nobody@here.example") == "known");
    w.settings.catch_all.clear();
    w.table(&Tables::local_recipients, "text:/h") = {{"list@here.example", "x"}, {"mailman", "x"}, {"alice", "x"}};
    for (const auto* listed : {"list@here.example", "list+x@here.example", "mailman@localhost", "bob@here.example"})
        CHECK_MESSAGE(w.check(listed) == "known", listed);
    CHECK(w.check("list@localhost") == "unknown 5.1.1 User unknown in local recipient table");
    // Who else is known has been said: catch_all is for mail that comes to others without such a check.
    w.settings.catch_all = "bob";
    CHECK(w.check("nobody@here.example") == "unknown 5.1.1 User unknown in local recipient table");
    w.settings.catch_all.clear();
    w.settings.known_here = {.users = false, .aliases = false};
    for (const auto* unlisted : {"bob@here.example", "team@here.example"})
        CHECK(w.check(unlisted) == "unknown 5.1.1 User unknown in local recipient table");
    w.suppressed.clear();
    CHECK(w.check("alice@here.example") == "known");
    CHECK(w.check("postmaster@here.example") == "known");
    w.settings.known_here = {.everybody = true};
    CHECK(w.check("nobody@here.example") == "known");
    CHECK(w.check("root@here.example") == "unknown 5.2.1 closed"); // by its transport
    CHECK(w.check("gone@here.example") == "unknown 5.1.6 User has moved to gone@far.example");
    w.settings.known_here = {};
    w.table(&Tables::transport, "text:/closed") = {{"here.example", "error:5.1.2 no mail here"}};
    for (const auto* whoever : {"team@here.example", "postmaster@here.example", "bob@here.example"})
        CHECK(w.check(whoever) == "unknown 5.1.2 no mail here");
    w.settings.tables.transport = {"text:/t"};
    w.unknown_yet = {"dora", "dora@boxes.example"};
    CHECK(w.check("dora@here.example") == "not yet");
    CHECK(w.check("dora@boxes.example") == "not yet");
    for (const auto* table : {"text:/c", "text:/v", "text:/m", "text:/l", "text:/t"}) {
        w.unreadable = {table};
        CHECK_MESSAGE(w.check("ann@boxes.example") == "try later", table);
    }
    w.unreadable = {"team"};
    CHECK(w.check("team@here.example") == "try later");
}

TEST_CASE("a transport table or the place of virtual mailboxes is a program") {
    World w;
    w.settings.transports.commands = {"sympa", "pager"};
    w.settings.program_users = {"list", "daemon"};
    w.table(&Tables::transport, "text:/t") = {
        {"inner.example", "command:sympa"}, {"ops@here.example", "pager:"}, {"far.example", "command:other"}};
    CHECK(w.expand({"Any+x@inner.example"}) == "0:local list command:sympa");
    CHECK(w.expand({"ops@here.example"}) == "0:local daemon command:pager");
    CHECK(w.expand({"x@far.example"}) == "0:deferred 4.3.5");
    w.settings.mailbox = "command:pager";
    CHECK(w.expand({"x@boxes.example", "y@boxes.example"}) ==
          "0:local daemon command:pager; 1:local daemon command:pager"); // one run for each
    CHECK(w.expand({"x@boxes.example", "X@BOXES.example"}) == "0:local daemon command:pager; 1:discard 2.1.5");
    w.settings.mailbox = "command:gone";
    CHECK(w.expand({"x@boxes.example"}) == "0:deferred 4.3.5");
    CHECK(w.why({"x@boxes.example"}) == "there is no [command.gone]");
}
