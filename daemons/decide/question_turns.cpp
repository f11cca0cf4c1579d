#include "daemons/decide/question_turns.h"
#include <algorithm>

namespace decide {

void QuestionTurns::ask(Questioner who, const Need& what) {
    auto& source = sources_[source_of(what)];
    if (source.out.contains(what)) return;
    // Whoever came last is often who asks again.
    auto line = std::find_if(source.lines.rbegin(), source.lines.rend(), [&](const Line& each) { return each.who == who; });
    auto& mine = line != source.lines.rend() ? *line : source.lines.emplace_back(Line{who, {}});
    mine.questions.push_back(what);
    ++source.waiting[what];
}

std::optional<Need> QuestionTurns::next() {
    for (auto& [name, source] : sources_)
        if (source.out.size() < out_at_a_time_)
            if (auto question = next_of(source)) return question;
    return {};
}

std::optional<Need> QuestionTurns::next_of(Source& source) const {
    while (!source.lines.empty()) {
        auto line = std::move(source.lines.front());
        source.lines.pop_front();
        while (!line.questions.empty()) {
            auto question = std::move(line.questions.front());
            line.questions.pop_front();
            if (source.waiting.erase(question) == 0) continue; // another line's turn came first, or it is known
            source.out.insert(question);
            if (!line.questions.empty()) source.lines.push_back(std::move(line));
            return question;
        }
    }
    return {};
}

void QuestionTurns::answered(const Need& what) {
    const auto source = sources_.find(source_of(what));
    if (source == sources_.end()) return;
    source->second.out.erase(what);
    source->second.waiting.erase(what);
    if (source->second.out.empty() && source->second.waiting.empty()) sources_.erase(source);
}

void QuestionTurns::left(Questioner who) {
    for (auto at = sources_.begin(); at != sources_.end();) {
        auto& source = at->second;
        for (const auto& line : source.lines) {
            if (line.who != who) continue;
            for (const auto& question : line.questions)
                if (const auto its = source.waiting.find(question); its != source.waiting.end() && --its->second == 0)
                    source.waiting.erase(its);
        }
        std::erase_if(source.lines, [&](const Line& each) { return each.who == who; });
        at = source.out.empty() && source.waiting.empty() ? sources_.erase(at) : std::next(at);
    }
}

} // namespace decide
