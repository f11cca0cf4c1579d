#include "daemons/decide/outcome/failure.h"
#include <algorithm>
#include <utility>

namespace decide {
namespace {

FailureKind kind_of(const Observation& seen) {
    using smtp::Stage;
    const bool link_at_fault = seen.code == 421 || seen.code == 0; // its own wish, or silence
    switch (seen.stage) {
    case Stage::lookup:
    case Stage::connect:
    case Stage::banner:
    case Stage::ehlo:
    case Stage::auth: return FailureKind::connection;
    case Stage::tls: return FailureKind::policy;
    case Stage::mail: return link_at_fault ? FailureKind::connection : FailureKind::message;
    case Stage::rcpt: return link_at_fault ? FailureKind::connection : FailureKind::recipient;
    // 421 to DATA: nothing of the message is there yet, another host may take it. Silence there is already
    // the message's, as it is for everything later: it may be what kills the conversation.
    case Stage::data: return seen.code == 421 ? FailureKind::connection : FailureKind::message;
    case Stage::content:
    case Stage::final_dot:
        return seen.reply_per_recipient && !link_at_fault ? FailureKind::recipient : FailureKind::message;
    case Stage::none: return FailureKind::message;
    case Stage::local: return FailureKind::recipient;
    }
    return FailureKind::message;
}

constexpr std::pair<std::string_view, smtp::Stage> stages[] = {{"MAIL", smtp::Stage::mail},
                                                               {"RCPT", smtp::Stage::rcpt},
                                                               {"DATA", smtp::Stage::data},
                                                               {"END", smtp::Stage::final_dot}};

std::string_view next_word(std::string_view& text) {
    const auto begin = std::min(text.find_first_not_of(' '), text.size());
    const auto end = std::min(text.find(' ', begin), text.size());
    const auto word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

bool is_status(std::string_view text) {
    return text.size() >= 5 && (text[0] == '4' || text[0] == '5') && text[1] == '.' &&
           text.find_first_not_of("0123456789.") == text.npos;
}

} // namespace

std::optional<ReplyRule> ReplyRule::parse(std::string_view text) {
    ReplyRule rule;
    const auto code = next_word(text);
    if (code.size() != 3 || (code[0] != '4' && code[0] != '5') || code.find_first_not_of("0123456789") != code.npos)
        return {};
    rule.code = (code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0');
    auto word = next_word(text);
    if (is_status(word)) {
        rule.status = word;
        word = next_word(text);
    }
    if (word != "at") return {};
    word = next_word(text);
    const auto* stage = std::ranges::find(stages, word, [](const auto& each) { return each.first; });
    if (stage == std::end(stages)) return {};
    rule.stage = stage->second;
    if (next_word(text) != "is") return {};
    word = next_word(text);
    if (word != "temporary" && word != "permanent") return {};
    rule.severity = word == "temporary" ? Severity::temporary : Severity::permanent;
    return next_word(text).empty() ? std::optional(rule) : std::nullopt;
}

std::string ReplyRule::to_string() const {
    const auto* its = std::ranges::find(stages, stage, [](const auto& each) { return each.second; });
    return std::to_string(code) + (status.empty() ? "" : " " + status) + " at " + std::string(its->first) + " is " +
           (severity == Severity::temporary ? "temporary" : "permanent");
}

bool ReplyRule::covers(const Observation& seen) const {
    const bool content = stage == smtp::Stage::final_dot && seen.stage == smtp::Stage::content;
    return seen.code == code && (seen.stage == stage || content) && (status.empty() || seen.status == status);
}

const ReplyRule* rule_for(std::span<const ReplyRule> rules, const Observation& seen) {
    if (seen.code < 400) return nullptr;
    const auto rule = std::ranges::find_if(rules, [&](const ReplyRule& each) { return each.covers(seen); });
    return rule != rules.end() ? &*rule : nullptr;
}

std::optional<Severity> reading(std::span<const ReplyRule> rules, const Observation& seen) {
    if (const auto* rule = rule_for(rules, seen)) return rule->severity;
    // "Bad sequence of commands" to MAIL: the conversation has come out of step, the message is not to blame.
    return seen.code == 503 && seen.stage == smtp::Stage::mail ? std::optional(Severity::temporary) : std::nullopt;
}

std::string status_as(std::string status, Severity severity) {
    if (!status.empty()) status[0] = severity == Severity::temporary ? '4' : '5';
    return status;
}

bool dropped(const Observation& seen) {
    return seen.code == 0 && seen.stage >= smtp::Stage::data && seen.stage <= smtp::Stage::final_dot;
}

Failure classify(const Observation& seen) {
    Failure out;
    out.kind = kind_of(seen);
    const bool permanent = seen.code != 0 ? seen.code >= 500 : seen.status.starts_with('5');
    // TLS that fails today may work tomorrow; plain text is never the answer, nor is giving up.
    out.severity = permanent && seen.stage != smtp::Stage::tls ? Severity::permanent : Severity::temporary;
    const bool after_ehlo = seen.stage > smtp::Stage::ehlo && seen.stage < smtp::Stage::local;
    out.push_back = seen.code == 421 && seen.status.starts_with("4.7.") && after_ehlo;
    out.credentials = seen.stage == smtp::Stage::auth && (seen.code >= 500 || seen.status.ends_with(".7.8"));
    // A refusal of our own before anything was sent (size, 8-bit, address) is about the message, though no
    // peer spoke.
    if (seen.code == 0 && permanent && seen.stage == smtp::Stage::mail) out.kind = FailureKind::message;
    if (seen.code == 0 && permanent && seen.stage == smtp::Stage::rcpt) out.kind = FailureKind::recipient;
    return out;
}

} // namespace decide
