#include "daemons/common/delivery/report_texts.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fstream>

using common::parse_wording;
using smtp::ReportKind;

TEST_CASE("a report's text may begin with its subject") {
    CHECK(parse_wording("Subject: Oh no\n\nDear {sender}\n").subject == "Oh no");
    CHECK(parse_wording("\xEF\xBB\xBFSubject: Oh no\n\nDear {sender}\n").subject == "Oh no");
    CHECK(parse_wording("Subject: Oh no\n\nDear {sender}\n").text == "Dear {sender}\n");
    CHECK(parse_wording("Dear {sender}: look\n\nthere\n").text == "Dear {sender}: look\n\nthere\n");
    CHECK(common::wording_file(ReportKind::delayed) == "delayed.txt");
    CHECK(common::wording_file(ReportKind::status) == "status.txt");
}

TEST_CASE("unknown words in braces are named with their line") {
    const auto found = common::problems_of_wording("{sender}\n{ not a word } {}\n{recpients} {queue_id} {Nor} {x\n{y}");
    REQUIRE(found.size() == 2);
    CHECK(found[0].starts_with("3: {recpients} "));
    CHECK(found[1].starts_with("4: {y} "));
}

TEST_CASE("a text that cannot be used is named, and the built-in one stands in") {
    const TemporaryDirectory directory;
    const auto write = [&](const std::string& name, const std::string& text) {
        std::ofstream(directory.path() / name, std::ios::binary) << text;
    };
    CHECK(common::load_report_texts("").problems.empty());
    write("failed.txt", "Subject: Nope\n\n{recipients} {host} {hots}\n");
    write("delayed.txt", "Gr\xfc\xdf Gott\n");
    write("relayed.txt", " \n\n");
    write("expanded.txt", std::string(common::largest_report_text + 1, 'x'));
    write("status.txt", std::string("a\0b", 3));
    std::filesystem::create_directory(directory.path() / "delivered.txt");
    const auto texts = common::load_report_texts(directory.path().string());
    const auto text_of = [&](ReportKind kind) { return texts.wordings[static_cast<std::size_t>(kind)].text; };
    CHECK(text_of(ReportKind::failed) == "{recipients} {host} {hots}\n");
    for (const auto kind :
         {ReportKind::delayed, ReportKind::delivered, ReportKind::relayed, ReportKind::expanded, ReportKind::status})
        CHECK(text_of(kind) == "");
    REQUIRE(texts.problems.size() == 6);
    CHECK(texts.problems[0].ends_with("/failed.txt:3: {hots} is not a known placeholder and is left unchanged"));
    CHECK(texts.problems[1].ends_with("/delayed.txt is not UTF-8: the built-in text is used"));
}
