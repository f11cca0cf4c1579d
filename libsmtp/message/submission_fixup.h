// Turns what a program passes to sendmail(1) into a complete message: CRLF line
// ends, required fields added, private fields removed, addresses without a domain
// completed; with -t the recipients are read from the header. Bytes are fed as they
// arrive, so size does not matter. Pure: time, names and defaults are passed in.
#pragma once
#include "libsmtp/message/header.h"
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

enum class RecipientSource : std::uint8_t {
    arguments, // as given; the header's recipients are only text
    header,    // -t: To, Cc, Bcc, or the Resent- set if there is one
};

struct SubmissionOptions {
    RecipientSource recipients = RecipientSource::arguments;
    std::string origin;    // domain for bare names, "example.org"; required
    std::string sender;    // reverse-path, "user@example.org"; "" is the null sender
    std::string full_name; // for a missing From:; may be empty
    std::string queue_id;  // for a missing Message-ID
    WallTime now;
    std::chrono::minutes zone{0}; // offset from UTC, for a missing Date:
    std::size_t max_header = 1 << 20;
    enum class HeaderCompletion : std::uint8_t {
        complete, // every message is completed, wherever it has been
        leave,    // a message that has been in transit, or is signed, keeps its header as it is
    } transit = HeaderCompletion::complete;
};

class SubmissionFixup {
public:
    enum class State : std::uint8_t {
        header,  // nothing is known or written yet
        body,    // recipients() and message_id() are known; content flows
        refused, // problem() says why; no more input is accepted
    };

    explicit SubmissionFixup(SubmissionOptions options);

    // Takes the next bytes; content that is ready is appended to `content` (all CRLF, nothing bare). After a rejection,
    // bytes are ignored.
    State feed(std::string_view bytes, std::string& content);
    // The text has ended: completes the content. header is never returned.
    State finish(std::string& content);

    State state() const { return state_; }
    std::size_t held() const { return header_.capacity(); }                    // bytes of memory
    const std::vector<std::string>& recipients() const { return recipients_; } // -t: completed, in order, once each
    const std::string& message_id() const { return message_id_; }              // "<…@…>"
    const std::string& problem() const { return problem_; }                    // "To: comment is not closed"

private:
    void take_line_ends(std::string_view bytes, std::string& out);
    bool header_ended();
    void fix_header(std::string& content);
    bool leave_header(const HeaderBlock& block, std::string& content);
    State refuse(std::string problem);

    SubmissionOptions options_;
    State state_ = State::header;
    std::string header_;         // so far, line ends already CRLF
    std::string before_header_;  // "From " lines before the header
    std::size_t line_start_ = 0; // of the first header line not checked yet
    bool at_line_start_ = true;
    bool after_cr_ = false;
    std::vector<std::string> recipients_;
    std::string message_id_;
    std::string problem_;
};

// A list of addresses as in sendmail's arguments, bare names completed: every address in envelope form. Empty `problem`
// means success.
struct CompletedList {
    std::vector<std::string> addresses;
    std::string problem;
};
CompletedList complete_addresses(std::string_view list, std::string_view origin);

} // namespace smtp
