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

std::string_view command_of(Stage stage) { return smtp::word_of(verb_of(stage)); }

std::optional<Opinion> Screen::ask(Stage stage, Check::Done done) {
    stage_ = stage;
    next_ = 0;
    sum_ = {};
    auto opinion = go_on();
    if (!opinion) done_ = std::move(done);
    return opinion;
}

std::optional<Opinion> Screen::go_on() {
    while (next_ < checks_.size()) {
        auto& check = *checks_[next_++];
        if (sum_.kind == Opinion::Kind::permit && !check.insists()) continue;
        auto opinion = check.ask(stage_, facts, [this](Opinion late) { heard(std::move(late)); });
        if (!opinion) return {};
        if (add(*std::move(opinion))) break;
    }
    return std::move(sum_);
}

bool Screen::add(Opinion opinion) {
    const auto append = [](auto& to, auto& from) {
        to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
    };
    const auto note = [&](std::string_view verb, const std::string& why) {
        if (!why.empty() && opinion.by != Adviser::header_check) // who has written its own
            opinion.notes.push_back({opinion.by, std::string(verb), {}, why});
    };
    note("warn", opinion.warning);
    note("discard", opinion.discard);
    note("hold", opinion.hold);
    append(sum_.notes, opinion.notes);
    append(sum_.fields, opinion.fields);
    append(sum_.copies, opinion.copies);
    for (auto part : {&Opinion::hold, &Opinion::discard})
        if (sum_.*part == "") sum_.*part = std::move(opinion.*part);
    if (opinion.kind != Opinion::Kind::none) sum_.kind = opinion.kind;
    if (opinion.kind != Opinion::Kind::refuse) return false;
    sum_.reply = std::move(opinion.reply);
    sum_.by = opinion.by;
    return true;
}

void Screen::heard(Opinion opinion) {
    if (!add(std::move(opinion))) {
        auto rest = go_on();
        if (!rest) return;
        sum_ = *std::move(rest);
    }
    const auto done = std::move(done_);
    done(std::move(sum_));
}

void Screen::transaction_over() {
    for (auto& check : checks_) check->transaction_over();
}

} // namespace smtpd
