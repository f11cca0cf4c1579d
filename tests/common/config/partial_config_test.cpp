// What is known of a configuration with mistakes: enough to find the system that runs, or nothing.
#include "daemons/common/config/partial_config.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>

namespace {

std::expected<config::PartialConfig, std::vector<config::Problem>> draft_of(std::string_view text) {
    TemporaryDirectory place;
    place.write("postrider.toml", std::string(text));
    return config::load_partial(place.path() / "postrider.toml", {"mail.example.com", "alice", 4});
}

} // namespace

TEST_CASE("mistakes elsewhere leave the rest as it stands") {
    const auto partial = draft_of("[spool]\ndirectory = \"/srv/spool\"\n[smtp]\nworkers = 3\n[smtpd]\nworkers = \"x\"\n"
                                  "[master]\nstop_timeout = \"7s\"\n[local]\naliases = [\"/nonexistent/aliases\"]\n");
    REQUIRE(partial);
    CHECK(partial->config.spool.directory == "/srv/spool");
    CHECK(partial->config.master.stop_timeout == std::chrono::seconds(7));
    CHECK(partial->problems.size() == 2);
    const auto named_alike = draft_of(
        "[spool]\ndirectory = \"/srv/spool\"\n[smtp_client]\nown_names = [\"spool\"]\n[log]\nlevel = \"spool\"\n");
    REQUIRE(named_alike); // the words of a problem decide nothing
    CHECK(named_alike->config.spool.directory == "/srv/spool");
    const auto good = draft_of("[mta]\nhostname = \"mx.example.com\"\n");
    REQUIRE(good);
    CHECK(good->problems.empty());
    CHECK(good->config.mta.hostname == "mx.example.com");
}

TEST_CASE("where the spool lies must be known, and the text be TOML") {
    for (const auto* text : {"[spool]\ndirectory = 3\n", "[spol]\ndirectory = \"/srv/spool\"\n",
                             "[spool]\ndirectry = \"/srv/spool\"\n", "[spool]\ndirectory = \"\"\n", "spool = 1\n",
                             "directory = \"/srv/spool\"\n", "[smtpd]\ndirectory = \"/srv/spool\"\n",
                             "[spool]\nminimum_free = true\n", "[spool\n", "hostname = mail.example.com\n"}) {
        const auto partial = draft_of(text);
        CHECK_MESSAGE(!partial, text);
        if (!partial) CHECK(!partial.error().empty());
    }
    CHECK(!config::load_partial("/nonexistent/postrider.toml"));
}
