#include "daemons/common/lookup/format/rules.h"
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace tables;

namespace {

std::string said(const Answer& answer) {
    using Status = Answer::Status;
    return answer.status == Status::found ? answer.value : answer.status == Status::none ? "-" : "!" + answer.why;
}

std::string wrong_with(const TableContents& table) {
    std::string out;
    for (const auto& problem : table.problems().first())
        out += fmt::format("{}{}:{}", out.empty() ? "" : "; ", problem.line, problem.message);
    return out;
}

} // namespace

TEST_CASE("regexp tables: the first rule that matches counts") {
    const auto table = RuleTable::read_regexp("# people\n"
                                              "/^(.*)-request@lists\\.example$/  owner-$1@example.com\n"
                                              "/^Mixed@example$/i exact\n"
                                              "!/@/ bare\n"
                                              "if /@inner\\.example$/\n"
                                              "  # nested\n"
                                              "if !/^boss@/\n"
                                              "/^(.)(.)?/ ${1}.$(2).$$1\n"
                                              "endif\n"
                                              "/^boss/ the boss\n"
                                              "endif\n"
                                              "/^(x)?y@/ [$1]\n"
                                              "/^z@/\n"
                                              " continued value\n"
                                              "/^(e)?empty@/ $1\n");
    CHECK(wrong_with(*table) == "");
    CHECK(table->entries() == 8);
    const struct {
        std::string_view key, said;
    } rows[] = {
        {"News-Request@lists.example", "owner-News@example.com"},
        {"mixed@example", "-"},
        {"Mixed@example", "exact"},
        {"bob", "bare"},
        {"ab@inner.example", "a.b.$1"},
        {"boss@inner.example", "the boss"},
        {"boss@example", "the boss"},
        {"y@q", "[]"},
        {"xy@q", "[x]"},
        {"z@q", "continued value"},
        {"w@q", "-"},
        {"empty@q", "!line 15: the value is empty for this key"},
        {"eempty@q", "e"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.key);
        // "boss@example" is matched by the rule inside the block only if the block is entered.
        CHECK(said(table->find(row.key)) == (row.key == "boss@example" ? "-" : row.said));
    }
}

TEST_CASE("regexp tables: bad rules are passed over and said, the others count") {
    const struct {
        std::string_view text, problems;
    } rows[] = {
        {"/a/ b\n/c( d", "2:the pattern is not closed; skipped"},
        {"/c(/ d\n/a/ b", "1:missing closing parenthesis at 2; skipped"},
        {"/a/ b\nabc d", "2:expected a pattern such as \"/^Subject: .*lottery/\"; skipped"},
        {"/a/ b\n/c/q d", "2:invalid flags \"q\": expected i, m, s, x, A, E or U; skipped"},
        {"/a/ b\n/c/", "2:the value is missing; skipped"},
        {"/a/ b\n/c/ $1", "2:$1: the pattern has 0 groups; skipped"},
        {"/a/ b\n!/(c)/ $1", "2:\"!\" and $1 cannot be combined: a pattern that does not match captures "
                             "nothing; skipped"},
        {"/a/ b\nendif", "2:\"endif\" without \"if\"; skipped"},
        {"/a/ b\nif /x/\n/c/ d", "2:\"if\" without \"endif\"; it applies to the end of the file"},
        {"/a/ b\nif /x/ y\n/z/ c\nendif\n", "2:unexpected text after the condition; ignored"},
        {"if /x/ y\n/a/ c\nendif\n/a/ b\n", "1:unexpected text after the condition; ignored"},
        {"if /x/\n/a/ c\nendif /x/\n/a/ b\n", "3:unexpected text after the condition; ignored"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto table = RuleTable::read_regexp(row.text);
        CHECK(wrong_with(*table) == row.problems);
        CHECK(said(table->find("a")) == "b");
    }
}

TEST_CASE("regexp tables: a pattern that takes for ever makes its keys wait, and says so") {
    const auto table = RuleTable::read_regexp("/^quick$/ 1\n/^(a+)+$/ 2\n");
    CHECK(said(table->find("quick")) == "1");
    CHECK(said(table->find("aaaa")) == "2");
    CHECK(said(table->find(std::string(40, 'a') + "b")) ==
          "!line 2: /^(a+)+$/ takes too long; simplify the pattern so that it needs less backtracking");
}

TEST_CASE("cidr tables") {
    const auto table = RuleTable::read_cidr("192.0.2.1 one\n192.0.2.0/24 net\n!10.0.0.0/8 not ten\n"
                                            "if 10.1.0.0/16\n10.1.2.0/24 deep\n endif\nendif\n2001:db8::/32 six\n"
                                            "0.0.0.0/0 rest\n");
    CHECK(wrong_with(*table) == "");
    const struct {
        std::string_view key, said;
    } rows[] = {
        {"192.0.2.1", "one"},
        {"192.0.2.9", "net"},
        {"192.0.3.1", "not ten"},
        {"10.1.2.3", "deep endif"},
        {"10.9.9.9", "rest"},
        {"::ffff:192.0.2.1", "one"},
        {"name", "-"},
        {"", "-"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.key);
        CHECK(said(table->find(row.key)) == row.said);
    }
    // Addresses of the one family are in no network of the other.
    const auto both = RuleTable::read_cidr("::/0 six\n0.0.0.0/0 four\n");
    CHECK(said(both->find("192.0.2.1")) == "four");
    CHECK(said(both->find("2001:db8::1")) == "six");
    const auto negated = RuleTable::read_cidr("!10.0.0.0/8 not ten\nif !10.0.0.0/8\n::/0 never\nendif\n::/0 six\n");
    CHECK(said(negated->find("192.0.2.1")) == "not ten");
    CHECK(said(negated->find("::1")) == "six");
    const auto bad = RuleTable::read_cidr("192.0.2.1/24 a\nx b\n10.0.0.0/8 c\n");
    CHECK(wrong_with(*bad).starts_with("1:\"192.0.2.1/24\" is not a network such as"));
    CHECK(bad->problems().count() == 2);
    CHECK(said(bad->find("10.0.0.1")) == "c");
}

TEST_CASE("each ! reverses a rule") {
    const auto table = RuleTable::read_regexp("!!/^a/ a\n! !!/^[bc]/ no b\nif !!/^b/\n/./ b\nendif\n");
    CHECK(table->problems().count() == 0);
    CHECK(said(table->find("ax")) == "a");
    CHECK(said(table->find("x")) == "no b");
    CHECK(said(table->find("b")) == "b");
    CHECK(said(table->find("c")) == "-");
}
