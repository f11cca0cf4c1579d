// What header checks, milters and copies make of local submissions.
#include "daemons/common/config/config.h"
#include "daemons/pickup/drop.h"
#include "tests/common/filters/milter/fake_milter.h"
#include "tests/pickup/place.h"
#include <fstream>
#include <sys/stat.h>

using namespace pickup;
using namespace pickup::testing;
using namespace proto::submit;
using milter::testing::FakeMilter;
using milter::testing::packet;
using milter::testing::text;

namespace {

const std::string mail = "From: ann@example.org\nSubject: hello\n\nfirst\nsecond\n";

// A place with one filter that sees local mail.
struct Filtered : Place {
    Filtered() : filter(loop, path + "/milter") {
        auto changed = config;
        config::Milter milter;
        milter.name = "one";
        milter.address.path = path + "/milter";
        milter.listeners = {"local"};
        changed.milters = {milter};
        use(changed);
    }
    ~Filtered() {
        run_until([&] { return context->being_checked.empty(); });
    }
    FakeMilter filter;
};

std::string content(Place& place, const Answer& answer) {
    REQUIRE_MESSAGE(answer.status == EX_OK, answer.text);
    return read(place, answer.queue_id).read_content().value();
}

} // namespace

TEST_CASE("a milter is told of local mail as of a session with localhost, and changes it") {
    Filtered place;
    place.filter.replies['E'] =
        packet('h', text("X-Seen") + text("yes")) + packet('+', text("<carol@x.example>")) + packet('c');
    const auto answer = submit(place, to({"bob@x.example"}), mail);
    const auto sent = content(place, answer);
    CHECK(place.filter.commands().starts_with("OCHMRTLL"));
    CHECK(place.filter.told[1].data == text("localhost") + '4' + '\0' + '\0' + text("127.0.0.1"));
    CHECK(place.filter.told[2].data == text("localhost"));
    CHECK(place.filter.told[3].data == text("<ann@example.org>"));
    CHECK(place.filter.told[4].data == text("<bob@x.example>"));
    CHECK(place.filter.body() == "first\r\nsecond\r\n");
    CHECK(place.filter.macros['M'] ==
          text("i") + text(answer.queue_id) + text("{mail_addr}") + text("ann@example.org"));
    CHECK(sent.starts_with("Received: by mta.example"));
    CHECK(sent.find("\r\nX-Seen: yes\r\n\r\nfirst\r\n") != sent.npos);
    CHECK(read(place, answer.queue_id).envelope().recipients.size() == 2);
    CHECK(place.submission_queue->waiting() == 1);
}

TEST_CASE("a milter for listeners alone does not see local mail") {
    Filtered place;
    auto config = place.config;
    config.milters[0].listeners.clear();
    place.use(config);
    content(place, submit(place, to({"bob@x.example"}), mail));
    CHECK(place.filter.told.empty());
}

TEST_CASE("what a milter refuses is refused to the program, with its words") {
    struct Row {
        char command;
        std::string reply;
        int status;
        std::string text;
    };
    for (const auto& row : std::vector<Row>{
             {'M', packet('y', text("550 5.7.9 not today")), EX_UNAVAILABLE, "550 5.7.9 not today"},
             {'R', packet('r'), EX_UNAVAILABLE, "550 5.7.1 Command rejected"},
             {'E', packet('r'), EX_UNAVAILABLE, "550 5.7.1 Command rejected"},
             {'E', packet('t'), EX_TEMPFAIL, "451 4.7.1 Service unavailable - try again later"},
             {'H', std::string(FakeMilter::dies), EX_TEMPFAIL, "451 4.7.1 Service unavailable - try again later"}}) {
        Filtered place;
        place.filter.replies[row.command] = row.reply;
        const auto answer = submit(place, to({"bob@x.example"}), mail);
        CHECK(answer.status == row.status);
        CHECK(answer.text == row.text);
        CHECK(place.submission_queue->waiting() == 0);
        CHECK(place.directory.names("incoming/02") == std::vector<std::string>{"writer"});
        CHECK(place.logged().find("milter-reject: ") != std::string::npos);
        CHECK(place.logged().find(" from localhost[127.0.0.1]: " + row.text +
                                  "; from=<ann@example.org> to=<bob@x.example>") != std::string::npos);
    }
}

TEST_CASE("discarded mail is taken, and gone; quarantined mail is held") {
    Filtered place;
    place.filter.replies['T'] = packet('d');
    const auto gone = submit(place, to({"bob@x.example"}), mail);
    CHECK(gone.status == EX_OK);
    CHECK(place.submission_queue->waiting() == 0);
    CHECK(place.logged().find(gone.queue_id + ": milter-discard: DATA from localhost[127.0.0.1]") != std::string::npos);
    place.filter.replies = {{'E', packet('q', text("looks odd")) + packet('c')}};
    const auto held = submit(place, to({"bob@x.example"}), mail);
    REQUIRE(held.status == EX_OK);
    CHECK(read(place, held.queue_id).envelope().verdict != spool::Verdict::accept);
    CHECK(read(place, held.queue_id).envelope().verdict_reason == "looks odd");
    place.filter.replies = {{'E', packet('-', text("<bob@x.example>")) + packet('c')}};
    CHECK(submit(place, to({"bob@x.example"}), mail).status == EX_OK);
    CHECK(place.submission_queue->waiting() == 1);
}

TEST_CASE("a program that goes away while filters look at its message: it is sent all the same") {
    Filtered place;
    place.filter.replies['E'] = "";
    auto submission = Submission::create(*place.context, 1234, [](const Answer&) { FAIL("nobody is there"); });
    submission->take(to({"bob@x.example"}));
    submission->take(Content{mail});
    submission->take(End{});
    place.run_until([&] { return place.filter.commands().ends_with("E"); });
    submission->abandon();
    submission.reset();
    place.filter.service.say(0, packet('c'));
    place.run_until([&] { return place.submission_queue->waiting() == 1; });
}

TEST_CASE("nobody waits for what was dropped: refused mail becomes a report, what is put off stays alone") {
    Filtered place;
    const auto drop_file = [&](const std::string& name, const std::string& subject) {
        const auto file = place.path + "/drop/" + name;
        std::ofstream(file, std::ios::binary)
            << frame(to({"bob@x.example"})) + frame(Content{"Subject: " + subject + "\n\nx\n"}) + frame(End{});
        ::chmod(file.c_str(), 0644);
    };
    auto config = place.config;
    config.content.header_checks = {"/^Subject: bad/ REJECT 5.7.9 no such things"};
    place.use(config);
    place.filter.replies['L'] = "";
    place.filter.service.heard = [&](std::size_t line, std::string_view bytes) {
        const bool later = bytes.find("later") != bytes.npos; // the Subject
        auto& reader = place.filter.readers[line];
        reader.feed(bytes);
        for (auto next = reader.next(); next && *next; next = reader.next()) {
            place.filter.replies['L'] = packet(later && (*next)->command == 'L' ? 't' : 'c');
            place.filter.told_of(line, **next);
        }
    };
    drop_file("1", "bad");
    drop_file("2", "later");
    drop_file("3", "good");
    Drop drop(*place.context);
    drop.scan();
    place.run_until([&] { return place.submission_queue->waiting() == 2 && !drop.busy(); });
    CHECK(place.directory.names("drop") == std::vector<std::string>{"2"});
    std::size_t refused = 0;
    for (const auto& name : place.directory.names("incoming/02")) {
        if (name == "writer") continue;
        auto reader = read(place, name);
        const auto& envelope = reader.envelope();
        if (envelope.recipients.at(0).fate != spool::Fate::failed) continue;
        ++refused;
        CHECK(envelope.verdict_reason == "5.7.9 no such things");
        CHECK(reader.read_content().value().find("Subject: bad") != std::string::npos);
    }
    CHECK(refused == 1);
}

TEST_CASE("header checks: refused, edited, held, sent elsewhere; each with its line in the log") {
    Place place;
    auto config = place.config;
    config.content.header_checks = {"/^Subject: (.*) bad/ REJECT 5.7.9 no $1 things",
                                    "/^Subject: hide/ DISCARD",
                                    "/^Subject: wait/ HOLD look at it",
                                    "/^Subject: elsewhere/ REDIRECT post@y.example",
                                    "/^X-Mailer:/ IGNORE",
                                    "/^X-Old: (.*)/ REPLACE X-New: $1",
                                    "/^X-Mark:/ PREPEND X-Before: the mark",
                                    "/^X-Odd: (.*)/ REPLACE $1",
                                    "/^X-Log:/ WARN seen"};
    place.use(config);
    const auto with = [&](const std::string& fields) {
        return submit(place, to({"bob@x.example"}), fields + "\n\nx\n");
    };
    const auto refused = with("Subject: very bad");
    CHECK(refused.status == EX_UNAVAILABLE);
    CHECK(refused.text == "550 5.7.9 no very things");
    CHECK(
        place.logged().find(": reject: header Subject: very bad from local; from=<ann@example.org> to=<bob@x.example>: "
                            "5.7.9 no very things") != std::string::npos);
    CHECK(with("Subject: hide").status == EX_OK);
    CHECK(place.submission_queue->waiting() == 0);
    CHECK(place.logged().find(": discard: header Subject: hide from local; ") != std::string::npos);
    const auto held = with("Subject: wait");
    CHECK(read(place, held.queue_id).envelope().verdict == spool::Verdict::hold);
    CHECK(read(place, held.queue_id).envelope().verdict_reason == "look at it");
    const auto elsewhere = with("Subject: elsewhere");
    REQUIRE(read(place, elsewhere.queue_id).envelope().recipients.size() == 1);
    CHECK(read(place, elsewhere.queue_id).envelope().recipients[0].address == "post@y.example");
    const auto edited = content(place, with("X-Mailer: a\nX-Mark: b\nX-Mailer: c\nX-Old: d\n\te\nX-Odd: f\nX-Log: g"));
    CHECK(edited.find("\r\nX-Before: the mark\r\nX-Mark: b\r\nX-New: d\r\n\te\r\nX-Odd: f\r\nX-Log: g\r\n") !=
          std::string::npos);
    CHECK(edited.find("X-Mailer") == std::string::npos);
    const auto log = place.logged();
    CHECK(log.find(": prepend: header X-Mark: b from local; ") != log.npos);
    CHECK(log.find(": replace: header X-Old: d e from local; ") != log.npos);
    CHECK(log.find(": warning: header X-Log: g from local; from=<ann@example.org> to=<bob@x.example>: seen") !=
          log.npos);
    CHECK(log.find("header check: not a header field: f") != log.npos);
}

TEST_CASE("copies of local mail, and none of what is imported") {
    Place place;
    auto config = place.config;
    config.automatic_bcc.always = {"archive@x.example"};
    place.use(config);
    const auto answer = submit(place, to({"bob@x.example"}), mail);
    CHECK(content(place, answer).find("archive") == std::string::npos);
    auto envelope = read(place, answer.queue_id).envelope();
    REQUIRE(envelope.recipients.size() == 2);
    CHECK(envelope.recipients[1].address == "archive@x.example");
    CHECK(envelope.recipients[1].notify == spool::Notify::never);
    envelope.recipients.resize(1);
    std::optional<Answer> imported;
    auto submission = Submission::create(
        *place.context, 0, [&](const Answer& a) { imported = a; }, RejectionNotice::to_program, ImportPolicy::accepted);
    Import import;
    import.piece = spool::encode(envelope);
    submission->take(import);
    submission->take(Content{"Subject: x\r\n\r\nx\r\n"});
    submission->take(End{});
    place.run_until([&] { return imported.has_value(); });
    REQUIRE(imported->status == EX_OK);
    CHECK(read(place, imported->queue_id).envelope().recipients.size() == 1);
}
