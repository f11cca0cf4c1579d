// Lane and pool by sender, submitter, listener and Precedence, and what may be asked for.
#include "daemons/common/submission/sender_rules.h"
#include "tests/common/config/reading.h"

using common::Submitter;

namespace {

config::SenderRules rules(std::initializer_list<std::string_view> lines) {
    config::SenderRules out;
    for (const auto line : lines) {
        const auto refusal = config::SenderRule::read(line, out.rules.emplace_back());
        CHECK(refusal.value_or("") == "");
        CHECK(out.rules.back().to_string() == line);
    }
    return out;
}

spool::Envelope from_shop() {
    spool::Envelope envelope;
    envelope.reverse_path = "Ann@News.example";
    envelope.submitter = "sasl:shop";
    envelope.listener = "submission";
    return envelope;
}

std::string chosen(const config::SenderRules& rules, spool::Envelope envelope,
                   common::RuledMail mail = {Submitter::trusted, ""}) {
    const auto wrong = common::apply_sender_rules(rules, mail, envelope);
    if (!wrong.empty()) return wrong;
    return envelope.lane + " by " + envelope.lane_chosen_by + ", " + envelope.pool + " by " + envelope.pool_chosen_by;
}

} // namespace

TEST_CASE("the first rule that applies decides, for lane and pool each") {
    const auto all = rules({"sender=bob@news.example -> lane=high", "sender=@news.example,@x.example -> pool=news",
                            "submitter=sasl:shop listener=submission -> lane=bulk pool=shop", "-> lane=high"});
    CHECK(chosen(all, from_shop()) == "bulk by sender_rules.rules[3], news by sender_rules.rules[2]");
    auto local = from_shop();
    local.submitter = "uid:1000";
    local.listener = "";
    CHECK(chosen(all, local) == "high by sender_rules.rules[4], news by sender_rules.rules[2]");
    CHECK(chosen(rules({"listener=local -> lane=bulk"}), local) == "bulk by sender_rules.rules[1],  by ");
    CHECK(chosen({}, local) == " by ,  by ");
}

TEST_CASE("a stranger's sender chooses nothing; networks and Precedence count") {
    auto envelope = from_shop();
    envelope.submitter = "net:192.0.2.0/24 news.example";
    CHECK(chosen(rules({"sender=@news.example -> lane=high"}), envelope, {Submitter::stranger, ""}) == " by ,  by ");
    const auto others = rules({"submitter=net:192.0.2.0/24 precedence=bulk,list -> lane=bulk"});
    CHECK(chosen(others, envelope, {Submitter::stranger, "list"}) == "bulk by sender_rules.rules[1],  by ");
    CHECK(chosen(others, envelope, {Submitter::stranger, "normal"}) == " by ,  by ");
}

TEST_CASE("what is asked for takes precedence, and is refused if it may not be had") {
    const auto all = rules({"submitter=sasl:shop -> lane=bulk pool=b lanes=normal,bulk pools=none"});
    auto envelope = from_shop();
    envelope.lane = "normal";
    envelope.lane_chosen_by = "X-Postrider-Lane";
    CHECK(chosen(all, envelope) == "normal by X-Postrider-Lane, b by sender_rules.rules[1]");
    envelope.lane = "high";
    CHECK(chosen(all, envelope) ==
          "X-Postrider-Lane: this sender may not use the lane \"high\" (sender_rules.rules[1])");
    envelope = from_shop();
    envelope.priority = 4;
    CHECK(chosen(all, envelope) == "MT-PRIORITY: this sender may not use the lane \"high\" (sender_rules.rules[1])");
    envelope.priority = -4;
    CHECK(chosen(all, envelope) == " by MT-PRIORITY, b by sender_rules.rules[1]"); // the lane follows from it
    envelope = from_shop();
    envelope.pool = "a";
    envelope.pool_chosen_by = "pools.by_sender";
    CHECK(chosen(all, envelope) == "bulk by sender_rules.rules[1], b by sender_rules.rules[1]");
    envelope.pool_chosen_by = "X-Postrider-Pool";
    CHECK(chosen(all, envelope) == "X-Postrider-Pool: this sender may not use the pool \"a\" (sender_rules.rules[1])");
}

TEST_CASE("rules that are wrong") {
    const struct {
        std::string_view rule, complaint;
    } rows[] = {
        {"sender=@x.example", "expected conditions, -> and consequences"},
        {"-> ", "expected conditions, -> and consequences"},
        {"lane=bulk", "\"lane\" is not a condition"},
        {"-> sender=@x.example", "\"sender\" is not a consequence"},
        {"-> lane=fast", "\"fast\" is not a lane: expected high, normal, bulk"},
        {"-> lanes=high,fast", "\"fast\" is not a lane"},
        {"-> lane=high lane=bulk", "lane= is given twice"},
        {"sender=x -> lane=bulk", "\"x\" is not a valid address or \"@domain\""},
        {"submitter=shop -> lane=bulk", "\"shop\" is not a submitter"},
        {"listener= -> lane=bulk", "listener= has no value"},
        {"bulk -> lane=bulk", "expected NAME=VALUE"},
    };
    for (const auto& row : rows) {
        config::SenderRule rule;
        CHECK(config::SenderRule::read(row.rule, rule).value_or("").find(row.complaint) != std::string::npos);
    }
    using config::testing::bad;
    CHECK(bad("[sender_rules]\nrules = [\"-> pool=x\"]\n").find("there is no [pool.x]") != std::string::npos);
    CHECK(bad("[sender_rules]\nrules = [\"listener=x -> lane=bulk\"]\n").find("there is no [listen.x]") !=
          std::string::npos);
}
