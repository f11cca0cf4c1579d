// postsuper(1): messages deleted, held, released, requeued, expired. There is no structure to check or repair
// (-s, -p, -S): the spool keeps itself in order, so these do nothing, in silence.
#include "daemons/common/proto/control.h"
#include "daemons/postfix-commands/command.h"
#include "libspool/queue_id.h"
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
    char letter;
    std::string_view op, each, total; // total: "Deleted: 2 messages"
};

constexpr std::array verbs = {
    Verb{'d', control::op::remove, "removed", "Deleted"},
    Verb{'e', control::op::expire, "expired", "Force-expired"},
    Verb{'f', control::op::expire, "expired", "Force-expired"},
    Verb{'h', control::op::hold, "placed on hold", "Placed on hold"},
    Verb{'H', control::op::release, "released from hold", "Released from hold"},
    Verb{'r', control::op::requeue, "requeued", "Requeued"},
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

    int status() const { return status_; }
    const std::vector<std::string>& directories() const { return call_.words; }

    void all(const Verb& verb) {
        auto words = filter_of(directories());
        if (directories().empty())
            words.push_back("all");
        else if (words.empty())
            return;
        count_ += ask(verb, {{"filter", words}});
    }

    void one(const Verb& verb, const std::string& word) {
        const auto id = spool::QueueId::parse(word);
        if (!id) return warning(call_, "invalid mail queue id: " + word);
        if (!directories().empty() && !lies_in_them(id->text())) return;
        if (ask(verb, {{"ids", {id->text()}}}) == 0) return;
        info(call_, fmt::format("{}: {}", id->text(), verb.each));
        ++count_;
    }

    void sum_up(const Verb& verb) {
        if (count_ > 0) info(call_, fmt::format("{}: {} message{}", verb.total, count_, count_ == 1 ? "" : "s"));
        count_ = 0;
    }

private:
    std::int64_t ask(const Verb& verb, json request) {
        request["op"] = verb.op;
        request["why"] = std::string("postsuper -") + verb.letter;
        std::int64_t changed = 0;
        take(ask_queue(config_, request, [&](const json& line) { changed += line.value("changed", 0); }));
        return changed;
    }

    bool lies_in_them(const std::string& id) {
        const auto words = filter_of(directories());
        bool found = false;
        take(ask_queue(config_, {{"op", control::op::messages}, {"ids", {id}}}, [&](const json& line) {
            const auto state = "state=" + line.value("state", "");
            found = std::ranges::any_of(words, [&](auto& word) { return word == state; });
        }));
        return found;
    }

    void take(const Answer& answer) {
        if (answer.status == EX_OK || answer.refusal == control::code::unknown ||
            answer.refusal == control::code::no_match || answer.refusal == control::code::already)
            return; // no such message: it may just have gone, which is nobody's mistake
        if (status_ == EX_OK) status_ = fatal(call_, answer.status, answer.text);
    }

    const Call& call_;
    const config::Config& config_;
    std::int64_t count_ = 0;
    int status_ = EX_OK;
};

} // namespace

int postsuper(const Call& call) {
    bool standard_input = false;
    for (const auto& directory : call.words)
        if (std::ranges::find(queues, directory, &Queue::name) == queues.end())
            return fatal(call, EX_USAGE, "invalid directory name: " + directory);
    for (const auto& [letter, value] : call.options)
        if (value == "-" && letter != 'c' && std::exchange(standard_input, true))
            return fatal(call, EX_USAGE, "only one request can read queue ids from standard input");
    const auto config = load_config(call);
    if (!config) return EX_CONFIG;
    Super super(call, *config);
    for (const auto& verb : verbs) {
        for (const auto& [letter, value] : call.options) {
            if (letter != verb.letter) continue;
            if (value == "-") {
                for (std::string id; super.status() == EX_OK && std::cin >> id;) super.one(verb, id);
            } else if (value == "ALL") {
                super.all(verb);
            } else {
                super.one(verb, value);
            }
            if (super.status() != EX_OK) return super.status();
        }
        super.sum_up(verb);
    }
    return EX_OK;
}

} // namespace postfix_commands
