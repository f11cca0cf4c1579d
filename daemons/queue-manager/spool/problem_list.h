// What is wrong with the queue-manager and its spool, as `postrider status` shows it: one text for each
// subject, until it is cleared. Knows only texts; must not know who reports them.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace queue_manager {

class ProblemList {
public:
    // `changed`: is given all of them in one line when that has changed; "" if there are none.
    explicit ProblemList(std::function<void(std::string_view)> changed) : changed_(std::move(changed)) {}
    ProblemList(const ProblemList&) = delete;

    // "" clears what was reported about that subject.
    void report(const std::string& about, std::string text) {
        if (text.empty() ? !contains(about) : contains(about, text)) return; // most reports: all is well, as before
        if (text.empty())
            problems_.erase(about);
        else
            problems_[about] = std::move(text);
        std::string all;
        for (const auto& [key, each] : problems_) all += (all.empty() ? "" : "; ") + each;
        changed_(all);
    }
    bool contains(const std::string& about) const { return problems_.contains(about); }
    bool contains(const std::string& about, std::string_view text) const {
        const auto found = problems_.find(about);
        return found != problems_.end() && found->second == text;
    }
    std::vector<std::string> texts() const {
        std::vector<std::string> out;
        for (const auto& [about, text] : problems_) out.push_back(text);
        return out;
    }

private:
    std::function<void(std::string_view)> changed_;
    std::map<std::string, std::string> problems_;
};

} // namespace queue_manager
