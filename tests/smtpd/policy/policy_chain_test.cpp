#include "daemons/smtpd/policy/policy_chain.h"
#include <doctest/doctest.h>

using namespace smtpd;

namespace {

struct Voice { // what one check is to say
    std::optional<Opinion> opinion;
    bool insists = false;
    int asked = 0, over = 0;
    Check::Done done;
};

class Spoken final : public Check {
public:
    explicit Spoken(Voice& voice) : voice_(voice) {}
    std::optional<Opinion> ask(Stage, const Facts&, Done done) override {
        ++voice_.asked;
        voice_.done = std::move(done);
        return voice_.opinion;
    }
    bool insists() const override { return voice_.insists; }
    void transaction_over() override { ++voice_.over; }

private:
    Voice& voice_;
};

std::unique_ptr<Screen> screen_of(std::initializer_list<Voice*> voices) {
    std::vector<std::unique_ptr<Check>> checks;
    for (auto* voice : voices) checks.push_back(std::make_unique<Spoken>(*voice));
    return std::make_unique<Screen>(std::move(checks));
}

Opinion refusal() { return Opinion::refusal({550, {5, 7, 1}, "no"}); }
Opinion with_field(std::string field) {
    Opinion opinion;
    opinion.fields.push_back(std::move(field));
    return opinion;
}
Opinion permit() {
    Opinion opinion;
    opinion.kind = Opinion::Kind::permit;
    return opinion;
}

} // namespace

TEST_CASE("the first refusal ends the asking") {
    Voice one{with_field("A: 1")}, two{refusal()}, three{Opinion{}};
    auto screen = screen_of({&one, &two, &three});
    const auto opinion = screen->ask(Stage::rcpt, {});
    REQUIRE(opinion);
    CHECK(opinion->kind == Opinion::Kind::refuse);
    CHECK(opinion->reply.code == 550);
    CHECK(three.asked == 0);
    screen->transaction_over();
    CHECK(one.over + two.over + three.over == 3);
}

TEST_CASE("a permission spares the others, but not those who insist") {
    Voice one{permit()}, two{refusal()}, filter{with_field("B: 2"), true};
    auto screen = screen_of({&one, &two, &filter});
    const auto opinion = screen->ask(Stage::mail, {});
    REQUIRE(opinion);
    CHECK(opinion->kind != Opinion::Kind::refuse);
    CHECK(opinion->fields == std::vector<std::string>{"B: 2"});
    CHECK(two.asked == 0);
}

TEST_CASE("who takes time is waited for, in order, and asked anew each time") {
    Voice one{with_field("A: 1")}, slow{std::nullopt}, slower{std::nullopt}, last{with_field("D: 4")};
    auto screen = screen_of({&one, &slow, &slower, &last});
    for (int round = 1; round <= 2; ++round) {
        int heard = 0;
        Opinion all;
        CHECK_FALSE(screen->ask(Stage::data, [&](Opinion opinion) { ++heard, all = std::move(opinion); }));
        CHECK(slower.asked == round - 1);
        slow.done(with_field("B: 2"));
        CHECK(slower.asked == round);
        CHECK(heard == 0);
        slower.done(with_field("C: 3"));
        CHECK(heard == 1);
        CHECK(all.fields == std::vector<std::string>{"A: 1", "B: 2", "C: 3", "D: 4"});
    }
}

TEST_CASE("a late refusal counts") {
    Voice slow{std::nullopt}, last{Opinion{}};
    auto screen = screen_of({&slow, &last});
    std::optional<Opinion> heard;
    screen->ask(Stage::data, [&](Opinion opinion) { heard = std::move(opinion); });
    slow.done(refusal());
    REQUIRE(heard);
    CHECK(heard->kind == Opinion::Kind::refuse);
    CHECK(last.asked == 0);
}
