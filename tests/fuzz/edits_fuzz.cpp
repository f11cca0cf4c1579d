// Header edits of any bytes on headers of any bytes: refused, or a header whose fields can be counted.
#include "libspool/format/edits.h"
#include "libspool/format/fields.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto cut = bytes.find('\xff');
    const auto edits = spool::fields::read<spool::Edits>(bytes.substr(0, cut), "edits");
    if (!edits) return 0;
    const auto header = cut == bytes.npos ? std::string_view("A: 1\r\nB: 2\r\n\r\n") : bytes.substr(cut + 1);
    auto count = static_cast<std::ptrdiff_t>(smtp::scan_header(header).fields.size());
    const auto edited = spool::edited_header(header, edits->changes);
    if (!edited) return 0;
    for (const auto& change : edits->changes) {
        if (change.what == spool::FieldEdit::What::insert) ++count;
        if (change.what == spool::FieldEdit::What::remove) --count;
    }
    const auto block = smtp::scan_header(*edited);
    if (static_cast<std::ptrdiff_t>(block.fields.size()) != count) std::abort();
    if (block.body != edited->size()) std::abort();
    return 0;
}
