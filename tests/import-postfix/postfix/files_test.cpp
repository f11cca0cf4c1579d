#include "daemons/import-postfix/postfix/files.h"
#include <doctest/doctest.h>

using namespace postrider::postfix;

TEST_CASE("main.cf: remarks, empty lines and lines that go on") {
    const auto read = read_main("# remark\n\nmynetworks = 127.0.0.0/8,\n  # remark within\n\n\t10.0.0.0/8  "
                                "\r\nempty =\n a=b\nrelayhost=[x]:25\n",
                                "main.cf");
    REQUIRE(read);
    CHECK(*read == std::vector<Setting>{
                       {"mynetworks", "127.0.0.0/8, 10.0.0.0/8", 3}, {"empty", "a=b", 7}, {"relayhost", "[x]:25", 9}});
}

TEST_CASE("what is wrong is said with file and line") {
    const std::pair<std::string, const char*> cases[] = {
        {"a = b\nnonsense\n", "main.cf:2: \"nonsense\": no \"=\" after the name"},
        {" a = b\n", "main.cf:1: the first line begins with a space: there is no line to continue"},
        {"a = b\nc = \xff\n", "main.cf:2: not UTF-8: convert the file to that encoding"},
        {std::string("a = b\nc = \0\n", 12), "main.cf:2: contains a NUL byte: not a text file"},
        {"a b = c\n", "main.cf:1: \"a b\" is not the name of a setting"},
        {"= c\n", "main.cf:1: \"\" is not the name of a setting"},
        {"a = b\n" + std::string(9 << 20, '#'), "main.cf: too large: 9437190 bytes, limit 8388608"},
        {"a = b\n" + std::string(300'000, '\n'), "main.cf:200001: too many lines: limit 200000"},
    };
    for (const auto& [text, said] : cases) {
        const auto read = read_main(text, "main.cf");
        REQUIRE(!read);
        CHECK(read.error().to_string() == said);
    }
    std::string many, longest = "a = b\n";
    for (int i = 0; i < 6000; ++i) many += "name" + std::to_string(i) + " = x\n";
    CHECK(read_main(many, "main.cf").error().to_string() == "main.cf:5001: too many settings: limit 5000");
    for (int i = 0; i < 100; ++i) longest += " " + std::string(20'000, 'x') + "\n";
    CHECK(read_main(longest, "main.cf").error().to_string() ==
          "main.cf:1: longer than 1048576 bytes with its continuation lines");
}

TEST_CASE("master.cf: columns, -o in all its forms, arguments") {
    const auto read = read_master("smtp inet n - y - 10 smtpd\n  -o a=b -oc=d\n  -o { e = f g }\n  -v {h i}\n"
                                  "mailman unix - n n - - pipe flags=FR user=list argv=/x ${nexthop}\n",
                                  "master.cf");
    REQUIRE(read);
    REQUIRE(read->size() == 2);
    const auto& smtp = read->front();
    CHECK(smtp.name == "smtp");
    CHECK(smtp.type == "inet");
    CHECK(smtp.chroot == "y");
    CHECK(smtp.process_limit == "10");
    CHECK(smtp.command == "smtpd");
    CHECK(smtp.overrides == std::vector<Setting>{{"a", "b", 1}, {"c", "d", 1}, {"e", "f g", 1}});
    CHECK(smtp.arguments == std::vector<std::string>{"-v", "h i"});
    CHECK(read->back().arguments.back() == "${nexthop}");
    const auto pipe = read_master(
        "spam unix - n n - - pipe -o a=b -v flags=R argv=/usr/sbin/sendmail -oi -f ${sender}\n", "master.cf");
    REQUIRE(pipe);
    CHECK(pipe->front().overrides == std::vector<Setting>{{"a", "b", 1}});
    CHECK(pipe->front().arguments ==
          std::vector<std::string>{"-v", "flags=R", "argv=/usr/sbin/sendmail", "-oi", "-f", "${sender}"});
    for (const auto& [text, said] :
         {std::pair{"smtp inet n - y - 10\n",
                    "master.cf:1: a service has at least eight columns (name, type, private, unprivileged, "
                    "chroot, wakeup, process limit, command), this line has 7"},
          {"smtp inet n - y - 10 smtpd -o\n", "master.cf:1: -o is the last word: name=value is missing after it"},
          {"smtp inet n - y - 10 smtpd -o x\n", "master.cf:1: \"x\": no \"=\" after the name"},
          {"smtp inet n - y - 10 smtpd -o { a = b\n", "master.cf:1: \"{ a = b\": unclosed brace"}})
        CHECK(read_master(text, "master.cf").error().to_string() == said);
}

TEST_CASE("tables: keys with blanks stand in quotation marks") {
    const auto read = read_table("# r\na@b  c,\n  d\n\"x y\"@z  w\n\"p q\" r\n", "virtual");
    REQUIRE(read);
    REQUIRE(read->size() == 3);
    CHECK(read->at(0).value == "c, d");
    CHECK(read->at(1).key == "\"x y\"@z");
    CHECK(read->at(2).key == "p q");
    CHECK(read_table("lonely\n", "virtual").error().to_string() == "virtual:1: \"lonely\": the key has no value");
}
