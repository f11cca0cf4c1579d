#include "daemons/common/config/config.h"
#include "daemons/common/lookup/aliases/address_lint.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>

namespace {

struct Files {
    TemporaryDirectory here;
    config::Config config;

    std::string path(const std::string& name) const { return here.path().string() + "/" + name; }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path(name)) << text;
        return path(name);
    }
    std::string shown(const std::vector<common::AddressProblem>& odd) const {
        std::string out;
        for (const auto& each : odd) {
            auto text = each.text();
            for (auto at = text.find(path("")); at != text.npos; at = text.find(path("")))
                text.erase(at, path("").size());
            out += text + "\n";
        }
        return out;
    }
};

} // namespace

TEST_CASE("alias files and what they include are looked through, whoever includes it") {
    Files f;
    f.write("inner", "ok\nx@@y\n");
    f.write("list", fmt::format("# members\nann, \"bob\n:include:{}\n:include:{}\n:include:{}\n", f.path("inner"),
                                f.path("none"), f.path("list")));
    ::chmod(f.write("open", "ann\n").c_str(), 0666);
    const auto aliases =
        f.write("aliases", fmt::format("good: ann\nteam: :include:{0}, :include:{1}\nagain: :include:{0}\n"
                                       "bad: ok,\n foo@@x, :include:here\nalone\n",
                                       f.path("list"), f.path("open")));
    CHECK(f.shown(common::lint_alias_file(aliases)) ==
          "aliases, line 4: \"foo@@x\" is not a valid address: domain expected after @\n"
          "aliases, line 6: expected \"name: target\"\n"
          "aliases: :include:here: expected an absolute path\n"
          "list, line 2: \"\"bob\" is not a valid address: quoted string is not closed\n"
          "inner, line 2: \"x@@y\" is not a valid address: domain expected after @\n"
          "none: No such file or directory\n"
          "open: writable by others: chmod o-w\n");
    // Of the configuration: what somebody named must be there.
    f.config.local.aliases = {f.path("gone"), f.write("fine", "a: b\n")};
    CHECK(f.shown(common::lint_alias_files(f.config)) == "gone: No such file or directory\n");
}

TEST_CASE("tables whose values are addresses: by the key that names them") {
    Files f;
    f.config.mta.origin = "here.example";
    const auto table = "text:" + f.write("table", "good@x.example Ann <ann@y.example>, bob\n@x.example @y.example\n"
                                                  "bad@x.example ok@y.example,\n foo@@x\nopen@x.example \"never\n"
                                                  "alone\ninject@x.example ok@y.example> NOTIFY=NEVER\n");
    const auto bad = std::string(
        "table, line 3: bad@x.example: \"foo@@x\" is not a valid address: domain expected after @\n"
        "table, line 5: open@x.example: \"\"never\" is not a valid address: quoted string is not closed\n"
        "table, line 7: inject@x.example: \"ok@y.example> NOTIFY=NEVER\" is not a valid address: expected a comma\n");
    CHECK(f.shown(common::lint_table(f.config, table, "virtual_alias.tables").odd) == bad);
    CHECK(f.shown(common::lint_table(f.config, table, "canonical.sender").odd).find("line 7") != std::string::npos);
    CHECK(f.shown(common::lint_table(f.config, table, "transport.tables").odd) == "");
    CHECK(f.shown(common::lint_table(f.config, "regexp:" + f.path("table"), "virtual_alias.tables").odd) == "");
    const auto names = "text:" + f.write("names", "list ann, \"|prog -x\"\nodd \"|never\n");
    CHECK(f.shown(common::lint_table(f.config, names, "local.alias_tables").odd) ==
          "names, line 2: odd: a quote is not closed\n");
    f.config.local.aliases.clear();
    f.config.table_references = {{table, "virtual_alias.tables", 1, 1}, {table, "virtual_alias.tables", 2, 1}};
    CHECK(f.shown(common::lint_addresses(f.config)) == bad); // once
}

TEST_CASE("rules put nothing from an address into commands and files") {
    Files f;
    f.write("table", "/^a$/ |prog\n/^do-(.*)$/ |prog $1, ann\n/^(.*)-at$/ $1@far.example\n/^f(.)$/ /var/$1\n");
    const auto shown = f.shown(common::lint_table(f.config, "regexp:" + f.path("table"), "local.alias_tables").odd);
    CHECK(shown.find("line 2: \"prog $1\": $1") != shown.npos);
    CHECK(shown.find("line 4: \"/var/$1\": $1") != shown.npos);
    CHECK(shown.find("line 1") == shown.npos);
    CHECK(shown.find("line 3") == shown.npos);
}
