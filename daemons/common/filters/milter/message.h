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
    // All of the content has been appended to `writer`. Both outlive this. Whoever still waits for an answer when
    // it goes, or when it is sealed, is told nothing any more.
    Message(spool::MessageWriter& writer, spool::Envelope& envelope) : writer_(writer), envelope_(envelope) {}

    // Reads the header if that has not been done, for all who have asked meanwhile; the message is as good as gone
    // if that fails.
    using Loaded = std::function<void(const spool::Result<>&)>;
    void load(Loaded done);
    // Its fields as edited so far.
    const std::vector<std::string>& fields() const { return fields_; }
    // Our own Received field, which is none of a filter's business: first of all, unless something was put
    // before it; it may have been taken out as well.
    bool is_own(std::size_t field) const { return own_ == field; }
    // A piece of the body from `offset`; empty at its end.
    void read_body(std::uint64_t offset, std::size_t max, std::function<void(spool::Result<std::string>)> done);

    // One edit of a loaded header that no filter asked for. False: it is invalid, and nothing is changed.
    bool edit(spool::FieldEdit edit);
    // To that address instead of its recipients. False: it is none.
    bool redirect(std::string_view address);
    // All of it, or what is wrong with it and nothing is changed.
    std::expected<void, smtp::Malformed> apply(const Modifications& changes);
    // When all filters are through: the envelope and edits as they are now go to the writer.
    void seal();

private:
    void load_from_disk(std::size_t size);
    void take_header(std::string_view text);

    spool::MessageWriter& writer_;
    spool::Envelope& envelope_;
    std::shared_ptr<bool> open_ = std::make_shared<bool>(); // gone: answers from the disk concern nobody
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
