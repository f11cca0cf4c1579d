// Whatever peers said and messages hold, a report is CRLF only, keeps its lines short and closes its boundary
// once.
#include "libsmtp/dsn/dsn.h"
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace {

std::string_view piece(std::string_view& rest) {
    const std::size_t n = std::min(rest.find('|'), rest.size());
    const std::string_view out = rest.substr(0, n);
    rest.remove_prefix(std::min(n + 1, rest.size()));
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    using namespace smtp::dsn;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    Report report;
    report.kind = static_cast<smtp::ReportKind>(
        data[0] % static_cast<unsigned>(smtp::ReportKind::status)); // there each recipient says its own
    report.returns = data[0] & 8 ? Return::full : Return::headers;
    report.smtputf8 = (data[0] & 16) != 0;
    report.host = "mx.example.org";
    report.from = "MAILER-DAEMON@example.org";
    report.report_id = "0A1B2C3D4E6002";
    report.sender = piece(rest);
    Recipient recipient;
    recipient.final_recipient = piece(rest);
    recipient.reason.status = piece(rest);
    recipient.reason.text = piece(rest);
    recipient.reason.remote_reply = piece(rest);
    recipient.reason.remote_host = piece(rest);
    recipient.original_recipient = piece(rest);
    report.recipients = {recipient, recipient};
    report.envelope_id = piece(rest);
    report.wording.text = piece(rest);
    report.wording.subject = piece(rest);
    std::string content; // as the spool keeps it: CRLF only
    for (char c : rest)
        if (c != '\r') content += c == '\n' ? std::string("\r\n") : std::string(1, c);
    report.content = content;

    const std::string out = compose(report);
    const std::size_t begin = out.find("\r\n\tboundary=\"") + 13;
    const std::string close = "\r\n--" + out.substr(begin, out.find('"', begin) - begin) + "--\r\n";
    assert(out.find(close) == out.size() - close.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (out[i] == '\n') assert(i > 0 && out[i - 1] == '\r');
        if (out[i] == '\r') assert(i + 1 < out.size() && out[i + 1] == '\n');
    }
    return 0;
}
