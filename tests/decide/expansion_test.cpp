#include "daemons/decide/expansion.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>

using decide::AliasAnswer;
using decide::AliasTarget;
using decide::FinalRecipient;
using decide::UserAnswer;
using Kind = AliasTarget::Kind;

namespace {

struct World {
    std::map<std::string, std::vector<std::string>> aliases;
    std::map<std::string, UserAnswer> users = {{"alice", UserAnswer::known},
                                               {"bob", UserAnswer::known},
                                               {"carol", UserAnswer::known},
                                               {"root", UserAnswer::known}};
    std::string unreadable; // every alias question about this name fails
    decide::ExpansionSettings settings;
    bool null_sender = false;

    World() {
        settings.is_local = [](std::string_view domain) {
            return domain == "here.example" || domain == "localhost";
        };
        settings.origin = "here.example";
        settings.postmaster = "root";
    }
    decide::ExpansionTables tables() const {
        return {[this](const std::string& name) -> AliasAnswer {
                    if (name == unreadable)
                        return {AliasAnswer::Said::unreadable, {}, "aliases: Permission denied"};
                    const auto found = aliases.find(name);
                    if (found == aliases.end()) return {};
                    AliasAnswer out{AliasAnswer::Said::found, {}, ""};
                    for (const auto& target : found->second) {
                        if (target.starts_with('|'))
                            out.targets.push_back({Kind::command, target.substr(1)});
                        else if (target.starts_with('\\'))
                            out.targets.push_back({Kind::user, target.substr(1)});
                        else
                            out.targets.push_back({Kind::address, target});
                    }
                    return out;
                },
                [this](const std::string& name) {
                    const auto found = users.find(name);
                    return found == users.end() ? UserAnswer::unknown : found->second;
                }};
    }
    // "0:local alice", "0:remote x@y via owner-l@here.example", "1:failed 5.1.1", in order.
    std::string expand(const std::vector<std::string>& to) const {
        std::vector<decide::EnvelopeRecipient> envelope;
        for (const auto& address : to)
            envelope.push_back({static_cast<std::uint32_t>(envelope.size()), address});
        const auto got = decide::expand(envelope, null_sender, settings, tables());
        std::string out;
        for (const auto& name : got.users_needed) out += "needs " + name;
        for (const auto& r : got.recipients) {
            constexpr std::string_view fates[] = {"remote", "local", "discard", "failed", "deferred"};
            out += fmt::format("{}{}:{}", out.empty() ? "" : "; ", r.index, fates[static_cast<int>(r.fate)]);
            if (!r.user.empty()) out += " " + r.user;
            if (r.changed && r.user.empty()) out += " " + r.address;
            if (!r.status.empty()) out += " " + r.status;
            if (!r.reverse_path.empty()) out += " via " + r.reverse_path;
        }
        return out;
    }
    std::string check(std::string_view address) const {
        constexpr std::string_view verdicts[] = {"known", "unknown", "not ours", "try later", "not yet"};
        return std::string(
            verdicts[static_cast<int>(decide::check_recipient(address, settings, tables()).verdict)]);
    }
};

} // namespace

TEST_CASE("remote and local") {
    World w;
    CHECK(w.expand({"x@far.example"}) == "0:remote");
    CHECK(w.expand({"alice@here.example", "Bob@HERE.example", "x@far.example"}) ==
          "0:local alice; 1:local bob; 2:remote");
    CHECK(w.expand({"alice"}) == "0:local alice");
    CHECK(w.expand({"alice+lists@here.example"}) == "0:local alice");
    CHECK(w.expand({"nobody@here.example"}) == "0:failed 5.1.1");
    CHECK(w.expand({"\"a b\"@here.example"}) == "0:failed 5.1.1");
    CHECK(w.expand({"../etc@here.example"}).starts_with("0:failed 5.1."));
    w.settings.origin = "far.example";
    CHECK(w.expand({"alice"}) == "0:remote alice@far.example");
    CHECK(w.expand({"postmaster"}).starts_with("0:remote root@far.example"));
    w.settings.postmaster = "alice@here.example";
    CHECK(w.expand({"Postmaster"}) == "0:local alice");
}

TEST_CASE("aliases, lists, and lists of lists") {
    World w;
    w.aliases = {{"team", {"alice", "Bob@here.example", "x@far.example"}},
                 {"all", {"team", "carol", "alice"}},
                 {"boss", {"carol"}}};
    CHECK(w.expand({"team@here.example"}) == "0:local alice; 0:local bob; 0:remote x@far.example");
    CHECK(w.expand({"ALL"}) == "0:local alice; 0:local bob; 0:remote x@far.example; 0:local carol");
    CHECK(w.expand({"boss+x"}) == "0:local carol");
    w.aliases["boss+x"] = {"bob"};
    CHECK(w.expand({"boss+x"}) == "0:local bob");
    w.aliases["broken"] = {"nobody", "alice"};
    CHECK(w.expand({"broken"}) == "0:failed nobody@here.example 5.1.1; 0:local alice");
    w.aliases["empty"] = {};
    CHECK(w.expand({"empty"}) == "0:failed 5.4.6");
}

TEST_CASE("loops are cut") {
    World w;
    w.aliases = {
        {"alice", {"alice", "bob"}}, {"a", {"b"}}, {"b", {"a"}}, {"c", {"c", "carol"}}, {"self", {"self"}}};
    CHECK(w.expand({"alice"}) == "0:local alice; 0:local bob");
    CHECK(w.expand({"a"}) == "0:failed 5.4.6");
    CHECK(w.expand({"self@here.example"}) == "0:failed 5.4.6");
    CHECK(w.expand({"c"}) == "0:local carol");
    w.aliases["bob"] = {"\\bob", "alice"};
    CHECK(w.expand({"bob"}) == "0:local bob; 0:local alice");
}

TEST_CASE("depth and size have their limits") {
    World w;
    for (int i = 0; i < 60; ++i) w.aliases["d" + std::to_string(i)] = {"d" + std::to_string(i + 1)};
    w.aliases["d60"] = {"alice"};
    CHECK(w.expand({"d20"}) == "0:local alice");
    CHECK(w.expand({"d0"}) == "0:deferred 4.3.5");
    w.settings.recipients = 100;
    for (int i = 0; i < 101; ++i) w.aliases["many"].push_back("x" + std::to_string(i) + "@far.example");
    CHECK(w.expand({"many", "bob"}) == "0:deferred 4.3.5; 1:local bob");
    w.aliases["many"].pop_back();
    CHECK(w.expand({"many"}).starts_with("0:remote x0@far.example; "));
}

TEST_CASE("nobody gets a message twice, and every recipient has a fate") {
    World w;
    w.aliases = {{"team", {"alice", "bob", "X@Far.example"}}, {"two", {"alice"}}};
    CHECK(w.expand({"team", "alice@here.example"}) == "0:local bob; 0:remote X@Far.example; 1:local alice");
    CHECK(w.expand({"team", "X@far.EXAMPLE"}) == "0:local alice; 0:local bob; 1:remote");
    CHECK(w.expand({"x@far.example", "X@far.example"}) ==
          "0:remote; 1:remote"); // the local part is theirs to compare
    CHECK(w.expand({"x@far.example", "x@Far.example"}) == "0:remote; 1:discard 2.1.5");
    CHECK(w.expand({"alice", "two"}) == "0:local alice; 1:discard 2.1.5");
    CHECK(w.expand({"nobody", "nobody"}) == "0:failed 5.1.1; 1:failed 5.1.1");
}

TEST_CASE("reports on lists go to their owner") {
    World w;
    w.aliases = {{"list", {"alice", "x@far.example"}}, {"owner-list", {"bob"}}, {"outer", {"list", "carol"}}};
    CHECK(w.expand({"list"}) ==
          "0:local alice via owner-list@here.example; 0:remote x@far.example via owner-list@here.example");
    CHECK(w.expand({"outer"}) == "0:local alice via owner-list@here.example; 0:remote x@far.example via "
                                 "owner-list@here.example; 0:local carol");
    CHECK(w.expand({"owner-list"}) == "0:local bob");
    w.null_sender = true;
    CHECK(w.expand({"list"}) == "0:local alice; 0:remote x@far.example");
}

TEST_CASE("postmaster is always somebody") {
    World w;
    CHECK(w.expand({"postmaster@here.example", "bob"}) == "0:local root; 1:local bob");
    CHECK(w.expand({"Mailer-Daemon@localhost"}) == "0:local root");
    w.aliases["root"] = {"carol"};
    CHECK(w.expand({"postmaster"}) == "0:local carol");
    w.aliases["postmaster"] = {"bob"};
    CHECK(w.expand({"postmaster"}) == "0:local bob");
    w.aliases["postmaster"] = {"postmaster"};
    CHECK(w.expand({"postmaster"}) == "0:failed 5.4.6");
}

TEST_CASE("what cannot be known now is deferred as a whole, never bounced") {
    World w;
    w.aliases = {{"team", {"alice", "x@far.example", "|prog arg"}}, {"mixed", {"alice", "dora"}}};
    CHECK(w.expand({"team", "bob"}) == "0:deferred 4.3.5; 1:local bob");
    w.unreadable = "bob";
    CHECK(w.expand({"bob", "alice"}) == "0:deferred 4.3.0; 1:local alice");
    w.users["dora"] = UserAnswer::unreadable;
    CHECK(w.expand({"mixed"}) == "0:deferred 4.3.0");
    w.users["dora"] = UserAnswer::not_yet;
    CHECK(w.expand({"mixed", "alice"}) == "needs dora");
}

TEST_CASE("recipients are checked without following aliases") {
    World w;
    w.aliases = {{"team", {"nobody"}}};
    CHECK(w.check("alice@here.example") == "known");
    CHECK(w.check("Alice+x@localhost") == "known");
    CHECK(w.check("team@here.example") == "known");
    CHECK(w.check("postmaster@here.example") == "known");
    CHECK(w.check("postmaster") == "known");
    CHECK(w.check("nobody@here.example") == "unknown");
    CHECK(w.check("a b@here.example") == "unknown");
    CHECK(w.check("alice@far.example") == "not ours");
    w.users["dora"] = UserAnswer::not_yet;
    CHECK(w.check("dora@here.example") == "not yet");
    w.unreadable = "team";
    CHECK(w.check("team@here.example") == "try later");
}
