#include "daemons/categorizer/categorizer.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/store/lmdb.h"
#include "tests/common/ipc/fake_queue_manager.h"
#include "tests/temporary_directory.h"
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sqlite3.h>
#include <sys/file.h>

using proto::categorize::Categorize;
using proto::categorize::Categorized;
using proto::recipient_check::Verdict;
using spool::Fate;

namespace {

struct World {
    fake::Premises premises{proto::Role::categorizer};
    fake::QueueManager<proto::categorize::Message> manager{premises, proto::categorize::conversation,
                                                           proto::Role::categorizer};
    common::DaemonContext context = premises.context();
    config::Config config;
    std::unique_ptr<categorizer::Categorizer> daemon;

    explicit World(std::string_view aliases,
                   std::string_view text = "[mta]\nmulti_user = false\n[local]\nusers = [\"alice\", \"bob\"]") {
        auto read = config::parse(text, premises.directory + "/postrider.toml", {"here.example", "alice", 1});
        REQUIRE(read);
        config = std::move(*read);
        config.spool.directory = premises.directory;
        config.local.aliases = {premises.directory + "/aliases"};
        config.local.delivery.forward.clear(); // nobody is there to read them
        std::ofstream(config.local.aliases[0]) << aliases;
        daemon = create();
        manager.await_peer();
    }
    std::unique_ptr<categorizer::Categorizer> create() {
        common::DaemonConfig daemon_config{config, 1, {}, {"key", {proto::Role::smtpd}}};
        daemon_config.listeners.push_back({"categorizer", "", premises.listen("categorizer")});
        auto made = categorizer::Categorizer::create(context, std::move(daemon_config));
        REQUIRE(made);
        return std::move(*made);
    }
    // "0:local alice; 1:remote", as the queue-manager sees it.
    std::string ask(const std::vector<std::string>& to) {
        Categorize question;
        question.request = 5;
        question.queue_id = spool::QueueId{0x100};
        question.reverse_path = "sender@far.example";
        for (const auto& address : to)
            question.recipients.push_back({static_cast<std::uint32_t>(question.recipients.size()), address});
        const auto answer = manager.ask<Categorized>(question);
        CHECK(answer.request == 5);
        std::string out;
        for (const auto& o : answer.outcomes) {
            constexpr std::string_view fates[] = {"deferred", "remote", "local", "discard", "failed"};
            out += fmt::format("{}{}:{}{}{}{}", out.empty() ? "" : "; ", o.origin, fates[static_cast<int>(o.fate)],
                               o.user.empty() ? "" : " " + o.user, o.changed && o.user.empty() ? " " + o.address : "",
                               o.status.empty() ? "" : " " + o.status);
        }
        return out;
    }
    // As smtpd sees it.
    Verdict checked(const std::string& address) {
        std::optional<Verdict> verdict;
        ipc::Connector<proto::recipient_check::Message> smtpd(
            premises.loop, premises.log, premises.directory + "/run/private/categorizer",
            proto::recipient_check::conversation,
            {proto::Role::smtpd, 0, {{"categorizer", ipc::token_of("key", proto::Role::smtpd, 0)}}},
            {[&](proto::recipient_check::Message&& message) {
                 if (const auto* answer = std::get_if<proto::recipient_check::Checked>(&message))
                     verdict = answer->verdict, premises.loop.stop();
             },
             [&] { static_cast<void>(smtpd.send(proto::recipient_check::Check{1, address})); }});
        while (!verdict) premises.loop.run();
        return *verdict;
    }
};

void run_sql(const std::string& path, const char* text) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
    REQUIRE(sqlite3_exec(database, text, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
}

} // namespace

TEST_CASE("the queue-manager is told who the recipients are") {
    World w("team: alice, x@far.example\nroot: bob\n");
    CHECK(w.ask({"x@far.example"}) == "0:remote");
    CHECK(w.ask({"alice@here.example", "nobody@here.example", "team"}) ==
          "0:local alice; 1:failed 5.1.1; 2:remote x@far.example");
    CHECK(w.ask({"root@localhost"}) == "0:local bob");
    CHECK(w.ask({"postmaster"}) == "0:local alice"); // in single-user mode the user
    CHECK(w.premises.trouble.empty());
}

TEST_CASE("while the suppression list is examined after a start, mail waits until it is done") {
    World w("");
    const auto directory = w.premises.directory + "/suppression";
    std::filesystem::create_directory(directory);
    {
        auto store = store::Lmdb::open(directory, {.keeper = true});
        REQUIRE(store);
        common::SuppressionList list(std::move(*store));
        decide::Suppression entry;
        entry.recipient = "x@far.example";
        entry.reason = "it bounced";
        REQUIRE(list.put(std::span(&entry, 1), common::Loop::now().wall));
    }
    common::Fd keeper(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(keeper.number(), LOCK_EX) == 0);
    common::Timer done(w.premises.loop, [&] {
        if (w.premises.trouble.find("being checked") == std::string::npos)
            return done.start(std::chrono::milliseconds(10));
        keeper.reset();
    });
    done.start(std::chrono::milliseconds(10));
    CHECK(w.ask({"x@far.example", "y@far.example"}) == "0:failed 5.7.1; 1:remote");
    CHECK(w.premises.trouble.empty());
}

TEST_CASE("users of the system are looked up off the loop") {
    World w("", "");
    CHECK(w.ask({"root@here.example", "no-such-user-here@here.example", "x@far.example"}) ==
          "0:deferred 4.3.5; 1:failed 5.1.1; 2:remote"); // root's mail waits for an alias
    CHECK(w.ask({"daemon@here.example"}) == "0:local daemon");
}

TEST_CASE("classes of domains, tables, and included lists") {
    World w("team: alice, :include:/dev/null\n",
            "[mta]\nmulti_user = false\n[local]\nusers = [\"alice\", \"bob\"]\n"
            "[table.v]\nkind = \"entries\"\nentries = [\"info@lists.example bob, x@far.example\"]\n"
            "[virtual_alias]\ndomains = [\"lists.example\"]\ntables = [\"table:v\"]\n"
            "[virtual_mailbox]\ndomains = [\"boxes.example\"]\ndeliver = \"lmtp:/run/lmtp\"\n");
    CHECK(w.ask({"Info+x@Lists.Example", "nobody@lists.example", "ann@boxes.example"}) ==
          "0:local bob; 0:remote x+x@far.example; 1:failed 5.1.1; 2:remote");
    CHECK(w.ask({"team"}) == "0:local alice; 0:deferred team 4.3.0"); // a device is no list
}

TEST_CASE("an address that a database did not have a moment ago is asked for again before its mail is returned") {
    TemporaryDirectory here;
    const auto path = (here.path() / "u.sqlite").string();
    const auto sql = [&](const char* text) { run_sql(path, text); };
    sql("CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('info@lists.example', 'bob')");
    World w("", "[mta]\nmulti_user = false\n[local]\nusers = [\"alice\", \"bob\"]\nalias_tables = [\"table:v\"]\n"
                "[table.v]\nkind = \"sqlite\"\ncache = \"1h\"\nquery = \"SELECT v FROM t WHERE k = ?\"\ndatabase = \"" +
                    path +
                    "\"\n[virtual_alias]\ndomains = [\"lists.example\"]\ntables = [\"table:v\"]\n"
                    "[virtual_mailbox]\ndomains = [\"boxes.example\"]\ndeliver = \"lmtp:/run/lmtp\"\n"
                    "recipients = [\"table:v\"]\n");
    const std::vector<std::string> all = {"info@lists.example", "new@lists.example", "new@boxes.example",
                                          "new@here.example"};
    CHECK(w.ask(all) == "0:local bob; 1:failed 5.1.1; 2:failed 5.1.1; 3:failed 5.1.1");
    sql("INSERT INTO t VALUES('new@lists.example', 'alice')");
    sql("INSERT INTO t VALUES('new@boxes.example', 'new@boxes.example')");
    sql("INSERT INTO t VALUES('new', 'bob'); DELETE FROM t WHERE k = 'info@lists.example'");
    CHECK(w.ask(all) == "0:local bob; 1:local alice; 2:remote; 3:discard 2.1.5"); // the last one is bob, too
    // While it cannot be asked, no recipient counts as unknown.
    CHECK(w.ask({"other@lists.example"}) == "0:failed 5.1.1");
    sql("ALTER TABLE t RENAME TO u");
    CHECK(w.ask({"other@lists.example"}).starts_with("0:deferred"));
}

TEST_CASE("what several tables say together is as new as the newest of what is needed of each") {
    TemporaryDirectory here;
    const auto path = (here.path() / "u.sqlite").string();
    const auto section = [&](const char* name) {
        return fmt::format("[table.{0}]\nkind = \"sqlite\"\ncache = \"1h\"\nquery = \"SELECT v FROM {0} WHERE k = "
                           "?\"\ndatabase = \"{1}\"\n",
                           name, path);
    };
    const std::string users = "[mta]\nmulti_user = false\n[local]\nusers = [\"alice\", \"bob\"]\n";
    const std::string lists = "[virtual_alias]\ndomains = [\"lists.example\"]\ntables = [\"table:all\"]\n";
    const auto tables = section("one") + section("two");
    run_sql(path, "CREATE TABLE one(k TEXT PRIMARY KEY, v TEXT)");
    SUBCASE("aliases of two tables, of which one was away") {
        World w("", users + "alias_tables = [\"table:one\", \"table:two\"]\n" + tables);
        CHECK(w.ask({"new@here.example"}).starts_with("0:deferred"));
        run_sql(path, "INSERT INTO one VALUES('new', 'bob'); CREATE TABLE two(k TEXT PRIMARY KEY, v TEXT)");
        auto answer = w.ask({"new@here.example"});
        while (answer.starts_with("0:deferred")) answer = w.ask({"new@here.example"});
        CHECK(answer == "0:local bob");
    }
    SUBCASE("a union of two tables, of which one was away") {
        World w("",
                users + lists + tables + "[table.all]\nkind = \"union\"\ntables = [\"table:one\", \"table:two\"]\n");
        CHECK(w.ask({"new@lists.example"}).starts_with("0:deferred"));
        run_sql(path,
                "INSERT INTO one VALUES('new@lists.example', 'bob'); CREATE TABLE two(k TEXT PRIMARY KEY, v TEXT)");
        auto answer = w.ask({"new@lists.example"});
        while (answer.starts_with("0:deferred")) answer = w.ask({"new@lists.example"});
        CHECK(answer == "0:local bob");
    }
    SUBCASE("a chain in which two keys have one value") {
        run_sql(path,
                "CREATE TABLE two(k TEXT PRIMARY KEY, v TEXT); INSERT INTO one VALUES('a@lists.example', 'same'), "
                "('b@lists.example', 'same')");
        World w("",
                users + lists + tables + "[table.all]\nkind = \"chain\"\ntables = [\"table:one\", \"table:two\"]\n");
        CHECK(w.ask({"a@lists.example"}) == "0:failed 5.1.1");
        run_sql(path, "INSERT INTO two VALUES('same', 'bob')");
        CHECK(w.ask({"b@lists.example"}) == "0:local bob");
        CHECK(w.ask({"a@lists.example", "c@lists.example"}) == "0:local bob; 1:failed 5.1.1");
    }
}

TEST_CASE("a recipient that was missing from the database a moment ago is accepted at RCPT") {
    TemporaryDirectory here;
    const auto path = (here.path() / "u.sqlite").string();
    run_sql(path, "CREATE TABLE v(k TEXT PRIMARY KEY, v TEXT)");
    World w("", "[mta]\nmulti_user = false\n[local]\nusers = [\"alice\"]\n[table.v]\nkind = \"sqlite\"\ncache = "
                "\"1h\"\nquery = \"SELECT v FROM v WHERE k = ?\"\ndatabase = \"" +
                    path + "\"\n[virtual_alias]\ndomains = [\"lists.example\"]\ntables = [\"table:v\"]\n");
    CHECK(w.checked("new@lists.example") == Verdict::unknown);
    CHECK(w.checked("new@lists.example") == Verdict::unknown); // and that is an answer
    run_sql(path, "INSERT INTO v VALUES('new@lists.example', 'alice')");
    CHECK(w.checked("new@lists.example") == Verdict::known);
    CHECK(w.checked("other@lists.example") == Verdict::unknown);
    run_sql(path, "ALTER TABLE v RENAME TO u");
    CHECK(w.checked("other@lists.example") == Verdict::try_later);
}

TEST_CASE("members of large lists are not asked for twice") {
    TemporaryDirectory here;
    const auto path = (here.path() / "u.sqlite").string();
    run_sql(path, "CREATE TABLE v(k TEXT PRIMARY KEY, v TEXT)");
    World w("", "[mta]\nmulti_user = false\n[local]\nusers = [\"alice\"]\n[table.v]\nkind = \"sqlite\"\ncache = "
                "\"1h\"\nquery = \"SELECT v FROM v WHERE k = ?\"\ndatabase = \"" +
                    path + "\"\n[virtual_alias]\ndomains = [\"lists.example\"]\ntables = [\"table:v\"]\n");
    CHECK(w.ask({"new@lists.example"}) == "0:failed 5.1.1");
    run_sql(path, "INSERT INTO v VALUES('new@lists.example', 'alice')");
    std::vector<std::string> many = {"new@lists.example"};
    for (int n = 0; n < 1'000; ++n) many.push_back(fmt::format("n{}@far.example", n));
    CHECK(w.ask(many).starts_with("0:failed 5.1.1; "));
    many.pop_back();
    CHECK(w.ask(many).starts_with("0:local alice; "));
}

TEST_CASE("an alias file that cannot be read bounces nobody") {
    World w("");
    std::filesystem::remove(w.config.local.aliases[0]);
    std::filesystem::create_directory(w.config.local.aliases[0]);
    w.daemon->reconfigure({w.config, 2, {}, {}});
    CHECK(w.ask({"nobody@here.example", "x@far.example"}) == "0:deferred 4.3.0; 1:remote");
    CHECK(w.premises.trouble.find("not a file") != std::string::npos);
    std::filesystem::remove(w.config.local.aliases[0]);
    w.daemon->reconfigure({w.config, 3, {}, {}});
    CHECK(w.ask({"nobody@here.example"}) == "0:deferred 4.3.0"); // nor one that is gone
    CHECK(w.premises.trouble.find("No such file") != std::string::npos);
    std::ofstream(w.config.local.aliases[0]).close();
    w.daemon->reconfigure({w.config, 4, {}, {}});
    CHECK(w.ask({"nobody@here.example"}) == "0:failed 5.1.1");
    CHECK(w.premises.trouble.empty());
}

TEST_CASE("every table that cannot be read is told of, beside the alias file, until it can be") {
    World w("");
    const auto path = [&](const char* name) { return w.premises.directory + "/" + name; };
    const auto has = [&](std::string_view what) { return w.premises.trouble.find(what) != std::string::npos; };
    w.config.addresses.virtual_alias.tables = {"text:" + path("gone")};
    w.config.addresses.relocated.tables = {"text:" + path("lost")};
    std::ofstream(path("lost")).close();
    std::filesystem::remove(w.config.local.aliases[0]);
    std::filesystem::create_directory(w.config.local.aliases[0]);
    w.daemon->reconfigure({w.config, 2, {}, {}});
    CHECK(w.ask({"x@far.example"}) == "0:deferred 4.3.0");
    CHECK(has("/gone: No such file or directory"));
    CHECK(has("aliases: not a file"));
    CHECK_FALSE(has("lost"));
    // The alias file is well again: that takes no other's line away.
    std::filesystem::remove(w.config.local.aliases[0]);
    std::ofstream(w.config.local.aliases[0]).close();
    w.daemon->reconfigure({w.config, 3, {}, {}});
    CHECK(w.ask({"alice@here.example"}) == "0:deferred 4.3.0");
    CHECK(has("/gone: No such file or directory"));
    CHECK_FALSE(has("aliases"));
    std::ofstream(path("gone")).close();
    while (!w.premises.trouble.empty()) w.premises.loop.run(); // nobody asks
}

TEST_CASE("smtpd asks about single recipients") {
    for (const auto* text : {"[mta]\nmulti_user = false\n[local]\nusers = [\"root\"]", ""}) {
        World w("team: x@far.example\n", text);
        std::vector<proto::recipient_check::Checked> answers;
        ipc::Connector<proto::recipient_check::Message> smtpd(
            w.premises.loop, w.premises.log, w.premises.directory + "/run/private/categorizer",
            proto::recipient_check::conversation,
            {proto::Role::smtpd, 0, {{"categorizer", ipc::token_of("key", proto::Role::smtpd, 0)}}},
            {[&](proto::recipient_check::Message&& message) {
                 if (auto* checked = std::get_if<proto::recipient_check::Checked>(&message))
                     answers.push_back(std::move(*checked));
                 if (answers.size() == 5) w.premises.loop.stop();
             },
             [&] {
                 std::uint64_t request = 0;
                 for (const auto* address : {"root@here.example", "team@here.example", "no-such-user-here@here.example",
                                             "root@far.example", "postmaster@here.example"})
                     static_cast<void>(smtpd.send(proto::recipient_check::Check{request++, address}));
             }});
        while (answers.size() < 5) w.premises.loop.run();
        std::vector<Verdict> verdicts(5);
        for (const auto& answer : answers) verdicts.at(answer.request) = answer.verdict;
        CHECK(verdicts ==
              std::vector{Verdict::known, Verdict::known, Verdict::unknown, Verdict::not_ours, Verdict::known});
        bool stopped = false;
        w.daemon->stop(std::chrono::seconds(1), [&] { stopped = true; });
        CHECK(stopped);
    }
}

TEST_CASE("a list that does not fit one message comes in parts, whole and in its order") {
    World w("list: :include:/dev/null/x\n");
    const auto path = w.premises.directory + "/members";
    {
        std::ofstream members(path);
        for (int n = 0; n < 20'000; ++n) members << "a.rather.long.name" << n << "@members.example\n";
        std::ofstream(w.config.local.aliases[0]) << "list: :include:" << path << "\n";
    }
    w.daemon->reconfigure({w.config, 2, {}, {}});
    Categorize question;
    question.request = 7;
    question.queue_id = spool::QueueId{0x100};
    question.recipients = {{0, "list@here.example"}, {1, "alice@here.example"}};
    static_cast<void>(w.manager.channel().send(question));
    std::vector<std::string> found;
    std::size_t parts = 0;
    for (bool more = true; more; ++parts) {
        const auto part = w.manager.next<Categorized>();
        CHECK(part.request == 7);
        more = part.more;
        CHECK(!part.outcomes.empty());
        for (const auto& outcome : part.outcomes) found.push_back(outcome.origin == 0 ? outcome.address : outcome.user);
    }
    CHECK(parts > 4);
    REQUIRE(found.size() == 20'001);
    for (int n = 0; n < 20'000; ++n)
        if (const auto& at = found[static_cast<std::size_t>(n)];
            at != fmt::format("a.rather.long.name{}@members.example", n))
            FAIL(at);
    CHECK(found.back() == "alice");
}

TEST_CASE("ten thousand remote recipients cost next to nothing") {
    World w("");
    Categorize question;
    question.request = 1;
    question.queue_id = spool::QueueId{0x100};
    question.recipients = {{0, "somebody@far.example"}};
    const auto before = std::clock();
    for (int i = 0; i < 10'000; ++i) static_cast<void>(w.manager.channel().send(question));
    for (int i = 0; i < 10'000; ++i) {
        const auto answer = w.manager.next<Categorized>();
        REQUIRE(answer.outcomes.size() == 1);
        CHECK(!answer.outcomes[0].changed);
    }
    MESSAGE("CPU µs per request, both ends: ",
            1e6 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / 10'000);
}
