// The addresses with which one message leaves, by the generic tables: those of its envelope, and its header with them.
// Looks them all up, which may take several calls. The message in the spool stays as it is. Knows no server.
#pragma once
#include "daemons/decide/rewriting/answer_memo.h"
#include "daemons/smtp-client/message/generic_maps.h"
#include "daemons/smtp-client/message/ruled_header.h"
#include "libspool/message/message_reader.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smtp_client {

class OutgoingAddresses {
public:
    // `message` and `maps` must outlive it. `tables`: those that apply. `envelope`: its addresses; not "". `header`: as
    // rules have changed it; nothing: as stored. `wake`: prepare() has more to do; never called from within it.
    OutgoingAddresses(spool::MessageReader& message, GenericMaps& maps, std::vector<std::string> tables,
                      std::set<std::string> envelope, const std::optional<OutgoingHeader>& header,
                      std::function<void()> wake);
    OutgoingAddresses(const OutgoingAddresses&) = delete;
    OutgoingAddresses& operator=(const OutgoingAddresses&) = delete;

    enum class State : std::uint8_t {
        ready,
        waits,  // for an answer: `wake` is called when there is one
        failed, // a table cannot be read, or has an invalid value; see why()
    };
    // Errors: the message cannot be read. May block for a disk read of 4 MiB.
    spool::ReadResult<State> prepare();
    const std::string& why() const { return why_; }

    // Once it is ready.
    const std::string& address(const std::string& original) const;
    // Nothing: its addresses stay as they are.
    const std::optional<OutgoingHeader>& header() const { return header_; }
    // Not "": header addresses stay as they are, for this reason.
    const std::string& left_because() const { return left_because_; }

private:
    spool::ReadResult<> collect();
    void look_up();
    void rewrite_header();

    spool::MessageReader& message_;
    GenericMaps& maps_;
    const std::vector<std::string> tables_;
    std::set<std::string> open_; // addresses not looked up yet
    std::map<std::string, std::string> replaced_;
    std::set<decide::LookupRequest> pending_;
    decide::AnswerMemo memo_;
    GenericMaps::Waiter waiter_;
    bool collected_ = false;
    std::string text_; // of the header
    std::size_t stored_size_ = 0;
    std::string why_, left_because_;
    std::optional<OutgoingHeader> header_;
};

} // namespace smtp_client
