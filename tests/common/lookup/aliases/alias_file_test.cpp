#include "daemons/common/lookup/aliases/alias_file.h"
#include "tests/temporary_directory.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

using common::AliasFile;
using common::AliasTable;
using Kind = decide::AliasTarget::Kind;

namespace {

// "bob=alice,x@y; …" in order of names; problems behind "!".
std::string parsed(std::string_view text) {
    const auto table = AliasTable::parse(text);
    std::map<std::string, std::vector<decide::AliasTarget>> sorted(table.entries.begin(), table.entries.end());
    std::string out;
    for (const auto& [name, targets] : sorted) {
        out += (out.empty() ? "" : "; ") + name + "=";
        for (std::size_t i = 0; i < targets.size(); ++i) {
            constexpr std::string_view kinds[] = {"", "user ", "command ", "file ", "include ", "wrong "};
            out += fmt::format("{}{}{}", i ? "," : "", kinds[static_cast<int>(targets[i].kind)], targets[i].value);
        }
    }
    for (const auto& problem : table.problems) out += fmt::format("!{}:{}", problem.line, problem.message);
    return out;
}

} // namespace

TEST_CASE("alias files") {
    struct Row {
        const char *text, *table;
    } rows[] = {
        {"", ""},
        {"# comment\n\nroot: alice\n", "root=alice"},
        {"root: alice", "root=alice"},
        {"\xEF\xBB\xBFroot: alice\nbob: carol\n", "bob=carol; root=alice"},
        {"\xEF\xBB\xBF# comment\nbob: carol\n", "bob=carol"},
        {"root:alice\r\nbob:\talice , carol\r\n", "bob=alice,carol; root=alice"},
        {"Root:   Alice@Example.com", "root=Alice@Example.com"},
        {"team: a,\n  b,\n# in between\n\tc\nnext: d", "next=d; team=a,b,c"},
        {"\"odd name\": \"john smith\"@x", "odd name=\"john smith\"@x"},
        {"\"a:b\": c", "a:b=c"},
        {"x: \"|/usr/bin/prog -a, -b\"", "x=command /usr/bin/prog -a, -b"},
        {"x: |prog, /var/mail/x, :include: /etc/list, \\bob",
         "x=command prog,file /var/mail/x,include /etc/list,user bob"},
        {"x: \"quoted \\\"inner\\\"\"", "x=\"quoted \\\"inner\\\"\""},
        {"a: b\na: c", "a=b!2:a is listed twice; the first entry is used"},
        {"nonsense\nb: c", "b=c; nonsense=wrong line 1: expected \"name: target\"!1:expected \"name: target\""},
        {": b", "!1:the name is missing"},
        {"a:\nb: c", "a=wrong line 1: a: no target follows; b=c!1:a: no target follows"},
        {"a: ,,", "a=wrong line 1: a: no target follows!1:a: no target follows"},
        // What is wrong keeps its name: mail for it waits.
        {"a: \"b", "a=wrong line 1: \"\"b\" is not a valid address: quoted string is not closed"
                   "!1:\"\"b\" is not a valid address: quoted string is not closed"},
        {"a: \"|b", "a=wrong line 1: a quote is not closed!1:a quote is not closed"},
        {"a: b, x@@y", "a=b,wrong line 1: \"x@@y\" is not a valid address: domain expected after @"
                       "!1:\"x@@y\" is not a valid address: domain expected after @"},
        {"two words\ntwo: a", "two=a!1:expected \"name: target\""},
        {"a: ~bob/x", "a=wrong line 1: \"~bob/x\": only the user's own home directory, ~/, is possible"
                      "!1:\"~bob/x\": only the user's own home directory, ~/, is possible"},
        // Addresses as people write them.
        {"a: Alice Smith <alice>, (c) carol, \"Bob, the Builder\" <bob@x.>", "a=alice,carol,bob@x"},
        {"a: friends: b, \"|prog x, y\", :include:/l, c", "a=b,command prog x, y,include /l,c"},
        {"a: ~/mail, \"~/two words\", \\bob@x", "a=file ~/mail,file ~/two words,user bob@x"},
        {"  lost\na: b", "a=b!1:continues nothing"},
        {"a: b\x01", "a=wrong line 1: a target is too long or malformed!1:a target is too long or malformed"},
    };
    for (const auto& row : rows) CHECK(parsed(row.text) == row.table);
    CHECK(parsed("a: " + std::string(5000, 'x')) ==
          "a=wrong line 1: a target is too long or malformed!1:a target is too long or malformed");
    std::string many;
    for (int i = 0; i < 100; ++i) many += "nonsense\n";
    CHECK(AliasTable::parse(many).problems.size() == 20);
}

TEST_CASE("a list that an editor has put its mark before") {
    const auto list = common::TargetList::parse("\xEF\xBB\xBF"
                                                "ann@x.example\nbob\n");
    REQUIRE(list.targets.size() == 2);
    CHECK(list.targets[0].value == "ann@x.example");
    CHECK(list.problems.empty());
}

TEST_CASE("a file is read again when it changes") {
    const TemporaryDirectory directory;
    const auto path = (directory.path() / "aliases").string();
    const auto write = [&](std::string_view text) {
        std::ofstream(path + ".new") << text, std::rename((path + ".new").c_str(), path.c_str());
    };
    // Files are as old as they say: the wall clock stands far ahead of them.
    struct Clock {
        smtp::Now now{smtp::Monotonic(std::chrono::hours(1)), smtp::WallTime(std::chrono::hours(24 * 365 * 100))};
        smtp::Now operator+=(std::chrono::seconds by) { return now.monotonic += by, now; }
        operator smtp::Now() const { return now; }
    } now;
    AliasFile named(path); // by somebody, who meant something by it
    CHECK(named.check(now) == AliasFile::Change::failed);
    CHECK(!named.readable());
    AliasFile file(path, AliasFile::IfMissing::empty);
    CHECK(file.check(now) == AliasFile::Change::absent);
    CHECK(file.readable());
    CHECK(!file.find("a"));
    write("a: b");
    CHECK(file.check(now) == AliasFile::Change::none); // not yet time
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::read);
    REQUIRE(file.find("a"));
    CHECK(file.find("a")->front().value == "b");
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::none);
    write("a: c");
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::read);
    CHECK(file.find("a")->front().value == "c");

    // A directory in its place cannot be read: nobody is unknown for that.
    unlink(path.c_str());
    mkdir(path.c_str(), 0700);
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::failed);
    CHECK(!file.readable());
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::none);
    rmdir(path.c_str());
    write("a: d");
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::read);
    CHECK(file.readable());

    // Missing for a moment is not gone; gone, nobody is unknown for that: it has been there.
    unlink(path.c_str());
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::none);
    CHECK(file.find("a"));
    CHECK(file.check(now += std::chrono::seconds(20)) == AliasFile::Change::failed);
    CHECK(!file.readable());
    CHECK(file.problem() == path + ": No such file or directory");
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::none);

    // Neither is a file read that was written this very moment, unless there is nothing else.
    write("a: e");
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::read);
    CHECK(file.readable());
    write("a: f, g");
    now.now.wall =
        std::chrono::time_point_cast<smtp::Duration>(std::chrono::system_clock::now()) + std::chrono::milliseconds(500);
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::none);
    CHECK(file.find("a")->size() == 1);
    now.now.wall += std::chrono::seconds(60);
    CHECK(file.check(now += std::chrono::seconds(1)) == AliasFile::Change::read);
    CHECK(file.find("a")->size() == 2);
}

TEST_CASE("what a rule puts in from the address becomes addresses, and nothing else") {
    CHECK(common::wrong_in_rule("$1@far.example, |prog") == std::nullopt);
    CHECK(common::wrong_in_rule("ann, |prog ${1}") ==
          "\"prog ${1}\": $1 \xe2\x80\xa6 is replaced by text that the sender of a message chooses, and is "
          "allowed only in addresses, not in a command");
    CHECK(common::wrong_in_rule("/var/$1")->ends_with("not in the name of a file"));
    CHECK(common::wrong_in_rule(":include:/lists/$1")->ends_with("not in the name of an included file"));
    CHECK(common::wrong_in_rule("\\$1")->ends_with("not in a user's name"));

    const auto good = common::parse_filled_in("$1@far.example, |prog", "ann@far.example, |prog");
    REQUIRE(good);
    CHECK(good->size() == 2);
    CHECK(good->front().value == "ann@far.example");
    for (const auto* more :
         {"a@x.example, b@far.example, |prog", "|sh@far.example, |prog", "/etc/x@far.example, |prog",
          ":include:/etc/x@far.example, |prog", "\\root@far.example, |prog", ", |prog", "x, |prog, |prog"})
        CHECK_FALSE(common::parse_filled_in("$1@far.example, |prog", more));
    CHECK_FALSE(common::parse_filled_in("$1", "|prog"));
    CHECK_FALSE(common::parse_filled_in("|prog $1", "|prog x"));
}
