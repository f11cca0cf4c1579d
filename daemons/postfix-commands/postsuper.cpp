// postsuper(1): messages deleted, held, released, requeued, expired. There is no structure to check or repair
// (-s, -p, -S): the spool keeps itself in order, so these do nothing, in silence.
#include "daemons/common/proto/control.h"
#include "daemons/postfix-commands/command.h"
#include "libspool/format/queue_id.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sysexits.h>

namespace postfix_commands {

using nlohmann::json;
namespace control = proto::control;

namespace {

struct Verb {
    std::string_view letters, op, each, total; // total: "Deleted: 2 messages"
};

constexpr std::array verbs = { // in the order of their totals
    Verb{"r", control::op::requeue, "requeued", "Requeued"},
    Verb{"d", control::op::remove, "removed", "Deleted"},
    Verb{"ef", control::op::expire, "expired", "Force-expired"},
    Verb{"h", control::op::hold, "placed on hold", "Placed on hold"},
    Verb{"H", control::op::release, "released from hold", "Released from hold"},
};

// Postfix's directories, by the states of messages here.
struct Queue {
    std::string_view name, states;
};
constexpr std::array queues = {
    Queue{"incoming", "new"},
    Queue{"active", "due active"},
    Queue{"deferred", "scheduled paused routing retrying report"},
    Queue{"hold", "held"},
    Queue{"maildrop", ""}, // nothing is ever long in these
    Queue{"bounce", ""},
    Queue{"defer", ""},
    Queue{"flush", ""},
    Queue{"trace", ""},
};

json filter_of(const std::vector<std::string>& directories) {
    json words = json::array();
    for (const auto& directory : directories) {
        std::string_view states = std::ranges::find(queues, directory, &Queue::name)->states;
        while (!states.empty()) {
            const auto word = states.substr(0, states.find(' '));
            words.push_back("state=" + std::string(word));
            states.remove_prefix(std::min(word.size() + 1, states.size()));
        }
    }
    return words;
}

class Super {
public:
    Super(const Call& call, const config::Config& config) : call_(call), config_(config) {}

    bool failed() const { return failed_; }

    // `word`: a queue id, ALL, or - for ids on standard input, one a line.
    void act(const Verb& verb, const std::string& word) {
        auto& count = counts_[&verb];
        if (word == "ALL") {
            count += all(verb);
        } else if (word == "-") {
            for (std::string id; !failed_ && std::getline(std::cin, id);) count += one(verb, id);
        } else {
            count += one(verb, word);
        }
    }

    void sum_up() {
        for (const auto& verb : verbs)
            if (const auto found = counts_.find(&verb); found != counts_.end())
                info(call_, fmt::format("{}: {} message{}", verb.total, found->second, found->second == 1 ? "" : "s"));
    }

private:
    std::int64_t all(const Verb& verb) {
        auto words = filter_of(call_.words);
        if (call_.words.empty())
            words.push_back("all");
        else if (words.empty())
            return 0;
        return ask(verb, {{"filter", words}});
    }

    std::int64_t one(const Verb& verb, const std::string& word) {
        if (!is_queue_id(word)) return warning(call_, "invalid mail queue id: " + word), 0;
        const auto id = spool::QueueId::parse(word);
        if (!id || (!call_.words.empty() && !lies_in_them(id->text()))) return 0;
        const auto changed = ask(verb, {{"ids", {id->text()}}});
        if (changed > 0) info(call_, fmt::format("{}: {}", id->text(), verb.each));
        return changed;
    }

    std::int64_t ask(const Verb& verb, json request) {
        request["op"] = verb.op;
        request["why"] = std::string("postsuper -") + verb.letters[0];
        std::int64_t changed = 0;
        std::int64_t in_flight = 0;
        const auto answer = ask_queue(config_, request, [&](const json& line) {
            changed += line.value("changed", 0);
            in_flight += line.value("in_flight", 0);
        });
        if (answer.refusal == control::code::in_delivery)
            warning(call_, answer.text);
        else
            take(answer);
        if (in_flight > 0)
            warning(call_, fmt::format("{} message{} being delivered and could not be stopped any more", in_flight,
                                       in_flight == 1 ? " is" : "s are"));
        return changed;
    }

    bool lies_in_them(const std::string& id) {
        const auto words = filter_of(call_.words);
        bool found = false;
        take(ask_queue(config_, {{"op", control::op::messages}, {"ids", {id}}}, [&](const json& line) {
            const auto state = "state=" + line.value("state", "");
            found = std::ranges::any_of(words, [&](auto& word) { return word == state; });
        }));
        return found;
    }

    void take(const Answer& answer) {
        if (answer.good || answer.refusal == control::code::unknown || answer.refusal == control::code::no_match ||
            answer.refusal == control::code::already)
            return; // no such message: it may just have gone, which is nobody's mistake
        if (!std::exchange(failed_, true)) fatal(call_, answer.text);
    }

    const Call& call_;
    const config::Config& config_;
    std::map<const Verb*, std::int64_t> counts_;
    bool failed_ = false;
};

} // namespace

int postsuper(const Call& call) {
    for (const auto& directory : call.words)
        if (std::ranges::find(queues, directory, &Queue::name) == queues.end())
            return fatal(call, "invalid directory name: " + directory);
    const auto config = config_in_force(call);
    if (!config) return call.failure;
    Super super(call, *config);
    for (const auto& [letter, value] : call.options) {
        const auto verb = std::ranges::find_if(verbs, [&](auto& each) { return each.letters.contains(letter); });
        if (verb == verbs.end()) continue;
        super.act(*verb, value);
        if (super.failed()) return call.failure;
    }
    super.sum_up();
    return EX_OK;
}

} // namespace postfix_commands
