// A message as an application gives it: texts and files, before it has the form of RFC 5322. A value.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace http::compose {

struct Attachment {
    std::string name;    // of the file; "": none
    std::string type;    // "application/pdf"; "": not known
    std::string content; // its bytes
    std::string cid;     // HTML refers to it as "cid:…"; "": it does not
};

struct GivenField {
    std::string name;
    std::vector<std::string> values; // of addresses: lists of them, which belong together
};

struct Draft {
    std::string sender;                  // of the envelope: From, if no field says otherwise; "": the null one
    std::vector<std::string> recipients; // of the envelope: To, if there is one, and no field says otherwise
    std::optional<std::string> subject, text, html; // UTF-8
    std::vector<GivenField> fields;
    std::vector<Attachment> attachments;
};

} // namespace http::compose
