#include "daemons/decide/routing/filter_destination.h"
#include <doctest/doctest.h>

using namespace decide;

TEST_CASE("where FILTER sends mail") {
    for (const auto& [text, destination] : {std::pair{"[127.0.0.1]:10024", "[127.0.0.1]:10024"},
                                            {" smtp:[127.0.0.1]:10024 ", "[127.0.0.1]:10024"},
                                            {"SMTP:127.0.0.1:10024", "[127.0.0.1]:10024"},
                                            {"relay:[scan.example]", "[scan.example]"},
                                            {"lmtp:unix:/run/filter", "lmtp:/run/filter"},
                                            {"lmtp:/run/filter", "lmtp:/run/filter"},
                                            {"lmtp:[::1]:24", "lmtp:[::1]"},
                                            {"lmtp:inet:127.0.0.1:10024", "lmtp:[127.0.0.1]:10024"},
                                            {"scanner", "scanner:"},
                                            {"Scanner:", "scanner:"},
                                            {"smtp-amavis:[127.0.0.1]:10024", "smtp-amavis:[127.0.0.1]:10024"},
                                            {"smtp-amavis:127.0.0.1:10024", "smtp-amavis:[127.0.0.1]:10024"}}) {
        CAPTURE(text);
        CHECK(filter_destination(text) == destination);
    }
    // Whose hosts the recipients or the DNS would choose, and what is none.
    for (const auto* text :
         {"", "smtp:", "smtp:scan.example", "scan.example", "scanner:scan.example", "lmtp:", "lmtp:unix:private/x",
          "local:", "virtual:", "discard:", "error:no", "mx", "srv:example.com", "[127.0.0.1", "smtp:[127.0.0.1]:x",
          "scanner [127.0.0.1]", "127.0.0.1:10024", "*"}) {
        CAPTURE(text);
        CHECK_FALSE(filter_destination(text));
    }
    // What the groups of a pattern would fill in.
    for (const auto* text : {"lmtp:/run/$1", "$1@[127.0.0.1]", "scanner:[127.0.0.$1]"})
        CHECK_FALSE(filter_destination(text));
    CHECK_FALSE(filter_destination(std::string(513, 'x')));
    CHECK(route_of_filter("scanner:") == "scanner");
    CHECK(route_of_filter("scanner:[127.0.0.1]:10024") == "scanner");
    CHECK(route_of_filter("[127.0.0.1]:10024") == "");
    CHECK(route_of_filter("lmtp:/run/filter") == "");
}
