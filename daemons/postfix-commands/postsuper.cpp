// postsuper(1): messages deleted, held, released, requeued, expired. There is no structure to check or repair (-s,
// -p, -S): the spool keeps itself in order, so these silently do nothing.
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

struct Action {
    std::string_view letters, op, each, total; // total: "Deleted: 2 messages"
};

constexpr std::array actions = {
    // in the order of their totals
    Action{"r", control::op::requeue, "requeued", "Requeued"},
    Action{"d", control::op::remove, "removed", "Deleted"},
    Action{"ef", control::op::expire, "expired", "Force-expired"},
    Action{"h", control::op::hold, "placed on hold", "Placed on hold"},
    Action{"H", control::op::release, "released from hold", "Released from hold"},
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

class QueueEditor {
public:
    QueueEditor(const Invocation& invocation, const common::EffectiveConfig& config)
        : invocation_(invocation), config_(config) {}

    bool failed() const { return failed_; }

    // `word`: a queue id, ALL, or - for ids on standard input, one a line.
    void apply(const Action& action, const std::string& word) {
        auto& count = counts_[&action];
        if (word == "ALL") {
            count += all(action);
        } else if (word == "-") {
            for (std::string id; !failed_ && std::getline(std::cin, id);) count += one(action, id);
        } else {
            count += one(action, word);
        }
    }

    void print_totals() {
        for (const auto& action : actions)
            if (const auto found = counts_.find(&action); found != counts_.end())
                info(invocation_,
                     fmt::format("{}: {} message{}", action.total, found->second, found->second == 1 ? "" : "s"));
    }

private:
    std::int64_t all(const Action& action) {
        auto words = filter_of(invocation_.words);
        if (invocation_.words.empty())
            words.push_back("all");
        else if (words.empty())
            return 0;
        return ask(action, {{"filter", words}});
    }

    std::int64_t one(const Action& action, const std::string& word) {
        if (!may_be_queue_id(word)) {
            warning(invocation_, "invalid mail queue id: " + word);
            return 0;
        }
        const auto id = spool::QueueId::parse(word);
        if (!id || (!invocation_.words.empty() && !is_in_directories(id->text()))) return 0;
        const auto changed = ask(action, {{"ids", {id->text()}}});
        if (changed > 0) info(invocation_, fmt::format("{}: {}", id->text(), action.each));
        return changed;
    }

    std::int64_t ask(const Action& action, json request) {
        request["op"] = action.op;
        request["reason"] = std::string("postsuper -") + action.letters[0];
        std::int64_t changed = 0;
        std::int64_t in_flight = 0;
        const auto answer = ask_queue(config_, request, [&](const json& line) {
            changed += line.value("changed", 0);
            in_flight += line.value("in_flight", 0);
        });
        if (answer.error_code == control::code::in_delivery)
            warning(invocation_, answer.text);
        else
            check_reply(answer);
        if (in_flight > 0)
            warning(invocation_, fmt::format("{} message{} being delivered and could no longer be stopped", in_flight,
                                             in_flight == 1 ? " is" : "s are"));
        return changed;
    }

    bool is_in_directories(const std::string& id) {
        const auto words = filter_of(invocation_.words);
        bool found = false;
        check_reply(ask_queue(config_, {{"op", control::op::messages}, {"ids", {id}}}, [&](const json& line) {
            const auto state = "state=" + line.value("state", "");
            found = std::ranges::any_of(words, [&](auto& word) { return word == state; });
        }));
        return found;
    }

    void check_reply(const QueueReply& answer) {
        if (answer.ok || answer.error_code == control::code::unknown || answer.error_code == control::code::no_match ||
            answer.error_code == control::code::already)
            return; // no such message: it may just have gone, which is not an error
        if (!std::exchange(failed_, true)) fatal(invocation_, answer.text);
    }

    const Invocation& invocation_;
    const common::EffectiveConfig& config_;
    std::map<const Action*, std::int64_t> counts_;
    bool failed_ = false;
};

} // namespace

int postsuper(const Invocation& invocation) {
    for (const auto& directory : invocation.words)
        if (std::ranges::find(queues, directory, &Queue::name) == queues.end())
            return fatal(invocation, "invalid directory name: " + directory);
    const auto config = load_effective_config(invocation);
    if (!config) return invocation.failure_status;
    QueueEditor editor(invocation, *config);
    for (const auto& [letter, value] : invocation.options) {
        const auto action = std::ranges::find_if(actions, [&](auto& each) { return each.letters.contains(letter); });
        if (action == actions.end()) continue;
        editor.apply(*action, value);
        if (editor.failed()) return invocation.failure_status;
    }
    editor.print_totals();
    return EX_OK;
}

} // namespace postfix_commands
