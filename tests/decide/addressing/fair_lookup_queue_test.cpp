// Whose question goes out when.
#include "daemons/decide/addressing/fair_lookup_queue.h"
#include <doctest/doctest.h>
#include <string>
#include <vector>

using decide::FairLookupQueue;
using decide::LookupRequest;

namespace {

constexpr FairLookupQueue::Requester list = 1, rcpt = 2, other = 3;

LookupRequest about(const std::string& key, const std::string& table = "people") {
    return {LookupRequest::Kind::table, table, key};
}

void ask_many(FairLookupQueue& turns, FairLookupQueue::Requester who, const std::string& name, int count,
              const std::string& table = "people") {
    for (int n = 0; n < count; ++n) turns.add(who, about(name + std::to_string(n), table));
}

// What goes out now, "l0 l1 ".
std::string out(FairLookupQueue& turns) {
    std::string all;
    while (const auto need = turns.next())
        all += (need->kind == LookupRequest::Kind::table ? need->key : need->name) + " ";
    return all;
}

} // namespace

TEST_CASE("a single question goes out next, however many another questioner has in line") {
    FairLookupQueue turns(4);
    ask_many(turns, list, "l", 20'000);
    CHECK(out(turns) == "l0 l1 l2 l3 ");
    turns.add(rcpt, about("ann"));
    CHECK(out(turns) == "");
    turns.answered(about("l1"));
    CHECK(out(turns) == "l4 "); // had its turn already
    turns.answered(about("l0"));
    CHECK(out(turns) == "ann ");
    turns.answered(about("ann"));
    CHECK(out(turns) == "l5 ");
}

TEST_CASE("several with many questions take turns") {
    FairLookupQueue turns(3);
    ask_many(turns, list, "l", 4);
    ask_many(turns, rcpt, "r", 2);
    ask_many(turns, other, "o", 3);
    std::string order;
    for (std::string some; !(some = out(turns)).empty(); order += some)
        for (const auto& name : {"l", "r", "o"}) // all that may be out has been answered
            for (int n = 0; n < 4; ++n)
                if (order.find(name + std::to_string(n)) != order.npos ||
                    some.find(name + std::to_string(n)) != some.npos)
                    turns.answered(about(name + std::to_string(n)));
    CHECK(order == "l0 r0 o0 l1 r1 o1 l2 o2 l3 ");
}

TEST_CASE("a source that answers slowly holds up no other") {
    FairLookupQueue turns(2);
    ask_many(turns, list, "s", 100, "slow");
    CHECK(out(turns) == "s0 s1 ");
    turns.add(rcpt, about("ann", "quick"));
    turns.add(rcpt, {LookupRequest::Kind::user, "ann", ""});
    CHECK(out(turns) == "ann ann ");
}

TEST_CASE("what several ask is asked once, at the first one's turn") {
    FairLookupQueue turns(1);
    ask_many(turns, list, "l", 3);
    CHECK(out(turns) == "l0 ");
    turns.add(rcpt, about("l2"));
    turns.add(rcpt, about("l0")); // is out
    turns.answered(about("l0"));
    CHECK(out(turns) == "l1 ");
    turns.answered(about("l1"));
    CHECK(out(turns) == "l2 "); // rcpt's turn: not once more for the list
    turns.answered(about("l2"));
    CHECK(out(turns) == "");
    turns.add(list, about("l2")); // forgotten meanwhile
    CHECK(out(turns) == "l2 ");
}

TEST_CASE("what is known otherwise, or nobody waits for any more, is not asked") {
    FairLookupQueue turns(1);
    ask_many(turns, list, "l", 4);
    turns.add(rcpt, about("l3"));
    CHECK(out(turns) == "l0 ");
    turns.answered(about("l1"));
    turns.remove_requester(list);
    turns.answered(about("l0"));
    CHECK(out(turns) == "l3 ");
    turns.answered(about("l3"));
    CHECK(out(turns) == "");
}

TEST_CASE("whoever takes long to have their files read leaves the places to others") {
    FairLookupQueue turns(4);
    const auto forward = [](const std::string& user, const std::string& extension) {
        return LookupRequest{LookupRequest::Kind::forward, user, extension};
    };
    for (FairLookupQueue::Requester n = 0; n < 1000; ++n) turns.add(n, forward("slow", std::to_string(n)));
    for (FairLookupQueue::Requester n = 0; n < 20; ++n) turns.add(2000 + n, forward("u" + std::to_string(n), ""));
    CHECK(out(turns) == "slow slow u0 u1 u2 u3 u4 u5 u6 u7 u8 u9 u10 u11 u12 u13 ");
    for (int n = 0; n < 14; ++n) turns.answered(forward("u" + std::to_string(n), ""));
    CHECK(out(turns) == "u14 u15 u16 u17 u18 u19 ");
    turns.answered(forward("slow", "0"));
    CHECK(out(turns) == "slow ");
    turns.add(3000, {LookupRequest::Kind::include, "/list", "slow"}); // another source of theirs, as narrow
    turns.add(3000, {LookupRequest::Kind::include, "/list", ""});
    CHECK(out(turns) == "/list /list ");
    for (FairLookupQueue::Requester n = 0; n < 1000; ++n) turns.remove_requester(n);
    for (int n = 14; n < 20; ++n) turns.answered(forward("u" + std::to_string(n), ""));
    CHECK(out(turns) == "");
}
