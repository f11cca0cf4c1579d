// What is written of the configuration: the sample, the manual's pages and their examples.
#include "daemons/common/config/documents/documents.h"
#include "daemons/common/config/fixed_sections.h"
#include "daemons/common/config/load.h"
#include "daemons/common/config/sections/key_tables.h"
#include "tests/common/config/reading.h"
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

using namespace config::testing;
using config::Config;

namespace {
std::string contents(const std::string& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}
} // namespace

TEST_CASE("the sample and the manual hold every key, and the sample is right") {
    const auto root = std::string(SOURCE_ROOT);
    CHECK_MESSAGE(contents(root + "/conf/postrider.toml") == config::sample(),
                  "run: config-documents sample > conf/postrider.toml");
    CHECK_MESSAGE(contents(root + "/man/postrider.toml.5") == config::manual(),
                  "run: config-documents manual > man/postrider.toml.5");
    good(config::sample());

    // With every comment sign before a key taken away it still parses, and means what it says.
    std::string all, line;
    std::istringstream text(config::sample());
    while (std::getline(text, line)) {
        if (line.starts_with('#') && !line.starts_with("# ") && line.size() > 1) line.erase(0, 1);
        all += line + "\n";
    }
    const auto given = good(all);
    const auto plain = good("");
    CHECK(given.smtpd.minimum_rate == plain.smtpd.minimum_rate);
    CHECK(given.smtp_client.final_dot_timeout == plain.smtp_client.final_dot_timeout);
    CHECK(given.spool.directory == plain.spool.directory);

    Config config;
    config::Listener listener;
    decide::RouteRule rule;
    auto sections = config::fixed_sections(config);
    sections.push_back(config::section_for(listener));
    sections.push_back(config::section_for(rule));
    for (const auto& section : sections)
        for (const auto& key : section.keys) {
            CHECK(config::sample().find(fmt::format("\n#{} = ", key.name)) != std::string::npos);
            CHECK(config::manual().find(fmt::format("\n.It Cm {} ", key.name)) != std::string::npos);
            CHECK_MESSAGE(key.meaning.ends_with('.'), key.name);
        }
}

TEST_CASE("the sample and the manual say what a value may be") {
    CHECK(config::sample().find("# Number of consecutive failures at which the state changes from glitch to retry. "
                                "[1 to 100]\n") != std::string::npos);
    CHECK(config::sample().find("# Wait after each failure that counts as a glitch. [1s to 1d]\n") !=
          std::string::npos);
    CHECK(config::manual().find("\n.It Cm glitch_count No = 3 Pq integer, 1 to 100\n") != std::string::npos);
    CHECK(config::manual().find("\n.It Cm glitch_interval No = \\(dq1m\\(dq Pq duration, 1s to 1d\n") !=
          std::string::npos);
}

TEST_CASE("mandoc finds nothing odd in the manual's pages") {
    if (std::system("command -v mandoc >/dev/null") != 0) return;
    const auto is_page = [](const std::filesystem::path& path) { // named by its section
        const auto section = path.extension().string();
        return section.size() == 2 && section[1] >= '1' && section[1] <= '8';
    };
    for (const auto& page : std::filesystem::recursive_directory_iterator(SOURCE_ROOT "/man"))
        if (is_page(page.path()))
            CHECK_MESSAGE(
                std::system(
                    fmt::format("! mandoc -T lint -W style {} 2>/dev/null | grep -Ev 'referenced manual not found|"
                                "operating system explicitly'",
                                page.path().string())
                        .c_str()) == 0,
                page.path().string());
}

TEST_CASE("the manual's examples of configurations are right") {
    const auto root = std::string(SOURCE_ROOT) + "/man/";
    int examples = 0;
    for (const std::string page : {"postrider.toml.5", "postrider-credentials.5", "postrider-smtp-client.8"}) {
        auto text = contents(root + page);
        text.erase(0, text.find(".Sh EXAMPLES"));
        for (auto begin = text.find(".Bd -literal"); begin != text.npos; begin = text.find(".Bd -literal", begin)) {
            begin = text.find('\n', begin) + 1;
            const auto example = text.substr(begin, text.find(".Ed", begin) - begin);
            if (example.find(" = ") == example.npos) continue; // commands, or another file
            CHECK_MESSAGE(config::parse(example, "f.toml", machine), page << ":\n" << example);
            ++examples;
        }
    }
    CHECK(examples >= 9);
}
