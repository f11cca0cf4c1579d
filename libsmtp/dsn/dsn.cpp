#include "libsmtp/dsn/dsn.h"
#include "libsmtp/dsn/dsn_text.h"
#include "libsmtp/message/address_list.h"
#include "libsmtp/message/header.h"
#include "libsmtp/mime/encoded_word.h"
#include "libsmtp/protocol/parameters.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp::dsn {
namespace {

// What the third part holds: the message, or fields of its header.
struct Returned {
    bool full = false;
    bool utf8 = false;      // its header has UTF-8 (RFC 6532)
    std::string fields;     // unless full
    std::string_view bytes; // of either
};

// Latin-1 and the like is no UTF-8, whatever the type would say.
bool is_utf8_beyond_ascii(std::string_view text) { return !is_ascii(text) && is_utf8_text(text); }

bool is_important(const HeaderField& field) {
    constexpr std::string_view important[] = {"From", "To", "Cc", "Subject", "Date", "Message-ID"};
    return std::any_of(std::begin(important), std::end(important), [&](auto name) { return field.is(name); });
}

Returned returned_of(const Report& report) {
    Returned out;
    // Only failures may carry the whole message (RFC 3461, 4.3).
    out.full = report.returns == Return::full && report.kind == ReportKind::failed && report.content_complete &&
               report.content.size() <= report.full_content_limit;
    const HeaderBlock header = scan_header(report.content);
    if (out.full) {
        out.utf8 = is_utf8_beyond_ascii(report.content.substr(0, header.body));
    } else {
        for (const HeaderField& field : header.fields) {
            if (report.returns == Return::few_headers && !is_important(field)) continue;
            if (out.fields.size() + field.raw.size() > report.headers_limit) break;
            out.fields += field.raw;
        }
        out.utf8 = is_utf8_beyond_ascii(out.fields);
    }
    return out;
}

// "rfc822; user@example.org", "utf-8; jörg@example.org", or "utf-8; j\x{F6}rg@example.org" (RFC 6533, 3).
std::string typed(std::string_view type, std::string_view address, Charset charset) {
    if (is_ascii(address) && type != "utf-8") return fmt::format("{}; {}", type, address);
    const auto shown = printable(address, Charset::utf8);
    return fmt::format("utf-8; {}", charset == Charset::utf8 ? shown : encode_utf8_address(shown));
}

// As the sender gave it (RFC 3461); only its charset may change.
std::string original_address(std::string_view orcpt, Charset charset) {
    if (is_ascii(orcpt)) return std::string(orcpt);
    const auto semicolon = orcpt.find(';');
    auto address = orcpt.substr(semicolon == orcpt.npos ? 0 : semicolon + 1);
    address.remove_prefix(std::min(address.find_first_not_of(' '), address.size()));
    return typed("utf-8", address, charset);
}

// A boundary that no line of any part can be taken for.
std::string boundary_of(const Report& report, std::initializer_list<std::string_view> parts) {
    const std::string base =
        fmt::format("=_{}.{:X}", report.report_id.substr(0, 20), report.now.time_since_epoch().count());
    std::string boundary = base;
    const auto holds = [&](std::string_view part) { return part.find(boundary) != part.npos; };
    for (unsigned i = 1; std::any_of(parts.begin(), parts.end(), holds); ++i) boundary = fmt::format("{}.{}", base, i);
    return boundary;
}

void field(std::string& out, std::string_view name, std::string_view value, Charset charset) {
    out += folded_field(name, printable(value, charset));
}

// The machine's part (RFC 3464, 2.1).
std::string delivery_status(const Report& report, Charset charset) {
    const std::string_view own_type = "X-Postrider";
    std::string out;
    field(out, "Reporting-MTA", fmt::format("dns; {}", report.host), Charset::ascii);
    if (!report.envelope_id.empty()) field(out, "Original-Envelope-Id", report.envelope_id, charset);
    field(out, "X-Postrider-Queue-ID", report.queue_id, Charset::ascii);
    field(out, "X-Postrider-Sender", typed("rfc822", report.sender, charset), charset);
    field(out, "Arrival-Date", rfc5322_date(report.arrival, report.zone), Charset::ascii);
    if (report.deliver_by) field(out, "Deliver-By-Date", rfc5322_date(*report.deliver_by, report.zone), Charset::ascii);
    for (const Recipient& r : report.recipients) {
        out += "\r\n";
        if (!r.original_recipient.empty())
            field(out, "Original-Recipient", original_address(r.original_recipient, charset), charset);
        field(out, "Final-Recipient", typed("rfc822", r.final_recipient, charset), charset);
        const Action action = action_of(r, report);
        field(out, "Action", name_of(action), Charset::ascii);
        field(out, "Status", fitting_status(r.reason.status, action), Charset::ascii);
        if (!r.reason.remote_host.empty())
            field(out, "Remote-MTA", fmt::format("dns; {}", r.reason.remote_host), Charset::ascii);
        if (!r.reason.remote_reply.empty())
            field(out, "Diagnostic-Code", fmt::format("smtp; {}", r.reason.remote_reply), charset);
        else if (!r.reason.text.empty())
            field(out, "Diagnostic-Code", fmt::format("{}; {}", own_type, r.reason.text), charset);
        if (r.last_attempt) field(out, "Last-Attempt-Date", rfc5322_date(*r.last_attempt, report.zone), Charset::ascii);
        if (action == Action::delayed && report.retry_until)
            field(out, "Will-Retry-Until", rfc5322_date(*report.retry_until, report.zone), Charset::ascii);
    }
    return out;
}

// The Message-ID of the original, if it is one that can be put into our own header as it stands.
std::string references_of(const Report& report) {
    for (const HeaderField& f : scan_header(report.content).fields) {
        if (!f.is("Message-ID")) continue;
        std::string id = f.unfolded();
        const bool sane = id.size() > 2 && id.size() < 500 && id.front() == '<' && id.find('>') == id.size() - 1 &&
                          std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 127; });
        return sane ? id : std::string();
    }
    return {};
}

std::string header_of(const Report& report, std::string_view subject, std::string_view boundary, bool eight_bit,
                      Charset charset) {
    std::string out;
    field(out, "Date", rfc5322_date(report.now, report.zone), charset);
    const std::string name = printable(report.display_name, Charset::utf8);
    field(out, "From", fmt::format("{} <{}>", is_7bit(name) ? quote_phrase(name) : encoded_words(name), report.from),
          charset);
    field(out, "To", fmt::format("<{}>", report.copy_to.empty() ? report.sender : report.copy_to), charset);
    const bool plain = charset == Charset::utf8 || is_7bit(subject);
    field(out, "Subject", plain ? std::string(subject) : encoded_words(printable(subject, Charset::utf8)), charset);
    field(out, "Message-ID", message_id(report), charset);
    if (const std::string original = references_of(report); !original.empty()) {
        field(out, "In-Reply-To", original, charset);
        field(out, "References", original, charset);
    }
    field(out, "Auto-Submitted", "auto-replied", charset);
    out += "MIME-Version: 1.0\r\n";
    out +=
        fmt::format("Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary=\"{}\"\r\n", boundary);
    if (eight_bit) out += "Content-Transfer-Encoding: 8bit\r\n";
    return out += "\r\nThis is a message in MIME format: a report on the delivery of a mail.\r\n";
}

void open_part(std::string& out, std::string_view boundary, std::string_view type, std::string_view description,
               bool eight_bit) {
    out +=
        fmt::format("\r\n--{}\r\nContent-Description: {}\r\nContent-Type: {}\r\nContent-Transfer-Encoding: {}\r\n\r\n",
                    boundary, description, type, eight_bit ? "8bit" : "7bit");
}

} // namespace

bool needs_smtputf8(const Report& report) {
    if (!is_ascii(report.sender)) return true;
    return report.smtputf8 && std::any_of(report.recipients.begin(), report.recipients.end(), [](auto& r) {
               return !is_ascii(r.final_recipient) || !is_ascii(r.original_recipient);
           });
}

std::string message_id(const Report& report) {
    return fmt::format("<{}.{}@{}>", compact_date(report.now), report.report_id, report.host);
}

std::string compose(const Report& report) {
    const Charset charset = needs_smtputf8(report) ? Charset::utf8 : Charset::ascii;
    const Wording standard = default_wording(report.kind);
    std::string subject = report.wording.subject.empty() ? standard.subject : report.wording.subject;
    if (!report.copy_to.empty()) subject.insert(0, "Copy for the postmaster: ");
    const std::string text = human_text(report, report.wording.text.empty() ? standard.text : report.wording.text);
    const std::string status = delivery_status(report, charset);
    Returned returned = returned_of(report);
    returned.bytes = returned.full ? report.content : returned.fields;
    const std::string boundary = boundary_of(report, {text, status, returned.bytes});
    const bool text_8bit = !is_7bit(text), status_8bit = !is_7bit(status), returned_8bit = !is_7bit(returned.bytes);
    const bool utf8 = charset == Charset::utf8;

    std::string out = header_of(report, subject, boundary, text_8bit || status_8bit || returned_8bit, charset);
    out.reserve(out.size() + text.size() + status.size() + returned.bytes.size() + 1024);
    open_part(out, boundary, text_8bit ? "text/plain; charset=utf-8" : "text/plain; charset=us-ascii", "Notification",
              text_8bit);
    out += text;
    open_part(out, boundary, utf8 ? "message/global-delivery-status" : "message/delivery-status", "Delivery report",
              status_8bit);
    out += status;
    std::string_view type = returned.utf8 ? "message/global-headers" : "text/rfc822-headers";
    if (returned.full) type = returned.utf8 ? "message/global" : "message/rfc822";
    open_part(out, boundary, type, returned.full ? "Undelivered message" : "Header of the message", returned_8bit);
    out += returned.bytes;
    if (!out.ends_with("\r\n")) out += "\r\n";
    return out += fmt::format("\r\n--{}--\r\n", boundary);
}

} // namespace smtp::dsn
