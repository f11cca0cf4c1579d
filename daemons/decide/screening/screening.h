// The tests of a client before it may send mail: which of them are due, what their results mean, and what is
// remembered of an address that passed. Pure: settings, what is remembered and results in, decisions out; the
// clock is the caller's. Knows no connection and no DNS.
#pragma once
#include "libsmtp/text/time_types.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace decide::screening {

enum class Test : std::uint8_t {
    early_talk,   // it waits for the greeting
    dns_lists,    // the sum of the lists' weights is below the threshold
    pipelining,   // it sends one command at a time, unless it may send several
    non_smtp,     // what it sends are commands of SMTP
    bare_newline, // its lines end in CR LF
    last_ = bare_newline,
};
inline constexpr std::size_t test_count = static_cast<std::size_t>(Test::last_) + 1;
inline constexpr std::array all_tests{Test::early_talk, Test::dns_lists, Test::pipelining, Test::non_smtp,
                                      Test::bare_newline};
template <class T> using PerTest = std::array<T, test_count>;
constexpr std::size_t index_of(Test test) { return static_cast<std::size_t>(test); }
// During a session, not before its greeting.
constexpr bool is_deep(Test test) { return test > Test::dns_lists; }

// What happens to a client that fails.
enum class Action : std::uint8_t {
    off,     // the test is not made
    ignore,  // it is logged
    enforce, // its recipients are rejected
    drop,    // the connection is closed
};

struct Settings {
    PerTest<Action> actions{};
    PerTest<smtp::Duration> lifetimes{};    // how long a pass is remembered; of dns_lists at most
    smtp::Duration shortest_of_dns_lists{}; // and at least: in between, as long as the lists' answers are valid
    std::int64_t threshold = 1;             // sum of weights at which dns_lists is failed
    std::int64_t allow_threshold = 0;       // minus this, or less, and no other test is made; 0: off
    smtp::Duration kept{};                  // how long an address is known after its last pass has ended
    std::size_t most_waiting = 0;           // clients of one process whose greeting waits for tests
    bool operator==(const Settings&) const = default;

    Action action(Test test) const { return actions[index_of(test)]; }
};

// What is remembered of an address: until when each pass is valid; {}: it has not passed.
struct Passes {
    PerTest<smtp::WallTime> until{};
    bool operator==(const Passes&) const = default;

    smtp::WallTime last() const; // when the last of them ends
};
std::string encode(const Passes& passes);
// Or nothing: these are not bytes of encode(), of this version.
std::optional<Passes> decode(std::string_view bytes);

// The tests of one client.
class Screening {
public:
    // `settings` outlives it.
    Screening(const Settings& settings, const std::optional<Passes>& remembered, smtp::WallTime now);

    // Is it to be made, and has it no result yet?
    bool due(Test test) const { return states_[index_of(test)] == State::due; }
    bool any_due_before_greeting() const { return due(Test::early_talk) || due(Test::dns_lists); }
    bool any_due_in_session() const;
    // Some test was to be made.
    bool any_made() const { return made_; }

    // Results, each of a test that is due.
    Action failed(Test test);
    void passed(Test test, smtp::WallTime now);
    // The sum of the lists' weights, and how long their answers are valid. None: passed.
    Action scored(std::int64_t sum, smtp::Duration valid, smtp::WallTime now);

    // The first failed test whose action is enforce.
    std::optional<Test> enforced() const { return enforced_; }
    bool any_failed() const { return any_failed_; }
    // Every test that was to be made has been passed.
    bool all_passed() const;
    // The address had been known before.
    bool known_before() const { return known_; }
    // What is to be remembered now: something that a test has changed, unless another one was failed. Once for each
    // change.
    std::optional<Passes> changed();

private:
    enum class State : std::uint8_t { not_made, due, passed, failed };
    State& state(Test test) { return states_[index_of(test)]; }

    const Settings& settings_;
    Passes passes_;
    PerTest<State> states_{};
    std::optional<Test> enforced_;
    bool made_ = false, known_ = false, any_failed_ = false, changed_ = false;
};

} // namespace decide::screening
