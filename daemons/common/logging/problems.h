// The current problems of one process, by subject, reported as one line for `postrider status`.
// Independent parts each have an entry of their own: one that recovers does not remove another's line.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace common {

class Problems {
public:
    // `on_change`: all current problems, "one; two"; "" for none. Called only when that changes.
    explicit Problems(std::function<void(std::string_view)> on_change) : on_change_(std::move(on_change)) {}
    Problems(const Problems&) = delete;
    Problems& operator=(const Problems&) = delete;

    // "" clears it.
    void set(const std::string& about, std::string_view text);
    // set() for one of them, for code that has only that. Must not outlive this.
    std::function<void(std::string_view)> reporter(std::string what);
    // The same, cleared, for the successor of an earlier reporter, whose further reports are ignored.
    std::function<void(std::string_view)> new_reporter(const std::string& about);
    bool any() const { return !texts_.empty(); }

private:
    std::function<void(std::string_view)> on_change_;
    std::map<std::string, std::string> texts_;
    std::map<std::string, unsigned> generations_; // so far
};

} // namespace common
