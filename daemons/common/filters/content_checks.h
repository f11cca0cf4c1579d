// The rules for a message's header, the headers of its parts and of messages inside it, and its body, applied while the
// content streams past: what they find, and the content as they change it. Pure; memory, work, findings and what is
// added are bounded: where rules that keep mail out meet a bound, the message does not pass. Must not know what becomes
// of the findings.
#pragma once
#include "daemons/common/config/sections/delivery/smtp_client.h"
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/lookup/format/header_checks.h"
#include "libsmtp/mime/mime_walk.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct ContentRules {
    HeaderChecks header, mime, nested, body;
    std::uint64_t body_size = 50 * 1024; // of each part, examined by `body`; of the message, most_bodies times that
    static constexpr std::uint64_t most_bodies = 4;
    bool beyond_header() const { return !mime.empty() || !nested.empty() || !body.empty(); }
    bool empty() const { return header.empty() && !beyond_header(); }
};

// As the configuration's check has read them; those for what is sent without a bound on the body.
ContentRules content_rules_of(const config::Content& content);
ContentRules outgoing_rules_of(const config::SmtpClient& settings);

// "reject", "warning" …, for the log; "" for those that are not logged.
std::string_view verb_of(HeaderChecks::Action action);

// A rule that has matched.
struct ContentFinding {
    HeaderChecks::Action action = HeaderChecks::Action::dunno;
    std::string subject; // "header Subject: you have won", "body you have won": for the log
    std::string text;    // follows the action
    bool operator==(const ContentFinding&) const = default;
};
// "header Subject: you have won", of one whole field.
std::string shown_field(std::string_view field);

// The rules on the fields of a message's own header: as in all headers, those of MIME (Content-Type …) have the rules
// for parts, if there are any.
class OwnHeaderChecks {
public:
    // `rules` must outlive it.
    explicit OwnHeaderChecks(const ContentRules& rules);
    std::optional<HeaderChecks::Finding> check(std::size_t number, std::string_view field);
    std::vector<std::string> take_warnings();

private:
    const ContentRules& rules_;
    HeaderChecks::Run header_, mime_;
};

class ContentChecks final : smtp::MimeWalk::Visitor {
public:
    static constexpr std::size_t most_findings = 100;
    static constexpr std::size_t longest_field = 256 * 1024; // longer ones are not changed
    static constexpr std::uint64_t most_added = 16'777'216;  // bytes; from there on nothing is changed

    // Are the rules for the message's own header applied?
    enum class OwnHeader : bool { skipped, checked };
    // `rules` must outlive it.
    ContentChecks(const ContentRules& rules, OwnHeader own_header);

    // The next bytes, from the start of the header; appends to `out` what they become.
    void feed(std::string_view bytes, std::string& out);
    // What was fed is the header as others know it: of a field that rules apply to, none of it is kept back.
    void end_header(std::string& out);
    void finish(std::string& out);

    bool has_changed() const { return changed_; }
    // The message is rejected, deferred or discarded: nothing is examined behind it.
    bool is_over() const { return over_; }
    std::vector<ContentFinding> take_findings() { return std::exchange(findings_, {}); }
    std::vector<std::string> take_warnings();

private:
    enum class Place : std::uint8_t { own_header, part_header, nested_header };
    using Finding = HeaderChecks::Finding;
    using Action = HeaderChecks::Action;

    void entity_begins() override;
    void header(const smtp::LinePiece& piece, smtp::MimeWalk::Field field) override;
    void header_ends(const smtp::MimeEntity& entity, bool blank_line) override;
    void body(const smtp::LinePiece& piece) override;
    void body_ends(bool at_delimiter) override;
    void between(const smtp::LinePiece& piece, bool delimiter) override;

    // What a rule has matched.
    struct Matched {
        std::string_view original;
        bool is_field = false;
        bool begins_line = true, ends_line = true; // no: a piece of a line
    };

    bool examines_header() const;
    HeaderChecks::Run* run_for(std::string_view field);
    void flush_field();
    void begin_long_field();
    void lines_of_body(std::string_view field);
    void line_of_body(const smtp::LinePiece& piece);
    void report_limit(std::string_view why);
    void put(const smtp::LinePiece& piece) { out_->append(piece.text).append(piece.ends_line ? end_of_line_ : ""); }
    // What the original becomes.
    void apply(Finding&& found, std::string subject, const Matched& matched);
    void change(Action action, std::string text, const Matched& matched);
    bool may_add(std::size_t bytes);
    void warn_once(bool& warned, std::string_view text);

    std::uint64_t body_size_;
    OwnHeader own_header_;
    HeaderChecks::Run header_run_, mime_run_, nested_run_, body_run_;
    bool any_header_, any_mime_, any_nested_, any_body_;
    bool keeps_parts_out_; // by rules for headers of parts or nested messages

    std::string* out_ = nullptr;
    std::string line_; // fed so far, without its end
    std::string_view end_of_line_;
    Place place_ = Place::own_header;
    bool begun_ = false, message_follows_ = false;
    bool garbled_ = false; // this header has lines that are no fields: what follows them may as well be the body
    std::string field_;    // of the header, so far
    bool field_too_long_ = false;
    std::uint64_t segment_ = 0; // bytes of this part's body
    std::uint64_t bodies_ = 0;  // examined in all
    std::uint64_t added_ = 0;
    bool changed_ = false, over_ = false;
    bool warned_field_ = false, warned_findings_ = false, warned_added_ = false, warned_limit_ = false;
    bool warned_bodies_ = false, warned_piece_ = false;
    std::vector<ContentFinding> findings_;
    std::size_t found_ = 0;
    std::vector<std::string> warnings_;
    smtp::MimeWalk walk_; // last: it calls from its constructor
};

} // namespace common
