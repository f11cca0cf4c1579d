// A conversation with one milter during one mail session: connects, reports each
// event, enforces the time limit, and turns every failure into the configured
// default. A filter that has failed once is not used again in the session.
#pragma once
#include "daemons/common/filters/milter/event.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/problems.h"
#include "daemons/common/logging/service_status.h"
#include "daemons/common/net/client_stream.h"
#include "daemons/common/runtime/timer.h"
#include <memory>

namespace milter {

// The line in `postrider status` about a milter that does not answer, among `problems`, which must outlive it.
common::ServiceStatus service_status_of(const config::Milter& milter, common::Problems& problems);

class Client {
public:
    // Never progress or skip. changes.quarantine says whether the message is to be held; all other changes
    // have been applied.
    using Done = std::function<void(Response)>;

    Client(common::Loop& loop, common::Log& log, config::Milter milter, common::ServiceStatus service_status = {});
    ~Client();
    Client(const Client&) = delete;

    // Returns the filter's response at once (if it need not be asked), or later through `done`: once, from the loop.
    // One request at a time; connect is the first.
    std::optional<Response> ask(Event event, Done done);
    // The message begun by Stage::mail is over, one way or another.
    void transaction_over();

private:
    enum class Phase : std::uint8_t { idle, negotiating, asking, header, end_of_header, body, end_of_message };

    void connect();
    void on_data(std::string_view bytes);
    void go_on();
    void advance();
    void send_stage();
    void send_header();
    void read_body();
    void on_response(Response word);
    void send(bool word_follows);
    void fail(const std::string& why);
    void finish(Response word);
    Response default_response() const;

    common::Loop& loop_;
    common::Log& log_;
    const config::Milter milter_;
    const common::ServiceStatus service_status_;
    Session session_;
    std::unique_ptr<common::ClientStream> stream_;
    common::Timer timeout_;
    Event event_;
    Done done_;
    Phase phase_ = Phase::idle;
    Response response_;                         // the answer, until it is returned
    bool waiting_ = false;                      // for a response, or for the disk
    bool advancing_ = false;                    // advance() is being called in a loop
    bool stalled_ = false;                      // the filter does not take the body
    bool broken_ = false, accepts_all_ = false; // for the session: failed; it has accepted all of it
    bool in_mail_ = false, finished_ = false;   // a message is under way; the filter has decided on it
    std::size_t next_field_ = 0;
    std::uint64_t body_offset_ = 0;
};

} // namespace milter
