#include "daemons/common/filters/content_checks.h"
#include "daemons/common/filters/milter/message.h"
#include "libsmtp/message/header.h"
#include "libspool/format/edits.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace common {

using Action = HeaderChecks::Action;

namespace {

bool is_logged(Action action) { return action != Action::dunno && action != Action::ignore; }
bool adds_text(Action action) { return action == Action::prepend || action == Action::replace; }
bool changes_content(Action action) { return adds_text(action) || action == Action::ignore || action == Action::strip; }
bool ends_examination(Action action) {
    return action == Action::reject || action == Action::discard || action == Action::defer;
}

// As Postfix has them: other fields whose names begin with "Content-" are ordinary ones.
bool is_mime_field(std::string_view field) {
    const auto colon = std::min(field.find(':'), field.size());
    const auto name = field.substr(0, field.substr(0, colon).find_last_not_of(" \t") + 1);
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"MIME-Version", "Content-Type", "Content-Transfer-Encoding",
                                                "Content-Disposition", "Content-ID", "Content-Description"},
        [&](std::string_view each) { return smtp::same_ignoring_case(name, each); });
}

template <class Section>
ContentRules rules_of_section(const Section& section, HeaderChecks::Use header, HeaderChecks::Use body) {
    ContentRules out;
    const auto read = [](const std::vector<std::string>& lines, HeaderChecks::Use use, HeaderChecks& into) {
        if (auto rules = HeaderChecks::parse(lines, use)) into = *std::move(rules);
    };
    read(section.header_checks, header, out.header);
    read(section.mime_header_checks, header, out.mime);
    read(section.nested_header_checks, header, out.nested);
    read(section.body_checks, body, out.body);
    return out;
}

} // namespace

std::string_view verb_of(Action action) {
    switch (action) {
    case Action::reject: return "reject";
    case Action::discard: return "discard";
    case Action::hold: return "hold";
    case Action::redirect: return "redirect";
    case Action::filter: return "filter";
    case Action::warn: return "warning";
    case Action::prepend: return "prepend";
    case Action::replace: return "replace";
    case Action::strip: return "strip";
    case Action::info: return "info";
    case Action::bcc: return "bcc";
    case Action::defer: return "defer";
    default: return "";
    }
}

ContentRules content_rules_of(const config::Content& content) {
    auto out = rules_of_section(content, HeaderChecks::Use::header, HeaderChecks::Use::body);
    out.body_size = content.body_checks_size;
    return out;
}

ContentRules outgoing_rules_of(const config::SmtpClient& settings) {
    return rules_of_section(settings, HeaderChecks::Use::outgoing_header, HeaderChecks::Use::outgoing_body);
}

std::string shown_field(std::string_view field) {
    const auto block = smtp::scan_header(field);
    if (block.fields.empty()) return "header " + smtp::printable(field, 200);
    auto value = block.fields.front().unfolded();
    std::ranges::replace(value, '\t', ' ');
    return fmt::format("header {}: {}", smtp::printable(block.fields.front().name, 80), smtp::printable(value, 200));
}

OwnHeaderChecks::OwnHeaderChecks(const ContentRules& rules) : rules_(rules), header_(rules.header), mime_(rules.mime) {}

std::optional<HeaderChecks::Finding> OwnHeaderChecks::check(std::size_t number, std::string_view field) {
    return !rules_.mime.empty() && is_mime_field(field) ? mime_.check(number, field) : header_.check(number, field);
}

std::vector<std::string> OwnHeaderChecks::take_warnings() {
    auto out = header_.take_warnings();
    for (auto& warning : mime_.take_warnings()) out.push_back(std::move(warning));
    return out;
}

ContentChecks::ContentChecks(const ContentRules& rules, OwnHeader own_header)
    : body_size_(rules.body_size), own_header_(own_header), header_run_(rules.header), mime_run_(rules.mime),
      nested_run_(rules.nested), body_run_(rules.body), any_header_(!rules.header.empty()),
      any_mime_(!rules.mime.empty()), any_nested_(!rules.nested.empty()), any_body_(!rules.body.empty()),
      keeps_parts_out_(rules.mime.keeps_mail_out() || rules.nested.keeps_mail_out()),
      walk_(*this, smtp::MimeWalk::Purpose::inspection) {}

// The walk is fed lines, or pieces of over-long ones, so that each call of the visitor is about what was fed last, and
// the line end that it drops is known.
void ContentChecks::feed(std::string_view bytes, std::string& out) {
    out_ = &out;
    while (!bytes.empty()) {
        const auto end = bytes.find('\n');
        if (end == bytes.npos) {
            line_ += bytes;
            if (line_.size() > 64 * 1024) { // all but what might be a part of its end
                const bool cr = line_.ends_with('\r');
                if (cr) line_.pop_back();
                walk_.feed(line_);
                line_ = cr ? "\r" : "";
            }
            return;
        }
        line_ += bytes.substr(0, end + 1);
        bytes.remove_prefix(end + 1);
        end_of_line_ = line_.ends_with("\r\n") ? "\r\n" : "\n";
        walk_.feed(line_);
        line_.clear();
    }
}

void ContentChecks::end_header(std::string& out) {
    out_ = &out;
    flush_field();
}

void ContentChecks::finish(std::string& out) {
    out_ = &out;
    walk_.feed(line_);
    line_.clear();
    walk_.finish();
    flush_field();
}

std::vector<std::string> ContentChecks::take_warnings() {
    auto out = std::exchange(warnings_, {});
    for (auto* run : {&header_run_, &mime_run_, &nested_run_, &body_run_})
        for (auto& warning : run->take_warnings()) out.push_back(std::move(warning));
    return out;
}

void ContentChecks::warn_once(bool& warned, std::string_view text) {
    if (!std::exchange(warned, true)) warnings_.emplace_back(text);
}

// --- headers

void ContentChecks::entity_begins() {
    place_ = !std::exchange(begun_, true)             ? Place::own_header
             : std::exchange(message_follows_, false) ? Place::nested_header
                                                      : Place::part_header;
    garbled_ = false;
}

bool ContentChecks::examines_header() const {
    if (garbled_ && any_body_) return true;
    switch (place_) {
    case Place::own_header: return (own_header_ == OwnHeader::checked || garbled_) && (any_header_ || any_mime_);
    case Place::part_header: return any_mime_;
    case Place::nested_header: return any_nested_ || any_mime_;
    }
    return false;
}

HeaderChecks::Run* ContentChecks::run_for(std::string_view field) {
    if (any_mime_ && (place_ == Place::part_header || is_mime_field(field))) return &mime_run_;
    if (place_ == Place::own_header && any_header_) return &header_run_;
    return place_ == Place::nested_header && any_nested_ ? &nested_run_ : nullptr;
}

void ContentChecks::header(const smtp::LinePiece& piece, smtp::MimeWalk::Field field) {
    if (field == smtp::MimeWalk::Field::none) {
        flush_field();
        garbled_ = true;
        return line_of_body(piece);
    }
    if (over_ || !examines_header()) return put(piece);
    const bool folded = piece.text.starts_with(' ') || piece.text.starts_with('\t');
    if (piece.begins_line && !folded) flush_field();
    if (!field_too_long_ && field_.size() + piece.text.size() > longest_field) begin_long_field();
    if (field_too_long_) return put(piece);
    field_.append(piece.text).append(piece.ends_line ? end_of_line_ : "");
}

// What there is of it decides, but is passed on.
void ContentChecks::begin_long_field() {
    warn_once(warned_field_, fmt::format("header fields of more than {} bytes are not changed, and only their "
                                         "beginning is examined",
                                         longest_field));
    field_too_long_ = true;
    const auto field = std::exchange(field_, {});
    auto* run = run_for(field);
    auto found = run ? run->check(0, field) : std::nullopt;
    if (found && !changes_content(found->action)) return apply(*std::move(found), shown_field(field), {field, true});
    out_->append(field);
}

void ContentChecks::flush_field() {
    field_too_long_ = false;
    if (field_.empty()) return;
    const auto field = std::exchange(field_, {});
    auto* run = over_ ? nullptr : run_for(field);
    auto found = run ? run->check(0, field) : std::nullopt;
    const bool perhaps_body = garbled_ && any_body_ && !over_;
    if (found) {
        const bool is_all = !perhaps_body || changes_content(found->action) || ends_examination(found->action);
        apply(*std::move(found), shown_field(field), {is_all ? std::string_view(field) : "", true});
        if (is_all) return;
    }
    if (perhaps_body)
        lines_of_body(field);
    else
        out_->append(field);
}

void ContentChecks::header_ends(const smtp::MimeEntity& entity, bool blank_line) {
    flush_field();
    if (blank_line) out_->append(end_of_line_);
    message_follows_ = entity.kind == smtp::MimeEntity::Kind::message;
    segment_ = 0;
    if (entity.kind == smtp::MimeEntity::Kind::opaque) report_limit(entity.why);
}

void ContentChecks::report_limit(std::string_view why) {
    if (over_ || !(any_mime_ || any_nested_)) return;
    if (!keeps_parts_out_)
        return warn_once(warned_limit_,
                         fmt::format("the rules for headers of parts do not see all of them: a part {}", why));
    over_ = true;
    findings_.push_back(
        {Action::reject, "structure of the message", fmt::format("5.6.0 cannot be examined: a part {}", why)});
}

// --- bodies

void ContentChecks::body(const smtp::LinePiece& piece) { line_of_body(piece); }

void ContentChecks::body_ends(bool) { segment_ = 0; }

void ContentChecks::between(const smtp::LinePiece& piece, bool) { line_of_body(piece); }

void ContentChecks::lines_of_body(std::string_view field) {
    const auto end_of_line = end_of_line_;
    while (!field.empty()) {
        const auto end = field.find('\n');
        auto line = field.substr(0, end);
        field.remove_prefix(end == field.npos ? field.size() : end + 1);
        end_of_line_ = end != field.npos && line.ends_with('\r') ? "\r\n" : "\n";
        if (end_of_line_ == "\r\n") line.remove_suffix(1);
        line_of_body({line, true, end != field.npos});
    }
    end_of_line_ = end_of_line;
}

void ContentChecks::line_of_body(const smtp::LinePiece& piece) {
    if (over_ || !any_body_ || segment_ >= body_size_) return put(piece);
    if (bodies_ >= ContentRules::most_bodies * body_size_) {
        warn_once(warned_bodies_, fmt::format("rules for the body have examined {} bytes of all parts; the rest is not "
                                              "examined",
                                              bodies_));
        return put(piece);
    }
    segment_ += piece.text.size() + 2;
    bodies_ += piece.text.size() + 2;
    auto found = body_run_.check(0, piece.text);
    if (!found) return put(piece);
    std::string original(piece.text);
    if (piece.ends_line) original += end_of_line_;
    apply(*std::move(found), "body " + smtp::printable(piece.text, 200),
          {original, false, piece.begins_line, piece.ends_line});
}

// --- what a rule does

bool ContentChecks::may_add(std::size_t bytes) {
    if (added_ + bytes > most_added) {
        warn_once(warned_added_, fmt::format("rules have added {} bytes; the rest stays as it is", most_added));
        return false;
    }
    added_ += bytes;
    return true;
}

// Of a piece of a line, only the piece changes: what follows it does so as before.
void ContentChecks::change(Action action, std::string text, const Matched& matched) {
    const bool whole = matched.begins_line && matched.ends_line;
    const std::string_view end = whole ? "" : matched.ends_line ? end_of_line_ : "";
    changed_ = true;
    if (action == Action::prepend)
        out_->append(text).append("\r\n").append(matched.original);
    else if (action == Action::replace)
        out_->append(text).append(whole ? "\r\n" : end);
    else
        out_->append(end);
}

void ContentChecks::apply(Finding&& found, std::string subject, const Matched& matched) {
    auto text = milter::with_crlf(found.text);
    const bool adds = adds_text(found.action);
    bool stays = false;
    if (adds && matched.is_field && !spool::is_one_field(text + "\r\n")) {
        warnings_.push_back(fmt::format("header check: not a header field: {}", smtp::printable(found.text, 400)));
        stays = true;
    } else if (found.action == Action::prepend && !matched.begins_line) {
        warn_once(warned_piece_, "nothing is inserted before a piece of a line");
        stays = true;
    } else if (adds && !may_add(text.size() + 2)) {
        stays = true;
    }
    if (stays) {
        out_->append(matched.original);
        return;
    }
    if (changes_content(found.action))
        change(found.action, std::move(text), matched);
    else
        out_->append(matched.original);
    over_ = over_ || ends_examination(found.action);
    if (!is_logged(found.action)) return;
    // Those that decide about the message are never lost.
    const bool decides =
        found.action != Action::warn && found.action != Action::info && found.action != Action::strip && !adds;
    if (!decides && found_ >= most_findings)
        return warn_once(warned_findings_,
                         fmt::format("rules have matched {} times; further matches are not logged", most_findings));
    if (decides && !over_ && found_ >= 2 * most_findings) return; // the first of them counts
    ++found_;
    findings_.push_back({found.action, std::move(subject), std::move(found.text)});
}

} // namespace common
