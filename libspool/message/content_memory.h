// Memory shared by the messages that one process is writing, kept within a budget. The less is free, the sooner
// contents go to their files, including idle ones; when it is scarce, reading from senders of large contents stops
// until some is free again, and resumes in the order in which they stopped, so that the rest remains for small
// messages. Counting is safe from any thread; everything else belongs to the writers' thread.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

namespace spool {

class ContentMemory {
public:
    enum class Level : std::uint8_t {
        plenty,    // below half of the budget
        low,       // contents beyond 64 KiB go to their files
        scarce,    // above three quarters: those that hold more than 8 KiB wait
        exhausted, // the budget is used up: nothing new should be started
    };

    // An object that holds content in memory that could be in a file. Listed while it exists or until leave().
    class Holder {
    public:
        Holder(const Holder&) = delete;
        Holder& operator=(const Holder&) = delete;

    protected:
        Holder() = default;
        ~Holder() = default;

    private:
        friend class ContentMemory;
        // Writes out what it holds, if that is more than `most`.
        virtual void flush_to_file(std::size_t most) = 0;
        Holder* before_ = nullptr;
        Holder* next_ = nullptr;
        bool listed_ = false;
    };

    // Bytes held by something that is not a Holder: input not yet parsed, envelopes.
    class Share {
    public:
        explicit Share(ContentMemory& memory) : memory_(memory) {}
        ~Share() { memory_.remove(held_); }
        Share(const Share&) = delete;
        Share& operator=(const Share&) = delete;
        std::size_t held() const { return held_; }
        void set(std::size_t held) {
            if (held == held_) return;
            if (held > held_)
                memory_.add(held - held_);
            else
                memory_.remove(held_ - held);
            held_ = held;
            memory_.check_level();
        }

    private:
        ContentMemory& memory_;
        std::size_t held_ = 0;
    };

    static constexpr std::size_t small = 8 * 1024; // a holder of no more than this never waits

    // `wake` is called on any thread when resume_waiting() should be called on the writers'.
    ContentMemory(std::uint64_t limit, std::function<void()> wake) : limit_(limit), wake_(std::move(wake)) {}
    ContentMemory(const ContentMemory&) = delete;

    void set_limit(std::uint64_t limit) { limit_ = limit; }
    std::uint64_t limit() const { return limit_; }
    std::uint64_t held() const { return held_.load(std::memory_order_relaxed); }
    Level level() const;
    // The maximum that one content should collect in memory now.
    std::size_t buffer_limit() const;

    // From any thread.
    void add(std::size_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }
    void remove(std::size_t bytes);

    void join(Holder& holder);
    void leave(Holder& holder);
    // Bytes were added: must contents go to their files now?
    void check_level();
    // `go_on` is called once, when memory is no longer scarce; or never.
    void wait(std::move_only_function<void()> go_on);
    void resume_waiting();
    // `wake` is no longer called.
    void close() { closed_ = true; }
    std::size_t waiting() const { return waiting_.size(); }

private:
    std::atomic<std::uint64_t> limit_, held_{0};
    std::function<void()> wake_;
    std::atomic<bool> closed_{false};
    std::atomic<bool> wanted_{false}; // a holder waits, and resume_waiting() has not been requested yet
    std::uint64_t next_look_ = 0;
    Holder* first_ = nullptr;
    std::deque<std::move_only_function<void()>> waiting_;
};

} // namespace spool
