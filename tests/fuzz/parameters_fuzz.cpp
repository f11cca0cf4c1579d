// Parameters of MAIL and RCPT: decoded values are printable, and go back to what they were.
#include "libsmtp/protocol/parameters.h"
#include <cassert>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    smtp::Capabilities offered;
    offered.size = 0;
    offered.smtputf8 = offered.require_tls = offered.deliver_by = true;
    offered.future_release = 1000;
    if (const auto mail = smtp::parse_mail_parameters(input, offered)) {
        for (char c : mail->envid) assert(smtp::is_printable(c));
        assert(smtp::decode_xtext(smtp::encode_xtext(mail->envid)) == mail->envid);
    } else {
        assert(mail.error().permanent() && mail.error().status.klass == 5);
    }
    if (const auto rcpt = smtp::parse_rcpt_parameters(input, offered)) {
        if (!rcpt->orcpt.empty()) assert(smtp::decode_orcpt(smtp::encode_orcpt(rcpt->orcpt)) == rcpt->orcpt);
        if (!rcpt->orcpt.empty())
            assert(smtp::decode_orcpt(smtp::encode_orcpt(rcpt->orcpt, smtp::WireText::utf8)) == rcpt->orcpt);
        if (rcpt->notify.given()) assert(smtp::Notify::parse(rcpt->notify.text()) == rcpt->notify);
    } else {
        assert(rcpt.error().permanent());
    }
    return 0;
}
