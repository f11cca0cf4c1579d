// Any text as rules and as results of access tables, any text as client, greeting and addresses: the evaluation ends
// within its bounds, and its replies are ones that can be sent.
#include "daemons/decide/access/evaluation.h"
#include "daemons/decide/access/result_lint.h"
#include <cstdlib>

namespace {

using namespace decide::access;

// Every table has every key, with the same result; the DNS answers with the same text.
struct World final : Source {
    std::string value;
    Answer find(Lookup::Kind, std::string_view, std::string_view key) override {
        if (key.size() > 4096) std::abort();
        if (value.empty()) return {};
        return {Answer::Status::found, {value}};
    }
};

std::string_view line(std::string_view& text) {
    const auto out = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(out.size() + 1, text.size()));
    return out.substr(0, 1000); // more is not in a command
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    World world;
    Facts facts;
    world.value = line(text);
    static_cast<void>(
        wrong_result(world.value, [](std::string_view) { return false; }, [](std::string_view) { return true; }));
    facts.client_name = facts.reverse_name = line(text);
    facts.client_address = line(text);
    facts.helo = line(text);
    facts.sender = std::string(line(text));
    facts.recipient = std::string(line(text));
    RuleSet rules;
    rules.recipient_delimiter = '+';
    while (!text.empty() && rules.lists[List::recipient].size() < 50)
        if (auto rule = Rule::parse(line(text))) {
            rules.lists[List::recipient].push_back(*rule);
            rules.classes["a"].push_back(*std::move(rule));
        }
    Evaluation evaluation(rules, facts, {List::client, List::helo, List::sender, List::relay, List::recipient},
                          Evaluation::Tracing::on);
    if (!evaluation.run(world)) std::abort(); // nothing is pending
    const auto decision = evaluation.take();
    if (decision.trace.size() > Evaluation::most_steps) std::abort();
    if (const auto& reply = decision.rejection) {
        if (reply->code < 400 || reply->code > 599 || reply->status.klass != reply->code / 100) std::abort();
        for (const unsigned char c : reply->text)
            if (c < 0x20 || c > 0x7e) std::abort();
    }
    return 0;
}
