#include "daemons/smtp-client/message/content.h"
#include "libsmtp/protocol/outgoing_content.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <utility>

namespace smtp_client {

using spool::ReadResult;

namespace {

constexpr std::size_t piece_size = 256 * 1024;
constexpr int pieces_per_turn = 8;
constexpr std::uint64_t line_limit = smtp::OutgoingContent::line_limit;

// A line too long to leave as it is: it would be wrapped in transit, after signing.
bool has_long_line(std::string_view header) {
    for (std::size_t at = 0; at < header.size();) {
        const auto end = std::min(header.find('\n', at), header.size());
        if (end - at > line_limit + 1) return true;
        at = end + 1;
    }
    return false;
}

std::uint32_t longest_line_of(std::string_view header) {
    std::size_t longest = 0;
    for (std::size_t at = 0; at < header.size();) {
        const auto end = std::min(header.find("\r\n", at), header.size());
        longest = std::max(longest, end - at);
        at = end + 2;
    }
    return static_cast<std::uint32_t>(longest); // of a few MiB
}

} // namespace

Content::Content(spool::MessageReader& message, Server server, std::shared_ptr<const Signing> signing,
                 std::string fields, std::optional<OutgoingHeader> header,
                 std::shared_ptr<const common::ContentRules> rules)
    : message_(message), server_(server), signing_(std::move(signing)), rules_(std::move(rules)),
      header_(std::move(header)), fields_(std::move(fields)) {}

ReadResult<Content::Prepared> Content::prepare(smtp::WallTime now) {
    for (int pieces = 0; phase_ != Phase::ready && pieces < pieces_per_turn; ++pieces) {
        auto done = phase_ == Phase::begin     ? begin()
                    : phase_ == Phase::examine ? continue_examining()
                    : phase_ == Phase::survey  ? continue_survey()
                                               : continue_measuring(now);
        if (!done) return ReadResult<Prepared>(std::unexpect, std::move(done).error());
    }
    return phase_ == Phase::ready ? Prepared::yes : Prepared::not_yet;
}

ReadResult<> Content::begin() {
    facts_ = message_.content();
    if (header_) {
        facts_.size = facts_.size - header_->stored_size + header_->text.size();
        facts_.longest_line = std::max(facts_.longest_line, longest_line_of(header_->text));
        facts_.eight_bit = facts_.eight_bit || !smtp::is_ascii(header_->text);
    }
    if (rules_ && !rules_->beyond_header()) rules_.reset();
    if (!rules_) return plan();
    facts_.size = 0;
    phase_ = Phase::examine;
    return {};
}

// What rules change has to be measured; what they do not change is sent without them.
ReadResult<> Content::continue_examining() {
    const auto piece = ruled_piece();
    if (!piece) return std::unexpected(piece.error());
    facts_.size += piece->size();
    for (const char c : *piece) {
        if (static_cast<unsigned char>(c) > 127) facts_.eight_bit = true;
        if (c == '\r') continue;
        line_ = c == '\n' ? 0 : line_ + 1;
        if (line_ > facts_.longest_line && line_ <= UINT32_MAX) facts_.longest_line = static_cast<std::uint32_t>(line_);
    }
    if (!piece->empty()) return {};
    findings_ = checks_->take_findings();
    warnings_ = checks_->take_warnings();
    if (!checks_->has_changed()) rules_.reset();
    start_over();
    return plan();
}

ReadResult<> Content::plan() {
    size_ = facts_.size;
    if (signing_ && signing_->any()) {
        if (header_) {
            rule_ = signing_->rule_for(message_.envelope(), header_->text);
        } else {
            const auto header = message_.read_header(smtp::dkim::SplitMessage::header_limit);
            if (!header) return std::unexpected(header.error());
            rule_ = signing_->rule_for(message_.envelope(), *header);
        }
    }
    const bool must = facts_.eight_bit && server_ == Server::takes_seven_bit;
    // Lines that would be repaired in transit are encoded instead, before they are signed.
    const bool odd_lines = facts_.longest_line > line_limit || facts_.bare_lf_or_cr;
    if (must || (rule_ && odd_lines)) {
        survey_.emplace();
        phase_ = Phase::survey;
    } else if (rule_) {
        hash_ = std::make_unique<Hash>();
        phase_ = Phase::measure;
    } else {
        phase_ = Phase::ready;
    }
    return {};
}

ReadResult<> Content::continue_survey() {
    const auto piece = ruled_piece();
    if (!piece) return std::unexpected(piece.error());
    survey_->feed(*piece);
    if (!piece->empty()) return {};
    auto plan = survey_->finish();
    survey_.reset();
    const bool must = facts_.eight_bit && server_ == Server::takes_seven_bit;
    if (plan.problem.empty()) {
        plan_ = std::move(plan);
    } else {
        if (rule_) unsigned_because_ = "it has lines that are too long, and cannot be encoded: " + plan.problem;
        if (must) unconvertible_ = std::move(plan.problem);
        rule_ = nullptr;
    }
    start_over();
    if (rule_) hash_ = std::make_unique<Hash>();
    phase_ = plan_ ? Phase::measure : Phase::ready;
    return {};
}

ReadResult<> Content::continue_measuring(smtp::WallTime now) {
    if (read_ == 0) size_ = 0;
    const auto piece = outgoing_piece();
    if (!piece) return std::unexpected(piece.error());
    size_ += piece->size();
    if (hash_) hash_->split.feed(*piece);
    if (!piece->empty()) return {};
    if (hash_) sign(now);
    start_over();
    phase_ = Phase::ready;
    return {};
}

void Content::sign(smtp::WallTime now) {
    hash_->split.finish();
    const auto& header = hash_->split.header();
    if (hash_->split.overlong())
        unsigned_because_ = "its header is too long";
    else if (has_long_line(header))
        unsigned_because_ = "a header field has a line that is too long";
    else
        signatures_ = signing_->fields(*rule_, header, hash_->sha.finish(), now, unsigned_because_);
    hash_.reset();
}

std::uint64_t Content::longest_line() const {
    if (conversion_wanted()) return UINT64_MAX; // the header and the parts kept unchanged were not measured again
    return facts_.longest_line;
}

ReadResult<std::string_view> Content::stored_piece() {
    for (;;) {
        const auto at = read_;
        auto piece = read_piece();
        if (!piece || !header_ || at >= header_->stored_size) return piece;
        // All of the stored header is read, for the checksum, and dropped.
        with_header_ = at == 0 ? header_->text : "";
        with_header_ += piece->substr(std::min<std::uint64_t>(piece->size(), header_->stored_size - at));
        if (!with_header_.empty() || read_ >= message_.size()) return std::string_view(with_header_);
    }
}

ReadResult<std::string_view> Content::read_piece() {
    auto piece = message_.is_small() && read_ == 0 ? message_.small_content() : message_.piece(read_, piece_size);
    if (!piece) return piece;
    if (piece->empty() && read_ < message_.size())
        return std::unexpected(
            spool::ReadError{spool::Damaged{spool::Damaged::How::damaged, "the message's file is truncated"}});
    read_ += piece->size();
    return piece;
}

ReadResult<std::string_view> Content::ruled_piece() {
    if (!rules_) return stored_piece();
    if (!checks_) checks_.emplace(*rules_, common::ContentChecks::OwnHeader::skipped);
    ruled_.clear();
    while (ruled_.empty() && !checked_all_) {
        const auto piece = stored_piece();
        if (!piece) return std::unexpected(piece.error());
        if (piece->empty()) {
            checks_->finish(ruled_);
            checked_all_ = true;
        } else {
            checks_->feed(*piece, ruled_);
        }
    }
    return std::string_view(ruled_);
}

ReadResult<std::string_view> Content::outgoing_piece() {
    if (!plan_) return ruled_piece();
    if (!conversion_) conversion_.emplace(*plan_);
    converted_.clear();
    while (converted_.empty() && !converted_all_) {
        const auto piece = ruled_piece();
        if (!piece) return std::unexpected(piece.error());
        if (piece->empty()) {
            conversion_->finish(converted_);
            converted_all_ = true;
        } else {
            conversion_->feed(*piece, converted_);
        }
    }
    return std::string_view(converted_);
}

ReadResult<std::string_view> Content::next() {
    auto piece = outgoing_piece();
    if (!piece) return piece;
    if (delivered_ == 0 && !(fields_.empty() && signatures_.empty())) { // a short message stays in one piece
        first_ = fields_ + signatures_;
        first_ += *piece;
        piece = std::string_view(first_);
    }
    delivered_ += piece->size();
    return piece;
}

void Content::rewind() {
    start_over();
    delivered_ = 0;
}

void Content::start_over() {
    read_ = 0;
    checks_.reset();
    checked_all_ = false;
    conversion_.reset();
    converted_.clear();
    converted_all_ = false;
}

} // namespace smtp_client
