// The addresses with which one message leaves, by the generic tables: those of its envelope, and its header with them.
// Each recipient has the tables of its domain; the sender and the header have the same for all recipients of one
// transaction. Looks them all up, which may take several calls. The message in the spool stays as it is. Knows no
// server.
#pragma once
#include "daemons/common/rewriting/address_replacements.h"
#include "daemons/smtp-client/message/generic_maps.h"
#include "daemons/smtp-client/message/ruled_header.h"
#include "libspool/message/message_reader.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp_client {

class OutgoingAddresses {
public:
    // "" for the null reverse-path.
    struct Transaction {
        std::string reverse_path;
        std::vector<std::string> recipients; // their addresses, in order
        std::string route;                   // that a table named; "" none
    };
    // `message` and `maps` must outlive it. `header`: as rules have changed it; nothing: as stored. `wake`: prepare()
    // has more to do; never called from within it.
    OutgoingAddresses(spool::MessageReader& message, GenericMaps& maps, const Transaction& transaction,
                      const std::optional<OutgoingHeader>& header, std::function<void()> wake);
    OutgoingAddresses(const OutgoingAddresses&) = delete;
    OutgoingAddresses& operator=(const OutgoingAddresses&) = delete;

    using State = common::AddressReplacements::State;
    // Errors: the message cannot be read. May block for a disk read of 4 MiB.
    spool::ReadResult<State> prepare();
    const std::string& why() const { return replacements_.why(); }

    // Once it is ready.
    const std::string& sender(const std::string& original) const;
    const std::string& recipient(const std::string& original) const;
    // Nothing: its addresses stay as they are.
    const std::optional<OutgoingHeader>& header() const { return header_; }
    // For the log, once: what stays as it is, and why.
    std::vector<std::string> take_warnings();

private:
    spool::ReadResult<> collect();
    void warn_of_header(std::string_view why);
    void rewrite_header();
    const std::string& shown(std::size_t tables, const std::string& original) const;

    spool::MessageReader& message_;
    common::AddressReplacements replacements_;
    const std::size_t of_message_; // the number of the tables of the sender and the header
    std::map<std::string, std::size_t> of_recipients_;
    bool collected_ = false, header_done_ = false;
    std::string text_; // of the header
    std::size_t stored_size_ = 0;
    std::vector<std::string> warnings_;
    std::optional<OutgoingHeader> header_;
};

} // namespace smtp_client
