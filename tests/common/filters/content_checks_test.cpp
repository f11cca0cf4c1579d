#include "daemons/common/filters/content_checks.h"
#include <doctest/doctest.h>

using common::ContentChecks;
using common::ContentRules;
using common::HeaderChecks;

namespace {

using Lines = std::vector<std::string>;

struct RulesOfParts {
    Lines header, mime, nested, body;
    std::uint64_t body_size = 50 * 1024;
};

ContentRules rules_of_parts(const RulesOfParts& lines) {
    using Use = HeaderChecks::Use;
    const auto read = [](const Lines& each, Use use) {
        auto rules = HeaderChecks::parse(each, use);
        REQUIRE_MESSAGE(rules, (rules ? "" : rules.error().why));
        return *std::move(rules);
    };
    ContentRules out;
    out.header = read(lines.header, Use::header);
    out.mime = read(lines.mime, Use::header);
    out.nested = read(lines.nested, Use::header);
    out.body = read(lines.body, Use::body);
    out.body_size = lines.body_size;
    return out;
}

struct CheckedContent {
    std::string content;
    Lines findings, warnings; // "reject header Subject: x: text"
    bool changed = false;
};

CheckedContent checked(const RulesOfParts& lines, std::string_view content, std::size_t piece = 0,
                       ContentChecks::OwnHeader own = ContentChecks::OwnHeader::checked) {
    const auto rules = rules_of_parts(lines);
    ContentChecks checks(rules, own);
    CheckedContent out;
    for (std::size_t at = 0; at < content.size(); at += piece ? piece : content.size())
        checks.feed(content.substr(at, piece ? piece : content.size()), out.content);
    if (!checks.is_over()) checks.finish(out.content);
    out.changed = checks.has_changed();
    for (const auto& each : checks.take_findings())
        out.findings.push_back(std::string(common::verb_of(each.action)) + " " + each.subject + ": " + each.text);
    out.warnings = checks.take_warnings();
    return out;
}

// A part with a text, one with an attached message that has parts of its own, and a binary one.
const std::string parts = "From: ann@example.org\r\n"
                          "Subject: a\r\n\tfolded one\r\n"
                          "MIME-Version: 1.0\r\n"
                          "Content-Type: multipart/mixed; boundary=\"b1\"\r\n"
                          "\r\n"
                          "preamble\r\n"
                          "--b1\r\n"
                          "Content-Type: text/plain\r\n"
                          "\r\n"
                          "hello\r\n"
                          "world\r\n"
                          "--b1\r\n"
                          "Content-Type: message/rfc822\r\n"
                          "\r\n"
                          "Subject: inner\r\n"
                          "Content-Type: multipart/mixed; boundary=b2\r\n"
                          "\r\n"
                          "--b2\r\n"
                          "Content-Disposition: attachment;\r\n filename=\"x.exe\"\r\n"
                          "\r\n"
                          "inner text\r\n"
                          "--b2--\r\n"
                          "--b1\r\n"
                          "Content-Type: application/octet-stream; name=y.exe\r\n"
                          "\r\n"
                          "AAAA\r\n"
                          "--b1--\r\n"
                          "epilogue\r\n";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    REQUIRE(at != text.npos);
    return text.replace(at, what.size(), by);
}

} // namespace

TEST_CASE("each header and body has its rules") {
    struct Case {
        RulesOfParts rules;
        Lines findings;
    };
    const Case cases[] = {
        {{.header = {"/^subject:/ INFO"}}, {"info header Subject: a folded one: "}},
        {{.mime = {"/^subject:/ INFO"}}, {}},
        {{.nested = {"/^subject:/ INFO"}}, {"info header Subject: inner: "}},
        {{.body = {"/^subject:/ INFO"}}, {}},
        {{.header = {"/^content-type:/ INFO"}}, {"info header Content-Type: multipart/mixed; boundary=\"b1\": "}},
        {{.mime = {"/^content-type:/ INFO"}},
         {"info header Content-Type: multipart/mixed; boundary=\"b1\": ", "info header Content-Type: text/plain: ",
          "info header Content-Type: message/rfc822: ", "info header Content-Type: multipart/mixed; boundary=b2: ",
          "info header Content-Type: application/octet-stream; name=y.exe: "}},
        {{.nested = {"/^content-type:/ INFO"}}, {"info header Content-Type: multipart/mixed; boundary=b2: "}},
        {{.mime = {"/name=.*\\.exe/ REJECT no programs"}},
         {"reject header Content-Disposition: attachment; filename=\"x.exe\": no programs"}},
        {{.mime = {"/filename=\\S+/ DUNNO", "/name=(\\S+)/ WARN $1"}},
         {"warning header Content-Type: application/octet-stream; name=y.exe: y.exe"}},
        {{.body = {"/^hello$/ WARN x"}}, {"warning body hello: x"}},
        {{.body = {"/^inner text$/ WARN x"}}, {"warning body inner text: x"}},
        {{.body = {"/^--b/ INFO"}},
         {"info body --b1: ", "info body --b1: ", "info body --b2: ", "info body --b2--: ", "info body --b1: ",
          "info body --b1--: "}},
        {{.body = {"/preamble|epilogue/ HOLD"}}, {"hold body preamble: ", "hold body epilogue: "}},
        {{.body = {"/^$/ INFO"}}, {}}, // the line between header and body is neither's
        {{.body = {"/^Content/ INFO"}}, {}},
        {{.body = {"/AAAA/ DISCARD", "/epilogue/ WARN"}}, {"discard body AAAA: "}},
        {{.body = {"!/^(--|hello|world|inner|AAAA|preamble)/ REDIRECT a@b.example"}},
         {"redirect body epilogue: a@b.example"}},
        {{.header = {"/^From: (.*)@/ BCC $1@b.example"}}, {"bcc header From: ann@example.org: ann@b.example"}},
    };
    for (const auto& each : cases)
        for (const std::size_t piece : {0u, 1u, 7u, 64u}) {
            CAPTURE(piece);
            const auto found = checked(each.rules, parts, piece);
            CHECK(found.findings == each.findings);
            CHECK_FALSE(found.changed);
            CHECK(found.warnings.empty());
            CHECK(parts.starts_with(found.content)); // nothing follows a rejection
        }
}

TEST_CASE("what rules change, and nothing else") {
    struct Case {
        RulesOfParts rules;
        std::string what, by;
        Lines findings = {};
    };
    const Case cases[] = {
        {{.header = {"/^subject:/ IGNORE"}}, "Subject: a\r\n\tfolded one\r\n", ""},
        {{.header = {"/^subject:/ STRIP old"}},
         "Subject: a\r\n\tfolded one\r\n",
         "",
         {"strip header Subject: a folded one: old"}},
        {{.header = {"/^subject:/ REPLACE Subject: b"}},
         "Subject: a\r\n\tfolded one\r\n",
         "Subject: b\r\n",
         {"replace header Subject: a folded one: Subject: b"}},
        {{.header = {"/^subject:/ PREPEND X-A: b"}},
         "Subject: a\r\n",
         "X-A: b\r\nSubject: a\r\n",
         {"prepend header Subject: a folded one: X-A: b"}},
        {{.mime = {"/^content-disposition:/ IGNORE"}},
         "Content-Disposition: attachment;\r\n filename=\"x.exe\"\r\n",
         ""},
        {{.mime = {"/^content-disposition: (.*?);/ REPLACE Content-Disposition: $1"}},
         "Content-Disposition: attachment;\r\n filename=\"x.exe\"\r\n",
         "Content-Disposition: attachment\r\n",
         {"replace header Content-Disposition: attachment; filename=\"x.exe\": Content-Disposition: attachment"}},
        {{.nested = {"/^subject:/ REPLACE Subject: outer"}},
         "Subject: inner\r\n",
         "Subject: outer\r\n",
         {"replace header Subject: inner: Subject: outer"}},
        {{.body = {"/^hello/ IGNORE"}}, "hello\r\n", ""},
        {{.body = {"/^hello/ STRIP"}}, "hello\r\n", "", {"strip body hello: "}},
        {{.body = {"/^(.)ello/ REPLACE $1i there"}}, "hello\r\n", "hi there\r\n", {"replace body hello: hi there"}},
        {{.body = {"/^hello/ REPLACE"}}, "hello\r\n", "\r\n", {"replace body hello: "}},
        {{.body = {"/^world/ PREPEND big"}}, "world\r\n", "big\r\nworld\r\n", {"prepend body world: big"}},
        {{.body = {"/epilogue/ IGNORE"}}, "epilogue\r\n", ""},
    };
    for (const auto& each : cases)
        for (const std::size_t piece : {0u, 1u, 7u}) {
            CAPTURE(each.what);
            const auto found = checked(each.rules, parts, piece);
            CHECK(found.content == replaced(parts, each.what, each.by));
            CHECK(found.changed);
            CHECK(found.findings == each.findings);
        }
}

TEST_CASE("content without changes is passed on byte for byte") {
    const std::string long_line(200'000, 'x');
    const Lines contents = {"",
                            "\r\n",
                            "\n",
                            "x",
                            "Subject: x",
                            "Subject: x\n\nbare\nlines\n",
                            "Subject: x\r\n\r\nno end",
                            "Subject: x\r\n\r\nbare \r in\r\r\na line\r",
                            "no header\r\n\r\nbody\r\n",
                            "Subject: x\r\n" + long_line + "\r\n\r\n" + long_line + "\r\n",
                            "Subject: x\r\n\r\n" + long_line,
                            "Subject: x\r\n\r\n" + long_line + "\r",
                            "Subject: " + long_line + "\r\n\r\nx\r\n",
                            "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n--b\r\n\r\n--b--\r\n\r\n",
                            "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nX: y",
                            "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nX: y\r\n--b--",
                            "Content-Type: message/rfc822\r\n\r\nContent-Type: message/rfc822\r\n\r\nX: y\r\n\r\nz",
                            "Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\r\nX: y\r\n\r\nz\r\n--b--\r\n",
                            std::string("Subject: x\r\n\r\na\0b\r\n", 17),
                            parts};
    const RulesOfParts every = {.header = {"/never-there/ REJECT"},
                                .mime = {"/never-there/ REJECT"},
                                .nested = {"/never-there/ REJECT"},
                                .body = {"/never-there/ REJECT"}};
    for (const auto& content : contents)
        for (const std::size_t piece : {0u, 1u, 3u, 1000u}) {
            if (piece == 1 && content.size() > 100'000) continue;
            CAPTURE(content.substr(0, 60));
            CAPTURE(piece);
            CHECK(checked(every, content, piece).content == content);
            CHECK(checked({.body = {"/never-there/ REJECT"}}, content, piece).content == content);
        }
}

TEST_CASE("the message's own header can be left to others") {
    const auto found =
        checked({.header = {"/./ REJECT"}, .body = {"/hello/ WARN"}}, parts, 0, ContentChecks::OwnHeader::skipped);
    CHECK(found.findings == Lines{"warning body hello: "});
    CHECK(found.content == parts);
}

TEST_CASE("of each part so much of the body is examined") {
    std::string content = "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n";
    for (int i = 0; i < 10; ++i) content += "12345678\r\n";
    content += "late\r\n--b\r\n\r\nearly\r\n--b--\r\n";
    CHECK(checked({.body = {"/late|early/ WARN"}, .body_size = 100}, content).findings ==
          Lines{"warning body early: "});
    CHECK(checked({.body = {"/late|early/ WARN"}, .body_size = 101}, content).findings.size() == 2);
    CHECK(checked({.body = {"/late|early/ WARN"}, .body_size = 0}, content).findings.empty());
}

TEST_CASE("work, findings and additions are bounded") {
    std::string content = "Subject: x\r\n\r\n";
    for (int i = 0; i < 20'000; ++i) content += "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\r\n";
    // A pattern that takes for ever is left.
    const auto evil = checked({.body = {"/^(a+)+$/ REJECT", "/never/ HOLD"}, .body_size = 1 << 30}, content);
    CHECK(evil.findings == Lines{"defer body aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!: rule /^(a+)+$/ takes too long"});
    const auto tame = checked({.body = {"/^(a+)+$/ WARN", "/never/ HOLD"}, .body_size = 1 << 30}, content);
    CHECK(tame.content.starts_with("Subject: x\r\n\r\naaa"));
    REQUIRE_FALSE(tame.warnings.empty());
    CHECK(tame.warnings[0].find("/^(a+)+$/: takes too long") != std::string::npos);
    // Matches are logged up to a number; what decides is not lost behind them.
    const auto noisy =
        checked({.body = {"/^END/ REJECT at last", "/^a/ WARN"}, .body_size = 1 << 30}, content + "END\r\n");
    REQUIRE(noisy.findings.size() == ContentChecks::most_findings + 1);
    CHECK(noisy.findings.back() == "reject body END: at last");
    CHECK(noisy.warnings.size() == 1);
    // Rules do not make a small message a large one.
    const auto text = std::string(3000, 'y');
    const auto grown = checked({.body = {"/^a/ PREPEND " + text}, .body_size = 1 << 30}, content);
    CHECK(grown.content.size() < content.size() + ContentChecks::most_added + 1);
    CHECK(grown.content.size() > content.size() + ContentChecks::most_added - 10'000);
    CHECK(grown.warnings.size() == 2);
    // A field longer than anybody reads passes.
    const auto field = "X: " + std::string(ContentChecks::longest_field, 'x') + "\r\n";
    const auto passed = checked({.header = {"/^X/ IGNORE", "/^Y/ IGNORE"}}, field + "Y: z\r\n\r\n");
    CHECK(passed.content == field + "\r\n");
    CHECK(passed.warnings.size() == 2);
}

TEST_CASE("a field that a rule makes invalid is not made") {
    const auto found = checked({.mime = {"/^content-type: (.*)/ REPLACE $1"}}, parts);
    CHECK(found.content == parts);
    CHECK(found.findings.empty());
    CHECK(found.warnings.size() == 5);
}

TEST_CASE("fields of MIME have their rules in every header") {
    const std::string content = "Subject: a\r\nMIME-Version: 1.0\r\nContent-Language: en\r\n"
                                "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nX-Part: 1\r\n"
                                "content-id : x\r\nContent-Type: message/rfc822\r\n\r\nSubject: b\r\n"
                                "Content-Length: 1\r\nContent-Disposition: inline\r\n\r\nx\r\n--b--\r\n";
    const RulesOfParts each = {.header = {"/^([^:]*)/ INFO h"}, .mime = {"/./ INFO m"}, .nested = {"/./ INFO n"}};
    const Lines in_each = {"info header Subject: a: h",
                           "info header MIME-Version: 1.0: m",
                           "info header Content-Language: en: h",
                           "info header Content-Type: multipart/mixed; boundary=b: m",
                           "info header X-Part: 1: m",
                           "info header content-id: x: m",
                           "info header Content-Type: message/rfc822: m",
                           "info header Subject: b: n",
                           "info header Content-Length: 1: n",
                           "info header Content-Disposition: inline: m"};
    CHECK(checked(each, content).findings == in_each);
    CHECK(checked({.header = {"/^Content-Type:/ REJECT"}, .mime = {"/never/ INFO"}}, content).findings.empty());
    // Without rules for parts, those for the header that they are in.
    CHECK(checked({.header = {"/^Content-Type:/ REJECT"}}, content).findings.size() == 1);
    CHECK(checked({.nested = {"/^Content-Disposition:/ REJECT"}}, content).findings.size() == 1);
}

TEST_CASE("nothing hides a part from the rules") {
    const std::string type = "Content-Type: multipart/mixed; boundary=b\r\n";
    const std::string part = "--b\r\nContent-Disposition: attachment; filename=x.exe\r\n\r\nMZ\r\n--b--\r\n";
    const std::string file = "Content-Disposition: attachment; filename=x.exe\r\n";
    const auto long_boundary = std::string(300, 'y');
    const Lines hidden = {
        "Content-Type: multipart/signed; boundary=b\r\n\r\n" + part,
        "Content-Type: multipart/encrypted; boundary=b\r\n\r\n" + part,
        type + "Content-Transfer-Encoding: base64\r\n\r\n" + part,
        "Content-Transfer-Encoding: quoted-printable\r\n" + type + "\r\n" + part,
        "Content-Transfer-Encoding: x-own\r\n" + type + "\r\n" + part,
        "Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n" + file + "\r\nMZ\r\n",
        "Content-Type: message/global\r\n\r\n" + file + "\r\nMZ\r\n",
        "Content-Type: message/global\r\n\r\n" + type + "\r\n" + part,
        "Content-Type: text/plain\r\n" + type + "\r\n" + part,
        type + "Content-Type: text/plain\r\n\r\n" + part,
        "Content-Type: multipart/mixed; boundary=c\r\n" + type + "\r\n--c\r\n\r\nx\r\n" + part,
        type + "Content-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r\n" + part,
        "Content-Type: multipart/mixed; boundary=" + long_boundary + "\r\n\r\n--" + long_boundary + "\r\n" + file +
            "\r\nMZ\r\n",
        "no field\r\n" + type + "\r\n" + part,
        type + "no field\r\n\r\n" + part,
        type + "\r\n--b\r\nno field\r\n" + file + "\r\nMZ\r\n--b--\r\n",
        type + "\r\n--b\r\n\xc3\xa4: x\r\n" + file + "\r\nMZ\r\n--b--\r\n",
        "Content-Type: multipart/mixed; x=\"" + std::string(20'000, 'x') + "\"; boundary=b\r\n\r\n" + part,
        type + "\r\n--b junk\r\n" + file + "\r\nMZ\r\n",
        type + "\r\n--b" + std::string(3000, ' ') + "\r\n" + file + "\r\nMZ\r\n",
    };
    for (const auto& content : hidden) {
        CAPTURE(content.substr(0, 300));
        for (const std::size_t piece : {0u, 1u, 7u}) {
            const auto found = checked({.mime = {"/filename=.*exe/ REJECT no programs"}}, content, piece);
            CHECK(found.findings ==
                  Lines{"reject header Content-Disposition: attachment; filename=x.exe: no programs"});
            CHECK(checked({.mime = {"/never/ REJECT"}, .body = {"/never/ REJECT"}}, content, piece).content == content);
        }
    }
    // Fields behind a line that is none may as well be a text.
    CHECK(checked({.mime = {"/cheap/ INFO"}, .body = {"/^Note: cheap/ REJECT"}},
                  type + "\r\n--b\r\nhello\r\nNote: cheap x\r\n\r\n--b--\r\n")
              .findings == Lines{"info header Note: cheap x: ", "reject body Note: cheap x: "});
}

TEST_CASE("what cannot be examined is refused if a rule keeps mail out, and else logged") {
    std::string deep;
    for (int i = 0; i < 150; ++i) deep += "Content-Type: message/rfc822\r\n\r\n";
    const Lines contents = {
        deep,
        "Content-Type: multipart/mixed; boundary=" + std::string(2'000, 'x') + "\r\n\r\n",
        "Content-Type: multipart/mixed\r\n\r\n",
        "Content-Type: multipart/mixed; boundary*0=a; boundary*1=b\r\n\r\n--ab\r\n",
        "Content-Type: multipart/mixed; boundary=a; boundary=b\r\n\r\n--b\r\n",
        "Content-Type: multipart\r\n\r\n",
        "Content-Type: multipart/mixed; x=\"" + std::string(70'000, 'x') + "\"; boundary=b\r\n\r\n",
        "Content-Type: multipart/mixed; boundary=b\r\nContent-Type: message/rfc822\r\n\r\n",
    };
    for (const auto& content : contents) {
        CAPTURE(content.substr(0, 100));
        for (const auto& rules : {RulesOfParts{.mime = {"/never/ REJECT"}}, {.nested = {"/never/ HOLD"}}}) {
            const auto found = checked(rules, content);
            REQUIRE(found.findings.size() == 1);
            CHECK(found.findings[0].starts_with("reject structure of the message: 5.6.0 "));
        }
        const auto passed = checked({.mime = {"/never/ WARN"}}, content);
        CHECK(passed.content == content);
        CHECK(passed.findings.empty());
        CHECK(!passed.warnings.empty());
    }
}

TEST_CASE("a message's body is examined up to a number of bytes, however many parts it has") {
    std::string content = "Content-Type: multipart/mixed; boundary=b\r\n\r\n";
    for (int i = 0; i < 1000; ++i) content += "--b\r\n\r\nx\r\n";
    const auto found = checked({.body = {"/^x/ BCC a@b.example"}, .body_size = 20}, content);
    CHECK(found.findings.size() < 20);
    CHECK(found.findings.size() > 2);
    CHECK(found.warnings.size() == 1);
}

TEST_CASE("no two lines are joined") {
    const std::string filler(3000, 'x'), start = "Subject: x\r\n\r\n";
    const auto body = [&](std::string_view rule) {
        const auto found = checked({.body = {std::string(rule)}}, start + filler + "end\r\nnext\r\n");
        return found.content.substr(start.size());
    };
    CHECK(body("/end$/ IGNORE") == filler.substr(0, 2048) + "\r\nnext\r\n");
    CHECK(body("/end$/ REPLACE y") == filler.substr(0, 2048) + "y\r\nnext\r\n");
    CHECK(body("/end$/ PREPEND y") == filler + "end\r\nnext\r\n");
    CHECK(body("/^x+$/ REPLACE y") == "yy" + filler.substr(2048) + "end\r\nnext\r\n");
}

TEST_CASE("of a long field the beginning is examined, and the log says so") {
    const auto field = "X: " + std::string(100'000, 'x') + "\r\n";
    const auto found = checked({.header = {"/^X: x/ INFO"}}, field + "\r\n");
    CHECK(found.findings.size() == 1);
    REQUIRE(found.warnings.size() == 1);
    CHECK(found.warnings[0] == "header checks: of a field of 100003 bytes the first 65536 are examined");
}
