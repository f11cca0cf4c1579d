// One hook at work: reads its events ahead, has them sent, keeps its cursor on disk. What is sent and what answers mean
// is decided in decide/hooks; this carries it out. A hook waits for nothing but its own endpoint and its own files.
#pragma once
#include "daemons/common/config/sections/system/hook.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/pool_work.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/hooks/hook_delivery.h"
#include "daemons/events/hooks/endpoint.h"
#include "daemons/events/hooks/hook_files.h"
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace events {

class Hook {
public:
    using MakeEndpoint = std::function<std::unique_ptr<Endpoint>(Endpoint::Callbacks)>;
    struct Setup {
        config::Hook settings;
        std::shared_ptr<HookFiles> files;
        MakeEndpoint make_endpoint;
        std::uint64_t published = 0;                          // a new hook begins behind it
        std::function<void(std::string_view)> report_problem; // a line for `postrider status`; "" clears it
    };
    struct Counts { // since the process began
        std::uint64_t pushed = 0, failed = 0, dead = 0;
    };

    Hook(common::Loop& loop, common::Log& log, Setup setup);
    Hook(const Hook&) = delete;
    Hook& operator=(const Hook&) = delete;

    const config::Hook& settings() const { return setup_.settings; }
    // The settings have changed; it continues where it is.
    void use(Setup setup);
    // The number up to which the journal is on stable storage.
    void published(std::uint64_t number);
    // Nothing more is sent; an answer that is under way is awaited for `grace`. `done` is called once, when the cursor
    // is saved.
    void stop(smtp::Duration grace, std::function<void()> done);

    bool loaded() const { return delivery_ != nullptr; }
    // What is before this is not needed any longer, even if the process is killed. 0: not known yet.
    std::uint64_t saved_next() const { return loaded() ? saved_.next : 0; }
    const decide::hooks::HookDelivery* delivery() const { return delivery_.get(); } // null: not loaded
    bool is_working() const;                        // its endpoint accepts events, as far as is known
    std::uint64_t behind() const;                   // events that it has yet to read or to send
    smtp::Duration wait(smtp::Monotonic now) const; // until the next attempt; 0: none waits
    const Counts& counts() const { return counts_; }
    const std::string& last_answer() const { return last_answer_; } // of the last attempt; "" none
    const std::string& problem() const { return problem_; }
    Endpoint* endpoint() { return endpoint_.get(); }

    // ---- an operator's commands; must be loaded ----
    void pause(const std::string& who);
    void resume(const std::string& who);
    // The number of the event; nothing: there is none that waits.
    std::optional<std::uint64_t> skip(const std::string& who);
    void restart_at(std::uint64_t number, const std::string& who);

private:
    void load();
    void take_loaded(spool::Result<LoadedProgress> loaded);
    void proceed();
    void work_on_files();
    bool save();
    bool write_dead_letter();
    bool read();
    void take_read(spool::Result<ReadEvents> read, std::uint64_t generation);
    void send();
    void answered(const decide::hooks::EndpointAnswer& answer);
    void log_answer(const decide::hooks::DeliveryReport& report);
    void give_up(decide::hooks::HookEvent event, std::string reason);
    void interrupt();
    void finish_stop();
    void files_failed(const spool::Error& error);
    void files_work();
    bool acknowledged(std::uint64_t number);
    void update_problem();
    std::string log_name() const { return "hook " + setup_.settings.name; }

    common::Log& log_;
    Setup setup_;
    std::unique_ptr<decide::hooks::HookDelivery> delivery_; // null: the cursor is not read yet
    std::unique_ptr<Endpoint> endpoint_;
    common::PoolWork files_work_;
    common::Timer retry_, files_retry_;
    std::uint64_t published_ = 0;
    decide::hooks::HookProgress saved_;
    smtp::Monotonic saved_at_{};
    bool ever_saved_ = false;
    std::deque<DeadLetter> dead_letters_; // to be written
    std::uint64_t generation_ = 0;        // of what is read: another one after restart_at() and use()
    bool read_last_ = false;              // of the work on files
    bool accepted_ = false;               // something, since the cursor was saved
    std::string files_problem_, problem_, last_answer_;
    Counts counts_;
    std::function<void()> stopped_; // set: nothing more is begun
    bool ended_ = false;            // stopped_ has been called
};

} // namespace events
