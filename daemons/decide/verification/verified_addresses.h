// What is remembered of addresses that were verified: which are deliverable, for how long that is an answer, when it is
// to be checked again in the background, and what a full memory drops. Pure: results in, answers and
// changes to be stored out; the clock is the caller's. Knows no probes, no disk and no sessions.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace decide::verification {

enum class Deliverability : std::uint8_t {
    unknown,       // not known now
    deliverable,   // a server, or this system, would accept mail for it
    undeliverable, // it is rejected permanently
    unreachable,   // temporarily: no server could be asked, or it deferred
    last_ = unreachable,
};
std::string_view name_of(Deliverability what);

struct Result {
    Deliverability what = Deliverability::unknown;
    std::string text; // why; at most longest_text
    std::string host; // who said it, "mx.example.org[192.0.2.1]:25"; "" no server did
    bool operator==(const Result&) const = default;
};
inline constexpr std::size_t longest_text = 400, longest_address = 320;

// The name under which an address is remembered: the case of letters does not matter. "" if it is too long.
std::string key_of(std::string_view address);

struct Entry {
    Result result;
    smtp::WallTime checked{}; // when the server said so
    bool doubted = false;     // deliverable: the last check was rejected, the next one decides
    bool operator==(const Entry&) const = default;
};
std::string encode(const Entry& entry);
// Or nothing: these are not bytes of encode(), of this version.
std::optional<Entry> decode(std::string_view bytes);

class VerifiedAddresses {
public:
    struct Settings {
        smtp::Duration positive_lifetime{}, positive_refresh{};
        smtp::Duration negative_lifetime{}, negative_refresh{};
        smtp::Duration temporary_lifetime{}; // of "unreachable"; and until a check that gave no result is repeated
        std::size_t most = 1;                // entries
        bool operator==(const Settings&) const = default;
    };
    struct Answer {
        const Entry* entry = nullptr; // null: not known; until the next call
        bool check = false;           // a check is due now, unless one is under way
    };
    // What is to be stored under a key: an entry until it expires, or none.
    struct Change {
        std::string key;
        std::optional<Entry> entry;
        smtp::WallTime expires{};
    };

    explicit VerifiedAddresses(const Settings& settings) : settings_(settings) {}

    // Entries that are too many go at once.
    void configure(const Settings& settings);
    // A stored entry. False: it has expired, is of no use, or something newer is known.
    bool restore(const std::string& key, Entry entry, smtp::WallTime now);
    Answer find(std::string_view key, smtp::WallTime now);
    void checked(const std::string& key, Result result, smtp::WallTime now);
    // True: it was known.
    bool forget(std::string_view key);

    smtp::WallTime expiry_of(const Entry& entry) const;
    std::size_t size() const { return index_.size(); }
    // Since the last call.
    std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

private:
    struct Remembered {
        std::string key;
        Entry entry;
        smtp::WallTime check_after{}; // not before
    };
    using Ages = std::list<Remembered>; // the entry that was changed first in front
    Ages& ages_of(Deliverability what) { return what == Deliverability::deliverable ? good_ : others_; }
    void put(const std::string& key, Entry entry, smtp::WallTime check_after);
    void erase(Ages::iterator at);
    void make_room(std::size_t most);

    Settings settings_;
    Ages good_, others_;
    std::unordered_map<std::string_view, Ages::iterator> index_; // the keys are those of the lists
    std::vector<Change> changes_;
};

} // namespace decide::verification
