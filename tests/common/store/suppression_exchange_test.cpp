// Suppression lists of several nodes: whatever the order in which changes reach them, they become the same.
#include "daemons/common/store/suppression_exchange.h"
#include "daemons/common/store/suppression_list.h"
#include "tests/common/store/memory_store.h"
#include <doctest/doctest.h>

using common::SharedSuppression;
using common::SuppressionExchange;
using common::SuppressionList;
using decide::Suppression;
using namespace std::chrono_literals;
using Changes = std::vector<SuppressionExchange::Change>;

namespace {

const smtp::WallTime now{1'795'305'600s};

struct Node {
    MemoryStore* memory = new MemoryStore;
    SuppressionList list{std::unique_ptr<store::Store>(memory)};

    Node() { list.share(true); }
    void put(const std::string& recipient, smtp::WallTime at, const std::string& reason = "why",
             smtp::WallTime expires = {}) {
        const Suppression one{recipient, {}, reason, "", "root", false, at, expires};
        REQUIRE(list.put(std::span(&one, 1), at));
    }
    bool erase(const std::string& recipient, smtp::WallTime at) {
        const Suppression one{.recipient = recipient, .scope = {}, .reason = {}, .reply = {}, .who = {}};
        return list.erase(std::span(&one, 1), at).value().front();
    }
    Changes unsent() { return list.exchange().unsent("", 100, now).value(); }
    void sent(const Changes& changes) { REQUIRE(list.exchange().sent(changes, now)); }
    SuppressionExchange::Merged merge(const Changes& changes, smtp::WallTime at = now) {
        return list.exchange()
            .merge(
                changes, std::nullopt, [](const auto& entry) { return entry.recipient.starts_with("no@"); }, at)
            .value();
    }
    Changes all(smtp::WallTime at = now) {
        Changes out;
        for (std::string after;;) {
            const auto before = after;
            const auto some = list.exchange().all(after, 2, at).value();
            out.insert(out.end(), some.begin(), some.end());
            if (after == before) return out;
        }
    }
    std::string reason(const std::string& recipient, smtp::WallTime at = now) {
        const auto found = list.entry(recipient, {}, at).value();
        return found ? found->reason : "";
    }
};

} // namespace

TEST_CASE("a change as text, and what is none") {
    const SharedSuppression one{now, now + 1h, "bytes"};
    CHECK(one.text() == "1795305600000000P1795309200000000bytes");
    const auto read = SharedSuppression::parse(one.text());
    REQUIRE(read);
    CHECK(read->changed == now);
    CHECK(read->expires == now + 1h);
    CHECK(read->entry == "bytes");
    CHECK(SharedSuppression::parse(SharedSuppression::erased(now).text())->entry.empty());
    for (const std::string bad :
         {"", "1795305600000000P", "1795305600000000X1795309200000000bytes", "1795305600000000E1795309200000000bytes",
          "1795305600000000P1795309200000000", "179530560000000xP1795309200000000b"})
        CHECK_FALSE(SharedSuppression::parse(bad));
    CHECK_FALSE(SharedSuppression::parse(one.text() + std::string(SharedSuppression::longest, 'x')));
}

TEST_CASE("changes wait until they are shared, and reach the other node") {
    Node a, b;
    a.put("ann@x.example", now);
    a.put("bob@x.example", now);
    CHECK(a.unsent().size() == 2);
    const auto first = a.unsent();
    a.put("bob@x.example", now, "again"); // meanwhile
    a.sent(first);
    REQUIRE(a.unsent().size() == 1);
    CHECK(b.merge(first).added.size() == 2);
    CHECK(b.reason("bob@x.example") == "why");
    CHECK(b.unsent().empty()); // it is not b's to share
    CHECK(b.merge(a.unsent()).added.size() == 1);
    CHECK(b.reason("bob@x.example") == "again");
    CHECK(b.merge(a.unsent()).added.empty()); // once is enough
    a.sent(a.unsent());
    CHECK(a.unsent().empty());
    CHECK(a.erase("ann@x.example", now));
    CHECK_FALSE(a.erase("ann@x.example", now));
    const auto merged = b.merge(a.unsent());
    REQUIRE(merged.removed.size() == 1);
    CHECK(merged.removed[0].recipient == "ann@x.example");
    CHECK(b.reason("ann@x.example").empty());
}

TEST_CASE("the newest wins, in whatever order changes come, and whatever a clock says") {
    Node a, b;
    a.put("ann@x.example", now, "old");
    const auto old = a.unsent();
    b.put("ann@x.example", now + 1s, "new");
    const auto fresh = b.unsent();
    CHECK(a.merge(fresh).added.size() == 1);
    CHECK(b.merge(old).added.empty());
    CHECK(a.reason("ann@x.example") == "new");
    CHECK(b.reason("ann@x.example") == "new");
    CHECK(a.unsent().empty()); // what was overtaken is not shared any longer
    // a's clock is behind: what an operator does there after having seen the entry is newer nevertheless.
    CHECK(a.erase("ann@x.example", now - 1h));
    CHECK(b.merge(a.unsent()).removed.size() == 1);
    CHECK(b.merge(fresh).added.empty()); // an erasure is remembered
    b.put("ann@x.example", now - 2h, "once more");
    CHECK(a.merge(b.unsent()).added.size() == 1);
    // In the same µs: both choose alike.
    Node c, d;
    c.put("eve@x.example", now, "one");
    d.put("eve@x.example", now, "two");
    const auto from_c = c.unsent(), from_d = d.unsent();
    c.merge(from_d);
    d.merge(from_c);
    CHECK(c.reason("eve@x.example") == d.reason("eve@x.example"));
}

TEST_CASE("a full copy has entries and erasures; bookkeeping is no entry") {
    Node a, b;
    for (const auto* each : {"a@x.example", "b@x.example", "c@x.example", "d@x.example"}) a.put(each, now);
    a.erase("b@x.example", now + 1s);
    b.put("b@x.example", now, "older than the erasure");
    CHECK(a.all().size() == 4);
    b.merge(a.all());
    CHECK(b.reason("b@x.example").empty());
    std::string after;
    CHECK(b.list.walk(after, 100, now).value().size() == 3);
    Node empty;
    CHECK(empty.list.empty(now).value());
    empty.put("a@x.example", now);
    empty.erase("a@x.example", now);
    CHECK(empty.list.empty(now).value());
    after.clear();
    CHECK(empty.list.walk(after, 100, now).value().empty());
}

TEST_CASE("what another node sends is not trusted") {
    Node a;
    const auto value = [](const Suppression& entry) {
        return SharedSuppression::of(common::suppression_entry(entry, now)).text();
    };
    const Suppression odd{"ann@x.example", {}, "two\r\nlines", "", "root", false, now, {}};
    const auto key = decide::suppression_key("ann@x.example", {});
    CHECK(a.merge({{key, value(odd)}}).added.size() == 1);
    CHECK(a.reason("ann@x.example").find('\n') == std::string::npos);
    for (const std::string bad : {"", "nonsense", "1795305600000000P0000000000000000\xff\xff"})
        CHECK(a.merge({{decide::suppression_key("bob@x.example", {}), bad}}).added.empty());
    CHECK(a.merge({{"\x01p", value(odd)}, {"", value(odd)}, {std::string(500, 'x'), value(odd)}}).added.empty());
    CHECK(a.merge({{decide::suppression_key("no@x.example", {}), value(odd)}})
              .added.empty()); // the local postmaster, say
    CHECK(a.list.exchange().position(now).value() == SuppressionExchange::Position{});
}

TEST_CASE("expired entries are not added; a newer one that has expired replaces what is there") {
    Node a, b;
    a.put("ann@x.example", now, "short", now + 1h);
    b.merge(a.unsent(), now + 2h);
    CHECK(b.reason("ann@x.example", now).empty());
    Node c;
    c.put("ann@x.example", now - 1s, "for ever");
    CHECK(c.merge(a.unsent(), now + 2h).removed.size() == 1);
    // What is put after an expired entry was heard of is newer than that.
    b.put("ann@x.example", now - 1s, "for ever");
    CHECK(b.merge(a.unsent(), now + 2h).removed.empty());
}

TEST_CASE("how far the others have been followed; and starting over") {
    Node a;
    const SuppressionExchange::Position here{"id/run", 42};
    REQUIRE(a.list.exchange().merge({}, here, [](const auto&) { return false; }, now));
    CHECK(a.list.exchange().position(now).value() == here);
    REQUIRE(a.list.exchange().forget(now));
    CHECK(a.list.exchange().position(now).value() == SuppressionExchange::Position{});
    // A list that was not shared before is offered as a whole.
    Node alone;
    alone.list.share(false);
    alone.put("ann@x.example", now);
    CHECK(alone.unsent().empty());
    CHECK(alone.all().size() == 1);
}

TEST_CASE("changes that were not sent are forgotten with the fleet, and what is sent is not sent again") {
    Node a;
    a.put("ann@x.example", now);
    a.erase("ann@x.example", now);
    a.put("ann@x.example", now, "short", now + 1h);
    REQUIRE(a.unsent().size() == 1);
    a.list.share(false);
    REQUIRE(a.list.exchange().forget(now));
    CHECK(a.unsent().empty());
    CHECK(a.memory->walk("\x01", "", 10, now).value().empty()); // an earlier release could not read it
    CHECK(a.reason("ann@x.example") == "short");
    // Even if an entry was put meanwhile without a word, by whatever clock.
    for (const auto at : {now + 1s, now - 1h}) {
        Node b;
        b.put("ann@x.example", now);
        b.list.share(false);
        b.put("ann@x.example", at, "alone");
        b.list.share(true);
        REQUIRE(b.unsent().size() == 1);
        b.sent(b.unsent());
        CHECK(b.unsent().empty());
    }
    // Nor does a mark remain that nobody can read.
    const auto odd = store::Change::put(std::string("\x01o") + decide::suppression_key("eve@x.example", {}), {"?", {}});
    REQUIRE(a.memory->apply(std::span(&odd, 1), now, store::Durable::now));
    a.sent(a.unsent());
    CHECK(a.unsent().empty());
}

TEST_CASE("an entry with an end that replaced one without is not undone by a node that was away") {
    Node a, b, away;
    a.put("ann@x.example", now - 1h, "for ever");
    b.merge(a.unsent());
    away.merge(a.unsent());
    a.put("ann@x.example", now, "until tomorrow", now + 24h);
    b.merge(a.unsent());
    const auto later = now + 48h;
    const auto offered = away.all(later), known = a.all(later);
    for (auto* each : {&a, &b}) {
        CHECK(each->reason("ann@x.example", later).empty());
        CHECK(each->merge(offered, later).added.empty());
        CHECK(each->reason("ann@x.example", later).empty());
    }
    CHECK(known.size() == 1);
    CHECK(away.merge(known, later).removed.size() == 1);
    CHECK(away.merge(known, later).removed.empty());
    // As long as it lasts, nothing but the entry is offered; an expired value of another node does the same.
    CHECK(b.all(now).size() == 1);
    Node other;
    other.put("ann@x.example", now - 1h, "for ever");
    CHECK(other.merge(a.unsent(), later).removed.size() == 1);
    CHECK(other.merge(away.all(later), later).added.empty());
}

TEST_CASE("the store cannot write what is kept beside the entries, nor entries that nobody could find") {
    Node a;
    const Suppression one{"ann@x.example", {}, "why", "", "root", false, now, {}};
    const auto value = SharedSuppression::of(common::suppression_entry(one, now)).text();
    using namespace std::string_literals;
    for (const auto& key :
         {"\x01oann@x.example\0"s, "\x01tann@x.example\0"s, "\x01p\0"s, "\0ann@x.example"s, "\0\0"s, "nobody\0"s,
          "Ann@X.example\0"s, "ann@x.example\0Y.example"s, "ann@x.example\0lane=odd"s, "two words@x.example@\0"s})
        CHECK(a.merge({{key, value}, {key, SharedSuppression::erased(now).text()}}).added.empty());
    CHECK(a.memory->walk("", "", 100, now).value().empty());
    for (const auto& key : {"@x.example\0"s, "two words@x.example\0"s, "ann@x.example\0y.example"s,
                            "ann@x.example\0pool=P"s, "ann@x.example\0lane=bulk"s})
        CHECK(a.merge({{key, value}}).added.size() == 1);
}

TEST_CASE("a node with a list from before it joined makes no changes of what others have") {
    Node a, b;
    a.list.share(false);
    a.put("ann@x.example", now);
    a.put("bob@x.example", now, "short", now + 1h);
    a.list.share(true);
    CHECK(b.merge(a.all()).added.size() == 2);
    CHECK(a.all() == b.all());
    const auto back = a.merge(b.all());
    CHECK(back.added.empty());
    CHECK(back.removed.empty());
    // What was written in another form, and says the same, is no change either.
    auto foreign = a.all();
    for (auto& each : foreign) each.value += '\0';
    for (auto& each : foreign)
        if (SharedSuppression::parse(each.value)) CHECK(a.merge({each}).added.empty());
}

TEST_CASE("what an operator has put stays when another node adds the same automatically") {
    const auto automatic = [](const std::string& recipient, smtp::WallTime at) {
        return Suppression{recipient, {}, "550", "", "queue-manager", true, at, at + 24h};
    };
    Node a, b;
    a.put("ann@x.example", now, "asked for it");
    const auto one = automatic("ann@x.example", now + 1s);
    REQUIRE(b.list.put(std::span(&one, 1), now + 1s));
    const auto manual = a.unsent(), by_rule = b.unsent();
    CHECK(a.merge(by_rule).added.empty());
    CHECK(b.merge(manual).added.size() == 1);
    CHECK(a.reason("ann@x.example") == "asked for it");
    CHECK(b.reason("ann@x.example") == "asked for it");
    Node c;
    CHECK(c.merge({by_rule[0], manual[0]}).added.size() == 1); // in one message
    CHECK(c.reason("ann@x.example") == "asked for it");
    // It is removed like any other, and once it has expired, it is nothing.
    a.erase("ann@x.example", now + 2s);
    CHECK(b.merge(a.unsent()).removed.size() == 1);
    Node d, e;
    d.put("eve@x.example", now - 2h, "short", now - 1h);
    const auto two = automatic("eve@x.example", now);
    REQUIRE(e.list.put(std::span(&two, 1), now));
    CHECK(d.merge(e.unsent()).added.size() == 1);
}

TEST_CASE("a change from the future is not taken") {
    Node a;
    Node ahead;
    ahead.put("ann@x.example", now + 48h);
    ahead.put("bob@x.example", now + 23h);
    const auto merged = a.merge(ahead.unsent());
    CHECK(merged.future == 1);
    REQUIRE(merged.added.size() == 1);
    CHECK(merged.added[0].recipient == "bob@x.example");
}
