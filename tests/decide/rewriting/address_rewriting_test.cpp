#include "daemons/decide/rewriting/address_rewriting.h"
#include "libsmtp/text/text.h"
#include <doctest/doctest.h>
#include <map>

using namespace decide;

namespace {

using Entries = std::map<std::string, std::string>;

struct RewritingWorld {
    std::map<std::string, Entries> tables;
    std::set<std::string> unreadable, not_yet;
    RewritingSettings settings{"example.com", '+',
                               [](std::string_view domain, Lookups&) { return domain == "here.example"; },
                               RewritingSettings::Extension::dropped};
    std::set<LookupRequest> needed;
    std::string warning;

    std::string rewrite(std::string_view address, const std::vector<std::string>& names = {"text:/t"}) {
        ExpansionTables asked;
        asked.table = [this](const std::string& table, const std::string& key) -> TableAnswer {
            if (unreadable.contains(table)) return {TableAnswer::Status::unreadable, "", table + ": Permission denied"};
            if (not_yet.contains(key)) return {TableAnswer::Status::not_yet, "", ""};
            const auto found = tables[table].find(smtp::lowered(key));
            if (found == tables[table].end()) return {};
            return {TableAnswer::Status::found, found->second, ""};
        };
        Lookups lookups(asked);
        const auto out = rewritten_address(address, "", names, settings, lookups);
        needed = std::move(lookups.unanswered());
        warning = out.warning;
        switch (out.status) {
        case RewrittenAddress::Status::unchanged: return "=";
        case RewrittenAddress::Status::rewritten: return out.address;
        case RewrittenAddress::Status::pending: return "?";
        case RewrittenAddress::Status::failed: break;
        }
        return "! " + out.why;
    }
};

} // namespace

TEST_CASE("forms in which an address is looked up, and the address that is found") {
    struct Case {
        Entries entries;
        std::string address, becomes;
    };
    const Case cases[] = {
        {{}, "ann@here.example", "="},
        {{{"ann@here.example", "a.smith@example.com"}}, "ann@here.example", "a.smith@example.com"},
        {{{"ann@here.example", "a.smith@example.com"}}, "Ann@HERE.example", "a.smith@example.com"},
        {{{"ann@here.example", "ann@here.example"}}, "ann@here.example", "="},
        {{{"ann@here.example", "a.smith"}}, "ann@here.example", "a.smith@example.com"},
        {{{"ann@here.example", "A. Smith <a.smith@example.com>"}}, "ann@here.example", "a.smith@example.com"},
        {{{"ann@here.example", "@example.com"}}, "ann@here.example", "ann@example.com"},
        {{{"ann@here.example", "\"a b\"@example.com"}}, "ann@here.example", "\"a b\"@example.com"},
        {{{"ann", "a.smith@example.com"}}, "ann@here.example", "a.smith@example.com"},
        {{{"ann", "a.smith@example.com"}}, "ann@there.example", "="},
        {{{"ann", "a.smith@example.org"}}, "ann@Example.com", "a.smith@example.org"}, // the origin
        {{{"ann", "a.smith@example.com"}}, "ann", "a.smith@example.com"},
        {{{"@here.example", "all@example.com"}}, "ann@here.example", "all@example.com"},
        {{{"@here.example", "@example.com"}}, "ann@here.example", "ann@example.com"},
        {{{"@here.example", "@example.com"}}, "ann@host.here.example", "="},
        {{{"@there.example", "@example.com"}}, "ann@there.example", "ann@example.com"},
        {{{"@here.example", "@example.com"}}, "\"a b\"@here.example", "\"a b\"@example.com"},
        {{{"@here.example", "@example.com"}, {"ann@here.example", "ann@special.example"}},
         "ann@here.example",
         "ann@special.example"},
        // extensions
        {{{"ann@here.example", "a.smith@example.com"}}, "ann+x@here.example", "a.smith@example.com"},
        {{{"ann+x@here.example", "x@example.com"}, {"ann@here.example", "a@example.com"}},
         "ann+x@here.example",
         "x@example.com"},
        {{{"ann", "a.smith@example.com"}}, "ann+x@here.example", "a.smith@example.com"},
        {{{"ann+x", "x@example.com"}}, "ann+x@here.example", "x@example.com"},
        {{{"@here.example", "@example.com"}}, "ann+x@here.example", "ann+x@example.com"},
        {{{"ann@here.example", "@example.com"}}, "ann+x@here.example", "ann+x@example.com"},
    };
    for (const auto& each : cases) {
        RewritingWorld world;
        world.tables["text:/t"] = each.entries;
        CAPTURE(each.address);
        CHECK(world.rewrite(each.address) == each.becomes);
    }
}

TEST_CASE("an extension is added to the result where that is configured") {
    RewritingWorld world;
    world.settings.extension = RewritingSettings::Extension::added_to_result;
    world.tables["text:/t"] = {{"ann@here.example", "a.smith@example.com"}, {"@there.example", "all@example.com"}};
    CHECK(world.rewrite("ann+x@here.example") == "a.smith+x@example.com");
    CHECK(world.rewrite("ann@here.example") == "a.smith@example.com");
    CHECK(world.rewrite("ann+x@there.example") == "all@example.com");
    world.settings.delimiter = '\0';
    CHECK(world.rewrite("ann+x@here.example") == "=");
}

TEST_CASE("tables that have no answer yet, that fail, and invalid values") {
    RewritingWorld world;
    world.tables["text:/u"] = {{"ann@here.example", "second@example.com"}};
    CHECK(world.rewrite("ann@here.example", {"text:/t", "text:/u"}) == "second@example.com");
    world.tables["text:/t"]["ann@here.example"] = "first@example.com";
    CHECK(world.rewrite("ann@here.example", {"text:/t", "text:/u"}) == "first@example.com");
    world.not_yet = {"bob@here.example", "bob"};
    CHECK(world.rewrite("bob@here.example") == "?");
    CHECK(world.needed.size() == 2);
    world.tables["text:/t"]["carol@here.example"] = "<x@@y>";
    CHECK(world.rewrite("carol@here.example").starts_with("! text:/t: invalid value for <carol@here.example>: "));
    world.unreadable = {"text:/t"};
    CHECK(world.rewrite("ann@here.example") == "! text:/t: Permission denied");
    CHECK(world.rewrite("ann@here.example", {}) == "=");
}

TEST_CASE("entries that form a circle: the tenth result, and a warning") {
    RewritingWorld world;
    world.tables["text:/t"] = {{"ann@far.example", "bob@far.example"},
                               {"bob@far.example", "ann@far.example"},
                               {"one@far.example", "two@far.example"},
                               {"two@far.example", "three@far.example"},
                               {"three@far.example", "one@far.example"}};
    world.settings.repeated = true;
    CHECK(world.rewrite("ann@far.example") == "=");
    CHECK(world.warning == "text:/t: <ann@far.example> is replaced again and again: the result number 10 is used");
    CHECK(world.rewrite("one@far.example") == "two@far.example");
    CHECK(world.rewrite("nobody@far.example") == "=");
    CHECK(world.warning == "");
}
