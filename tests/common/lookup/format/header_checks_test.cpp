#include "daemons/common/lookup/format/header_checks.h"
#include <doctest/doctest.h>

using common::HeaderChecks;
using Action = HeaderChecks::Action;

namespace {

HeaderChecks checks(std::vector<std::string> lines) {
    auto read = HeaderChecks::parse(lines);
    REQUIRE_MESSAGE(read, (read ? "" : read.error().why));
    return *std::move(read);
}

// "2 reject: text" for each finding.
std::vector<std::string> found(const std::vector<std::string>& lines, const std::vector<std::string>& fields) {
    constexpr const char* names[] = {"dunno",   "reject",  "discard", "hold",  "redirect", "filter", "warn",
                                     "prepend", "replace", "ignore",  "strip", "info",     "bcc",    "defer"};
    std::vector<std::string> out;
    for (const auto& each : checks(lines).check(fields).found)
        out.push_back(std::to_string(each.field) + " " + names[static_cast<int>(each.action)] + ": " + each.text);
    return out;
}
using Found = std::vector<std::string>;

} // namespace

TEST_CASE("rules as Postfix's tables have them") {
    const std::vector<std::string> header = {"Received: by mx.test\r\n", "From: Ann <ann@example.org>\r\n",
                                             "Subject: Make MONEY\r\n\tfast\r\n", "X-Mailer: Bulk 3.1\r\n"};
    struct Row {
        std::vector<std::string> rules;
        Found found;
    };
    for (const auto& row : std::vector<Row>{
             {{"/^subject: .*money/ REJECT no advertisements"}, {"2 reject: no advertisements"}},
             {{"/^Subject: .*money/i REJECT"}, {}}, // "i" minds upper and lower case
             {{"/^subject:.*money.fast/ HOLD"}, {}},
             {{"/^subject:.*money\\n\\tfast/ HOLD"}, {"2 hold: "}},
             {{"/money.*fast$/ WARN"}, {"2 warn: "}}, // "." takes line ends
             {{"/money.*fast$/s WARN"}, {}},          // … unless
             {{"/^\\tfast/m WARN"}, {"2 warn: "}},    // every line has a beginning
             {{"!/^(received|from|subject)/ IGNORE"}, {"3 ignore: "}},
             {{"/^From: (.*) </ PREPEND X-Who: $1"}, {"1 prepend: X-Who: Ann"}},
             {{"/^X-Mailer: (\\w+) (?<v>[0-9.]+)/ REPLACE X-Mailer: ${2} $(1) $$1 $7"},
              {"3 replace: X-Mailer: 3.1 Bulk $1 "}},
             {{"/ann@/ redirect post@example.org"}, {"1 redirect: post@example.org"}},
             {{"|^X-Mailer: Bulk/?| DISCARD bulk"}, {"3 discard: bulk"}},
             {{"/^X-Mailer:/ STRIP old", "/^From:/ INFO seen", "/./ BCC a@example.org"},
              {"0 bcc: a@example.org", "1 info: seen", "2 bcc: a@example.org", "3 strip: old"}},
             {{"/^From:/ DUNNO", "/./ WARN seen"}, {"0 warn: seen", "2 warn: seen", "3 warn: seen"}},
             {{"/^From:/ WARN first", "/ann/ REJECT"}, {"1 warn: first"}}, // of those that match, the first
             {{"/^Subject/ DISCARD", "/^X-/ WARN"}, {"2 discard: "}},      // nothing counts behind that
         }) {
        CAPTURE(row.rules.front());
        CHECK(found(row.rules, header) == row.found);
    }
}

TEST_CASE("rules between if and endif are tried only where the condition holds") {
    const std::vector<std::string> header = {"From: Ann <ann@example.org>\r\n", "Subject: money\r\n", "X-Old: ann\r\n"};
    struct Row {
        std::vector<std::string> rules;
        Found found;
    };
    for (const auto& row : std::vector<Row>{
             {{"if /^From:/", "/ann/ HOLD", "endif"}, {"0 hold: "}},
             {{"if /^to:/", "/ann/ HOLD", "endif", "/ann/ WARN"}, {"0 warn: ", "2 warn: "}},
             {{"if !/^From:/", "/ann/ HOLD", "endif"}, {"2 hold: "}},
             {{"IF/^From:/", "/ann/ HOLD", "ENDIF", "/money/ WARN"}, {"0 hold: ", "1 warn: "}},
             {{"if /^(From|X-Old):/", "if !/^X-/", "/(ann@)/ WARN $1", "endif", "/(ann)/ INFO $1", "endif",
               "/./ STRIP"},
              {"0 warn: ann@", "1 strip: ", "2 info: ann"}},
             {{"if /ann/", "if /Subject/", "/./ WARN never", "endif", "endif"}, {}},
             {{"if /ann/", "endif"}, {}},
             {{"if /^from:/i", "/./ WARN", "endif"}, {}},
         }) {
        CAPTURE(row.rules.front());
        CHECK(found(row.rules, header) == row.found);
    }
    for (const auto& [lines, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"/a/ WARN", "endif"}, "\"endif\" without \"if\""},
             {{"if /a/", "if /b/", "/a/ WARN", "endif"}, "\"if /a/\" without \"endif\""},
             {{"if /a/ REJECT", "endif"}, "unexpected text after the pattern of \"if\""},
             {{"if /a/", "endif /a/"}, "unexpected text after \"endif\""},
             {{"if a", "endif"}, "expected a pattern such as \"/^Subject: .*lottery/\""}}) {
        const auto read = HeaderChecks::parse(lines);
        REQUIRE_FALSE(read);
        CHECK(read.error().why == why);
    }
}

TEST_CASE("a condition that takes too long keeps mail out where its rules do") {
    const std::vector<std::string> evil = {"X: " + std::string(5'000, 'a') + "!\r\n"};
    CHECK(found({"if /^X: (a+)+$/", "/!/ INFO there", "if /!/", "/never/ REJECT", "endif", "endif"}, evil) ==
          Found{"0 defer: rule /^X: (a+)+$/ takes too long"});
    const auto findings = checks({"if !/^X: (a+)+$/", "/!/ INFO there", "endif", "/!/ WARN"}).check(evil);
    REQUIRE(findings.found.size() == 1);
    CHECK(findings.found[0].action == Action::warn);
    CHECK(findings.warnings.size() == 1);
}

TEST_CASE("what is no rule") {
    for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
             {"", "expected a pattern such as \"/^Subject: .*lottery/\""},
             {"Subject: REJECT", "expected a pattern such as \"/^Subject: .*lottery/\""},
             {"/no end REJECT", "the pattern is not closed"},
             {"/no end\\/ REJECT", "the pattern is not closed"},
             {"/a/q REJECT", "invalid flags \"q\": expected i, m, s, x, A, E or U"},
             {"/a/ DELAY x:y", "\"DELAY\" is not a valid action: expected REJECT, DISCARD, HOLD, REDIRECT, "
                               "FILTER, BCC, WARN, INFO, PREPEND, REPLACE, IGNORE, STRIP or DUNNO"},
             {"/a/", "\"\" is not a valid action: expected REJECT, DISCARD, HOLD, REDIRECT, FILTER, BCC, WARN, "
                     "INFO, PREPEND, REPLACE, IGNORE, STRIP or DUNNO"},
             {"/a/ REDIRECT nobody@", "REDIRECT needs an address"},
             {"/(a)/ FILTER [$1]:25", "FILTER: expected a host in brackets, such as smtp:[127.0.0.1]:10024, or the "
                                      "name of a [route]"},
             {"/a/ FILTER smtp:example.com", "FILTER: expected a host in brackets, such as smtp:[127.0.0.1]:10024, or "
                                             "the name of a [route]"},
             {"/a/ BCC nobody@", "BCC needs an address"},
             {"/a/ PREPEND no field", "PREPEND and REPLACE need a header field: \"Name: value\""},
             {"/(a/ REJECT", "missing closing parenthesis at 2"}}) {
        const auto read = HeaderChecks::parse({&line, 1});
        REQUIRE_FALSE(read);
        CHECK(read.error().why == why);
    }
}

TEST_CASE("what mail that leaves and lines of a body can have done to them") {
    using Use = HeaderChecks::Use;
    const auto good = [](const std::string& line, Use use) { return HeaderChecks::parse({&line, 1}, use).has_value(); };
    for (const auto* line :
         {"/a/ WARN x", "/a/ INFO", "/a/ IGNORE", "/a/ STRIP", "/a/ DUNNO", "/a/ PREPEND X-A: b", "/a/ REPLACE X-A: b"})
        for (const auto use : {Use::header, Use::body, Use::outgoing_header, Use::outgoing_body})
            CHECK_MESSAGE(good(line, use), line);
    for (const auto* line : {"/a/ REJECT x", "/a/ DISCARD", "/a/ HOLD", "/a/ REDIRECT a@b.example",
                             "/a/ BCC a@b.example", "/a/ FILTER scanner"}) {
        CHECK_MESSAGE(good(line, Use::header), line);
        CHECK_MESSAGE(good(line, Use::body), line);
        CHECK_FALSE_MESSAGE(good(line, Use::outgoing_header), line);
        CHECK_FALSE_MESSAGE(good(line, Use::outgoing_body), line);
    }
    for (const auto* line : {"/a/ PREPEND any line", "/a/ REPLACE any line", "/a/ REPLACE"}) {
        CHECK_FALSE_MESSAGE(good(line, Use::header), line);
        CHECK_FALSE_MESSAGE(good(line, Use::outgoing_header), line);
        CHECK_MESSAGE(good(line, Use::body), line);
        CHECK_MESSAGE(good(line, Use::outgoing_body), line);
    }
}

TEST_CASE("a pattern that takes for ever is left, and the rules behind it are not") {
    const std::string evil = "X: " + std::string(5'000, 'a') + "!\r\n";
    const std::vector<std::string> header(20, evil);
    const auto findings = checks({"/^X: (a+)+$/ WARN", "/!/ INFO there"}).check(header);
    CHECK(findings.found.size() == 20);
    REQUIRE(findings.warnings.size() == 1);
    CHECK(findings.warnings[0] == "header check /^X: (a+)+$/: takes too long; it is skipped where it does");
}

TEST_CASE("a rule that keeps mail out does not give up in silence") {
    const std::string evil = "X: " + std::string(5'000, 'a') + "!\r\n";
    for (const auto* rule : {"/^X: (a+)+$/ REJECT", "/^X: (a+)+$/ DISCARD", "/^X: (a+)+$/ HOLD"}) {
        const std::vector<std::string> header = {"A: b\r\n", evil, evil};
        CHECK(found({rule, "/!/ WARN there"}, header) == Found{"1 defer: rule /^X: (a+)+$/ takes too long"});
    }
    // What one field costs is not missing for the next.
    const std::vector<std::string> padded = {evil, "X: aaaa\r\n"};
    CHECK(found({"/^X: (a+)+$/ INFO"}, padded) == Found{"1 info: "});
    // In all of a message there is a bound as well.
    const std::vector<std::string> many(2'000, evil);
    const auto all = checks({"/^X: (a+)+$/ INFO", "/never/ REJECT"}).check(many);
    REQUIRE(all.found.size() == 1);
    CHECK(all.found[0].action == Action::defer);
    CHECK(all.found[0].text == "rule /never/ takes too long");
}

TEST_CASE("the work on a field is bounded where each place in it costs little, and there are many") {
    std::string often = "Subject: ";
    while (often.size() < 49'000) often += "free"; // a thousand million steps, and no place takes 50,000
    const std::vector<std::string> header = {often + "y\r\n", "Subject: free money!\r\n"};
    const auto findings = checks({"/free.*money/ INFO", "/!/ WARN there"}).check(header);
    CHECK(findings.warnings.size() == 1);
    REQUIRE(findings.found.size() == 1);
    CHECK(findings.found[0].action == Action::info);
    const auto plain = checks({"/free.*money/ REJECT"}).check({&header.back(), 1});
    CHECK(plain.warnings.empty());
    CHECK(plain.found.size() == 1);
}

TEST_CASE("of a field longer than anybody reads the beginning counts") {
    const std::vector<std::string> header = {"Subject: " + std::string(200'000, 'x') + "end\r\n"};
    CHECK(found({"/^subject: x/ WARN", "/end/ REJECT"}, header) == Found{"0 warn: "});
    CHECK(found({"/end/ REJECT"}, header).empty());
    CHECK(checks({"/end/ REJECT"}).check(header).warnings.size() == 1);
}
