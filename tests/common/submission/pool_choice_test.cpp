#include "daemons/common/config/config.h"
#include "daemons/common/submission/pool_choice.h"
#include <doctest/doctest.h>

using common::Submitter;

namespace {

config::Config two_pools() {
    config::Config config;
    for (const char* name : {"bulk", "vip"}) {
        auto& pool = config.pools.emplace_back();
        pool.name = name;
    }
    config.pool_choice.by_sender = {{"@news.example", "bulk"}, {"ann@news.example", "vip"}};
    return config;
}

// The pool, or what is wrong.
std::string chosen(Submitter submitter, std::string_view sender, std::string_view asked, std::string before = "") {
    spool::Envelope envelope;
    envelope.reverse_path = sender;
    envelope.pool = std::move(before);
    const auto config = two_pools();
    const auto wrong = common::choose_pool({config.pools, config.pool_choice, config.local.recipient_delimiter},
                                           submitter, asked, envelope);
    return wrong.empty() ? envelope.pool : wrong;
}

} // namespace

TEST_CASE("the field comes before the sender, the sender before the route; a stranger's count for nothing") {
    struct Row {
        Submitter submitter;
        const char *sender, *asked, *pool;
    };
    constexpr auto trusted = Submitter::trusted, stranger = Submitter::stranger;
    const Row rows[] = {
        {trusted, "x@y.example", "", ""},
        {trusted, "x@y.example", "vip", "vip"},
        {trusted, "x@news.example", "", "bulk"},
        {trusted, "X@News.Example", "", "bulk"},
        {trusted, "x@news.example", "vip", "vip"},
        {trusted, "ann@news.example", "", "vip"},
        {trusted, "Ann+list@news.example", "", "vip"},
        {trusted, "x@sub.news.example", "", ""},
        {trusted, "", "", ""},
        {trusted, "", "bulk", "bulk"},
        {trusted, "x@y.example", "none", "X-Postrider-Pool: there is no pool \"none\""},
        {trusted, "x@y.example", "BULK", "X-Postrider-Pool: there is no pool \"BULK\""},
        {stranger, "x@news.example", "", ""},
        {stranger, "x@news.example", "vip", ""},
        {stranger, "x@news.example", "none", ""},
    };
    for (const auto& row : rows) {
        CAPTURE(row.sender);
        CAPTURE(row.asked);
        CHECK(chosen(row.submitter, row.sender, row.asked) == row.pool);
        CHECK(chosen(row.submitter, row.sender, row.asked, "left over") == row.pool);
    }
}

TEST_CASE("what is wrong with a field is told in one printable line") {
    const auto wrong = chosen(Submitter::trusted, "a@b", "x\r\n\x01" + std::string(500, 'y'));
    CHECK(wrong.size() < 150);
    CHECK(wrong.find('\n') == wrong.npos);
}
