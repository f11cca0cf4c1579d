// Expansions of random graphs of aliases, thousands of them, against what plain reachability says.
#include "tests/decide/addressing/expansion_world.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <optional>
#include <random>

using namespace expansion_tests;

namespace {

constexpr int names = 12, files = 5, first_file = 100, runs = 5000;

std::string name_of(int n) { return "n" + std::to_string(n); }

// Where a target leads within the graph: to a name, or to an included file, which counts from first_file.
std::optional<int> followed(const std::string& target) {
    if (target.starts_with('n')) return std::stoi(target.substr(1));
    if (target.starts_with(":include:/")) return first_file + std::stoi(target.substr(10));
    return {};
}

// Names n0 … n11, some of them users, some aliases, some both; lists of one another, of users' mailboxes, of
// addresses elsewhere, of commands, of files /0 … /4 that they include, some of which are not there or not to be had.
struct Graph {
    std::map<int, std::vector<std::string>> entries;
    std::set<int> users, absent;

    explicit Graph(std::mt19937& chance) {
        const auto upto = [&](int n) { return static_cast<int>(chance() % static_cast<unsigned>(n)); };
        for (int n = 0; n < names; ++n) {
            if (upto(3) > 0) users.insert(n);
            if (upto(3) == 0) continue;
            for (int count = 1 + upto(4); count > 0; --count) {
                const auto other = upto(names);
                switch (upto(10)) {
                case 3: entries[n].push_back("!bad"); break;
                case 4: entries[n].push_back(fmt::format(":include:/{}", upto(files))); break;
                case 0: entries[n].push_back(fmt::format("x{}@far.example", upto(5))); break;
                case 1: entries[n].push_back(fmt::format("|prog{}", upto(3))); break;
                case 2: entries[n].push_back(fmt::format("\\n{}", other)); break;
                default: entries[n].push_back(name_of(other));
                }
            }
        }
        for (int file = first_file; file < first_file + files; ++file) {
            if (upto(3) == 0) absent.insert(file);
            for (int count = upto(4); count > 0; --count)
                entries[file].push_back(upto(4) == 0   ? fmt::format(":include:/{}", upto(files))
                                        : upto(3) == 0 ? fmt::format("x{}@far.example", upto(5))
                                                       : name_of(upto(names)));
            entries[file].push_back("x9@far.example");
        }
    }

    // As a world in which half of the lists of users are their own files: to the sum of who gets what that is the same.
    void put_into(World& w, std::mt19937& chance) const {
        w.users.clear();
        for (const int n : users) w.users[name_of(n)] = UserAnswer::known;
        for (const auto& [n, targets] : entries) {
            if (n < first_file) {
                (users.contains(n) && n % 2 == 0 ? w.forwards : w.aliases)[name_of(n)] = targets;
                continue;
            }
            const bool refused = chance() % 2 == 0;
            for (int reader = -1; reader < names; ++reader) {
                const auto path = fmt::format("{}/{}", reader < 0 ? "" : name_of(reader) + ":", n - first_file);
                if (!absent.contains(n) || refused) w.includes[path] = targets;
                if (absent.contains(n) && refused) w.unreadable.insert(path);
            }
        }
    }

    std::set<int> reachable_from(std::set<int> ahead) const {
        std::set<int> seen;
        while (!ahead.empty()) {
            const auto n = *ahead.begin();
            ahead.erase(ahead.begin());
            if (!seen.insert(n).second || !entries.contains(n) || absent.contains(n)) continue;
            for (const auto& target : entries.at(n))
                if (const auto next = followed(target)) ahead.insert(*next);
        }
        return seen;
    }
    bool on_a_circle(int n) const {
        std::set<int> next;
        if (entries.contains(n))
            for (const auto& target : entries.at(n))
                if (const auto to = followed(target)) next.insert(*to);
        return reachable_from(next).contains(n);
    }
    bool names_itself(int n) const { return entries.contains(n) && std::ranges::count(entries.at(n), name_of(n)) > 0; }
};

// Who must get the message, and who may: only where aliases run in a circle that is larger than one name does
// it depend on where it is entered whose mailbox it comes to.
struct Model {
    std::set<std::string> must, may;
    bool wrong = false; // something in a list is nothing, or a file of it is not there

    Model(const Graph& graph, const std::set<int>& from) {
        const auto mailbox = [&](int n, std::set<std::string>& to) {
            if (graph.users.contains(n)) to.insert("user " + name_of(n));
        };
        for (const int n : graph.reachable_from(from)) {
            if (graph.absent.contains(n)) wrong = true;
            if (graph.absent.contains(n)) continue;
            if (!graph.entries.contains(n)) {
                mailbox(n, must);
                continue;
            }
            if (graph.names_itself(n)) mailbox(n, must);
            if (graph.on_a_circle(n)) mailbox(n, may);
            for (const auto& target : graph.entries.at(n)) {
                if (target.starts_with('x')) must.insert(target);
                if (target.starts_with('|')) must.insert(target);
                wrong = wrong || target.starts_with('!');
                if (target.starts_with('\\')) mailbox(std::stoi(target.substr(2)), must);
            }
        }
        may.insert(must.begin(), must.end());
    }
};

} // namespace

TEST_CASE("random aliases: all who are meant get it, nobody else, and nobody twice") {
    std::mt19937 chance(20261122);
    for (int run = 0; run < runs; ++run) {
        const Graph graph(chance);
        World w;
        graph.put_into(w, chance);
        std::set<int> from;
        Texts to;
        for (int count = 1 + run % 3; count > 0; --count) {
            const int n = static_cast<int>(chance() % names);
            if (from.insert(n).second) to.push_back(name_of(n) + "@here.example");
        }
        const Model model(graph, from);
        const auto got = w.expanded(to);
        REQUIRE(got.unanswered.empty());
        w.stage = 1 + static_cast<std::size_t>(run) % 7;
        CHECK_MESSAGE(w.expanded(to).recipients == got.recipients, "in stages, in run ", run);
        std::set<std::string> copies, keys;
        std::set<std::uint32_t> indexes;
        bool waits = false;
        for (const auto& one : got.recipients) {
            indexes.insert(one.origin);
            waits = waits || one.fate == spool::Fate::unknown;
            if (one.fate != spool::Fate::local && one.fate != spool::Fate::remote) continue;
            const auto& address = one.changed ? one.address : to[one.origin];
            CHECK_MESSAGE(
                keys.insert(decide::duplicate_key({address, one.user, one.target, one.transport, to[one.origin]},
                                                  decide::Mailboxes::files, smtp::lowered))
                    .second,
                "twice in run ", run);
            copies.insert(!one.target.empty() ? one.target : !one.user.empty() ? "user " + one.user : address);
        }
        CHECK(indexes.size() == to.size());
        CHECK_MESSAGE(waits == model.wrong, "in run ", run);
        for (const auto& each : model.must) CHECK_MESSAGE(copies.contains(each), each, " in run ", run);
        for (const auto& each : copies) CHECK_MESSAGE(model.may.contains(each), each, " in run ", run);
    }
}

// Who gets a copy by this expansion: by what tells copies apart, what is seen of them.
std::map<std::string, std::string> copies_by(const decide::ExpansionResult& got, const Texts& to) {
    std::map<std::string, std::string> out;
    for (const auto& one : got.recipients) {
        if (one.fate != spool::Fate::local && one.fate != spool::Fate::remote) continue;
        const auto& address = one.changed ? one.address : to[one.origin];
        out.emplace(decide::duplicate_key({address, one.user, one.target, one.transport, to[one.origin]},
                                          decide::Mailboxes::files, smtp::lowered),
                    !one.target.empty() ? one.target
                    : !one.user.empty() ? "user " + one.user
                                        : address);
    }
    return out;
}

TEST_CASE("random aliases whose files come back: what waited gets it then, and nobody who has it gets it again") {
    std::mt19937 chance(20261123);
    int mended = 0;
    for (int run = 0; run < runs; ++run) {
        Graph graph(chance);
        World w;
        graph.put_into(w, chance);
        const int n = static_cast<int>(chance() % names);
        const Texts to = {name_of(n) + "@here.example"};
        const auto first = w.expanded(to);
        const Model incomplete(graph, {n});
        graph.absent.clear();
        const Model model(graph, {n});
        const auto before = copies_by(first, to);
        World later;
        graph.put_into(later, chance);
        const auto second = later.expanded(to);
        std::map<std::string, std::string> after = before;
        std::set<std::string> seen;
        for (const auto& [key, copy] : before) seen.insert(copy);
        for (const auto& [key, copy] : copies_by(second, to))
            if (after.emplace(key, copy).second) {
                CHECK_MESSAGE((key.starts_with("for ") || seen.insert(copy).second), copy, " twice in run ", run);
                ++mended;
            }
        std::set<std::string> copies;
        for (const auto& [key, copy] : after) copies.insert(copy);
        for (const auto& each : incomplete.must)
            CHECK_MESSAGE(std::ranges::count(before, each, [](const auto& pair) { return pair.second; }) > 0, each,
                          " waited in run ", run);
        for (const auto& each : model.must) CHECK_MESSAGE(copies.contains(each), each, " in run ", run);
        for (const auto& each : copies)
            CHECK_MESSAGE((model.may.contains(each) || incomplete.may.contains(each)), each, " in run ", run);
        if (!model.wrong)
            CHECK(std::ranges::none_of(second.recipients,
                                       [](const auto& one) { return one.fate == spool::Fate::unknown; }));
    }
    CHECK(mended > runs / 20);
}

TEST_CASE("random tables that know only later: every run needs less, and the end is the same") {
    std::mt19937 chance(7);
    for (int run = 0; run < 300; ++run) {
        const Graph graph(chance);
        World w;
        graph.put_into(w, chance);
        w.settings.questions = 1 + static_cast<std::size_t>(run) % 5;
        w.stage = 1 + static_cast<std::size_t>(run) % 3;
        const Texts to = {"n0@here.example", "n1@here.example"};
        const auto wanted = w.expand(to);
        for (int n = 0; n < names; ++n) w.unknown_yet.insert(name_of(n));
        int rounds = 0;
        for (;; ++rounds) {
            const auto got = w.expanded(to);
            if (got.unanswered.empty()) break;
            for (const auto& need : got.unanswered) w.unknown_yet.erase(need.name);
        }
        CHECK(w.expand(to) == wanted);
        CHECK(rounds <= names);
    }
}
