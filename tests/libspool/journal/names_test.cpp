// Names and marks of the journal: written and read back, and nothing else is taken for one.
#include "libspool/journal/event_type.h"
#include "libspool/journal/names.h"
#include <doctest/doctest.h>
#include <set>

using namespace spool::journal;

TEST_CASE("segments are named by their first number, so that names sort as numbers do") {
    CHECK(segment_file(88001, segment_suffix) == "00000000000000088001.jsonl");
    CHECK(first_in(segment_file(UINT64_MAX, segment_suffix), segment_suffix) == UINT64_MAX);
    CHECK(first_in("00000000000000000001.jsonl", segment_suffix) == 1);
    CHECK(first_in("00000000000000000001.jsonl.zst", sealed_suffix) == 1);
    for (const auto* other : {"00000000000000000000.jsonl", "0000000000000000001.jsonl", "000000000000000000001.jsonl",
                              "node", "00000000000000000001.jsonl.zst", "0000000000000000000a.jsonl",
                              "-0000000000000000001.jsonl", "99999999999999999999.jsonl", ""})
        CHECK_FALSE(first_in(other, segment_suffix));
    CHECK_FALSE(first_in("00000000000000000001.jsonl", sealed_suffix));
}

TEST_CASE("a mark is sixteen bytes, and only the right ones") {
    const auto bytes = encode_mark(synced_magic, 0x0102030405060708);
    CHECK(bytes == std::string("PRSYNCED\x08\x07\x06\x05\x04\x03\x02\x01"));
    CHECK(decode_mark(synced_magic, bytes) == 0x0102030405060708);
    CHECK_FALSE(decode_mark(stopped_magic, bytes));
    CHECK_FALSE(decode_mark(synced_magic, bytes + "x"));
    CHECK_FALSE(decode_mark(synced_magic, bytes.substr(0, 15)));
    CHECK_FALSE(decode_mark(synced_magic, ""));
}

TEST_CASE("a node's identity is a UUID of version 4") {
    const auto id = node_id_of(std::string(16, '\xFF'));
    CHECK(id == "ffffffff-ffff-4fff-bfff-ffffffffffff");
    CHECK(is_node_id(id));
    CHECK_FALSE(is_node_id(id.substr(1)));
    CHECK_FALSE(is_node_id("ffffffffff-ff-4fff-bfff-ffffffffffff"));
    CHECK_FALSE(is_node_id("FFFFFFFF-ffff-4fff-bfff-ffffffffffff"));
}

TEST_CASE("every kind of event has a name of its own, with a dot") {
    std::set<std::string_view> names;
    for (std::size_t n = 0; n <= static_cast<std::size_t>(EventType::last_); ++n)
        names.insert(name_of(static_cast<EventType>(n)));
    CHECK(names.size() == static_cast<std::size_t>(EventType::last_) + 1);
    for (const auto name : names) CHECK(name.contains('.'));
}
