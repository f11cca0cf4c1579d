// All hooks of the configuration: made, changed and removed with it, each informed of what is new in the journal.
#pragma once
#include "daemons/common/logging/problems.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/secrets.h"
#include "daemons/events/hooks/hook.h"
#include "daemons/events/hooks/journal_watch.h"
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace events {

class Hooks {
public:
    // All outlive it. `report_problem`: a line for `postrider status` about one hook.
    Hooks(common::DaemonContext& context, common::Problems& problems) : context_(context), problems_(problems) {}

    // `journal`: its directory. `authorities`: file of the CA certificates that servers are verified with.
    void reconfigure(const std::vector<config::Hook>& hooks, const std::string& journal, const std::string& authorities,
                     const proto::secrets::Hooks& secrets);
    void stop(smtp::Duration within, std::function<void()> done);

    // visit(next, hold): of each, the first event that it has not accounted for on disk, and how long it is kept. Until
    // its cursor is read, all are.
    template <class Visit> void each_need(Visit visit) const {
        for (const auto& [name, wanted] : wanted_) {
            const auto found = hooks_.find(name);
            visit(found == hooks_.end() ? std::uint64_t{0} : found->second->saved_next(), wanted.hook.hold);
        }
    }
    // By name; those that are configured, once there is a journal.
    const std::map<std::string, std::unique_ptr<Hook>>& all() const { return hooks_; }
    bool is_configured(const std::string& name) const { return wanted_.contains(name); }
    // Held while a file in dead/ is written or replaced.
    const std::shared_ptr<std::mutex>& writing_dead_letters() const { return dead_; }
    std::uint64_t published() const { return watch_ ? watch_->view().published : 0; }

private:
    struct Wanted {
        config::Hook hook;
        std::string secrets; // the text
        bool operator==(const Wanted&) const = default;
    };
    void looked(const JournalWatch::View& view);
    void leave(const std::string& name);
    std::string read_authorities(const std::string& file) const;
    Hook::Setup setup_of(const Wanted& wanted, const JournalWatch::View& view);

    common::DaemonContext& context_;
    common::Problems& problems_;
    const std::shared_ptr<std::mutex> dead_ = std::make_shared<std::mutex>();
    std::string path_, authorities_;
    std::map<std::string, Wanted> wanted_, used_; // by name; used_: those of hooks_
    std::unique_ptr<JournalWatch> watch_;         // null: there are no hooks
    std::map<std::string, std::unique_ptr<Hook>> hooks_;
    std::map<std::string, std::unique_ptr<Hook>> leaving_; // no longer wanted as they are; they write their cursors
    std::function<void()> stopped_;
    std::size_t stopping_ = 0;
};

} // namespace events
