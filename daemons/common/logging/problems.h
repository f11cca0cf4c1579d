// What is wrong in one process, by what it is about, told as one line for `postrider status`. Parts that know nothing of
// one another each have a place of their own: one that is well again takes no other's line away.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace common {

class Troubles {
public:
    // `tell`: all that is wrong now, "one; two"; "" nothing is. Only when it changes.
    explicit Troubles(std::function<void(std::string_view)> tell) : tell_(std::move(tell)) {}
    Troubles(const Troubles&) = delete;
    Troubles& operator=(const Troubles&) = delete;

    // "" clears it.
    void set(const std::string& about, std::string_view text);
    // set() of one of them, for whoever has only that. Must not outlive this.
    std::function<void(std::string_view)> about(std::string what);
    // The same, cleared, for who comes in another's place: what the former still says is not heard.
    std::function<void(std::string_view)> anew(const std::string& about);
    bool any() const { return !texts_.empty(); }

private:
    std::function<void(std::string_view)> tell_;
    std::map<std::string, std::string> texts_;
    std::map<std::string, unsigned> holders_; // so far
};

} // namespace common
