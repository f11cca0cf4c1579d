#include "libsmtp/dsn/dsn_text.h"
#include "libsmtp/message/header.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp::dsn {
namespace {

// Appends `text` in lines of about 72 bytes, broken at spaces; later lines indented. No final line end.
void append_wrapped(std::string& out, std::string_view text, std::string_view indent) {
    std::size_t column = 0;
    while (!text.empty()) {
        const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
        text.remove_prefix(begin);
        if (text.empty()) break;
        const std::string_view word = text.substr(0, std::min({text.find(' '), text.size(), std::size_t{900}}));
        if (column > 0 && column + 1 + word.size() > 72) {
            out.append("\r\n").append(indent);
            column = indent.size();
        } else if (column > 0) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
        text.remove_prefix(word.size());
    }
}

// One sentence on what the sender can do about it, by enhanced status (RFC 3463).
std::string_view advice(std::string_view status) {
    if (status.size() < 5) return {};
    const std::string_view detail = status.substr(2);
    if (detail == "1.1" || detail == "1.3" || detail == "1.6")
        return "There is no such address. Check its spelling, or ask the recipient for the correct one.";
    if (detail == "1.2" || detail == "1.10" || detail == "4.4")
        return "No mail can be sent to that domain. Check the part after the @ for mistakes.";
    if (detail == "2.1") return "The mailbox is disabled. Contact the recipient by other means.";
    if (detail == "2.2")
        return "The recipient's mailbox is full. Tell them by other means, or try again in a few days.";
    if (detail == "2.3" || detail == "3.4")
        return "The message is larger than the recipient's system accepts. Make it smaller, or share the "
               "files in another way.";
    if (detail == "4.6") return "The mail was caught in a loop. Only the administrator of that domain can fix this.";
    if (detail == "4.7" || (status[0] == '4' && detail.starts_with("4.")))
        return "The recipient's system could not be reached for a long time. Try again, or tell them by "
               "other means.";
    if (detail.starts_with("6."))
        return "The recipient's system does not accept this kind of message. Send it as plain text without "
               "attachments.";
    if (detail.starts_with("7."))
        return "The recipient's system rejected the message by its policy. Its reply above may say why.";
    return {};
}

// ORCPT's address if it differs from the final recipient.
std::string_view alias_of(const Recipient& r) {
    const std::size_t semicolon = r.original_recipient.find(';');
    if (semicolon == std::string::npos) return {};
    std::string_view address = std::string_view(r.original_recipient).substr(semicolon + 1);
    while (address.starts_with(' ')) address.remove_prefix(1);
    return same_ignoring_case(address, r.final_recipient) ? std::string_view() : address;
}

std::string recipient_list(const Report& report) {
    std::string out;
    for (const Recipient& r : report.recipients) {
        if (!out.empty()) out += "\r\n";
        std::string line = fmt::format("<{}>", r.final_recipient);
        if (const auto alias = alias_of(r); !alias.empty()) line += fmt::format(" (you wrote to <{}>)", alias);
        if (report.kind == ReportKind::status) line += fmt::format(" is {}", name_of(action_of(r, report)));
        const std::string& why = r.reason.text.empty() ? r.reason.remote_reply : r.reason.text;
        if (!why.empty()) line += ": " + why;
        append_wrapped(out, printable(line, Charset::utf8), "    ");
        out += "\r\n";
        if (action_of(r, report) == Action::failed) {
            if (const auto hint = r.advice.empty() ? advice(r.reason.status) : r.advice; !hint.empty()) {
                out += "    -> ";
                append_wrapped(out, hint, "       ");
                out += "\r\n";
            }
        }
    }
    return out;
}

// CRLF line ends, none at the end.
std::string with_crlf(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '\r') continue;
        if (c == '\n') out += '\r';
        out += c;
    }
    return out;
}

} // namespace

bool is_7bit(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) > 0; });
}

std::string printable(std::string_view text, Charset charset) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto c = static_cast<unsigned char>(text.front());
        std::size_t n = 1;
        if (c < ' ' || c == 127)
            out += ' ';
        else if (c < 128)
            out += static_cast<char>(c);
        else if (n = utf8_length(text); n > 0 && charset == Charset::utf8)
            out.append(text.substr(0, n));
        else
            out += '?';
        text.remove_prefix(std::max<std::size_t>(n, 1));
    }
    return out;
}

std::string folded_field(std::string_view name, std::string_view value) {
    std::string out = fmt::format("{}:", name);
    std::size_t column = out.size();
    value = value.substr(0, value.find_last_not_of(' ') + 1);
    const std::string spaced = value.empty() ? std::string() : fmt::format(" {}", value);
    for (std::string_view rest = spaced; !rest.empty();) { // blanks and a word at a time
        const std::size_t word = std::min(rest.find_first_not_of(' '), rest.size());
        const std::size_t end = std::min({rest.find(' ', word), rest.size(), word + 900});
        if (column + end > 76 && column > name.size() + 1) {
            out += word == 0 ? "\r\n " : "\r\n";
            column = 0;
        }
        out += rest.substr(0, end);
        column += end;
        rest.remove_prefix(end);
    }
    return out += "\r\n";
}

Action action_of(const Recipient& recipient, const Report& report) {
    return recipient.action.value_or(action_of(report.kind));
}

std::string fitting_status(std::string_view status, Action action) {
    const auto digits = [](std::string_view s) {
        return !s.empty() && s.size() <= 3 &&
               std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    const std::size_t dot = status.find('.', 2);
    const bool valid = status.size() >= 5 && status[1] == '.' && dot != status.npos &&
                       digits(status.substr(2, dot - 2)) && digits(status.substr(dot + 1)) &&
                       (status[0] == '2' || status[0] == '4' || status[0] == '5');
    // An expired message keeps the temporary status that held it up.
    const bool failed = action == Action::failed || action == Action::undeliverable;
    const std::string_view fits = failed ? "54" : action == Action::delayed ? "4" : "2";
    if (valid && fits.find(status[0]) != fits.npos) return std::string(status);
    if (valid && status[0] != '2' && fits[0] != '2') return std::string(1, fits[0]) + std::string(status.substr(1));
    return std::string(1, fits[0]) + ".0.0";
}

bool is_placeholder(std::string_view word) {
    constexpr std::string_view words[] = {"host",    "postmaster",  "sender",    "queue_id",
                                          "arrival", "retry_until", "recipients"};
    return std::ranges::find(words, word) != std::end(words);
}

std::string human_text(const Report& report, std::string_view wording) {
    const auto value_of = [&](std::string_view key) -> std::optional<std::string> {
        if (key == "host") return printable(report.host, Charset::utf8);
        if (key == "postmaster") return printable(report.postmaster, Charset::utf8);
        if (key == "sender") return printable(report.sender, Charset::utf8);
        if (key == "queue_id") return printable(report.queue_id, Charset::ascii);
        if (key == "arrival") return rfc5322_date(report.arrival, report.zone);
        if (key == "retry_until")
            return report.retry_until ? rfc5322_date(*report.retry_until, report.zone)
                                      : std::string("some days from now");
        if (key == "recipients") return recipient_list(report);
        return std::nullopt;
    };
    std::string out;
    if (wording.find("{recipients}") == wording.npos) {
        out = human_text(report, std::string(wording) + "\n\n{recipients}");
        return out;
    }
    const std::string text = with_crlf(wording);
    for (std::size_t at = 0; at < text.size();) { // one pass: substituted text is not scanned again
        const std::size_t open = std::min(text.find('{', at), text.size());
        out.append(text, at, open - at);
        at = open;
        if (at == text.size()) break;
        const std::size_t close = text.find('}', at);
        const auto value =
            close == text.npos ? std::nullopt : value_of(std::string_view(text).substr(at + 1, close - at - 1));
        out += value ? *value : std::string("{");
        at = value ? close + 1 : at + 1;
    }
    if (!out.ends_with("\r\n")) out += "\r\n";
    return out;
}

Wording default_wording(ReportKind kind) {
    switch (kind) {
    case ReportKind::failed:
        return {"Undelivered Mail Returned to Sender",
                "This is the mail system at {host}.\n"
                "\n"
                "Your message of {arrival}\n"
                "could not be delivered to the recipients listed here. There will be\n"
                "no further attempts. Recipients that are not listed are not affected.\n"
                "\n"
                "{recipients}\n"
                "Replies of other mail systems are quoted unchanged. If you need help,\n"
                "write to {postmaster} and include this report.\n"};
    case ReportKind::delayed:
        return {"Delayed Mail (still being retried)",
                "This is the mail system at {host}.\n"
                "\n"
                "THIS IS ONLY A NOTICE. YOU NEED NOT SEND YOUR MESSAGE AGAIN.\n"
                "\n"
                "Your message of {arrival}\n"
                "has not yet reached the recipients listed here. It will be retried until\n"
                "{retry_until}.\n"
                "\n"
                "{recipients}\n"
                "If it cannot be delivered by then, you will be notified. For help, write to\n"
                "{postmaster} and include this notice.\n"};
    case ReportKind::delivered:
        return {"Successful Mail Delivery Report", "This is the mail system at {host}.\n"
                                                   "\n"
                                                   "As you requested: your message of {arrival}\n"
                                                   "has been delivered to these recipients.\n"
                                                   "\n"
                                                   "{recipients}"};
    case ReportKind::relayed:
        return {"Successful Mail Delivery Report",
                "This is the mail system at {host}.\n"
                "\n"
                "As you requested: your message of {arrival}\n"
                "has been handed to the mail systems of these recipients. Those systems do not\n"
                "send reports of this kind, so you will not be notified again unless it fails there.\n"
                "\n"
                "{recipients}"};
    case ReportKind::expanded:
        return {"Successful Mail Delivery Report",
                "This is the mail system at {host}.\n"
                "\n"
                "As you requested: your message of {arrival}\n"
                "has reached these addresses, each of which has several recipients, and\n"
                "was sent on to them.\n"
                "\n"
                "{recipients}"};
    case ReportKind::status:
        return {"Mail Delivery Status Report", "This is the mail system at {host}.\n"
                                               "\n"
                                               "You requested the status of your message of {arrival}.\n"
                                               "This is what is known of each recipient:\n"
                                               "\n"
                                               "{recipients}"};
    }
    return {};
}

} // namespace smtp::dsn
