#include "daemons/common/filters/content_checks.h"
#include "daemons/common/filters/milter/message.h"
#include "libsmtp/message/header.h"
#include "libspool/format/edits.h"
#include <algorithm>
#include <fmt/format.h>

namespace common {

using Action = HeaderChecks::Action;

namespace {

bool is_logged(Action action) { return action != Action::dunno && action != Action::ignore; }

} // namespace

std::string_view verb_of(Action action) {
    switch (action) {
    case Action::reject: return "reject";
    case Action::discard: return "discard";
    case Action::hold: return "hold";
    case Action::redirect: return "redirect";
    case Action::warn: return "warning";
    case Action::prepend: return "prepend";
    case Action::replace: return "replace";
    case Action::strip: return "strip";
    case Action::info: return "info";
    case Action::bcc: return "bcc";
    default: return "";
    }
}

ContentRules outgoing_rules_of(const config::SmtpClient& settings) {
    ContentRules out;
    using Use = HeaderChecks::Use;
    const auto read = [](const std::vector<std::string>& lines, Use use, HeaderChecks& into) {
        if (auto rules = HeaderChecks::parse(lines, use)) into = *std::move(rules);
    };
    read(settings.header_checks, Use::outgoing_header, out.header);
    read(settings.mime_header_checks, Use::outgoing_header, out.mime);
    read(settings.nested_header_checks, Use::outgoing_header, out.nested);
    read(settings.body_checks, Use::outgoing_body, out.body);
    return out;
}

std::string shown_field(std::string_view field) {
    const auto block = smtp::scan_header(field);
    if (block.fields.empty()) return "header " + smtp::printable(field, 200);
    auto value = block.fields.front().unfolded();
    std::ranges::replace(value, '\t', ' ');
    return fmt::format("header {}: {}", smtp::printable(block.fields.front().name, 80), smtp::printable(value, 200));
}

ContentChecks::ContentChecks(const ContentRules& rules, OwnHeader own_header)
    : body_size_(rules.body_size), own_header_(own_header), header_run_(rules.header), mime_run_(rules.mime),
      nested_run_(rules.nested), body_run_(rules.body), any_header_(!rules.header.empty()),
      any_mime_(!rules.mime.empty()), any_nested_(!rules.nested.empty()), any_body_(!rules.body.empty()), walk_(*this) {
}

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
}

HeaderChecks::Run* ContentChecks::run_of_place() {
    switch (place_) {
    case Place::own_header: return any_header_ && own_header_ == OwnHeader::checked ? &header_run_ : nullptr;
    case Place::part_header: return any_mime_ ? &mime_run_ : nullptr;
    case Place::nested_header: return any_nested_ ? &nested_run_ : nullptr;
    }
    return nullptr;
}

void ContentChecks::header(const smtp::LinePiece& piece, smtp::MimeWalk::Field) {
    if (over_ || !run_of_place()) return put(piece);
    const bool folded = piece.text.starts_with(' ') || piece.text.starts_with('\t');
    if (piece.begins_line && !folded) flush_field();
    if (!field_too_long_ && field_.size() + piece.text.size() > longest_field) {
        warn_once(warned_field_, fmt::format("header fields of more than {} bytes are not examined", longest_field));
        field_too_long_ = true;
        out_->append(std::exchange(field_, {}));
    }
    if (field_too_long_) return put(piece);
    field_.append(piece.text).append(piece.ends_line ? end_of_line_ : "");
}

void ContentChecks::flush_field() {
    field_too_long_ = false;
    if (field_.empty()) return;
    const auto field = std::exchange(field_, {});
    auto* run = run_of_place();
    auto found = run && !over_ ? run->check(0, field) : std::nullopt;
    if (!found) {
        out_->append(field);
        return;
    }
    apply(*std::move(found), shown_field(field), field, true);
}

void ContentChecks::header_ends(const smtp::MimeEntity& entity, bool blank_line) {
    flush_field();
    if (blank_line) out_->append(end_of_line_);
    message_follows_ = entity.kind == smtp::MimeEntity::Kind::message;
    segment_ = 0;
}

// --- bodies

void ContentChecks::body(const smtp::LinePiece& piece) { line_of_body(piece); }

void ContentChecks::body_ends(bool) { segment_ = 0; }

void ContentChecks::between(const smtp::LinePiece& piece, bool) { line_of_body(piece); }

void ContentChecks::line_of_body(const smtp::LinePiece& piece) {
    if (over_ || !any_body_ || segment_ >= body_size_) return put(piece);
    segment_ += piece.text.size() + 2;
    auto found = body_run_.check(0, piece.text);
    if (!found) return put(piece);
    std::string original(piece.text);
    if (piece.ends_line) original += end_of_line_;
    apply(*std::move(found), "body " + smtp::printable(piece.text, 200), original, false);
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

void ContentChecks::apply(Finding&& found, std::string subject, std::string_view original, bool is_field) {
    const auto text = milter::with_crlf(found.text) + "\r\n";
    const bool adds = found.action == Action::prepend || found.action == Action::replace;
    if (adds && is_field && !spool::is_one_field(text)) {
        warnings_.push_back(fmt::format("header check: not a header field: {}", smtp::printable(found.text, 400)));
        out_->append(original);
        return;
    }
    if (adds && !may_add(text.size())) {
        out_->append(original);
        return;
    }
    switch (found.action) {
    case Action::prepend:
        out_->append(text).append(original);
        changed_ = true;
        break;
    case Action::replace:
        out_->append(text);
        changed_ = true;
        break;
    case Action::ignore:
    case Action::strip: changed_ = true; break;
    case Action::reject:
    case Action::discard: over_ = true; [[fallthrough]];
    default: out_->append(original);
    }
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
