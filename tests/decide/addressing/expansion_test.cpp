#include "tests/decide/addressing/expansion_world.h"
#include <doctest/doctest.h>

using namespace expansion_tests;

TEST_CASE("remote and local") {
    World w;
    CHECK(w.expand({"x@far.example"}) == "0:remote");
    CHECK(w.expand({"alice@here.example", "Bob@HERE.example", "x@far.example"}) ==
          "0:local alice; 1:local bob; 2:remote");
    CHECK(w.expand({"alice"}) == "0:local alice");
    CHECK(w.expand({"alice+lists@here.example"}) == "0:local alice");
    CHECK(w.expand({"nobody@here.example"}) == "0:failed 5.1.1");
    CHECK(w.expand({"\"a b\"@here.example"}) == "0:failed 5.1.1");
    CHECK(w.expand({"../etc@here.example"}).starts_with("0:failed 5.1."));
    w.settings.origin = "far.example";
    CHECK(w.expand({"alice"}) == "0:remote alice@far.example");
    CHECK(w.expand({"postmaster"}).starts_with("0:remote root@far.example"));
    w.settings.postmaster = "alice@here.example";
    CHECK(w.expand({"Postmaster"}) == "0:local alice");
}

TEST_CASE("a bare name in tables stands for that name in the origin, too") {
    World w;
    w.table(&Tables::virtual_alias, "text:/virtual") = {{"root", "admin@other.example"}};
    w.aliases = {{"cron", {"root@far.example"}}};
    CHECK(w.expand({"root@far.example"}) == "0:remote");
    w.settings.origin = "Far.Example";
    CHECK(w.expand({"root"}) == "0:remote admin@other.example");
    CHECK(w.expand({"root@far.example"}) == "0:remote admin@other.example");
    CHECK(w.expand({"root@here.example"}) == "0:remote admin@other.example");
    CHECK(w.expand({"cron@here.example"}) == "0:remote admin@other.example");
    CHECK(w.expand({"root@further.example"}) == "0:remote");
    CHECK(w.check("root@far.example") == "known");
    CHECK(w.check("other@far.example") == "not ours");
    w.settings.tables.virtual_alias.clear();
    w.table(&Tables::recipient_canonical, "text:/canonical") = {{"ann", "ann.smith@other.example"}};
    CHECK(w.expand({"ann@far.example"}) == "0:remote ann.smith@other.example");
    w.table(&Tables::relocated, "text:/relocated") = {{"gone", "elsewhere"}};
    CHECK(w.expand({"gone@far.example"}) == "0:failed 5.1.6");
}

TEST_CASE("aliases, lists, and lists of lists") {
    World w;
    w.aliases = {{"team", {"alice", "Bob@here.example", "x@far.example"}},
                 {"all", {"team", "carol", "alice"}},
                 {"boss", {"carol"}}};
    CHECK(w.expand({"team@here.example"}) == "0:local alice; 0:local bob; 0:remote x@far.example");
    CHECK(w.expand({"ALL"}) == "0:local alice; 0:local bob; 0:remote x@far.example; 0:local carol");
    CHECK(w.expand({"boss+x"}) == "0:local carol");
    w.aliases["boss+x"] = {"bob"};
    CHECK(w.expand({"boss+x"}) == "0:local bob");
    w.aliases["broken"] = {"nobody", "alice"};
    CHECK(w.expand({"broken"}) == "0:failed nobody@here.example 5.1.1; 0:local alice");
    w.aliases["empty"] = {};
    CHECK(w.expand({"empty"}) == "0:failed 5.4.6");
}

TEST_CASE("loops are cut") {
    World w;
    w.aliases = {{"alice", {"alice", "bob"}}, {"a", {"b"}}, {"b", {"a"}}, {"c", {"c", "carol"}}, {"self", {"self"}}};
    CHECK(w.expand({"alice"}) == "0:local alice; 0:local bob");
    CHECK(w.expand({"a"}) == "0:failed 5.4.6");
    CHECK(w.expand({"self@here.example"}) == "0:failed 5.4.6");
    CHECK(w.expand({"c"}) == "0:local carol");
    w.aliases["bob"] = {"\\bob", "alice"};
    CHECK(w.expand({"bob"}) == "0:local bob; 0:local alice");
}

TEST_CASE("depth and size have their limits") {
    World w;
    for (int i = 0; i < 60; ++i) w.aliases["d" + std::to_string(i)] = {"d" + std::to_string(i + 1)};
    w.aliases["d60"] = {"alice"};
    CHECK(w.expand({"d20"}) == "0:local alice");
    CHECK(w.expand({"d0"}) == "0:deferred 4.3.5");
    w.settings.recipients = 100;
    for (int i = 0; i < 101; ++i) w.aliases["many"].push_back("x" + std::to_string(i) + "@far.example");
    CHECK(w.expand({"many", "bob"}) == "0:deferred 4.3.5; 1:local bob");
    w.aliases["many"].pop_back();
    CHECK(w.expand({"many"}).starts_with("0:remote x0@far.example; "));
}

TEST_CASE("nobody gets a message twice, and every recipient has a fate") {
    World w;
    w.aliases = {{"team", {"alice", "bob", "X@Far.example"}}, {"two", {"alice"}}};
    CHECK(w.expand({"team", "alice@here.example"}) == "0:local bob; 0:remote X@Far.example; 1:local alice");
    CHECK(w.expand({"team", "X@far.EXAMPLE"}) == "0:local alice; 0:local bob; 1:remote");
    CHECK(w.expand({"x@far.example", "X@far.example"}) == "0:remote; 1:remote"); // the local part is theirs to compare
    CHECK(w.expand({"x@far.example", "x@Far.example"}) == "0:remote; 1:discard 2.1.5");
    CHECK(w.expand({"alice", "two"}) == "0:local alice; 1:discard 2.1.5");
    CHECK(w.expand({"alice", "Alice@localhost"}) == "0:local alice; 1:discard 2.1.5"); // one user, one mailbox
    CHECK(w.expand({"nobody", "nobody"}) == "0:failed 5.1.1; 1:failed 5.1.1");
}

TEST_CASE("two addresses of one user are two, whatever takes the user's mail") {
    World w;
    w.aliases = {{"team", {"alice+a", "alice", "bob"}}};
    const Texts to = {"alice+a@here.example", "alice+b@here.example", "Alice+B@here.example", "team"};
    CHECK(w.expand(to) == "0:local alice; 1:local alice; 2:discard 2.1.5; 3:local alice; 3:local bob");
    CHECK(w.expanded(to).recipients[3].address == "alice@here.example");
    w.settings.local_transport = "lmtp:/run/store"; // which sees all of it
    CHECK(w.expand({"alice+a@here.example", "ALICE+a@here.example", "alice@localhost", "alice@here.example"}) ==
          "0:remote alice by lmtp:/run/store; 1:discard 2.1.5; 2:remote alice by lmtp:/run/store; 3:remote alice by "
          "lmtp:/run/store");
    // A command is told the address of the envelope: once for each, however often lists name it.
    w.settings.local_transport.clear();
    w.settings.mailboxes = decide::Mailboxes::commands;
    w.aliases["all"] = {"team", "bob"};
    CHECK(w.expand({"bob", "all"}) == "0:local bob; 1:local alice; 1:local alice; 1:local bob");
}

TEST_CASE("reports on lists go to their owner") {
    World w;
    w.aliases = {{"list", {"alice", "x@far.example"}}, {"owner-list", {"bob"}}, {"outer", {"list", "carol"}}};
    CHECK(w.expand({"list"}) ==
          "0:local alice via owner-list@here.example; 0:remote x@far.example via owner-list@here.example");
    CHECK(w.expand({"outer"}) == "0:local alice via owner-list@here.example; 0:remote x@far.example via "
                                 "owner-list@here.example; 0:local carol");
    CHECK(w.expand({"owner-list"}) == "0:local bob");
    w.sender = "";
    CHECK(w.expand({"list"}) == "0:local alice; 0:remote x@far.example");
}

TEST_CASE("postmaster is always somebody") {
    World w;
    CHECK(w.expand({"postmaster@here.example", "bob"}) == "0:local root; 1:local bob");
    CHECK(w.expand({"Mailer-Daemon@localhost"}) == "0:local root");
    w.aliases["root"] = {"carol"};
    CHECK(w.expand({"postmaster"}) == "0:local carol");
    w.aliases["postmaster"] = {"bob"};
    CHECK(w.expand({"postmaster"}) == "0:local bob");
    CHECK(w.expand({"Mailer-Daemon@localhost"}) == "0:local bob");
    w.aliases["postmaster"] = {"mailer-daemon"};
    CHECK(w.expand({"postmaster"}) == "0:local carol");
    CHECK(w.expand({"mailer-daemon"}) == "0:local carol");
    w.aliases["mailer-daemon"] = {"postmaster"};
    CHECK(w.expand({"mailer-daemon"}) == "0:failed 5.4.6");
    w.aliases["mailer-daemon"] = {"alice"};
    CHECK(w.expand({"mailer-daemon"}) == "0:local alice");
    w.aliases["postmaster"] = {"postmaster"};
    CHECK(w.expand({"postmaster"}) == "0:failed 5.4.6");
}

TEST_CASE("postmaster without a domain has the virtual aliases of postmaster in the origin") {
    World w;
    w.table(&Tables::virtual_alias, "text:/virtual") = {{"postmaster@far.example", "carol@here.example"}};
    CHECK(w.expand({"postmaster"}) == "0:local root");
    w.settings.origin = "far.example";
    w.settings.postmaster = "root@here.example";
    CHECK(w.expand({"Postmaster"}) == "0:local carol");
    w.settings.tables.virtual_alias.clear();
    w.table(&Tables::virtual_alias, "text:/all") = {{"@far.example", "bob@here.example"}};
    CHECK(w.expand({"postmaster"}) == "0:local bob");
    w.settings.tables.virtual_alias.clear();
    w.table(&Tables::virtual_alias, "text:/other") = {{"x@far.example", "bob@here.example"}};
    CHECK(w.expand({"postmaster"}) == "0:local root"); // never to a domain that is not ours
}

TEST_CASE("what cannot be known now is deferred as a whole, never bounced") {
    World w;
    w.aliases = {{"mixed", {"alice", "dora"}}};
    w.unreadable = {"bob"};
    CHECK(w.expand({"bob", "alice"}) == "0:deferred 4.3.0; 1:local alice");
    w.users["dora"] = UserAnswer::unreadable;
    CHECK(w.expand({"mixed"}) == "0:deferred 4.3.0");
    w.users["dora"] = UserAnswer::not_yet;
    CHECK(w.expand({"mixed", "alice"}) == "needs dora ");
}

TEST_CASE("a user without a mailbox waits for an alias, and nobody else with him") {
    World w;
    w.users["root"] = UserAnswer::no_mailbox;
    CHECK(w.expand({"root"}) == "0:deferred 4.3.5");
    CHECK(w.why({"root"}).find("create an alias for the person who reads it") != std::string::npos);
    CHECK(w.expand({"postmaster"}) == "0:deferred root@here.example 4.3.5");
    CHECK(w.check("root@here.example") == "known");
    w.aliases["all"] = {"alice", "root", "bob"};
    CHECK(w.expand({"all"}) == "0:local alice; 0:deferred root@here.example 4.3.5; 0:local bob");
    w.forwards["root"] = {"carol"}; // is not read: local says so
    CHECK(w.expand({"root"}) == "0:deferred 4.3.5");
    w.aliases["root"] = {"\\root", "alice"};
    CHECK(w.expand({"root"}) == "0:deferred root@here.example 4.3.5; 0:local alice");
    w.aliases["root"] = {"bob"};
    CHECK(w.expand({"root"}) == "0:local bob");
    w.aliases.erase("root");
    w.settings.local_transport = "lmtp:/run/lmtp"; // who keeps mailboxes there says whose
    CHECK(w.expand({"root"}) == "0:remote root root@here.example by lmtp:/run/lmtp");
}

TEST_CASE("what tables name and is no address waits; it goes nowhere, and nothing is bounced for it") {
    World w;
    w.aliases = {{"inject", {"ok@far.example> NOTIFY=NEVER"}},
                 {"list", {"alice", "!line 7: \"foo@@x\" is not a valid address"}},
                 {"twice", {"ok@far.example>"}},
                 {"bare", {"\"a@b\""}},
                 {"own", {"\\bob@here.example", "\\x@far.example"}}};
    auto& of = w.table(&Tables::virtual_alias, "text:/virtual");
    of["v@lists.example"] = "ok@far.example> NOTIFY=NEVER";
    of["p@lists.example"] = "Bob <ok@far.example>, HERE <alice@HERE.example.>";
    for (const auto* name : {"inject", "twice", "bare", "v@lists.example"})
        CHECK_MESSAGE(w.expand({name}) == "0:deferred 4.3.5", name);
    CHECK(w.why({"inject"}) ==
          "it leads to \"ok@far.example> NOTIFY=NEVER\", which is not a valid address: bad domain");
    CHECK(w.why({"v@lists.example"}) == "text:/virtual: invalid value for <v@lists.example>: \"ok@far.example> "
                                        "NOTIFY=NEVER\" is not a valid address: expected a comma");
    CHECK(w.expand({"p@lists.example"}) == "0:remote ok@far.example; 0:local alice");
    CHECK(w.expand({"own"}) == "0:local bob; 0:remote x@far.example");
    CHECK(w.check("v@lists.example") == "known"); // it is somebody
    // The sender's own mistake.
    CHECK(w.expand({"ok@far.example> NOTIFY=NEVER"}) == "0:failed 5.1.3");
    // Rewriting.
    auto& canonical = w.table(&Tables::recipient_canonical, "text:/canonical");
    canonical["c@far.example"] = "<x@@y>";
    CHECK(w.expand({"c@far.example"}) == "0:deferred 4.3.5");
    CHECK(w.check("c@far.example").starts_with("try later"));
    w.table(&Tables::sender_canonical, "text:/senders")["sender@far.example"] = "a@x> SIZE=1";
    CHECK(w.expand({"x@far.example"}) == "0:deferred 4.3.0");
    CHECK(w.why({"x@far.example"})
              .starts_with("text:/senders: invalid value for the sender "
                           "<sender@far.example>: \"a@x> SIZE=1\""));
}

TEST_CASE("a list's bad member waits by itself, under the envelope's address; the others get their mail") {
    World w;
    w.aliases = {{"list", {"alice", "!line 7: \"foo@@x\" is not a valid address", "carol"}},
                 {"several", {"!one", "alice", ":include:here", "~/x", "inject"}},
                 {"inject", {"ok@far.example> NOTIFY=NEVER"}},
                 {"outer", {"list", "x@far.example"}},
                 {"owner-outer", {"bob"}},
                 {"gone", {"nobody-here", "!two"}},
                 {"away", {"/dev/null", "!three"}}};
    w.forwards = {{"bob", {"\\bob", "!line 2: a quote is not closed"}}};
    CHECK(w.expand({"list@here.example"}) == "0:local alice; 0:local carol; 0:deferred list@here.example 4.3.5");
    CHECK(w.expanded({"list"}).recipients.back().text == "alias list: line 7: \"foo@@x\" is not a valid address");
    CHECK(w.expand({"several"}) == "0:local alice; 0:deferred several 4.3.5");
    CHECK(w.expanded({"several"}).recipients.back().text == "alias several: one (and 3 more like this)");
    CHECK(w.expand({"bob"}) == "0:local bob; 0:deferred bob 4.3.5");
    CHECK(w.expanded({"bob"}).recipients.back().text == "bob's .forward: line 2: a quote is not closed");
    // Reports on it go where those on its neighbours go.
    CHECK(w.expand({"outer"}) ==
          "0:local alice via owner-outer@here.example; 0:local carol via owner-outer@here.example; "
          "0:remote x@far.example via owner-outer@here.example; "
          "0:deferred outer 4.3.5 via owner-outer@here.example");
    CHECK(w.expand({"gone"}) == "0:failed nobody-here@here.example 5.1.1; 0:deferred gone 4.3.5");
    CHECK(w.expand({"away"}) == "0:discard away@here.example 2.0.0; 0:deferred away 4.3.5");
    // Two lists with bad members, and one whose other members cannot be looked up: nobody of that gets it yet.
    CHECK(w.expand({"list", "bob"}) ==
          "0:local alice; 0:local carol; 0:deferred list 4.3.5; 1:local bob; 1:deferred bob 4.3.5");
    w.unreadable = {"carol"};
    CHECK(w.expand({"list"}) == "0:deferred 4.3.0");
    auto& of = w.table(&Tables::virtual_alias, "text:/virtual");
    of["v@lists.example"] = "ok@far.example, x@@y";
    CHECK(w.expand({"v@lists.example"}) == "0:remote ok@far.example; 0:deferred v@lists.example 4.3.5");
}

TEST_CASE("a file in the home of whoever a list is delivered as") {
    World w;
    w.forwards = {{"alice", {"~/mail/in"}}};
    w.aliases = {{"nobodys", {"~/x"}}, {"owned", {"~/x"}}};
    w.run_as = {{"owned", "carol"}};
    CHECK(w.expand({"alice"}) == "0:local alice ~/mail/in");
    CHECK(w.expand({"owned"}) == "0:local carol ~/x");
    CHECK(w.expand({"nobodys"}) == "0:deferred 4.3.5");
    CHECK(w.why({"nobodys"}) == "alias nobodys: ~/x: there is no user here whose home directory this could be");
}

TEST_CASE("the answer is bounded in bytes, and comes on with every pass") {
    World w;
    for (int i = 0; i < 20; ++i) {
        w.aliases["a"].push_back(fmt::format("x{}@far.example", i));
        w.aliases["b"].push_back(fmt::format("y{}@far.example", i));
    }
    w.settings.bytes = 2000;
    const auto both = w.expanded({"a", "b", "alice"}).recipients;
    CHECK(both.size() == 22);
    CHECK(World::shown(both[20]) == "1:deferred 4.3.2");
    CHECK(World::shown(both[21]) == "2:local alice");
    CHECK(w.expanded({"b"}).recipients.size() == 20);
    w.settings.bytes = 1000;
    CHECK(w.expand({"a"}) == "0:deferred 4.3.5");
}

TEST_CASE("what lists name and include is bounded, whoever wrote them") {
    World w;
    w.settings.recipients = 50;
    for (int n = 0; n < 30; ++n) { // few addresses, named often
        w.aliases["often"].push_back("alice");
        w.includes["/lists/more"].push_back("alice");
    }
    CHECK(w.expand({"often"}) == "0:local alice");
    w.aliases["often"].push_back(":include:/lists/more");
    CHECK(w.expand({"often"}) == "0:deferred 4.3.5");
    // Members count, the lists that name them do not.
    for (int n = 0; n < 50; ++n) w.includes["/lists/fifty"].push_back(fmt::format("x{}@far.example", n));
    w.aliases["fifty"] = {"inner"};
    w.aliases["inner"] = {":include:/lists/fifty"};
    CHECK(w.expanded({"fifty"}).recipients.size() == 50);
    w.includes["/lists/fifty"].push_back("alice");
    CHECK(w.expand({"fifty"}) == "0:deferred 4.3.5");
    for (int n = 0; n < 100; ++n) // lists of lists, and nobody is named
        w.aliases[fmt::format("l{}", n)] = {fmt::format("l{}", 2 * n + 1), fmt::format("l{}", 2 * n + 2)};
    for (int n = 100; n < 201; ++n) w.aliases[fmt::format("l{}", n)] = {fmt::format("l{}", n)};
    CHECK(w.expand({"l0"}) == "0:deferred 4.3.5");
    w.settings.recipients = 10'000;
    for (int n = 0; n < 200; ++n) {
        w.includes[fmt::format("/lists/{}", n)] = {"alice"};
        w.aliases["files"].push_back(fmt::format(":include:/lists/{}", n));
    }
    CHECK(w.expand({"files"}) == "0:deferred 4.3.5");
}

TEST_CASE("commands and files are delivered as whoever answers for the list") {
    World w;
    w.aliases = {{"robot", {"|prog arg"}},
                 {"box", {"/var/log/mail.in", "alice"}},
                 {"hole", {"/dev/null"}},
                 {"all", {"robot", "box", "|prog arg", "hole"}}};
    CHECK(w.expand({"robot"}) == "0:local nobody |prog arg");
    CHECK(w.expand({"box"}) == "0:local nobody /var/log/mail.in; 0:local alice");
    CHECK(w.expand({"hole"}) == "0:discard 2.0.0");
    CHECK(w.why({"hole"}) == "discarded: alias hole: /dev/null");
    CHECK(w.expand({"all"}) == "0:local nobody |prog arg; 0:local nobody /var/log/mail.in; 0:local alice; "
                               "0:discard hole@here.example 2.0.0");
    // A command is told the address, and runs once for each, however often and in which letters it is written.
    CHECK(w.expand({"robot@here.example", "Robot@here.example", "robot@HERE.example", "robot@localhost"}) ==
          "0:local nobody |prog arg; 1:discard 2.1.5; 2:discard 2.1.5; 3:local nobody |prog arg");
    // A file gets one copy.
    CHECK(w.expand({"robot", "all", "box"}) ==
          "0:local nobody |prog arg; 1:local nobody |prog arg; 1:local nobody /var/log/mail.in; 1:local alice; "
          "1:discard hole@here.example 2.0.0; 2:discard 2.1.5");
    w.forwards["bob"] = {"|sort $EXTENSION"};
    CHECK(w.expand({"bob+a@here.example", "bob+b@here.example"}) ==
          "0:local bob |sort $EXTENSION; 1:local bob |sort $EXTENSION");
    w.run_as["robot"] = "daemon"; // other rights: another delivery
    CHECK(w.expand({"all"}).starts_with("0:local daemon |prog arg; 0:local nobody /var/log/mail.in; 0:local alice; "
                                        "0:local nobody |prog arg"));
    CHECK(w.expanded({"all"}).recipients[0].address == "robot@here.example");
    w.settings.commands.aliases = false;
    CHECK(w.expand({"robot"}) == "0:failed 5.7.1");
}

TEST_CASE("what lists and users send on says so, and is known when it comes back") {
    World w;
    w.aliases = {{"team", {"alice", "x@far.example", "second"}},
                 {"second", {"y@far.example"}},
                 {"m\xc3\xbc", {"z@far.example"}},
                 {"elsewhere", {"x@far.example"}}};
    w.forwards["bob"] = {"\\bob", "b@far.example", "carol"};
    w.forwards["carol"] = {"c@far.example"};
    const auto sent_on = [&](const Texts& to) {
        std::string out;
        for (const auto& each : w.expanded(to).recipients)
            if (each.fate == spool::Fate::remote) out += each.address + " by " + each.delivered_to + "; ";
        return out;
    };
    // The innermost name: that is met again on the way that leads back.
    CHECK(sent_on({"team"}) == "x@far.example by team@here.example; y@far.example by second@here.example; ");
    CHECK(sent_on({"bob+x@localhost"}) == "b@far.example by bob+x@localhost; c@far.example by carol@here.example; ");
    CHECK(sent_on({"m\xc3\xbc"}) == "z@far.example by ; "); // no header field without SMTPUTF8
    CHECK(sent_on({"x@far.example"}) == " by ; ");
    w.tables["virtual"] = {{"info@lists.example", "x@far.example"}};
    w.settings.tables.virtual_alias = {"virtual"};
    CHECK(sent_on({"info@lists.example"}) == "x@far.example by ; ");
    w.settings.local_transport = "lmtp:/run/lmtp"; // a mailbox of ours, wherever it is kept
    CHECK(sent_on({"bob"}).starts_with("bob@here.example by ; b@far.example by bob@here.example; "));
    w.settings.local_transport.clear();

    w.delivered_to = {"second@here.example"};
    CHECK(w.expand({"team"}) == "0:local alice; 0:remote x@far.example; 0:failed second@here.example 5.4.6");
    CHECK(w.expand({"elsewhere"}) == "0:remote x@far.example");
    w.delivered_to = {"carol@here.example"};
    CHECK(w.expand({"carol@here.example"}) == "0:failed 5.4.6");
    CHECK(w.why({"carol@here.example"}) == "mail forwarding loop for carol@here.example");
    CHECK(w.expand({"bob"}) == "0:local bob; 0:remote b@far.example; 0:failed carol@here.example 5.4.6");
    w.unreadable = {"carol@here.example"};
    CHECK(w.expand({"bob"}) == "0:deferred 4.3.0");
}

TEST_CASE("included lists") {
    World w;
    w.aliases = {{"team", {":include:/lists/team"}},
                 {"broken", {"alice", ":include:/lists/none"}},
                 {"odd", {":include:relative"}}};
    w.includes = {{"/lists/team", {"alice", "x@far.example", ":include:/lists/more"}},
                  {"/lists/more", {"bob", "|prog", ":include:/lists/team"}}};
    CHECK(w.expand({"team"}) == "0:local alice; 0:remote x@far.example; 0:local bob; 0:failed team@here.example 5.7.1");
    w.settings.commands.includes = true;
    w.run_as["/lists/more"] = "carol";
    CHECK(w.expand({"team"}) == "0:local alice; 0:remote x@far.example; 0:local bob; 0:local carol |prog");
    CHECK(w.expand({"broken"}) == "0:local alice; 0:deferred broken 4.3.0");
    CHECK(w.expanded({"broken"}).recipients.back().text ==
          "alias broken: :include:/lists/none: missing, or not trusted");
    CHECK(w.expand({"odd"}) == "0:deferred 4.3.5");
    w.unreadable = {"/lists/more"};
    CHECK(w.expand({"team", "carol"}) == "0:local alice; 0:remote x@far.example; 0:deferred team 4.3.0; 1:local carol");
    CHECK(w.expanded({"team"}).recipients.back().text == "/lists/team: /lists/more: Permission denied");
    w.unreadable = {"/lists/team"};
    CHECK(w.expand({"team"}) == "0:deferred 4.3.0"); // it is all there is
    w.forwards["bob"] = {"\\bob", ":include:/home/bob/friends"};
    CHECK(w.expand({"bob"}) == "0:local bob; 0:deferred bob 4.3.0");
    w.forwards.clear();
    w.unreadable = {};
    w.unknown_yet = {"/lists/more"};
    CHECK(w.expand({"team"}) == "needs /lists/more ");
}

TEST_CASE("users' own files") {
    World w;
    w.forwards = {{"alice", {"x@far.example"}},
                  {"bob", {"\\bob", "|vacation bob", "/home/bob/copy"}},
                  {"carol", {}},
                  {"root", {"root", "alice"}}};
    CHECK(w.expand({"alice"}) == "0:remote x@far.example");
    CHECK(w.expand({"bob"}) == "0:local bob; 0:local bob |vacation bob; 0:local bob /home/bob/copy");
    CHECK(w.expand({"carol"}) == "0:local carol");                       // an empty file says nothing
    CHECK(w.expand({"root"}) == "0:local root; 0:remote x@far.example"); // its own name: the mailbox
    w.forwards["alice"] = {"bob", ":include:/home/alice/friends"};
    w.forwards["bob"] = {"alice"};
    w.includes["alice:/home/alice/friends"] = {"carol", "|log"};
    CHECK(w.expand({"bob"}) == "0:local bob; 0:local carol; 0:local alice |log");
    w.forwards["bob+x"] = {"y@far.example"};
    CHECK(w.expand({"bob+x"}) == "0:remote y@far.example");
    w.forwards["bob+y"] = {"z@far.example"};
    w.aliases["both"] = {"bob+x", "bob+y"};
    CHECK(w.expand({"both"}) == "0:remote y@far.example; 0:remote z@far.example");
    w.aliases["alice"] = {"alice", "carol"}; // first the system's word, then the user's
    CHECK(w.expand({"alice"}).starts_with("0:local alice; 0:local carol"));
    w.unreadable = {"carol"};
    CHECK(w.expand({"carol"}) == "0:deferred 4.3.0");
    w.unreadable = {};
    w.settings.commands.forward = false;
    w.forwards["bob"] = {"|x"};
    CHECK(w.expand({"bob"}) == "0:failed 5.7.1");
}

TEST_CASE("a user's mailbox may be another server's") {
    World w;
    w.settings.local_transport = "lmtp:/run/lmtp";
    w.aliases = {{"team", {"alice", "alice+x", "bob"}}};
    CHECK(w.expand({"alice@here.example"}) == "0:remote alice by lmtp:/run/lmtp");
    CHECK(w.expand({"team"}) == "0:remote alice alice@here.example by lmtp:/run/lmtp; "
                                "0:remote alice alice+x@here.example by lmtp:/run/lmtp; "
                                "0:remote bob bob@here.example by lmtp:/run/lmtp");
}

TEST_CASE("mail for who is unknown may go to somebody") {
    World w;
    w.settings.catch_all = "bob";
    w.aliases = {{"team", {"nobody-1", "nobody-2", "alice"}}};
    CHECK(w.expand({"nobody@here.example"}) == "0:local bob");
    CHECK(w.expand({"team"}) == "0:local bob; 0:local alice");
    w.settings.catch_all = "nobody";
    CHECK(w.expand({"no-such-user"}) == "0:failed nobody@here.example 5.1.1");
}

TEST_CASE("the suppression list has the last word on where mail goes") {
    World w;
    w.suppressed = {{"x@far.example", "bounced before"}, {"alice@here.example", "asked for it"}};
    CHECK(w.expand({"x@FAR.example", "y@far.example"}) == "0:failed 5.7.1; 1:remote");
    w.aliases["team"] = {"alice", "bob"};
    CHECK(w.expand({"team"}) == "0:failed alice@here.example 5.7.1; 0:local bob");
    CHECK(w.why({"x@far.example"}) == "bounced before");
    w.unreadable = {"y@far.example"};
    CHECK(w.expand({"y@far.example"}) == "0:deferred 4.3.0");
    w.unreadable = {};
    w.unknown_yet = {"y@far.example"};
    CHECK(w.expand({"y@far.example"}) == "needs y@far.example ");
}

TEST_CASE("masquerading comes after canonical tables, in the classes that are set") {
    World w;
    w.settings.masquerade.domains = {"!lab.far.example", "far.example"};
    w.settings.masquerade.exceptions = {"root"};
    const auto sender_of = [&](const std::string& sender) {
        w.sender = sender;
        return w.expanded({"x@other.example"}).recipients.at(0).reverse_path;
    };
    CHECK(sender_of("ann@host.far.example") == "ann@far.example");
    CHECK(sender_of("ann@far.example") == ""); // as it was
    CHECK(sender_of("ann@x.lab.far.example") == "");
    CHECK(sender_of("root@host.far.example") == "");
    CHECK(sender_of("") == "");
    w.table(&Tables::sender_canonical, "text:/senders")["bob@inner.example"] = "robert@host.far.example";
    CHECK(sender_of("bob@inner.example") == "robert@far.example");
    w.sender = "s@other.example";
    CHECK(w.expand({"ann@host.far.example"}) == "0:remote");
    w.settings.masquerade_classes = {.envelope_sender = false, .envelope_recipient = true};
    CHECK(sender_of("ann@host.far.example") == "");
    w.sender = "s@other.example";
    CHECK(w.expand({"ann@host.far.example"}) == "0:remote ann@far.example");
    // It cannot make a domain ours: what may be relayed is decided by the address as it was given.
    w.settings.masquerade.domains = {"elsewhere.example"};
    CHECK(w.check("ann@host.elsewhere.example") == w.check("ann@elsewhere.example"));
    w.settings.masquerade.domains = {"here.example"};
    CHECK(w.expand({"alice@host.here.example"}) == "0:local alice");
}
