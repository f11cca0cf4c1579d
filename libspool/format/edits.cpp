#include "libspool/format/edits.h"

namespace spool {

bool is_one_field(std::string_view text) {
    if (!text.ends_with("\r\n") || text.find('\0') != text.npos) return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\n') return false; // the CR before it would have been met first
        if (text[at] != '\r') continue;
        if (at + 1 == text.size() || text[at + 1] != '\n') return false;
        ++at;
    }
    const auto block = smtp::scan_header(text);
    return block.fields.size() == 1 && block.length == text.size();
}

std::expected<std::string, std::string> edited_header(std::string_view header, const std::vector<FieldEdit>& changes) {
    std::vector<std::string_view> fields;
    for (const auto& field : smtp::scan_header(header).fields) fields.push_back(field.raw);
    for (const auto& change : changes) {
        const auto place = static_cast<std::ptrdiff_t>(change.number);
        const bool there = change.number < fields.size();
        if (change.what != FieldEdit::What::remove && !is_one_field(change.text))
            return std::unexpected("not a header field");
        switch (change.what) {
        case FieldEdit::What::insert: fields.insert(there ? fields.begin() + place : fields.end(), change.text); break;
        case FieldEdit::What::replace:
        case FieldEdit::What::remove:
            if (!there) return std::unexpected("there is no header field " + std::to_string(change.number));
            if (change.what == FieldEdit::What::remove)
                fields.erase(fields.begin() + place);
            else
                fields[change.number] = change.text;
            break;
        }
    }
    std::string out;
    for (const auto field : fields) {
        out += field;
        if (!field.ends_with('\n')) out += "\r\n"; // the last one of a content cut short
    }
    return out += "\r\n";
}

} // namespace spool
