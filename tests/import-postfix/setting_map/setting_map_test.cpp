#include "daemons/common/config/config.h"
#include "daemons/common/config/documents.h"
#include "daemons/import-postfix/postfix/defaults.h"
#include "daemons/import-postfix/setting_map/setting_map.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace postrider;

namespace {

// Keys by section, "listen" for all of them, as the annotated sample has them.
std::map<std::string, std::set<std::string>> keys_there_are() {
    std::map<std::string, std::set<std::string>> out;
    std::istringstream sample(config::sample());
    std::string section;
    for (std::string line; std::getline(sample, line);) {
        if (line.starts_with("#[") || line.starts_with("["))
            section = line.substr(line.find('[') + 1), section = section.substr(0, section.find_first_of(".]"));
        else if (line.starts_with("#") && line.find(" = ") != line.npos && !line.starts_with("# "))
            out[section].insert(line.substr(1, line.find(" = ") - 1));
    }
    return out;
}

// One that Postfix only takes for the default of a newer one.
bool is_old_name(std::string_view name) {
    for (const auto part : {postfix::defaults_a_to_l(), postfix::defaults_m_to_smtp(), postfix::defaults_smtpd_to_z()})
        for (const auto& each : part)
            if (each.value == fmt::format("${}", name) || each.value.starts_with(fmt::format("${{{}:", name)))
                return true;
    return false;
}

} // namespace

TEST_CASE("every row has a name of its own, and keys that there are") {
    const auto known = keys_there_are();
    REQUIRE(known.at("queue").contains("expiry"));
    std::set<std::string_view> names;
    std::size_t exact = 0;
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows) {
            CAPTURE(row.name);
            CHECK(names.insert(row.name).second);
            if (row.name.find('*') == row.name.npos) {
                CHECK_MESSAGE((postfix::default_of(row.name) || is_old_name(row.name)),
                              "Postfix 3.7 has no such setting");
                ++exact;
            }
            CHECK((row.conversion == Conversion::obsolete || row.conversion == Conversion::none ||
                   row.conversion == Conversion::custom || !row.key.empty()));
            CHECK((row.key.empty() || (row.conversion != Conversion::obsolete && row.conversion != Conversion::none)));
            std::string_view rest = row.key;
            while (!rest.empty()) {
                const auto comma = std::min(rest.find(", "), rest.size());
                const auto path = rest.substr(0, comma);
                rest.remove_prefix(std::min(comma + 2, rest.size()));
                const auto section = std::string(path.substr(0, path.find('.')));
                const auto key = std::string(path.substr(path.rfind('.') + 1));
                CAPTURE(path);
                REQUIRE(known.contains(section));
                if (path != "policy.NAME" && path != "milter.NAME" && path != "listen.NAME" && !path.ends_with('"'))
                    CHECK(known.at(section).contains(key));
            }
        }
    CHECK(exact > 250);
}

TEST_CASE("every row is the row of something, and what Postfix does not know has none") {
    std::set<const SettingMapping*> used;
    for (const auto part :
         {postfix::defaults_a_to_l(), postfix::defaults_m_to_smtp(), postfix::defaults_smtpd_to_z()}) {
        CHECK(std::ranges::is_sorted(part, {}, &postfix::Default::name));
        for (const auto& [name, value] : part) {
            CAPTURE(name);
            const auto* row = mapping_of(name);
            CHECK(row);
            used.insert(row);
        }
    }
    for (const auto suffix : postfix::transport_settings()) {
        const auto* row = mapping_of("slow_" + std::string(suffix));
        REQUIRE(row);
        used.insert(row);
    }
    for (const auto& subject : setting_map())
        for (const auto& row : subject.rows) {
            CAPTURE(row.name);
            CHECK((used.contains(&row) || mapping_of(row.name) == &row));
        }
    CHECK(!mapping_of("smtpd_no_such_thing"));
}

TEST_CASE("the manual's list is that of the table") {
    const std::string path = std::string(SOURCE_ROOT) + "/man/postrider-from-postfix.7";
    std::ifstream file(path);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const std::string begin = ".\\\" The list begins: build/daemons/import-postfix/setting_map prints it.\n",
                      end = ".\\\" The list ends.\n";
    const auto from = page.find(begin), to = page.find(end);
    REQUIRE(from != page.npos);
    REQUIRE(to != page.npos);
    CHECK_MESSAGE(page.substr(from + begin.size(), to - from - begin.size()) == setting_map_manual(),
                  "run build/daemons/import-postfix/setting_map and put it there");
}
