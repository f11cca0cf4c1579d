#include "libsmtp/message/submission_fixup.h"
#include "libsmtp/message/address_list.h"
#include "libsmtp/message/header.h"
#include "libsmtp/mime/encoded_word.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <unordered_set>

namespace smtp {
namespace {

constexpr std::string_view removed[] = {"Bcc", "Resent-Bcc", "Return-Path", "Content-Length"};
constexpr std::string_view completed[] = {"From",      "Sender",      "Reply-To",      "To",
                                          "Cc",        "Resent-From", "Resent-Sender", "Resent-Reply-To",
                                          "Resent-To", "Resent-Cc",   "Errors-To",     "Return-Receipt-To"};
constexpr std::string_view blind_copies[] = {"Bcc", "Resent-Bcc"};
constexpr std::string_view signatures[] = {"DKIM-Signature", "ARC-Seal", "DomainKey-Signature"};
constexpr std::string_view plain_recipients[] = {"To", "Cc", "Bcc"};
constexpr std::string_view resent_recipients[] = {"Resent-To", "Resent-Cc", "Resent-Bcc"};

bool one_of(std::string_view name, std::span<const std::string_view> names) {
    return std::any_of(names.begin(), names.end(), [&](auto each) { return same_ignoring_case(name, each); });
}

bool any_in(const Header& header, std::span<const std::string_view> names) {
    return std::any_of(names.begin(), names.end(), [&](auto each) { return header.has(each); });
}

std::string complete(const ListedAddress& address, std::string_view origin) {
    std::string out = address.address();
    if (address.domain.empty()) out.append("@").append(origin);
    return out;
}

std::string complete(std::string_view sender, std::string_view origin) {
    if (sender.empty()) return fmt::format("MAILER-DAEMON@{}", origin);
    return sender.find('@') == sender.npos ? fmt::format("{}@{}", sender, origin) : std::string(sender);
}

std::string phrase(std::string_view name) {
    const bool ascii = std::all_of(name.begin(), name.end(), [](unsigned char c) { return c < 128; });
    return ascii ? quote_phrase(name) : encoded_words(name);
}

// Bare names of a list completed in place, the rest unchanged; nothing if there is nothing to do.
std::string complete_in_place(std::string_view list, std::string_view origin) {
    const auto parsed = parse_address_list(list);
    if (!parsed) return {}; // not ours to fix
    std::string out;
    std::size_t from = 0;
    for (const ListedAddress& address : *parsed) {
        if (!address.domain.empty()) continue;
        out.append(list.substr(from, address.end - from)).append("@").append(origin);
        from = address.end;
    }
    return from == 0 ? std::string() : out.append(list.substr(from));
}

void add_what_is_missing(Header& header, const SubmissionOptions& options, const std::string& message_id) {
    const std::string from = complete(options.sender, options.origin);
    const std::string name = options.sender.empty() ? "Mail Delivery System" : options.full_name;
    const std::string author = name.empty() ? from : fmt::format("{} <{}>", phrase(name), from);
    const std::string date = rfc5322_date(options.now, options.zone);
    bool resent = false;
    for (std::size_t i = 0; i < header.size(); ++i)
        resent = resent || same_ignoring_case(header.name(i).substr(0, 7), "Resent-");
    if (resent) { // a separate block, at the top (RFC 5322, 3.6.6)
        if (!header.has("Resent-From")) header.prepend("Resent-From", author);
        if (!header.has("Resent-Date")) header.prepend("Resent-Date", date);
        if (!header.has("Resent-Message-ID")) header.prepend("Resent-Message-ID", message_id);
    }
    if (!header.has("Message-ID")) header.append("Message-ID", message_id);
    if (!header.has("Date")) header.append("Date", date);
    if (!header.has("From")) header.append("From", author);
}

} // namespace

SubmissionFixup::SubmissionFixup(SubmissionOptions options) : options_(std::move(options)) {}

SubmissionFixup::State SubmissionFixup::refuse(std::string problem) {
    state_ = State::refused;
    problem_ = std::move(problem);
    header_ = {};
    return state_;
}

// CRLF, LF and CR all become CRLF, wherever the input is split.
void SubmissionFixup::take_line_ends(std::string_view bytes, std::string& out) {
    while (!bytes.empty()) {
        if (after_cr_ && bytes.front() == '\n') {
            after_cr_ = false;
            bytes.remove_prefix(1);
            continue;
        }
        after_cr_ = false;
        std::size_t n = std::min(bytes.find('\n'), bytes.size());
        n = std::min(bytes.substr(0, n).find('\r'), n);
        out.append(bytes.substr(0, n));
        if (n > 0) at_line_start_ = false;
        if (n == bytes.size()) return;
        after_cr_ = bytes[n] == '\r';
        out.append("\r\n");
        at_line_start_ = true;
        bytes.remove_prefix(n + 1);
    }
}

// Checks the complete lines not checked yet: does the body start with one of them?
bool SubmissionFixup::header_ended() {
    while (true) {
        const std::size_t end = header_.find('\n', line_start_);
        if (end == header_.npos) return false;
        const std::string_view line = std::string_view(header_).substr(line_start_, end + 1 - line_start_);
        if (line_start_ == 0 && (line.starts_with("From ") || line.starts_with(">From "))) {
            before_header_ += line;
            header_.erase(0, end + 1);
            continue;
        }
        const bool folded = line_start_ > 0 && (line.front() == ' ' || line.front() == '\t');
        if (!folded && scan_header(line).fields.empty()) return true;
        line_start_ = end + 1;
    }
}

// The message is signed, or has been in transit already: missing fields are missing for a reason. A message that was
// signed here and has not left yet loses only the fields that must never leave.
bool SubmissionFixup::leave_header(const HeaderBlock& block, std::string& content) {
    if (options_.transit == SubmissionOptions::HeaderCompletion::complete) return false;
    const bool travelled =
        std::ranges::any_of(block.fields, [](auto& field) { return same_ignoring_case(field.name, "Received"); });
    const bool is_signed =
        std::ranges::any_of(block.fields, [](auto& field) { return one_of(field.name, signatures); });
    if (!travelled && !is_signed) return false;
    message_id_ = Header(block).value("Message-ID");
    content += before_header_;
    for (const HeaderField& field : block.fields)
        if (travelled || !one_of(field.name, blind_copies)) content += field.raw;
    content.append(header_, block.length);
    header_ = {};
    state_ = State::body;
    return true;
}

void SubmissionFixup::fix_header(std::string& content) {
    const HeaderBlock block = scan_header(header_);
    if (leave_header(block, content)) return;
    Header header(block);
    if (options_.recipients == RecipientSource::header) {
        const bool resent = any_in(header, resent_recipients);
        std::unordered_set<std::string> seen;
        for (const HeaderField& field : block.fields) {
            if (!one_of(field.name, resent ? resent_recipients : plain_recipients)) continue;
            const auto list = parse_address_list(field.value);
            if (!list) {
                refuse(fmt::format("{}: {} (byte {})", field.name, list.error().why, list.error().position));
                return;
            }
            for (const ListedAddress& address : *list) {
                std::string whole = complete(address, options_.origin);
                if (seen.insert(whole).second) recipients_.push_back(std::move(whole));
            }
        }
    }
    for (std::string_view name : removed) header.remove(name);
    for (std::size_t i = 0; i < header.size(); ++i) {
        if (!one_of(header.name(i), completed)) continue;
        if (std::string value = complete_in_place(header.raw_value(i), options_.origin); !value.empty())
            header.replace(i, value);
    }
    const std::string made = fmt::format("<{}.{}@{}>", compact_date(options_.now), options_.queue_id, options_.origin);
    add_what_is_missing(header, options_, made);
    message_id_ = header.value("Message-ID");
    content += header.text();
    content += "\r\n";
    content.append(header_, block.body);
    header_ = {};
    state_ = State::body;
}

SubmissionFixup::State SubmissionFixup::feed(std::string_view bytes, std::string& content) {
    if (state_ == State::refused) return state_;
    if (state_ == State::body) {
        take_line_ends(bytes, content);
        return state_;
    }
    // In pieces, so that body bytes of the same read do not count as header.
    while (!bytes.empty() && state_ == State::header) {
        const std::string_view piece = bytes.substr(0, 4096);
        bytes.remove_prefix(piece.size());
        take_line_ends(piece, header_);
        const bool ended = header_ended();
        if (line_start_ > options_.max_header || (!ended && header_.size() - line_start_ > options_.max_header))
            return refuse(fmt::format("header larger than {} bytes", options_.max_header));
        if (ended) fix_header(content);
    }
    return bytes.empty() || state_ == State::refused ? state_ : feed(bytes, content);
}

SubmissionFixup::State SubmissionFixup::finish(std::string& content) {
    if (state_ == State::refused) return state_;
    std::string& last = state_ == State::header ? header_ : content;
    if (!at_line_start_) last += "\r\n";
    at_line_start_ = true;
    if (state_ == State::header) {
        header_ended(); // drops "From " lines
        fix_header(content);
    }
    return state_;
}

CompletedList complete_addresses(std::string_view list, std::string_view origin) {
    const auto parsed = parse_address_list(list);
    if (!parsed) return {{}, fmt::format("{} (byte {})", parsed.error().why, parsed.error().position)};
    CompletedList out;
    for (const ListedAddress& address : *parsed) out.addresses.push_back(complete(address, origin));
    return out;
}

} // namespace smtp
