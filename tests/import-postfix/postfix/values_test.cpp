#include "daemons/import-postfix/postfix/defaults.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/postfix/values.h"
#include <doctest/doctest.h>

using namespace postrider::postfix;

namespace {

Values values(std::vector<Setting> settings) {
    return Values("main.cf", std::move(settings), {{"myhostname", "mx.site.example"}, {"mydomain", "site.example"}});
}

} // namespace

TEST_CASE("names are put in as Postfix does it") {
    const auto v = values({{"foo", "$bar", 1}, {"bar", "", 2}, {"set", "value", 3}, {"compatibility_level", "3.6", 4}});
    for (const auto& [text, said] :
         {std::pair{"plain", "plain"},
          {"$set", "value"},
          {"${set}$(set)${ set }", "valuevaluevalue"},
          {"$set-$set.x", "value-value.x"},
          {"$$set", "$set"},
          {"[$unknown]", "[]"},
          {"$mail_name", "Postfix"},
          {"$relayhost|$mydestination", "|mx.site.example, localhost.site.example, localhost"},
          {"${set?yes}${set:no}${bar?yes}${bar:no}", "yesno"},
          {"${foo?yes}", "yes"}, // what is written counts, not what becomes of it
          {"${set?{a}:{b}}${bar?{a}:{b}}${bar ? {a} : {b}}", "abb"},
          {"${bar:{ x y }}|", " x y |"},
          {"${bar?{x { y } z}}.", "."},
          {"${set?{x { y } z}}", "x { y } z"},
          {"${set?<$set>}", "<value>"},
          {"${{$compatibility_level} >=level {3.6} ? {new} : {old}}", "new"},
          {"${{$compatibility_level} <level {3.10} ? {old} : {new}}", "old"},
          {"${{1} < {10} ? {x}:{y}}${{b} < {a}?{p}:{q}}${{a}=={a}?{s}}${{a}!={a}:{t}}", "xqst"},
          {"${{9} <= {10}?{n}}${{10} > {9}?{n}}${{x} >= {y}:{l}}", "nnl"}}) {
        CAPTURE(text);
        const auto read = v.expand(text, "", 0);
        REQUIRE_MESSAGE(read, (read ? "" : read.error().to_string()));
        CHECK(*read == trimmed(said));
    }
}

TEST_CASE("what cannot be put in is a fault at its line") {
    const auto v = values({{"a", "$b", 1},
                           {"b", "x ${c}", 2},
                           {"c", "${b?$a}", 3},
                           {"open", "${x", 4},
                           {"dollar", "100 $", 5},
                           {"sign", "${{a} ~ {b}?{c}}", 6},
                           {"behind", "${set?{a}b}", 7},
                           {"set", "$set", 8},
                           {"odd", "${a.b}", 9}});
    for (const auto& [name, said] :
         {std::pair{"a", "main.cf:1: a: ${b} refers to itself (b, c, a, b)"},
          {"set", "main.cf:8: set: ${set} refers to itself (set, set)"},
          {"open", "main.cf:4: open: \"${x\": unclosed brace"},
          {"dollar", "main.cf:5: dollar: \"$\": no name follows the \"$\" (a dollar sign is written \"$$\")"},
          {"sign", "main.cf:6: sign: \"~\" compares nothing: ==, !=, <, <=, >, >= do"},
          {"behind", "main.cf:7: behind: \"b\": unexpected text after the brace"},
          {"odd", "main.cf:9: odd: \"${a.b}\": \".\" is not allowed in a name"}}) {
        CAPTURE(name);
        const auto read = v.value(name);
        REQUIRE(!read);
        CHECK(read.error().to_string() == said);
    }
}

TEST_CASE("hostile values end soon") {
    std::vector<Setting> doubling;
    for (int i = 0; i < 60; ++i)
        doubling.push_back({"x" + std::to_string(i), "$x" + std::to_string(i + 1) + "$x" + std::to_string(i + 1), 1});
    CHECK(!values(doubling).value("x0"));
    doubling.push_back({"x60", "0123456789", 1});
    CHECK(values(doubling).value("x0").error().message.starts_with("x0: its value is longer than"));
    std::string deep;
    for (int i = 0; i < 300; ++i) deep += "${myhostname?{";
    for (int i = 0; i < 300; ++i) deep += "}}";
    CHECK(values({{"deep", deep, 1}}).value("deep").error().message == "deep: braces nested more than 200 levels deep");
    std::vector<Setting> chain;
    for (int i = 0; i < 300; ++i) chain.push_back({"y" + std::to_string(i), "$y" + std::to_string(i + 1), 1});
    CHECK(values(chain).value("y0").error().message == "y0: names nested more than 100 levels deep");
}

TEST_CASE("a service's -o goes before main.cf") {
    const auto v = values({{"relayhost", "one", 1}, {"mine", "$relayhost", 2}});
    Service service;
    service.name = "submission", service.overrides = {{"relayhost", "two", 7}};
    const auto seen = v.of(service, "master.cf");
    CHECK(*seen.value("mine") == "two");
    CHECK(*seen.expand("$service_name", "", 0) == "submission");
    CHECK(*v.value("mine") == "one");
    CHECK(*seen.default_value("relayhost") == "");
}

TEST_CASE("defaults are known, those of any transport too") {
    CHECK(default_of("bounce_queue_lifetime") == "5d");
    CHECK(default_of("slow_destination_rate_delay") == "$default_destination_rate_delay");
    CHECK(default_of("slow_initial_destination_concurrency") == "$initial_destination_concurrency");
    CHECK(default_of("local_destination_concurrency_limit") == "2");
    CHECK(!default_of("no_such_setting"));
    CHECK(!default_of("_time_limit"));
}

TEST_CASE("times, numbers, lists, destinations") {
    CHECK(seconds_of("4", 'h') == 4 * 3600);
    CHECK(seconds_of("5d", 's') == 5 * 86400);
    CHECK(!seconds_of("5x", 's'));
    CHECK(!seconds_of("", 's'));
    CHECK(!seconds_of("-1", 's'));
    CHECK(words_of("a, b c,,{ d e }  inline:{x = y, z = w}") ==
          std::vector<std::string>{"a", "b", "c", "{ d e }", "inline:{x = y, z = w}"});
    CHECK(unbraced(" { a b } ") == "a b");
    CHECK(destination_of("[relay.example]:submission")->port == 587);
    CHECK(destination_of("[relay.example]:submission")->brackets);
    CHECK(destination_of("inet:127.0.0.1:24")->host == "127.0.0.1");
    CHECK(destination_of("[IPv6:2001:db8::1]")->host == "2001:db8::1");
    CHECK(destination_of("unix:private/x")->path);
    for (const auto* odd : {"", "[a", "a:b:c", "[a]x", "a:0", "a:70000", "unix:"}) CHECK(!destination_of(odd));
    CHECK(addresses_of("127.0.0.[2..4;9]") ==
          std::vector<std::string>{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.9"});
    CHECK(addresses_of("127.0.0.2") == std::vector<std::string>{"127.0.0.2"});
    for (const auto* odd : {"", "127.0.0", "127.0.0.[4..2]", "127.0.0.2.3", "127.0.[0..9].[0..99]", "127.0.0.[",
                            "127.0.0.x", "127.0.0.[]"})
        CHECK(!addresses_of(odd));
}
