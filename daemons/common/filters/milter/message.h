// A message during filtering, before its commit: its header as edited so far, its body,
// its envelope. Applies the complete modifications of one filter after the other; seal()
// leaves them with the writer. Knows the spool's writer; must not know the callers.
#pragma once
#include "daemons/common/filters/milter/session.h"
#include "libspool/format/envelope.h"
#include "libspool/message/message_writer.h"
#include <functional>
#include <memory>
#include <optional>

namespace milter {

class Message {
public:
    // All of the content has been appended to `writer`. Both outlive this. Once this is destroyed or sealed, callers
    // still waiting for an answer get none.
    Message(spool::MessageWriter& writer, spool::Envelope& envelope) : writer_(writer), envelope_(envelope) {}

    // Reads the header unless that has been done, for all callers that have asked meanwhile; if that fails, the message
    // is as good as lost.
    using Loaded = std::function<void(const spool::Result<>&)>;
    void load(Loaded done);
    // Its fields as edited so far.
    const std::vector<std::string>& fields() const { return fields_; }
    // Our own Received field, which is not shown to filters: the first field, unless another was inserted before it; it
    // may also have been removed.
    bool is_own(std::size_t field) const { return own_ == field; }
    // Whether it may have addresses beyond ASCII.
    bool smtputf8() const { return envelope_.smtputf8; }
    // A piece of the body from `offset`; empty at its end.
    void read_body(std::uint64_t offset, std::size_t max, std::function<void(spool::Result<std::string>)> done);

    // One edit of a loaded header that no filter requested. False: it is invalid, and nothing is changed.
    bool edit(spool::FieldEdit edit);
    // Replaces its recipients by that address. False: the address is invalid.
    bool redirect(std::string_view address);
    // Adds that address, of which its sender hears nothing, unless it is there. False: the address is invalid.
    bool add_bcc(std::string_view address);
    // Its header as it was received, with its empty line. Loaded.
    const std::string& stored_header() const { return header_; }
    // Not for a body that a filter is being shown.
    void replace_body(std::string_view body);
    // Applies all of it; or changes nothing, and returns what is wrong with it.
    std::expected<void, smtp::Malformed> apply(const Modifications& changes);
    // After the last filter: passes the current envelope and edits to the writer.
    void seal();

private:
    void load_from_disk(std::size_t size);
    void take_header(std::string_view text);

    spool::MessageWriter& writer_;
    spool::Envelope& envelope_;
    std::shared_ptr<bool> open_ = std::make_shared<bool>(); // expired: answers from the disk are ignored
    bool loaded_ = false;
    std::vector<Loaded> waiting_; // for the header
    std::string header_;          // as stored, with its empty line
    std::vector<std::string> fields_;
    std::optional<std::size_t> own_; // number of our own Received field
    std::vector<spool::FieldEdit> edits_;
};

// Every lone CR or LF becomes CRLF.
std::string with_crlf(std::string_view text);

} // namespace milter
