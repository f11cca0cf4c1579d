// The class of a domain: names first, then tables in the order of the classes, and what happens while one is pending or
// cannot be read.
#include "daemons/decide/addressing/domain_classes.h"
#include "tests/decide/addressing/expansion_world.h"
#include <doctest/doctest.h>
#include <map>
#include <set>

using decide::AddressClass;
using decide::DomainClasses;
using decide::DomainTables;
using decide::TableAnswer;
using expansion_tests::World;

namespace {

struct DomainWorld {
    DomainClasses classes;
    std::map<std::string, std::set<std::string>> tables; // by name
    std::set<std::string> away, pending;                 // tables
    std::vector<std::string> asked;                      // "table key"

    DomainWorld() {
        classes.add("here.example", AddressClass::local);
        classes.add("boxes.example", AddressClass::virtual_mailbox);
        classes.add(".customer.example", AddressClass::relay);
    }
    TableAnswer answer(const std::string& table, const std::string& key) {
        asked.push_back(table + " " + key);
        if (away.contains(table)) return {TableAnswer::Status::unreadable, "", table + " is away"};
        if (pending.contains(table)) return {TableAnswer::Status::not_yet, "", ""};
        return {tables[table].contains(key) ? TableAnswer::Status::found : TableAnswer::Status::none, "any", ""};
    }
    std::string find(std::string_view domain) {
        constexpr std::string_view names[] = {"local", "virtual_alias", "virtual_mailbox", "relay", "remote"};
        asked.clear();
        const auto found = classes.find(domain, [&](auto& table, auto& key) { return answer(table, key); });
        if (found) return std::string(names[static_cast<std::size_t>(*found)]);
        return found.error().status == TableAnswer::Status::not_yet ? "pending" : found.error().why;
    }
};

} // namespace

TEST_CASE("without tables, names decide") {
    DomainWorld world;
    CHECK(world.find("here.example") == "local");
    CHECK(world.find("boxes.example") == "virtual_mailbox");
    CHECK(world.find("a.b.customer.example") == "relay");
    CHECK(world.find("customer.example") == "remote");
    CHECK(world.find("[192.0.2.1]") == "remote");
    CHECK(world.find("") == "remote");
    CHECK(world.classes.by_name("else.example") == AddressClass::remote);
    CHECK_FALSE(world.classes.has_tables());
}

TEST_CASE("a domain in two lists of names is in the first class") {
    DomainWorld world;
    world.classes.add("here.example", AddressClass::relay);
    CHECK(world.find("here.example") == "local");
}

TEST_CASE("tables are asked in the order of the classes, and their values do not matter") {
    DomainWorld world;
    world.classes.set_tables({.local = {"l"}, .virtual_alias = {"a"}, .virtual_mailbox = {"m1", "m2"}, .relay = {"r"}});
    world.tables = {{"l", {"one.example"}},
                    {"a", {"two.example", "one.example"}},
                    {"m2", {"three.example"}},
                    {"r", {"four.example", "three.example"}}};
    CHECK(world.find("one.example") == "local");
    CHECK(world.asked == std::vector<std::string>{"l one.example"});
    CHECK(world.find("two.example") == "virtual_alias");
    CHECK(world.find("three.example") == "virtual_mailbox");
    CHECK(world.find("four.example") == "relay");
    CHECK(world.find("sub.four.example") == "remote");
    CHECK(world.find("five.example") == "remote");
    CHECK(world.classes.has_tables());
}

TEST_CASE("a name decides without asking any table, whether or not they answer") {
    DomainWorld world;
    world.classes.set_tables({.local = {"l"}, .relay = {"r"}});
    world.away = {"l", "r"};
    CHECK(world.find("boxes.example") == "virtual_mailbox");
    CHECK(world.asked.empty());
    CHECK(world.classes.by_name("boxes.example") == AddressClass::virtual_mailbox);
    CHECK_FALSE(world.classes.by_name("else.example"));
    // A name for all below a domain is no more exact than an entry of another class.
    CHECK(world.find("x.customer.example") == "l is away");
}

TEST_CASE("the first table that cannot be asked is the answer: behind it may be another class") {
    DomainWorld world;
    world.classes.set_tables({.virtual_alias = {"a"}, .virtual_mailbox = {"m"}});
    world.tables = {{"a", {"two.example"}}, {"m", {"three.example"}}};
    world.away = {"m"};
    CHECK(world.find("two.example") == "virtual_alias");
    CHECK(world.find("three.example") == "m is away");
    CHECK(world.find("else.example") == "m is away");
    world.away = {"a"};
    CHECK(world.find("three.example") == "a is away");
}

TEST_CASE("while an answer is pending, what is behind it is asked for as well") {
    DomainWorld world;
    world.classes.set_tables({.local = {"l"}, .virtual_mailbox = {"m"}, .relay = {"r"}});
    world.pending = {"l", "m"};
    CHECK(world.find("x.example") == "pending");
    CHECK(world.asked == std::vector<std::string>{"l x.example", "m x.example", "r x.example"});
    world.tables["m"] = {"x.example"};
    world.pending = {"l"};
    CHECK(world.find("x.example") == "pending"); // it may be local
    world.away = {"m"};
    CHECK(world.find("x.example") == "pending");
    world.pending = {};
    CHECK(world.find("x.example") == "m is away");
}

TEST_CASE("parents of relayed domains") {
    DomainWorld world;
    SUBCASE("with a dot") {
        world.classes.set_tables({.relay = {"r"}});
        world.tables["r"] = {".four.example"};
        CHECK(world.find("a.b.four.example") == "relay");
        CHECK(world.asked.back() == "r .four.example");
        CHECK(world.find("four.example") == "remote");
        CHECK(world.asked == std::vector<std::string>{"r four.example", "r .example"});
    }
    SUBCASE("as they are") {
        world.classes.set_tables({.relay = {"r"}, .parents = DomainTables::Parents::plain});
        world.tables["r"] = {"four.example"};
        CHECK(world.find("a.b.four.example") == "relay");
        CHECK(world.find("four.example") == "relay");
        CHECK(world.find("example") == "remote");
        CHECK(world.asked == std::vector<std::string>{"r example"});
    }
    SUBCASE("patterns see the whole name only, and literals have no parents") {
        world.classes.set_tables({.relay = {"regexp:r", "r"}});
        world.find("a.b");
        CHECK(world.asked == std::vector<std::string>{"regexp:r a.b", "r a.b", "r .b"});
        world.find("[192.0.2.1]");
        CHECK(world.asked == std::vector<std::string>{"regexp:r [192.0.2.1]", "r [192.0.2.1]"});
    }
}

TEST_CASE("whether a domain is local asks the tables of local domains only") {
    DomainWorld world;
    world.classes.set_tables({.local = {"l"}, .virtual_mailbox = {"m"}});
    world.tables = {{"l", {"one.example"}}, {"m", {"three.example"}}};
    const auto local = [&](std::string_view domain) {
        return world.classes.is_local(domain, [&](auto& table, auto& key) { return world.answer(table, key); });
    };
    CHECK(local("here.example") == true);
    CHECK(local("boxes.example") == false);
    CHECK(world.asked.empty());
    CHECK(local("one.example") == true);
    CHECK(local("three.example") == false);
    CHECK(world.asked == std::vector<std::string>{"l one.example", "l three.example"});
    world.away = {"l"};
    CHECK(local("one.example").error().why == "l is away");
    world.away = {}, world.pending = {"l"};
    CHECK(local("one.example").error().status == TableAnswer::Status::not_yet);
}

// --- in the expansion, and at RCPT

TEST_CASE("recipients in domains of tables get mail as those in named ones do") {
    World world;
    world.domain_tables = {
        .local = {"text:/l"}, .virtual_alias = {"text:/a"}, .virtual_mailbox = {"text:/m"}, .relay = {"text:/r"}};
    world.tables["text:/l"] = {{"more.example", "x"}};
    world.tables["text:/a"] = {{"lists2.example", "x"}};
    world.tables["text:/m"] = {{"boxes2.example", "x"}};
    world.tables["text:/r"] = {{"inner2.example", "x"}};
    world.settings.mailbox = "maildir:/var/vmail/{domain}/{user}";
    world.table(&expansion_tests::Tables::mailboxes, "text:/boxes") = {{"ann@boxes2.example", "x"}};
    world.table(&expansion_tests::Tables::relay_recipients, "text:/inner") = {{"ann@inner2.example", "x"}};
    CHECK(world.expand({"alice@more.example"}) == "0:local alice");
    CHECK(world.expand({"nobody@more.example"}) == "0:failed 5.1.1");
    CHECK(world.expand({"ann@lists2.example"}) == "0:failed 5.1.1");
    CHECK(world.expand({"Ann@boxes2.example"}) == "0:local maildir:/var/vmail/boxes2.example/ann");
    CHECK(world.expand({"bob@boxes2.example"}) == "0:failed 5.1.1");
    CHECK(world.expand({"ann@inner2.example"}) == "0:remote");
    CHECK(world.expand({"bob@inner2.example"}) == "0:failed 5.1.1");
    CHECK(world.expand({"bob@else.example"}) == "0:remote");
    CHECK(world.check("alice@more.example") == "known");
    CHECK(world.check("nobody@more.example") == "unknown 5.1.1 User unknown in local recipient table");
    CHECK(world.check("bob@boxes2.example") == "unknown 5.1.1 User unknown in virtual mailbox table");
    CHECK(world.check("ann@inner2.example") == "known");
    CHECK(world.check("bob@else.example") == "not ours");
}

TEST_CASE("while the class is not known, mail waits: it is neither returned nor sent away") {
    World world;
    world.domain_tables = {.virtual_mailbox = {"mysql:/d"}};
    world.tables["mysql:/d"] = {{"boxes2.example", "x"}};
    SUBCASE("pending") {
        world.unknown_yet = {"boxes2.example"};
        CHECK(world.expand({"ann@boxes2.example"}) == "needs mysql:/d boxes2.example ");
        CHECK(world.check("ann@boxes2.example") == "not yet");
        CHECK(world.expand({"alice@here.example"}) == "0:local alice");
        // Tables whose keys depend on the class wait for it, too.
        world.table(&expansion_tests::Tables::virtual_alias, "text:/v") = {{"ann@boxes2.example", "alice"}};
        CHECK(world.expand({"ann@boxes2.example"}) == "needs mysql:/d boxes2.example ");
        CHECK(world.check("ann@boxes2.example") == "not yet");
    }
    SUBCASE("away") {
        world.unreadable = {"mysql:/d"};
        CHECK(world.expand({"ann@boxes2.example"}) == "0:deferred 4.3.0");
        CHECK(world.why({"ann@boxes2.example"}) == "mysql:/d: no such file");
        CHECK(world.expand({"ann@else.example"}) == "0:deferred 4.3.0");
        CHECK(world.check("ann@boxes2.example").starts_with("try later"));
        CHECK(world.check("ann@else.example").starts_with("try later"));
        CHECK(world.expand({"alice@here.example"}) == "0:local alice");
        CHECK(world.check("alice@here.example") == "known");
    }
    SUBCASE("away, for a member of a list and for the sender") {
        world.unreadable = {"mysql:/d"};
        world.aliases["team"] = {"alice", "ann@boxes2.example"};
        CHECK(world.expand({"team@here.example"}) == "0:deferred 4.3.0");
        world.sender = "ann@boxes2.example";
        world.table(&expansion_tests::Tables::sender_canonical, "text:/c") = {{"ann", "anna@here.example"}};
        CHECK(world.expand({"alice@here.example"}) == "0:deferred 4.3.0");
    }
}

TEST_CASE("the sender's relay is for remote domains only, also where a table lists the domain") {
    World world;
    world.domain_tables = {.relay = {"text:/r"}};
    world.tables["text:/r"] = {{"inner2.example", "x"}};
    world.table(&expansion_tests::Tables::sender_relay, "text:/s") = {{"sender@far.example", "[hop.example]"}};
    CHECK(world.expand({"ann@inner2.example"}) == "0:remote");
    CHECK(world.expand({"ann@else.example"}) == "0:remote by [hop.example]");
}
