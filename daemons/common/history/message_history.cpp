#include "daemons/common/history/message_history.h"
#include "daemons/common/history/erasure.h"
#include "daemons/common/history/history_query.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace history {

using nlohmann::json;

namespace {

constexpr std::string_view message_events = "message.";

struct Meaning {
    std::string_view type; // without "message."
    Outcome outcome;
};
constexpr std::array<Meaning, 7> of_recipients = {{{"deferred", Outcome::deferred},
                                                   {"delivered", Outcome::delivered},
                                                   {"expanded", Outcome::expanded},
                                                   {"failed", Outcome::failed},
                                                   {"expired", Outcome::expired},
                                                   {"suppressed", Outcome::suppressed},
                                                   {"discarded", Outcome::discarded}}};
constexpr std::array<Meaning, 5> of_messages = {{{"held", Outcome::held},
                                                 {"released", Outcome::queued},
                                                 {"removed", Outcome::removed},
                                                 {"restored", Outcome::queued},
                                                 {"transferred_out", Outcome::transferred}}};

bool is_open(Outcome outcome) {
    return outcome == Outcome::queued || outcome == Outcome::deferred || outcome == Outcome::held;
}

// The one that an administrator wants to see first.
int weight(Outcome outcome) {
    switch (outcome) {
    case Outcome::failed:
    case Outcome::expired:
    case Outcome::suppressed: return 3;
    case Outcome::discarded:
    case Outcome::removed:
    case Outcome::transferred: return 2;
    case Outcome::queued:
    case Outcome::deferred:
    case Outcome::held: return 1;
    case Outcome::delivered:
    case Outcome::expanded: return 0;
    }
    return 0;
}

} // namespace

std::string_view name_of(Outcome outcome) {
    switch (outcome) {
    case Outcome::queued: return "queued";
    case Outcome::deferred: return "deferred";
    case Outcome::held: return "held";
    case Outcome::delivered: return "delivered";
    case Outcome::expanded: return "expanded";
    case Outcome::failed: return "failed";
    case Outcome::expired: return "expired";
    case Outcome::suppressed: return "suppressed";
    case Outcome::discarded: return "discarded";
    case Outcome::removed: return "removed";
    case Outcome::transferred: return "transferred";
    }
    return "";
}

std::uint64_t number_of(const json& event, std::string_view member) {
    const auto found = event.find(member);
    return found != event.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string reply_of(const json& event) {
    std::string reply;
    const auto append = [&](const std::string& part) {
        if (!part.empty()) reply += (reply.empty() ? "" : " ") + part;
    };
    if (const auto code = number_of(event, "code"); code != 0) append(fmt::format("{}", code));
    append(string_of(event, "status"));
    append(string_of(event, "text"));
    return reply;
}

RecipientHistory* MessageHistory::recipient(const std::string& address) {
    const auto found = std::ranges::find(recipients_, address, &RecipientHistory::address);
    if (found != recipients_.end()) return &*found;
    if (recipients_.size() == most_recipients) {
        ++not_kept_;
        return nullptr;
    }
    recipients_.push_back({.address = address});
    return &recipients_.back();
}

void MessageHistory::add_outcome(const json& event, std::string_view type) {
    const auto* meaning = std::ranges::find(of_recipients, type, &Meaning::type);
    if (meaning == of_recipients.end()) return;
    if (is_erased(event)) {
        ++erased_;
        return;
    }
    auto* to = recipient(string_of(event, "recipient"));
    if (to == nullptr) return;
    to->outcome = meaning->outcome;
    to->time = string_of(event, "time");
    to->link = string_of(event, "link");
    to->reply = reply_of(event);
    if (to->reply.empty()) to->reply = string_of(event, "why");
    to->failure_class = string_of(event, "class");
    to->attempts = std::max(to->attempts, number_of(event, "attempt"));
}

void MessageHistory::add_to_all(Outcome outcome, const json& event) {
    for (auto& each : recipients_) {
        // What was removed can be restored.
        if (!is_open(each.outcome) && (outcome != Outcome::queued || each.outcome != Outcome::removed)) continue;
        each.outcome = outcome;
        each.time = string_of(event, "time");
        each.reply = string_of(event, "why");
    }
}

void MessageHistory::add(const json& event) {
    ++events_;
    const auto keep = [&](std::string& field, const char* member) {
        if (auto text = string_of(event, member); !text.empty()) field = std::move(text);
    };
    keep(id_, "id");
    keep(message_id_, "message_id");
    keep(sender_, "sender");
    keep(submitter_, "submitter");
    keep(last_time_, "time");
    const auto whole_type = string_of(event, "type");
    if (!whole_type.starts_with(message_events)) return;
    const auto type = std::string_view(whole_type).substr(message_events.size());
    if (type == "accepted") {
        if (accepted_.empty()) accepted_ = string_of(event, "time");
        size_ = number_of(event, "size");
        stated_total_ = number_of(event, "recipients_total");
        for (const auto& address : recipients_of(event)) recipient(address);
    } else if (type == "finished") {
        finished_ = true;
    } else if (const auto* meaning = std::ranges::find(of_messages, type, &Meaning::type);
               meaning != of_messages.end()) {
        add_to_all(meaning->outcome, event);
    } else {
        add_outcome(event, type);
    }
}

std::uint64_t MessageHistory::recipients_total() const {
    return std::max<std::uint64_t>(stated_total_, recipients_.size() + not_kept_);
}

std::string MessageHistory::outcome_text() const {
    if (recipients_.empty() && erased_ > 0) return "erased";
    if (recipients_.empty()) return finished_ ? "finished" : "queued";
    const auto worst = std::ranges::max(recipients_, {}, [](const auto& each) { return weight(each.outcome); }).outcome;
    const auto such = std::ranges::count(recipients_, worst, &RecipientHistory::outcome);
    if (static_cast<std::uint64_t>(such) == recipients_total()) return std::string(name_of(worst));
    return fmt::format("{} of {} {}", such, recipients_total(), name_of(worst));
}

std::string MessageHistory::reply() const {
    const RecipientHistory* chosen = nullptr;
    for (const auto& each : recipients_)
        if (!each.reply.empty() && (chosen == nullptr || weight(each.outcome) > weight(chosen->outcome)))
            chosen = &each;
    return chosen == nullptr ? std::string() : chosen->reply;
}

} // namespace history
