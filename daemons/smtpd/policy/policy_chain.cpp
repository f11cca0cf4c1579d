#include "daemons/smtpd/policy/policy_chain.h"
#include <iterator>

namespace smtpd {

smtp::Verb verb_of(Stage stage) {
    using smtp::Verb;
    switch (stage) {
    case Stage::connect: return Verb::connect;
    case Stage::helo: return Verb::helo;
    case Stage::mail: return Verb::mail;
    case Stage::rcpt: return Verb::rcpt;
    case Stage::data: return Verb::data;
    case Stage::end_of_data: return Verb::end_of_message;
    case Stage::unknown: break;
    }
    return Verb::unknown;
}

std::string_view command_of(Stage stage) { return smtp::name_of(verb_of(stage)); }

std::optional<PolicyVerdict> PolicyChain::ask(Stage stage, PolicyCheck::Done done) {
    stage_ = stage;
    next_ = 0;
    combined_ = {};
    auto verdict = ask_next();
    if (!verdict) done_ = std::move(done);
    return verdict;
}

std::optional<PolicyVerdict> PolicyChain::ask_next() {
    while (next_ < checks_.size()) {
        auto& check = *checks_[next_++];
        if (combined_.kind == PolicyVerdict::Kind::permit && !check.asked_after_permit()) continue;
        auto verdict = check.ask(stage_, context, [this](PolicyVerdict late) { on_verdict(std::move(late)); });
        if (!verdict) return {};
        if (combine(*std::move(verdict))) break;
    }
    return std::move(combined_);
}

bool PolicyChain::combine(PolicyVerdict verdict) {
    const auto append = [](auto& to, auto& from) {
        to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
    };
    const auto note = [&](std::string_view verb, const std::string& why) {
        if (!why.empty() && verdict.by != PolicySource::header_check) // which has written its own
            verdict.notes.push_back({verdict.by, std::string(verb), {}, why});
    };
    note("warn", verdict.warning);
    note("discard", verdict.discard);
    note("hold", verdict.hold);
    append(combined_.notes, verdict.notes);
    append(combined_.fields, verdict.fields);
    append(combined_.added_recipients, verdict.added_recipients);
    context.discarded = context.discarded || !verdict.discard.empty();
    for (auto part : {&PolicyVerdict::hold, &PolicyVerdict::discard})
        if (combined_.*part == "") combined_.*part = std::move(verdict.*part);
    if (!verdict.content_filter.empty()) combined_.content_filter = std::move(verdict.content_filter);
    if (verdict.kind != PolicyVerdict::Kind::none) combined_.kind = verdict.kind;
    if (verdict.kind != PolicyVerdict::Kind::reject) return false;
    combined_.reply = std::move(verdict.reply);
    combined_.by = verdict.by;
    combined_.rule = std::move(verdict.rule);
    combined_.by_limit = verdict.by_limit;
    return true;
}

void PolicyChain::on_verdict(PolicyVerdict verdict) {
    if (!combine(std::move(verdict))) {
        auto rest = ask_next();
        if (!rest) return;
        combined_ = *std::move(rest);
    }
    const auto done = std::move(done_);
    done(std::move(combined_));
}

void PolicyChain::transaction_over() {
    context.discarded = false;
    for (auto& check : checks_) check->transaction_over();
}

} // namespace smtpd
