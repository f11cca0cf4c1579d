// Former names of keys and sections: each is refused with the present name, which exists, and no text mentions one.
#include "daemons/common/config/fixed_sections.h"
#include "daemons/common/config/renamed_keys.h"
#include "daemons/common/config/sections/key_tables.h"
#include "tests/common/config/reading.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <sstream>

using namespace config::testing;

namespace {

std::string first_word(std::string_view path) { return std::string(path.substr(0, path.find('.'))); }

bool is_section(std::string_view path) { return path.find('.') == path.npos; }

// Sections by their first word, and keys as "smtpd.workers", "listen.addresses".
std::set<std::string> all_names() {
    config::Config config;
    config::Listener listener;
    decide::RouteRule route;
    decide::SigningRule signing;
    decide::queue::RetryPolicy retry;
    config::PolicyService policy;
    config::DnsList dns_list;
    config::AccessRules access;
    config::AccessClass access_class;
    config::Milter milter;
    config::Pool pool;
    config::LookupTable table;
    auto sections = config::fixed_sections(config);
    for (const auto& each : {config::section_for(listener), config::section_for(route), config::section_for(signing),
                             config::section_for(retry), config::section_for(policy), config::section_for(dns_list),
                             config::section_for(milter), config::section_for(pool), config::section_for(table),
                             config::section_for(access), config::section_for(access_class)})
        sections.push_back(each);
    std::set<std::string> out;
    for (const auto& section : sections) {
        out.insert(first_word(section.name));
        for (const auto& key : section.keys) out.insert(fmt::format("{}.{}", first_word(section.name), key.name));
    }
    return out;
}

// "listen" is [listen.x] in a file.
std::string heading(const std::string& section) {
    const std::set<std::string> named = {"listen", "route", "dkim",  "retry",  "policy",      "dns_list",
                                         "milter", "pool",  "table", "access", "access_class"};
    return named.contains(section) ? section + ".x" : section;
}

std::string contents(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

// As a whole word: "pool.rest" is not in "pool.restart".
bool mentions(std::string_view text, std::string_view name) {
    const auto in_word = [](char c) { return c == '_' || c == '.' || std::isalnum(static_cast<unsigned char>(c)); };
    for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
        const auto end = at + name.size();
        const bool begins = at == 0 || !in_word(text[at - 1]);
        const bool ends = end == text.size() || text[end] == '.' || !in_word(text[end]);
        if (begins && ends) return true;
    }
    return false;
}

} // namespace

TEST_CASE("a former name is refused with the present one, which exists") {
    const auto names = all_names();
    std::set<std::string_view> formers;
    for (const auto& [former, present] : config::renamed_keys()) {
        CAPTURE(former);
        CHECK(formers.insert(former).second);
        CHECK(!names.contains(std::string(former)));
        CHECK(names.contains(std::string(present)));
        if (is_section(former)) {
            CHECK(bad(fmt::format("[{}]\n", former)) ==
                  fmt::format("f.toml:1:2: [{}] is now called [{}]", former, present));
            continue;
        }
        CHECK(first_word(former) == first_word(present));
        const auto section = heading(first_word(former)), key = std::string(former.substr(former.find('.')));
        const auto text = fmt::format("[{}]\n{} = 1\n", section, key.substr(1));
        const auto told = bad(text);
        const auto path = section.starts_with("route") ? "route.\"x\"" : section; // as the message shows it
        const auto wanted =
            fmt::format("f.toml:2:1: {0}{1} is now called {0}{2}", path, key, present.substr(present.find('.')));
        CHECK_MESSAGE(told.find(wanted) != told.npos, told);
    }
}

TEST_CASE("the sample and the manual's pages mention no former name") {
    std::vector<std::filesystem::path> files = {SOURCE_ROOT "/conf/postrider.toml", SOURCE_ROOT "/README.md"};
    for (const auto& page : std::filesystem::directory_iterator(SOURCE_ROOT "/man")) files.push_back(page.path());
    for (const auto& file : files) {
        const auto text = contents(file);
        for (const auto& [former, present] : config::renamed_keys())
            CHECK_MESSAGE(!mentions(text, is_section(former) ? fmt::format("[{}]", former) : std::string(former)),
                          file.string() << " mentions " << former << ", which is now called " << present);
    }
}
