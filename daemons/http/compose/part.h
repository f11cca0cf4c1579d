// Parts of a MIME message (RFC 2045, 2046, 2231): texts and files with their encoding, and parts of several. No line is
// longer than 998 bytes, and no line of a body begins as the delimiters here do.
#pragma once
#include "daemons/http/compose/draft.h"
#include <string>
#include <string_view>
#include <vector>

namespace http::compose {

// Fields, with their line ends, and what follows after an empty line.
struct Part {
    std::string fields, body; // the body ends with a line end, which belongs to it
};

// `subtype`: "plain", "html". Line ends of any kind become CRLF; the last one is added.
Part text_part(std::string_view subtype, std::string_view utf8);

// Its type, name and cid are valid.
Part file_part(const Attachment& attachment);

// `subtype`: with further parameters. `boundary` begins with "=_", which no line of a body has behind "--".
Part multipart(std::string_view subtype, const std::string& boundary, const std::vector<Part>& parts);

} // namespace http::compose
