// Any message: header fields stay inside their text; a submission fixed whole or in sevens comes out the
// same, with CRLF line ends only.
#include "libsmtp/message/header.h"
#include "libsmtp/message/submission_fixup.h"
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace {

std::string fixed(std::string_view text, std::size_t step, std::vector<std::string>& recipients) {
    smtp::SubmissionOptions options;
    options.recipients = smtp::RecipientSource::header;
    options.origin = "example.org";
    options.queue_id = "0A1B2C3D4E5F01";
    smtp::SubmissionFixup fixup(options);
    std::string content;
    for (std::size_t at = 0; at < text.size(); at += step) fixup.feed(text.substr(at, step), content);
    fixup.finish(content);
    recipients = fixup.recipients();
    return content + fixup.problem();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const smtp::HeaderBlock block = smtp::scan_header(text);
    std::size_t length = 0;
    for (const smtp::HeaderField& field : block.fields) length += field.raw.size();
    assert(length == block.length && block.length <= block.body && block.body <= size);
    const smtp::Header header(block);
    assert(smtp::scan_header(header.text()).fields.size() == block.fields.size());

    std::vector<std::string> recipients, in_sevens;
    const std::string whole = fixed(text, size + 1, recipients);
    assert(fixed(text, 7, in_sevens) == whole && recipients == in_sevens);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (whole[i] == '\n') assert(i > 0 && whole[i - 1] == '\r');
        if (whole[i] == '\r') assert(i + 1 < whole.size() && whole[i + 1] == '\n');
    }
    return 0;
}
