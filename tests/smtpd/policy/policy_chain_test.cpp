#include "daemons/smtpd/policy/policy_chain.h"
#include <doctest/doctest.h>

using namespace smtpd;

namespace {

struct Voice { // what one check is to say
    std::optional<PolicyVerdict> verdict;
    bool asked_after_permit = false;
    int asked = 0, over = 0;
    PolicyCheck::Done done;
};

class Spoken final : public PolicyCheck {
public:
    explicit Spoken(Voice& voice) : voice_(voice) {}
    std::optional<PolicyVerdict> ask(Stage, const PolicyContext&, Done done) override {
        ++voice_.asked;
        voice_.done = std::move(done);
        return voice_.verdict;
    }
    bool asked_after_permit() const override { return voice_.asked_after_permit; }
    void transaction_over() override { ++voice_.over; }

private:
    Voice& voice_;
};

std::unique_ptr<PolicyChain> screen_of(std::initializer_list<Voice*> voices) {
    std::vector<std::unique_ptr<PolicyCheck>> checks;
    for (auto* voice : voices) checks.push_back(std::make_unique<Spoken>(*voice));
    return std::make_unique<PolicyChain>(std::move(checks));
}

PolicyVerdict refusal() { return PolicyVerdict::rejection({550, {5, 7, 1}, "no"}); }
PolicyVerdict with_field(std::string field) {
    PolicyVerdict verdict;
    verdict.fields.push_back(std::move(field));
    return verdict;
}
PolicyVerdict permit() {
    PolicyVerdict verdict;
    verdict.kind = PolicyVerdict::Kind::permit;
    return verdict;
}

} // namespace

TEST_CASE("the first refusal ends the asking") {
    Voice one{with_field("A: 1")}, two{refusal()}, three{PolicyVerdict{}};
    auto screen = screen_of({&one, &two, &three});
    const auto verdict = screen->ask(Stage::rcpt, {});
    REQUIRE(verdict);
    CHECK(verdict->kind == PolicyVerdict::Kind::reject);
    CHECK(verdict->reply.code == 550);
    CHECK(three.asked == 0);
    screen->transaction_over();
    CHECK(one.over + two.over + three.over == 3);
}

TEST_CASE("a permission spares the others, but not those who insist") {
    Voice one{permit()}, two{refusal()}, filter{with_field("B: 2"), true};
    auto screen = screen_of({&one, &two, &filter});
    const auto verdict = screen->ask(Stage::mail, {});
    REQUIRE(verdict);
    CHECK(verdict->kind != PolicyVerdict::Kind::reject);
    CHECK(verdict->fields == std::vector<std::string>{"B: 2"});
    CHECK(two.asked == 0);
}

TEST_CASE("who takes time is waited for, in order, and asked anew each time") {
    Voice one{with_field("A: 1")}, slow{std::nullopt}, slower{std::nullopt}, last{with_field("D: 4")};
    auto screen = screen_of({&one, &slow, &slower, &last});
    for (int round = 1; round <= 2; ++round) {
        int heard = 0;
        PolicyVerdict all;
        CHECK_FALSE(screen->ask(Stage::data, [&](PolicyVerdict verdict) { ++heard, all = std::move(verdict); }));
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
    Voice slow{std::nullopt}, last{PolicyVerdict{}};
    auto screen = screen_of({&slow, &last});
    std::optional<PolicyVerdict> heard;
    screen->ask(Stage::data, [&](PolicyVerdict verdict) { heard = std::move(verdict); });
    slow.done(refusal());
    REQUIRE(heard);
    CHECK(heard->kind == PolicyVerdict::Kind::reject);
    CHECK(last.asked == 0);
}
