// One message's content as it goes to one server: changed by rules, with a field of its recipients' own, signed (DKIM),
// and with its 8-bit parts encoded where the server wants none. What that needs is found by prepare(), which reads the
// message in turns of bounded size; then its size is known, and it can be read from the start as often as asked. Knows
// nothing of sessions.
#pragma once
#include "daemons/common/filters/content_checks.h"
#include "daemons/smtp-client/message/ruled_header.h"
#include "daemons/smtp-client/message/signing.h"
#include "libsmtp/mime/seven_bit.h"
#include "libspool/message/message_reader.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smtp_client {

class Content {
public:
    enum class Server : std::uint8_t { takes_eight_bit, takes_seven_bit };
    // `message` must outlive it and stay where it is. `signing` may be null. `fields`: go before the header, with
    // their CRLFs, not signed; "" none. `header`: nothing: as stored. `rules`: those for what follows the header; null:
    // none.
    Content(spool::MessageReader& message, Server server, std::shared_ptr<const Signing> signing,
            std::string fields = "", std::optional<OutgoingHeader> header = {},
            std::shared_ptr<const common::ContentRules> rules = {});
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;

    enum class Prepared : std::uint8_t { not_yet, yes };
    // Goes on; not_yet: call again. `now` is the time of signatures. May block for a disk read of 2 MiB.
    // Errors: the message cannot be read, or is damaged.
    spool::ReadResult<Prepared> prepare(smtp::WallTime now);

    // All of these once it is prepared.
    std::uint64_t size() const { return size_ + fields_.size() + signatures_.size(); }
    std::uint64_t longest_line() const; // UINT64_MAX: not known
    bool eight_bit() const { return facts_.eight_bit && !conversion_wanted(); }
    // Not "": it has 8-bit bytes, the server takes none, and they cannot be converted, for this reason.
    const std::string& conversion_error() const { return unconvertible_; }
    // Not "": it should have been signed and is not, for this reason.
    const std::string& unsigned_because() const { return unsigned_because_; }
    // What rules have found, for the log; once.
    std::vector<common::ContentFinding> take_findings() { return std::exchange(findings_, {}); }
    std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

    // The next piece, from the start after rewind(); "" at the end. Valid until the next call. May block for a
    // disk read of 256 KiB, and fails as prepare() does; damage is found at the last piece at the latest.
    spool::ReadResult<std::string_view> next();
    void rewind();
    bool at_end() const { return delivered_ == size(); }

private:
    enum class Phase : std::uint8_t { begin, examine, survey, measure, ready };
    bool conversion_wanted() const { return plan_.has_value(); }
    spool::ReadResult<> begin();
    spool::ReadResult<> continue_examining();
    spool::ReadResult<> plan();
    spool::ReadResult<> continue_survey();
    spool::ReadResult<> continue_measuring(smtp::WallTime now);
    spool::ReadResult<std::string_view> read_piece();     // the next piece as it lies in the spool
    spool::ReadResult<std::string_view> stored_piece();   // … with another header, if there is one
    spool::ReadResult<std::string_view> ruled_piece();    // … as rules change it
    spool::ReadResult<std::string_view> outgoing_piece(); // the next piece as it leaves, without signatures
    void start_over();
    void sign(smtp::WallTime now);

    spool::MessageReader& message_;
    Server server_;
    std::shared_ptr<const Signing> signing_;
    const decide::SigningRule* rule_ = nullptr; // who signs
    Phase phase_ = Phase::begin;

    spool::ContentFacts facts_; // of the content as rules and other addresses make it

    std::shared_ptr<const common::ContentRules> rules_; // null: they change nothing
    std::optional<common::ContentChecks> checks_;
    bool checked_all_ = false;
    std::string ruled_;
    std::uint64_t line_ = 0; // while examining: length of the current line
    std::vector<common::ContentFinding> findings_;
    std::vector<std::string> warnings_;

    std::optional<smtp::SevenBitSurvey> survey_;
    std::optional<smtp::SevenBitPlan> plan_; // set: the content is converted
    std::optional<smtp::SevenBitConversion> conversion_;
    std::string converted_;
    struct Hash {
        dkim::Sha256 sha;
        smtp::dkim::SplitMessage split{[this](std::string_view bytes) { sha.update(bytes); }};
    };
    std::unique_ptr<Hash> hash_;

    std::string unconvertible_, unsigned_because_;
    const std::optional<OutgoingHeader> header_;
    std::string with_header_;                 // a piece that begins with it
    std::string fields_, signatures_, first_; // first_: both, with the first piece behind them
    bool converted_all_ = false;
    std::uint64_t read_ = 0;      // of the stored content
    std::uint64_t size_ = 0;      // without what goes before it
    std::uint64_t delivered_ = 0; // by next(), since rewind()
};

} // namespace smtp_client
