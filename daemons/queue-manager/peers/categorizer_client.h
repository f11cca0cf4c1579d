// The conversation with the categorizer about messages' recipients: asks it for the engine if anything has to be looked
// up, records what it answers, and reports that to the engine; what must be durable first is written first. Knows the
// conversation and messages' files; must not know how recipients are delivered.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/queue-manager/conversion/answer_parts.h"
#include "daemons/queue-manager/conversion/categorization.h"
#include "daemons/queue-manager/conversion/content_filter.h"
#include "daemons/queue-manager/conversion/immediate_expansion.h"
#include "daemons/queue-manager/engine_driver/current_config.h"
#include "daemons/queue-manager/engine_driver/engine_driver.h"
#include "daemons/queue-manager/engine_driver/undelivered_log.h"
#include "daemons/queue-manager/events/message_events.h"
#include "daemons/queue-manager/peers/service.h"
#include "daemons/queue-manager/probe/route_query.h"
#include "daemons/queue-manager/spool/message_files.h"
#include "daemons/queue-manager/spool/message_loader.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace queue_manager {

class CategorizerClient {
public:
    using Channel = ipc::Channel<proto::categorize::Message>;
    struct Dependencies { // all outlive it
        common::Loop& loop;
        common::Log& log;
        const CurrentConfig& config;
        EngineDriver& driver;
        MessageFiles& files;
        MessageLoader& loader;
        UndeliveredLog& undelivered;
        MessageEvents& events;
        ContentFilters& filters;                // learns those that mail goes through
        RouteQuery& route_query;                // gets the answers to its questions
        std::function<bool()> any_suppressions; // is there anybody on the suppression list?
    };
    explicit CategorizerClient(const Dependencies& dependencies);
    CategorizerClient(const CategorizerClient&) = delete;

    // The configuration has been replaced.
    void configured();
    void attach(std::unique_ptr<Channel> channel) { service_.attach(std::move(channel)); }
    bool present() const { return service_.present(); }
    // A question of RouteQuery.
    [[nodiscard]] ipc::SendResult send(const proto::categorize::Categorize& question) { return service_.ask(question); }
    void send(const proto::categorize::Suppressions& now) { service_.ask(now); }

    // The engine asks about these recipients; none: all of the envelope. What the file itself knows is not
    // asked.
    void ask(spool::QueueId id, std::span<const std::uint32_t> numbers, const EventContext& context);

private:
    void up();
    void down();
    CategorizationInput input_of(const spool::MessageState& state, std::uint64_t size,
                                 std::span<const std::uint32_t> numbers) const;
    using Serial = std::uint64_t;
    struct Question {
        Serial serial = 0;
        CategorizationInput subject;
    };
    bool is_last(spool::QueueId id, Serial serial) const;
    bool answer_at_once(spool::QueueId id, Question& question);
    void put(spool::QueueId id, Question question);
    void answered(const proto::categorize::Categorized& answer);
    void answered(spool::QueueId id, Question question, const proto::categorize::Categorized& answer);
    void settle(spool::QueueId id, const Judgement& judgement, const CategorizationInput& subject);
    void unreadable(spool::QueueId id, const MessageLoader::Failure& failure);
    void failed(spool::QueueId id, std::string why);

    Dependencies deps_;
    ImmediateExpansion immediate_;
    Service<proto::categorize::Message> service_;
    AnswerParts parts_;
    // The engine's last question about each message, until it is answered or its answer is being written: what was read
    // or said for an earlier one does not count (the message was held and released meanwhile).
    std::unordered_map<spool::QueueId, Serial> last_;
    Serial serials_ = 0;
    // What the categorizer is being asked (about max_pending_categorizations messages).
    std::unordered_map<spool::QueueId, Question> questions_;
    // Of the messages whose answers are being written: the recipients that the engine has asked about again, which
    // waits until the file says what became of them.
    std::unordered_map<spool::QueueId, std::optional<std::vector<std::uint32_t>>> being_written_;
};

} // namespace queue_manager
