// One delivery of a connection: its order, its message once that is open, and the message's content as it goes to the
// current server; or a transaction without a message. Knows no session, and not what became of it.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "daemons/smtp-client/context/client_context.h"
#include "daemons/smtp-client/message/content.h"
#include "daemons/smtp-client/message/outgoing_addresses.h"
#include "daemons/smtp-client/tls/tls_negotiation.h"
#include "libsmtp/session/client_session.h"
#include "libspool/message/message_reader.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace smtp_client {

class DeliveryJob {
public:
    explicit DeliveryJob(proto::delivery::Deliver order) : order_(std::move(order)) {}
    // A transaction without a message. `secure`, `sts`: as of Deliver.
    DeliveryJob(smtp::Transaction probe, bool secure, const proto::route::StsPolicy& sts);
    DeliveryJob(const DeliveryJob&) = delete;
    DeliveryJob& operator=(const DeliveryJob&) = delete;

    std::uint64_t id() const { return order_.delivery; }
    const proto::delivery::Deliver& order() const { return order_; }
    const std::optional<smtp::Transaction>& probe() const { return probe_; } // then there is no message
    bool is_open() const { return message_.has_value(); }
    const spool::MessageReader& message() const { return *message_; } // only if it is open

    enum class Reach : bool { abroad, local }; // local: the mail does not leave this system
    // What the mail needs on its way to such a host. A message that is not open is only looked into: a delivery that
    // waits for a server needs no descriptor.
    TlsNeeds needs(ClientContext& context, Reach reach);
    // The address of the pool that it came from when a server last answered it with 4xx: greylisting counts the time
    // for each address. "": none.
    std::string last_deferral_source(ClientContext& context);

    // Opens the message, unless it is open.
    spool::ReadResult<> open(ClientContext& context);
    // Reads the whole of a small message that is open: its damage is found before the server hears of it.
    spool::ReadResult<> verify_small();
    // A mailbox store and a content filter get an open message as it is. To be called first.
    enum class Form : bool { as_it_is, as_others_see_it };
    void take_form(Form form);
    // Of an open message as others see it: what rules make of its header. The findings are for the log, once.
    spool::ReadResult<> apply_rules(std::shared_ptr<const common::ContentRules> rules);
    std::vector<common::ContentFinding> take_findings();
    std::vector<std::string> take_warnings();
    // … behind that, the addresses with which it leaves. `wake`: call again, as of OutgoingAddresses; must work as long
    // as this lives.
    spool::ReadResult<OutgoingAddresses::State> rewrite(GenericMaps& maps, std::function<void()> wake);
    void keep_addresses() { addresses_.reset(); }                           // a reload has removed the tables
    const OutgoingAddresses* addresses() const { return addresses_.get(); } // null: as they are
    // Goes on to find what the content will be for this server; not_yet: call again. As Content::prepare().
    spool::ReadResult<Content::Prepared> prepare(Content::Server server, const std::shared_ptr<const Signing>& signing,
                                                 smtp::WallTime now);
    // Of a message whose content is prepared.
    spool::ReadResult<smtp::Transaction> transaction(Reach reach);
    const std::string& unsigned_because() const { return content_->unsigned_because(); } // prepared
    // The next piece of the prepared content; is_last: there is none after it. Damage is remembered.
    struct Piece {
        std::string_view bytes;
        bool is_last = false;
    };
    enum class From : bool { here, start };
    spool::ReadResult<Piece> next_piece(From from);
    bool is_damaged() const { return damaged_; }

    // The next server may take the content in another form.
    void drop_content() { content_.reset(); }
    void close();
    std::optional<spool::MessageReader> take_message();

    // It ends when the server asks for its content: another delivery's reply is awaited before.
    void cut() { cut_ = true; }
    bool is_cut() const { return cut_; }

private:
    TlsNeeds needs_abroad(ClientContext& context);
    // Nothing: as stored.
    const std::optional<OutgoingHeader>& outgoing_header() const;

    proto::delivery::Deliver order_;
    std::optional<smtp::Transaction> probe_;
    std::optional<TlsNeeds> needs_;
    std::optional<spool::MessageReader> message_;
    Form form_ = Form::as_it_is;
    std::shared_ptr<const common::ContentRules> rules_; // null: none, or not known yet
    std::optional<OutgoingHeader> ruled_header_;
    std::vector<common::ContentFinding> findings_;
    std::vector<std::string> warnings_;
    std::unique_ptr<OutgoingAddresses> addresses_;
    std::unique_ptr<Content> content_; // of the message, for the current session's server
    bool damaged_ = false, cut_ = false;
};

} // namespace smtp_client
