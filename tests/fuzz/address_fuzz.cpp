// Addresses: what is taken can be written and read again, and holds nothing that could break a line.
#include "libsmtp/message/address.h"
#include "libsmtp/text/utf8.h"
#include <cassert>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    if (const auto mailbox = smtp::Mailbox::parse(input)) {
        assert(smtp::is_utf8_text(mailbox->text()));
        for (char c : mailbox->text()) assert(smtp::is_printable(c) || static_cast<unsigned char>(c) >= 0x80);
        assert(!mailbox->local_part.empty() && !mailbox->domain.empty());
        assert(mailbox->domain.size() <= smtp::max_domain);
        const auto again = smtp::Mailbox::parse(mailbox->text());
        assert(again && *again == *mailbox);
    }
    if (const auto split = smtp::split_path(input)) {
        assert(split->inside.size() + split->parameters.size() <= input.size());
        if (const auto path = smtp::ForwardPath::parse(split->inside)) assert(!path->text().empty());
        static_cast<void>(smtp::ReversePath::parse(split->inside));
    }
    return 0;
}
