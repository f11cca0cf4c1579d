// Writer (smtpd, pickup, bounce) → queue-manager: a message is durable under incoming/<slot>/; take it over.
// The writer repeats Submitted on every new connection until Taken arrives; taking over twice is harmless.
// smtpd also requests, for its clients, that mail waiting for a domain be tried now (ETRN).
#pragma once
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::submission {

inline constexpr std::string_view conversation = "submission";

struct Submitted {
    spool::QueueId queue_id;
    std::uint64_t size = 0;        // bytes of content
    std::string envelope;          // a hint that saves opening the file: spool::encode(Envelope); may be empty
    bool repeated = false;         // said before, on a connection that was lost: it may be finished already
    std::uint64_t reused_file = 0; // id of the reused file it is in (libspool/format/layout.h); 0: it has its own file
    static void fields(auto& m, auto& f) {
        f("queue_id", m.queue_id);
        f("size", m.size);
        f("envelope", m.envelope);
        f("repeated", m.repeated);
        f("reused_file", m.reused_file);
    }
};

struct Taken { // queue-manager → writer
    spool::QueueId queue_id;
    static void fields(auto& m, auto& f) { f("queue_id", m.queue_id); }
};

struct FilesInUse { // writer → queue-manager, on a new connection: reused files of messages that were Taken before
    std::vector<spool::QueueId> files;
    static void fields(auto& m, auto& f) { f("files", m.files); }
};

struct FilesLeft {                        // queue-manager → writer: what became of reused files
    std::vector<spool::QueueId> reusable; // their messages are finished
    std::vector<spool::QueueId> kept; // not the writer's any longer: their messages have to wait, or they are removed
    static void fields(auto& m, auto& f) {
        f("reusable", m.reusable);
        f("kept", m.kept);
    }
};

struct FlushDomain { // smtpd → queue-manager; not repeated
    std::uint64_t request = 0;
    std::string domain;           // lower case, as the DNS has it
    bool with_subdomains = false; // domains that end in ".domain" too
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("domain", m.domain);
        f("and_below", m.with_subdomains);
    }
};

struct DomainFlushed { // queue-manager → smtpd: what is being tried from now on
    std::uint64_t request = 0;
    std::uint64_t deliveries = 0; // that wait, or are in flight
    bool loading = false;         // the spool is still being read: there may be more
    std::string obstacle;         // not empty: nothing is, and why: "its queue is paused"
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("deliveries", m.deliveries);
        f("loading", m.loading);
        f("obstacle", m.obstacle);
    }
};

struct WriterStatus {     // writer → queue-manager: whether it takes mail; again on every new connection
    std::string obstacle; // why it does not; "" it does
    static void fields(auto& m, auto& f) { f("obstacle", m.obstacle); }
};

struct Acceptance {       // queue-manager → writers that serve clients: whether mail may be taken, as far as it knows;
    std::string obstacle; // again on every new connection. Why not; "" it may
    bool drained = false; // not for a moment: clients go to another node
    static void fields(auto& m, auto& f) {
        f("obstacle", m.obstacle);
        f("drained", m.drained);
    }
};

// Writers that serve clients → queue-manager: what happened before there was a message, for the journal; not repeated.
// Texts are as clients sent them, and cut at longest_door_text.
struct DoorEvent {
    enum class Kind : std::uint8_t {
        rejected,        // a client, sender, recipient or message
        auth_failed,     //
        limit_hit,       // rejected, because of a limit
        milter_rejected, // by a filter
        duplicate,       // of an earlier message, by its idempotency key
        last_ = duplicate,
    };
    Kind kind = Kind::rejected;
    std::string listener, client_name, client_address, helo, protocol, user, mechanism;
    std::string sender, recipient;
    std::string id;    // of the message that was not accepted, if the log has it under one
    std::string stage; // the command: "RCPT"
    std::uint32_t code = 0;
    std::string status, text;
    std::string rule;          // what rejected it, or the limit: a key of the configuration
    std::string key, first;    // duplicate: the key, the queue id of the first one
    std::uint64_t sampled = 0; // as many of this kind were left out before this one
    static void fields(auto& m, auto& f) {
        f("kind", m.kind);
        f("listener", m.listener);
        f("client_name", m.client_name);
        f("client_address", m.client_address);
        f("helo", m.helo);
        f("protocol", m.protocol);
        f("user", m.user);
        f("mechanism", m.mechanism);
        f("sender", m.sender);
        f("recipient", m.recipient);
        f("id", m.id);
        f("stage", m.stage);
        f("code", m.code);
        f("status", m.status);
        f("text", m.text);
        f("rule", m.rule);
        f("key", m.key);
        f("first", m.first);
        f("sampled", m.sampled);
    }
};
inline constexpr std::size_t longest_door_text = 1024;
inline DoorEvent bounded(DoorEvent event) {
    for (auto* text : {&event.listener, &event.client_name, &event.client_address, &event.helo, &event.protocol,
                       &event.user, &event.mechanism, &event.sender, &event.recipient, &event.id, &event.stage,
                       &event.status, &event.text, &event.rule, &event.key, &event.first})
        if (text->size() > longest_door_text) text->resize(longest_door_text);
    return event;
}

// The same → queue-manager: how many of them are left out; not repeated either.
struct DoorEventsLost {
    std::uint64_t sampled = 0; // they were more than the configured rate
    std::uint64_t lost = 0;    // they could not be sent
    static void fields(auto& m, auto& f) {
        f("sampled", m.sampled);
        f("lost", m.lost);
    }
};

using Message = std::variant<Submitted, Taken, FilesInUse, FilesLeft, FlushDomain, DomainFlushed, WriterStatus,
                             Acceptance, DoorEvent, DoorEventsLost>;

} // namespace proto::submission
