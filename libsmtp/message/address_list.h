// RFC 5322 address lists, as in To:, Cc:, Bcc: and among sendmail(1)'s arguments: groups, comments, quoted strings,
// display names, source routes (parsed and dropped). A value or an error, never "good so far". Encoded words (RFC 2047)
// are left as they are. Does not know what is deliverable.
#pragma once
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

struct ListedAddress {
    std::string display_name; // words joined by one blank, quotes removed; "" for none
    std::string local_part;   // quotes removed; never empty, no control characters
    std::string domain;       // "example.org" or "[192.0.2.1]"; "" for a bare name such as `root`
    std::string group;        // name of the group it is listed in; "" for none
    std::size_t begin = 0;    // where in the text its address begins, after < and a source route
    std::size_t end = 0;      // and where it ends: a bare name is completed by inserting here
    std::size_t route = 0;    // where its source route begins; `begin` if it has none

    // As written in the envelope: local part quoted if necessary, "@domain" unless bare.
    std::string address() const;
    bool operator==(const ListedAddress&) const = default;
};

struct AddressListError {
    std::size_t position = 0; // byte in the text
    std::string why;          // "comment is not closed"
};

struct AddressListLimits {
    std::size_t addresses = 100'000;
    std::size_t comment_depth = 32;
    std::size_t local_part = 1024; // bytes; SMTP's own limits are checked for the envelope
    std::size_t domain = 1024;
    // as_found: what is not valid, but common in header fields, is understood: "Name <>" lists no address, ";" may
    // stand for a comma, and a display name may have an "@": ann@example.org <ann@example.org>.
    enum class Form : bool { valid, as_found } form = Form::valid;
};

// The addresses of `text` in order; an empty list and empty groups are fine. Text may be folded.
std::expected<std::vector<ListedAddress>, AddressListError> parse_address_list(std::string_view text,
                                                                               const AddressListLimits& limits = {});

// A local part as the envelope and header fields write it: quoted if it is not a dot-atom.
std::string quote_local_part(std::string_view local_part);

// A display name as a header field writes it: quoted if necessary. Control characters become blanks.
std::string quote_phrase(std::string_view name);

} // namespace smtp
