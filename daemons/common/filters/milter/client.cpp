#include "daemons/common/filters/milter/client.h"
#include "libsmtp/message/header.h"

namespace milter {

using config::OnFailure;
using config::Stage;
using ResponseKind = Response::What;

static constexpr std::size_t largest_chunk = 65'535;
static constexpr std::size_t most_waiting = 256 * 1024; // bytes not yet taken by the filter

common::ServiceStatus service_status_of(const config::Milter& milter, common::Problems& problems) {
    const auto what = "milter " + milter.name;
    return {problems.reporter(what), what, milter.on_failure};
}

Client::Client(common::Loop& loop, common::Log& log, config::Milter milter, common::ServiceStatus service_status)
    : loop_(loop), log_(log), milter_(std::move(milter)), service_status_(std::move(service_status)),
      timeout_(loop, [this] { fail("no answer in time"); }) {}

Client::~Client() {
    if (!stream_ || broken_) return;
    session_.quit();
    stream_->send(session_.output());
}

std::optional<Response> Client::ask(Event event, Done done) {
    if (accepts_all_ || finished_) return Response{};
    event_ = std::move(event);
    if (broken_) return default_response();
    done_ = std::move(done);
    if (event_.stage == Stage::mail) in_mail_ = true;
    if (!stream_) {
        phase_ = Phase::negotiating;
        connect();
        send(session_.negotiate());
    } else {
        send_stage();
    }
    advancing_ = true; // whatever is known at once is returned
    while (phase_ != Phase::idle && !waiting_) advance();
    advancing_ = false;
    if (phase_ != Phase::idle || !done_) return {};
    done_ = nullptr;
    return std::exchange(response_, {});
}

void Client::connect() {
    stream_ = std::make_unique<common::ClientStream>(
        loop_, milter_.address,
        common::ClientStream::Callbacks{[this](std::string_view bytes) { on_data(bytes); },
                                        [this](const std::string& why) { fail(why); }});
    stream_->on_drained([this] {
        if (!std::exchange(stalled_, false)) return;
        timeout_.stop();
        waiting_ = false;
        go_on();
    });
}

void Client::transaction_over() {
    if (std::exchange(in_mail_, false) && !finished_ && !broken_ && stream_) {
        session_.abort();
        stream_->send(session_.output());
    }
    finished_ = false;
}

void Client::send(bool word_follows) {
    waiting_ = word_follows;
    auto bytes = session_.output();
    if (!bytes.empty()) stream_->send(std::move(bytes));
    if (word_follows)
        timeout_.start(phase_ == Phase::negotiating      ? milter_.connect_timeout
                       : phase_ == Phase::end_of_message ? milter_.message_timeout
                                                         : milter_.timeout);
}

void Client::on_data(std::string_view bytes) {
    session_.feed(bytes);
    for (;;) {
        auto word = session_.next();
        if (!word) return fail(word.error().why);
        if (!*word) return;
        if ((*word)->what == ResponseKind::progress) {
            timeout_.start(milter_.message_timeout);
            continue;
        }
        waiting_ = false;
        timeout_.stop();
        service_status_.answered();
        return on_response(**std::move(word)); // may destroy this
    }
}

void Client::on_response(Response word) {
    switch (phase_) {
    case Phase::idle: return;
    case Phase::negotiating: send_stage(); break;
    case Phase::asking: finish(std::move(word)); break;
    case Phase::header:
    case Phase::end_of_header:
    case Phase::body:
        if (word.what == ResponseKind::skip)
            phase_ = Phase::end_of_message, send(session_.end_of_message(event_.macros));
        else if (word.what != ResponseKind::proceed)
            finish(std::move(word));
        break;
    case Phase::end_of_message:
        if (word.what == ResponseKind::proceed || word.what == ResponseKind::accept) {
            if (auto applied = event_.message->apply(word.changes); !applied) return fail(applied.error().why);
        }
        finish(std::move(word));
        break;
    }
    go_on();
}

void Client::go_on() {
    if (advancing_) return;
    advancing_ = true;
    while (phase_ != Phase::idle && !waiting_) advance();
    advancing_ = false;
    if (phase_ != Phase::idle || !done_) return;
    const auto done = std::exchange(done_, {});
    done(std::exchange(response_, {})); // may destroy this
}

// The filter has no response to the last step: continues with the next one.
void Client::advance() {
    switch (phase_) {
    case Phase::idle:
    case Phase::negotiating:
    case Phase::end_of_message: return;
    case Phase::asking: return finish({});
    case Phase::header: return send_header();
    case Phase::end_of_header:
        phase_ = session_.wants_body() ? Phase::body : Phase::end_of_message;
        if (phase_ == Phase::end_of_message) send(session_.end_of_message(event_.macros));
        return;
    case Phase::body: return read_body();
    }
}

void Client::send_stage() {
    phase_ = Phase::asking;
    const auto& e = event_;
    const auto path = "<" + e.text + ">";
    switch (e.stage) {
    case Stage::connect: return send(session_.connect(e.client_name, e.client_address, e.client_port, e.macros));
    case Stage::helo: return send(session_.helo(e.text, e.macros));
    case Stage::mail: return send(session_.mail(path, e.macros));
    case Stage::rcpt: return send(session_.rcpt(path, e.macros));
    case Stage::data: return send(session_.data(e.macros));
    case Stage::unknown: return send(session_.unknown(e.text));
    case Stage::end_of_data: break;
    }
    phase_ = Phase::header;
    next_field_ = 0;
    body_offset_ = 0;
    waiting_ = true;
    e.message->load([this](spool::Result<> loaded) {
        if (!loaded) return fail(loaded.error().what);
        waiting_ = false;
        go_on();
    });
}

void Client::send_header() {
    const auto& fields = event_.message->fields();
    if (event_.message->is_own(next_field_)) ++next_field_;
    if (next_field_ >= fields.size()) {
        phase_ = Phase::end_of_header;
        return send(session_.end_of_header(event_.macros));
    }
    const auto block = smtp::scan_header(fields[next_field_++]);
    send(session_.header(block.fields.at(0).name, block.fields.at(0).value));
}

void Client::read_body() {
    waiting_ = true; // for the disk, or for the filter to take what it has been sent
    if (stream_->waiting() > most_waiting) {
        stalled_ = true;
        return timeout_.start(milter_.timeout);
    }
    event_.message->read_body(body_offset_, largest_chunk, [this](spool::Result<std::string> piece) {
        if (broken_) return; // the filter went away meanwhile, and the message continued without it
        if (!piece) return fail(piece.error().what);
        waiting_ = false;
        if (piece->empty()) {
            phase_ = Phase::end_of_message;
            send(session_.end_of_message(event_.macros));
        } else {
            body_offset_ += piece->size();
            send(session_.body(*piece));
        }
        go_on();
    });
}

void Client::fail(const std::string& why) {
    if (std::exchange(broken_, true)) return;
    log_.warning("milter {}: {}", milter_.name, why);
    service_status_.failed(why);
    timeout_.stop();
    stream_.reset();
    waiting_ = false;
    if (phase_ == Phase::idle) return; // it went away between two requests: the next one gets the default answer
    finish(default_response());
    go_on();
}

void Client::finish(Response word) {
    const auto stage = event_.stage;
    phase_ = Phase::idle;
    waiting_ = false;
    timeout_.stop();
    if (stage <= Stage::helo)
        accepts_all_ = word.what == ResponseKind::accept;
    else if (stage != Stage::unknown)
        finished_ = word.what == ResponseKind::accept || word.what == ResponseKind::discard ||
                    stage == Stage::end_of_data || (word.what == ResponseKind::refuse && stage != Stage::rcpt);
    response_ = std::move(word);
}

// Without a message there is nothing to reject: a client may only want to end the session.
Response Client::default_response() const {
    Response word;
    if (event_.stage < Stage::mail || event_.stage == Stage::unknown) return word;
    switch (milter_.on_failure) {
    case OnFailure::accept: break;
    case OnFailure::tempfail:
        word.what = ResponseKind::refuse;
        word.reply = {451, {4, 7, 1}, "Service unavailable - try again later"};
        break;
    case OnFailure::reject:
        word.what = ResponseKind::refuse;
        word.reply = {550, {5, 7, 1}, "Service unavailable"};
        break;
    case OnFailure::quarantine:
        if (event_.stage == Stage::end_of_data)
            word.changes.quarantine = "milter " + milter_.name + " was not available";
        break;
    }
    return word;
}

} // namespace milter
