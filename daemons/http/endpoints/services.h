// What the endpoints use: the clients of other daemons, and settings. Outlives them.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/http/backend/event_feed.h"
#include "daemons/http/backend/journal_reader.h"
#include "daemons/http/backend/later.h"
#include "daemons/http/backend/metrics_client.h"
#include "daemons/http/backend/queue_client.h"
#include "daemons/http/backend/submission_client.h"
#include <cstdint>
#include <string>

namespace http {

struct Services {
    common::Loop& loop;
    common::Log& log;
    QueueClient& queue;
    QueueClient& hooks; // of the events process
    MetricsClient& metrics;
    SubmissionClient& submissions;
    JournalReader& journal;
    Later& later;
    EventFeed& feed;
    std::uint64_t message_size = 0;  // submit.message_size
    std::uint64_t transfer_size = 0; // of a message of another node, with its envelope
    std::uint32_t recipients = 0;    // submit.recipients
    std::uint32_t followers = 0;     // http.followers
    bool content = false;            // http.content
    bool stopping = false;           // nothing may take long from now on
    bool has_metrics = false;        // there is a metrics process
};

} // namespace http
