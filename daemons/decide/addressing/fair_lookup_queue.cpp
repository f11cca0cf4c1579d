#include "daemons/decide/addressing/fair_lookup_queue.h"
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
        if (source.out.size() < out_at_a_time_ * (of_users(name) ? users_for_one : 1))
            if (auto question = next_of(source)) return question;
    return {};
}

// The first of a line that nobody has asked meanwhile. `has_to_wait`: there is one, whose user has all places one may have.
std::optional<Need> QuestionTurns::take_from(Source& source, Line& line, bool& has_to_wait) {
    for (; !line.questions.empty(); line.questions.pop_front()) {
        const auto waiting = source.waiting.find(line.questions.front());
        if (waiting == source.waiting.end()) continue; // another line's turn came first, or it is known
        const auto user = user_of(waiting->first);
        if (!user.empty()) {
            auto& out = source.out_of_user[user];
            if (out >= most_of_one_user) return has_to_wait = true, std::nullopt;
            ++out;
        }
        auto question = std::move(line.questions.front());
        line.questions.pop_front();
        source.waiting.erase(waiting);
        source.out.insert(question);
        return question;
    }
    return {};
}

std::optional<Need> QuestionTurns::next_of(Source& source) {
    for (auto lines = source.lines.size(); lines > 0; --lines) {
        auto line = std::move(source.lines.front());
        source.lines.pop_front();
        bool has_to_wait = false;
        auto question = take_from(source, line, has_to_wait);
        if (!line.questions.empty()) source.lines.push_back(std::move(line));
        if (question) return question;
    }
    return {};
}

void QuestionTurns::answered(const Need& what) {
    const auto source = sources_.find(source_of(what));
    if (source == sources_.end()) return;
    if (source->second.out.erase(what) > 0)
        if (const auto its = source->second.out_of_user.find(user_of(what));
            its != source->second.out_of_user.end() && --its->second == 0)
            source->second.out_of_user.erase(its);
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
