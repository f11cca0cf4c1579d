// Between the engine and the suppression list: looks up the recipients that the engine asks about, reports
// new entries to it, and adds recipients whose servers refused them permanently. Knows the list and the
// engine's questions; must not know operators, nor the delivery agents' channels.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/engine_driver/undelivered_log.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include "daemons/queue-manager/spool/suppressions.h"
#include "libspool/disk/commit_pool.h"
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace queue_manager {

// The postmaster of a local domain: never suppressed.
bool is_own_postmaster(std::string_view address, const CurrentConfig& config);

class SuppressionChecks {
public:
    struct Dependencies { // all outlive it
        common::Log& log;
        const CurrentConfig& config;
        EngineDriver& driver;
        spool::CommitPool& pool;
        Suppressions& suppressions;
        MessageFiles& files;
        MessageLoader& loader;
        UndeliveredLog& undelivered;
    };
    explicit SuppressionChecks(const Dependencies& dependencies) : deps_(dependencies) {}
    SuppressionChecks(const SuppressionChecks&) = delete;

    // Answers the engine which of these recipients are suppressed.
    void check(const decide::queue::AskSuppressions& question, std::span<const std::uint32_t> numbers);
    // They are on the list durably.
    void added(std::span<const decide::Suppression> entries);
    // Recipients that their servers refused, as far as suppression.rules cover the replies.
    void add_refused(const proto::delivery::Done& done);

private:
    struct LookupResult;
    struct Question;
    static LookupResult look_up(const common::SuppressionList& list, spool::Disk& disk, const Question& question);
    void answer(const Question& question, const LookupResult& result);

    Dependencies deps_;
};

} // namespace queue_manager
