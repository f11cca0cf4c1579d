// Tables as their users see them: files that change, services that answer, are slow, lie or are gone.
#include "daemons/common/lookup/format/compile.h"
#include "daemons/common/lookup/format/key_value.h"
#include "daemons/common/lookup/tables/answer_cache.h"
#include "daemons/common/lookup/tables/file_table.h"
#include "daemons/common/lookup/tables/lmdb_table.h"
#include "daemons/common/lookup/tables/single_lookup.h"
#include "daemons/common/lookup/tables/sqlite_table.h"
#include "daemons/common/lookup/tables/tables.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <lmdb.h>
#include <set>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

using namespace tables;
using namespace std::chrono_literals;

namespace {

std::string said(const Answer& answer) {
    switch (answer.status) {
    case Answer::Status::found: return answer.value;
    case Answer::Status::none: return "-";
    case Answer::Status::unavailable: return "!" + answer.why;
    case Answer::Status::not_yet: return "?";
    }
    return "";
}

// A loop, a silent log, and tables that are asked until they know.
struct World {
    common::Loop loop;
    common::Log log{loop, "cleanup"};
    std::vector<std::string> told;
    Tables tables{loop, log, [this](const std::string& table, const std::string& key) {
                      told.push_back(table + " " + key);
                      loop.stop();
                  }};

    std::string find(std::string_view table, std::string_view key) {
        for (;;) {
            const auto answer = tables.find(table, key);
            if (answer.status != Answer::Status::not_yet) return said(answer);
            tables.ask(table, key);
            loop.run();
        }
    }
};

void sql(const std::string& path, const std::string& text) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
    REQUIRE(sqlite3_exec(database, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
}

smtp::Now at(std::chrono::milliseconds passed) {
    // By the clock of the files: what was written a moment ago has rested once the hand-moved clock says so.
    static const auto start = common::Loop::now();
    return {start.monotonic + passed, start.wall + passed};
}

} // namespace

TEST_CASE("a file's changes are noticed, half-made ones are not believed, and one that is gone is missed") {
    TemporaryDirectory here;
    const auto path = here.path() / "t";
    common::Loop loop;
    common::Log log(loop, "cleanup");
    FileTable table(loop, log, "text:t", path, TextTable::read, [](const std::string&) {});
    const auto find = [&](std::chrono::milliseconds passed) { return said(table.find("a", at(passed))); };
    const auto touch = [&](std::chrono::milliseconds passed) { // as written then
        const utimbuf times{
            0, std::chrono::duration_cast<std::chrono::seconds>(at(passed).wall.time_since_epoch()).count()};
        utime(path.c_str(), &times);
    };

    CHECK(find(0ms) == "!table text:t: No such file or directory");
    CHECK(table.problem() == "table text:t: No such file or directory");
    here.write("t", "a 1\n");
    CHECK(find(500ms).starts_with("!")); // looked at once a second
    CHECK(find(1000ms) == "1");
    CHECK(table.problem() == "");
    here.write("t", "a 22\n");
    touch(3000ms);
    CHECK(find(3000ms) == "1"); // it has not rested
    CHECK(find(5000ms) == "22");
    std::filesystem::remove(path);
    CHECK(find(6000ms) == "22");
    CHECK(find(15'000ms) == "22");
    CHECK(find(17'000ms).starts_with("!table text:t: No such file"));
    std::filesystem::create_directory(path);
    CHECK(find(18'000ms) == "!table text:t: not a file");
    std::filesystem::remove(path);
    here.write("t", "a 3\n");
    CHECK(find(19'000ms) == "3");
}

TEST_CASE("a large file is read on another thread; until then nothing is known, later the old entries are") {
    TemporaryDirectory here;
    here.write("t", "a 1\n");
    common::Loop loop;
    common::Log log(loop, "cleanup");
    int told = 0;
    FileTable table(
        loop, log, "text:t", here.path() / "t", TextTable::read,
        [&](const std::string& key) {
            CHECK(key == "a");
            ++told;
        },
        0);
    const auto find = [&](std::chrono::milliseconds passed) { return said(table.find("a", at(passed))); };
    CHECK(find(0ms) == "?");
    CHECK(table.ask("a", at(0ms)));
    CHECK(table.ask("a", at(0ms)));
    loop.run();
    CHECK(told == 1);
    CHECK(find(10ms) == "1");
    CHECK_FALSE(table.ask("a", at(10ms)));
    here.write("t", "a 22\n");
    CHECK(find(5000ms) == "1");
    loop.run();
    CHECK(find(5000ms) == "22");
}

TEST_CASE("one that goes while it is being read takes nobody with it") {
    TemporaryDirectory here;
    here.write("t", "a 1\n");
    common::Loop loop;
    common::Log log(loop, "cleanup");
    {
        FileTable table(
            loop, log, "text:t", here.path() / "t", TextTable::read, [](const std::string&) { FAIL("told"); }, 0);
        CHECK(said(table.find("a", at(0ms))) == "?");
        CHECK(table.ask("a", at(0ms)));
    }
    loop.run();
}

TEST_CASE("compiled tables") {
    TemporaryDirectory here;
    const auto file = (here.path() / "virtual").string();
    here.write("virtual", "Bob@Example.com  one, two\n@example.com catch\nbob@example.com again\nalone\n" +
                              std::string(600, 'k') + " v\n");
    chmod(file.c_str(), 0640);
    auto made = compile(file);
    REQUIRE(made);
    CHECK(made->entries == 2);
    CHECK(made->path == file + ".lmdb");
    CHECK(made->problems.count() == 3);
    struct stat facts{};
    REQUIRE(stat(made->path.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 07777) == 0640);
    CHECK(here.names("").size() == 2); // nothing is left beside it

    World world;
    const auto table = "lmdb:" + file;
    CHECK(world.find(table, "BOB@example.com") == "one, two");
    CHECK(world.find(table, "@example.com") == "catch");
    CHECK(world.find(table, "nobody@example.com") == "-");
    CHECK(world.find(table, std::string(600, 'k')) == "-");

    here.write("many", [] {
        std::string text;
        for (int i = 0; i < 50'000; ++i) text += fmt::format("user{}@example.com box{}\n", i, i);
        return text;
    }());
    made = compile(here.path() / "many");
    REQUIRE(made);
    CHECK(made->entries == 50'000);
    const auto many = LmdbFile::open(made->path);
    REQUIRE(many);
    CHECK((*many)->find("user49999@example.com") == Answer::found("box49999"));
    CHECK((*many)->entries() == 50'000);
}

TEST_CASE("keys and values of a compiled table may end with a NUL, as some of Postfix's do") {
    TemporaryDirectory here;
    const auto file = (here.path() / "t").string();
    MDB_env* env = nullptr;
    REQUIRE(mdb_env_create(&env) == 0);
    REQUIRE(mdb_env_open(env, (file + ".lmdb").c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0600) == 0);
    MDB_txn* change = nullptr;
    MDB_dbi database = 0;
    REQUIRE(mdb_txn_begin(env, nullptr, 0, &change) == 0);
    REQUIRE(mdb_dbi_open(change, nullptr, 0, &database) == 0);
    using namespace std::string_literals;
    for (auto& [key, value] : {std::pair{"ann\0"s, "one\0"s}, {"bob"s, "two"s}}) {
        MDB_val k{key.size(), const_cast<char*>(key.data())}, v{value.size(), const_cast<char*>(value.data())};
        REQUIRE(mdb_put(change, database, &k, &v, 0) == 0);
    }
    REQUIRE(mdb_txn_commit(change) == 0);
    mdb_env_close(env);
    World world;
    CHECK(world.find("lmdb:" + file, "Ann") == "one");
    CHECK(world.find("lmdb:" + file, "bob") == "two");
    CHECK(world.find("lmdb:" + file, "an") == "-");
    const auto opened = LmdbFile::open(file + ".lmdb");
    REQUIRE(opened);
    std::string all;
    REQUIRE((*opened)->each([&](std::string_view key, std::string_view value) {
        all += fmt::format("{}={};", key, value);
        return true;
    }));
    CHECK(all == "ann=one;bob=two;");
}

TEST_CASE("what is no compiled table, or cut off, makes mail wait") {
    TemporaryDirectory here;
    here.write("t", "a 1\n");
    const auto made = compile(here.path() / "t");
    REQUIRE(made);
    auto bytes = here.text("t.lmdb");
    World world;
    const auto find = [&](const std::string& content) {
        here.write("x.lmdb", content);
        world.tables.configure({}); // forget it
        return world.find("lmdb:" + (here.path() / "x").string(), "a");
    };
    CHECK(find(bytes) == "1");
    for (const std::size_t size : {0, 1, 100, 4096, 8192, 8193, 12287}) {
        CAPTURE(size);
        CHECK(find(bytes.substr(0, size)).starts_with("!table lmdb:"));
    }
    CHECK(find("a 1\n") == fmt::format("!table lmdb:{}: not a compiled table; create it again with "
                                       "\"postrider map\"",
                                       (here.path() / "x").string()));
}

TEST_CASE("ten compiled tables need no more than ten gibibytes of addresses and some") {
    // Some have no more: 39 bits of addresses in many arm64 systems are 512 GiB for everything, and there is ulimit -v.
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    auto limit = before;
    limit.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{12} << 30);
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    TemporaryDirectory here;
    std::vector<std::unique_ptr<LmdbFile>> files;
    std::string why;
    for (int n = 0; n < 10 && why.empty(); ++n) {
        const auto name = fmt::format("t{}", n);
        here.write(name, fmt::format("a {}\n", n));
        if (const auto made = compile(here.path() / name); !made)
            why = made.error().what;
        else if (auto opened = LmdbFile::open(made->path); !opened)
            why = opened.error();
        else
            files.push_back(*std::move(opened));
    }
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(why == "");
    REQUIRE(files.size() == 10);
    CHECK(files.back()->find("a") == Answer::found("9"));
}

TEST_CASE("a table that cannot be written leaves the old one alone") {
    TemporaryDirectory here;
    here.write("t", "a 1\n");
    REQUIRE(compile(here.path() / "t"));
    const auto failed =
        write_compiled(here.path() / "t.lmdb", here.path() / "t", [](Writer& writer) -> spool::Result<> {
            if (auto put = writer.put("a", "2"); !put) return std::unexpected(put.error());
            return std::unexpected(spool::Error{EIO, "the source broke off"});
        });
    REQUIRE(!failed);
    CHECK(failed.error().what == "the source broke off");
    CHECK(here.names("").size() == 2);
    CHECK((*LmdbFile::open(here.path() / "t.lmdb"))->find("a") == Answer::found("1"));
    CHECK(compile(here.path() / "nothing").error().what.find("No such file") != std::string::npos);
}

TEST_CASE("SQLite") {
    TemporaryDirectory here;
    const auto path = (here.path() / "u.sqlite").string();
    sql(path, "CREATE TABLE a(k TEXT, v TEXT, w TEXT); INSERT INTO a VALUES('bob','one',''),('bob','two',NULL),"
              "('odd',x'610a62',''),('ann','x','y');");
    World world;
    const auto with = [&](const std::string& query, std::chrono::microseconds timeout = 10s) {
        config::LookupTable table;
        table.name = "u";
        table.kind = config::LookupKind::sqlite;
        table.database = path;
        table.query = query;
        table.timeout = timeout;
        world.tables.configure({table});
        return [&world](std::string_view key) { return world.find("table:u", key); };
    };
    const auto find = with("SELECT v, w FROM a WHERE k = ?");
    CHECK(find("BOB") == "one,two");
    CHECK(find("ann") == "x");
    CHECK(find("' OR '1'='1") == "-");
    CHECK(find("odd") == "!table table:u: odd: answers with control characters");
    CHECK(with("SELECT v FROM a WHERE k = :key;")("bob") == "one,two");

    const auto wrong = [&](const std::string& query, const std::string& part) {
        CAPTURE(query);
        const auto answer = with(query)("bob");
        CHECK(answer.starts_with("!table table:u: "));
        CHECK(answer.find(part) != std::string::npos);
    };
    wrong("SELECT absent FROM a WHERE k = ?", "no such column: absent");
    wrong("SELECT v FROM a", "the query must have one parameter");
    wrong("SELECT v FROM a WHERE k = ? OR k = ?", "the query must have one parameter");
    wrong("DELETE FROM a WHERE k = ?", "not read-only");
    wrong("SELECT 1 WHERE ?; SELECT 2", "more than one statement");
    wrong("", "the query is empty");
    CHECK(with("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n WHERE ?", 100ms)("1")
              .find("the query takes too long") != std::string::npos);

    sqlite3* writer = nullptr; // that does not let go
    REQUIRE(sqlite3_open(path.c_str(), &writer) == SQLITE_OK);
    REQUIRE(sqlite3_exec(writer, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
    CHECK(with("SELECT v FROM a WHERE k = ?", 200ms)("bob").find("another program has locked the database") !=
          std::string::npos);
    sqlite3_exec(writer, "COMMIT", nullptr, nullptr, nullptr);
    sqlite3_close(writer);
    CHECK(with("SELECT v FROM a WHERE k = ?")("bob") == "one,two");
    std::filesystem::remove(path);
    CHECK(with("SELECT v FROM a WHERE k = ?")("bob").find("unable to open database file") != std::string::npos);
}

TEST_CASE("many keys at once, each told once") {
    TemporaryDirectory here;
    const auto path = (here.path() / "u.sqlite").string();
    sql(path, "CREATE TABLE a(k TEXT PRIMARY KEY); INSERT INTO a VALUES('k7');");
    config::LookupTable table;
    table.name = "u", table.kind = config::LookupKind::sqlite, table.database = path;
    table.query = "SELECT 'yes ' || k FROM a WHERE k = ?";
    World world;
    world.tables.configure({table});
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < 300; ++i) world.tables.ask("table:u", fmt::format("k{}", i));
    while (world.told.size() < 300) world.loop.run();
    CHECK(std::set<std::string>(world.told.begin(), world.told.end()).size() == 300);
    CHECK(said(world.tables.find("table:u", "k7")) == "yes k7");
    CHECK(said(world.tables.find("table:u", "k299")) == "-");
    CHECK(world.told.size() == 300);
}

TEST_CASE("entries in the configuration, and names that lead nowhere") {
    config::LookupTable table;
    table.name = "few", table.kind = config::LookupKind::entries, table.entries = {"A@b  c d", "x y"};
    World world;
    world.tables.configure({table});
    CHECK(world.find("table:few", "a@B") == "c d");
    CHECK(world.find("table:few", "q") == "-");
    CHECK(world.find("static:/etc/passwd", "q") == "/etc/passwd"); // a value, and no file
    CHECK(world.find("table:none", "q") == "!table table:none: there is no [table.none] in the configuration");
    CHECK(world.find("hash:/x", "q").starts_with("!\"hash:/x\": table type hash is not supported"));
    for (const std::string& key :
         {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string(4097, 'k')}) {
        CHECK(world.find("table:none", key) == "-");
        world.tables.ask("table:none", key); // answered all the same
        const auto told = world.told.size();
        world.loop.run();
        CHECK(world.told.size() == told + 1);
    }
    CHECK(world.tables.problem() == "\"hash:/x\": table type hash is not supported; write "
                                    "\"text:FILE\", or \"lmdb:FILE\" after \"postrider map FILE\"; "
                                    "table table:none: there is no [table.none] in the configuration");
}

namespace {

config::LookupTable section(std::string name, config::LookupKind kind, std::vector<std::string> of) {
    config::LookupTable out;
    out.name = std::move(name), out.kind = kind;
    (kind == config::LookupKind::entries ? out.entries
     : config::is_combined(kind)         ? out.tables
                                         : out.rules) = std::move(of);
    return out;
}

} // namespace

TEST_CASE("rules in the configuration") {
    using Kind = config::LookupKind;
    World world;
    world.tables.configure({section("re", Kind::regexp, {"if /@a$/", "/^(.*)-x@/ $1@b", "endif", "/^(x+)+$/ y"}),
                            section("net", Kind::cidr, {"192.0.2.0/24 OK"})});
    CHECK(world.find("patterns:re", "ann-x@a") == "ann@b");
    CHECK(world.find("patterns:re", "ann-x@c") == "-");
    CHECK(world.tables.find("patterns:re", "ann-x@a").written == "$1@b");
    CHECK(world.find("patterns:re", std::string(60, 'x') + "!").starts_with("!table patterns:re: line 4: "));
    CHECK(world.find("patterns:net", "192.0.2.9") == "OK");
}

TEST_CASE("several tables as one, some of which have to be asked") {
    using Kind = config::LookupKind;
    TemporaryDirectory here;
    const auto path = (here.path() / "u.sqlite").string();
    sql(path, "CREATE TABLE a(k TEXT PRIMARY KEY, v TEXT); INSERT INTO a VALUES('ann', 'from-sql');"
              "INSERT INTO a VALUES('two', 'three');");
    config::LookupTable asked;
    asked.name = "sql", asked.kind = Kind::sqlite, asked.database = path;
    asked.query = "SELECT v FROM a WHERE k = ?";
    World world;
    world.tables.configure({
        asked,
        section("few", Kind::entries, {"ann a,b", "one two", "three end"}),
        section("re", Kind::regexp, {"/^(a.*)$/ re-$1"}),
        section("all", Kind::merged, {"table:few", "table:sql", "patterns:re"}),
        section("steps", Kind::chained, {"table:few", "table:sql", "table:few"}),
        section("within", Kind::merged, {"static:x", "table:steps"}),
        section("broken", Kind::merged, {"table:few", "text:/nonexistent"}),
        section("dangling", Kind::chained, {"table:few", "text:/nonexistent"}),
    });
    CHECK(world.find("table:all", "ann") == "a,b,from-sql,re-ann");
    CHECK(world.tables.find("table:all", "ann").written == "a,b,from-sql,re-$1");
    CHECK(world.find("table:all", "two") == "three");
    CHECK(world.find("table:all", "none") == "-");
    CHECK(world.find("table:steps", "one") == "end");
    CHECK(world.find("table:steps", "ann") == "-");
    CHECK(world.find("table:steps", "three") == "-");
    CHECK(world.find("table:within", "one") == "x,end");
    CHECK(world.find("table:broken", "ann").starts_with("!table text:/nonexistent: "));
    CHECK(world.find("table:dangling", "none") == "-"); // the second one is not asked
    CHECK(world.find("table:dangling", "one").starts_with("!table text:/nonexistent: "));
    // Many keys at once, each told once; a key that a table is asked for twice, too.
    world.told.clear();
    for (int round = 0; round < 2; ++round)
        for (int i = 0; i < 50; ++i) world.tables.ask("table:all", fmt::format("a{}", i));
    while (world.told.size() < 50) world.loop.run();
    CHECK(std::set<std::string>(world.told.begin(), world.told.end()).size() == 50);
    world.tables.ask("table:all", "last"); // whatever was told too often comes before it
    while (world.told.back() != "table:all last") world.loop.run();
    CHECK(world.told.size() == 51);
    CHECK(said(world.tables.find("table:all", "a7")) == "re-a7");
    const std::vector<config::LookupTable> same = {
        section("few", Kind::entries, {"one two", "two three"}),
        section("steps", Kind::chained, {"table:few", "table:few"}),
        section("far", Kind::merged, {"table:steps", "socketmap:unix:/nonexistent:x"}),
    };
    CHECK(said(look_up_once("table:steps", same, "one")) == "three");
    CHECK(said(look_up_once("table:far", same, "one")).starts_with("!table table:far: "));
    CHECK(is_service("table:far", same));
    CHECK_FALSE(is_service("table:steps", same));
}

TEST_CASE("that a key is not there is forgotten for those to whom it matters that it may be new") {
    using Kind = config::LookupKind;
    TemporaryDirectory here;
    const auto path = (here.path() / "u.sqlite").string();
    sql(path, "CREATE TABLE a(k TEXT PRIMARY KEY, v TEXT); INSERT INTO a VALUES('old', '1');");
    config::LookupTable base;
    base.name = "sql", base.kind = Kind::sqlite, base.database = path, base.cache = 1h;
    base.query = "SELECT v FROM a WHERE k = ?";
    World world;
    world.tables.configure({base, section("names", Kind::entries, {"ann new", "odd none"}),
                            section("all", Kind::merged, {"table:names", "table:sql"}),
                            section("steps", Kind::chained, {"table:names", "table:sql"})});
    const auto before = common::Loop::now();
    const auto forget = [&](const char* table, const char* key, smtp::Now since) {
        return world.tables.forget_none(table, key, since);
    };
    CHECK(world.find("table:sql", "new") == "-");
    CHECK(world.find("table:all", "new") == "-");
    CHECK(world.find("table:steps", "ann") == "-");
    CHECK(world.find("table:sql", "old") == "1");
    sql(path, "INSERT INTO a VALUES('new', '2'); DELETE FROM a WHERE k = 'old';");
    CHECK_FALSE(forget("table:sql", "new", before)); // it was asked for since
    CHECK(world.find("table:sql", "new") == "-");
    smtp::Now later = common::Loop::now();
    later.monotonic += 1s;
    CHECK(forget("table:sql", "new", later));
    CHECK(world.find("table:sql", "new") == "2");
    CHECK_FALSE(forget("table:sql", "new", later)); // it is there
    CHECK_FALSE(forget("table:sql", "old", later)); // so is this, as far as is known
    CHECK(world.find("table:sql", "old") == "1");
    CHECK(forget("table:all", "new", later));
    CHECK(world.find("table:all", "new") == "2");
    CHECK(forget("table:steps", "ann", later));
    CHECK(world.find("table:steps", "ann") == "2");
    for (const auto* each : {"table:names", "text:/nonexistent", "patterns:none"})
        CHECK_FALSE(forget(each, "x", later));
    CHECK_FALSE(forget("table:sql", "", later));
    // What the second table of a chain said about its own key.
    CHECK(world.find("table:steps", "odd") == "-");
    sql(path, "INSERT INTO a VALUES('none', '3');");
    later = common::Loop::now();
    later.monotonic += 1s;
    CHECK(forget("table:steps", "odd", later));
    CHECK(world.find("table:steps", "odd") == "3");
}

TEST_CASE("a value in a chain that cannot be a key makes its table unavailable") {
    using Kind = config::LookupKind;
    World world;
    world.tables.configure({
        section("values", Kind::regexp, {"/^tab$/ class\tbad", "/^long$/ " + std::string(5000, 'x')}),
        section("rules", Kind::regexp, {"/^class.bad/ REJECT"}),
        section("steps", Kind::chained, {"patterns:values", "patterns:rules"}),
        section("all", Kind::merged, std::vector<std::string>(14, "patterns:values")),
    });
    CHECK(world.find("table:steps", "tab") == "REJECT");
    CHECK(world.find("table:steps", "none") == "-");
    CHECK(world.find("table:all", "long") == "!table table:all: its tables have more than 65536 bytes for a key");
    CHECK(world.find("table:steps", "long") ==
          "!table table:steps: the value that its table 1 has cannot be a key of table 2");
}

TEST_CASE("answers are kept for a while, and not more than a bound") {
    AnswerCache cache(10'000);
    const smtp::Monotonic start{};
    cache.put("a", Answer::found("1"), start + 10s);
    CHECK(*cache.find("a", start + 9s) == Answer::found("1"));
    CHECK(cache.find("a", start + 10s) == nullptr);
    for (int i = 0; i < 1000; ++i) {
        cache.put(fmt::format("k{}", i), {}, start + 1h);
        cache.put("same", Answer::found(std::to_string(i)), start + 1h);
        CHECK(cache.bytes() <= 10'000);
        CHECK(*cache.find("same", start) == Answer::found(std::to_string(i)));
    }
    CHECK(cache.find("k0", start) == nullptr);
    CHECK(cache.find("k999", start) != nullptr);
}
