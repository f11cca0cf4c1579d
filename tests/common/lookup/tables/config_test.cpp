// What the configuration says of lookup tables.
#include "daemons/common/config/load.h"
#include "daemons/common/config/schema/value_types.h"
#include "tests/common/config/reading.h"

using namespace config::testing;

TEST_CASE("[table.NAME]") {
    const auto c = good("[table.users]\nkind = \"sqlite\"\ndatabase = \"u.sqlite\"\nquery = \"SELECT 1 WHERE ?\"\n"
                        "timeout = \"2s\"\n[table.few]\nkind = \"entries\"\nentries = [\"a b\", \"c  d e\"]\n"
                        "[table.map]\nkind = \"socketmap\"\naddress = \"unix:/run/m\"\nmap = \"m\"\n");
    REQUIRE(c.tables.size() == 3);
    CHECK(c.tables[0].entries == std::vector<std::string>{"a b", "c  d e"});
    CHECK(c.tables[1].map == "m");
    CHECK(c.tables[1].cache == std::chrono::seconds(30));
    CHECK(c.tables[2].database == "/etc/p/u.sqlite");
    REQUIRE(c.files.size() == 1);
    CHECK(c.files[0].key == "table.users.database");
    CHECK(c.files[0].line == 3);
}

TEST_CASE("[table.NAME]: what is missing is said") {
    const struct {
        std::string text, problem;
    } rows[] = {
        {"[table.x]\n", "f.toml:1:8: table.x: required key \"kind\" is missing"},
        {"[table.x]\nkind = \"mysql\"\n",
         "f.toml:2:8: table.x.kind: \"mysql\" is not a valid value: expected one of \"entries\", \"regexp\", "
         "\"cidr\", \"sqlite\", \"socketmap\", \"tcp\", \"union\", \"chain\""},
        {"[table.x]\nkind = \"entries\"\n", "f.toml:1:8: table.x: required key \"entries\" is missing"},
        {"[table.x]\nkind = \"entries\"\nentries = [\"alone\"]\n",
         "f.toml:3:12: table.x.entries: \"alone\": expected \"key value\""},
        {"[table.x]\nkind = \"sqlite\"\nquery = \"SELECT ?\"\n",
         "f.toml:1:8: table.x: required key \"database\" is missing"},
        {"[table.x]\nkind = \"tcp\"\n", "f.toml:1:8: table.x: required key \"address\" is missing"},
    };
    for (const auto& row : rows) {
        const auto read = config::parse(row.text, "f.toml", machine);
        REQUIRE(!read);
        CHECK(read.error().front().to_string() == row.problem);
    }
}
