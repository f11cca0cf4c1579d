// queue-manager ↔ categorizer: who are the actual recipients? Requests come in batches (many
// to one write); answers may come in any order. Long questions and answers come in parts
// (ipc/parts.h), with others between them. The categorizer keeps no state between questions.
#pragma once
#include "libspool/delivery/resolved_recipient.h"
#include "libspool/format/queue_id.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::categorize {

inline constexpr std::string_view conversation = "categorize";

struct Categorize { // queue-manager → categorizer
    std::uint64_t request = 0;
    spool::QueueId queue_id;
    std::string reverse_path, pool, lane; // what entries of the suppression list may be for
    std::vector<spool::UnresolvedRecipient> recipients;
    std::uint64_t reused_file = 0; // id of the reused file it is in (libspool/format/layout.h); 0: none
    std::uint32_t part = 0;
    bool more = false;
    std::uint64_t key() const { return request; }
    Categorize continued() const { return {.request = request, .queue_id = queue_id}; }
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("queue_id", m.queue_id);
        f("reverse_path", m.reverse_path);
        f("pool", m.pool);
        f("lane", m.lane);
        f("reused_file", m.reused_file);
        f("recipients", m.recipients);
        f("part", m.part);
        f("more", m.more);
    }
};
// What all questions of which parts have come may hold together in the categorizer's memory: more than a million
// recipients of ordinary length.
inline constexpr std::size_t largest_questions = 256 << 20;

// About what an outcome takes, in bytes: of a message here, and of the memory behind it.
inline std::size_t size_of(const spool::ResolvedRecipient& outcome) {
    return 48 + outcome.address.size() + outcome.user.size() + outcome.target.size() + outcome.transport.size() +
           outcome.delivered_to.size() + outcome.reverse_path.size() + outcome.status.size() + outcome.text.size();
}

// categorizer → queue-manager. What a mailing list becomes does not fit one message: such an answer comes in
// parts, and only the whole of it is acted on.
struct Categorized {
    std::uint64_t request = 0;
    std::vector<spool::ResolvedRecipient>
        outcomes;        // every envelope recipient asked for is named at least once, in one of the parts
    bool more = false;   // another part of this answer follows
    std::string refused; // not "": there is no answer, and why
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("outcomes", m.outcomes);
        f("more", m.more);
        f("refused", m.refused);
    }
};

// Sizes of outcomes: where a part ends, and what all parts of the answers under way may come to.
inline constexpr std::size_t part_size = 256 << 10, largest_answer = 64 << 20;

struct Suppressions { // queue-manager → categorizer: the suppression list has changed, or we have just met
    bool any = false; // is there anybody on it?
    static void fields(auto& m, auto& f) { f("any", m.any); }
};

using Message = std::variant<Categorize, Categorized, Suppressions>;

} // namespace proto::categorize
