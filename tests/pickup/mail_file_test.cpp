// The form of a file in the pickup directory, and which files are whole.
#include "daemons/pickup/directory/file_identity.h"
#include "daemons/pickup/directory/mail_file.h"
#include "daemons/pickup/directory/written_files.h"
#include <cstring>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/inotify.h>

using pickup::MailFile;
using pickup::WrittenFiles;

static std::string read(std::string_view text, bool whole = true) {
    const auto mail = MailFile::parse(text, whole);
    if (!mail) return mail.error();
    return fmt::format("{} -> {}: {}", mail->sender, fmt::join(mail->receivers, ","), text.substr(mail->message_at));
}

TEST_CASE("the envelope's lines come first, and are not of the message") {
    CHECK(read("X-Sender: a@x\r\nx-receiver: b@y\r\nX-RECEIVER: c@z\r\nSubject: s\r\n\r\nhi\r\n") ==
          "a@x -> b@y,c@z: Subject: s\r\n\r\nhi\r\n");
    CHECK(read("X-Receiver: b@y\nFrom: Ann <a@x>\nX-Receiver: c@z\n\nhi\n") ==
          "Ann <a@x> -> b@y: From: Ann <a@x>\nX-Receiver: c@z\n\nhi\n");
    CHECK(read("X-Sender: <>\nX-Receiver: b@y\n\nhi") == " -> b@y: \nhi");
    CHECK(read("From: a@x,\n b@x\nSender: c@x\n\n").starts_with("c@x -> : From:"));
    CHECK(read("From:\r\n a@x\r\n\r\n").starts_with("a@x -> "));
}

TEST_CASE("files that are no message") {
    const auto unknown = "it has neither a line X-Sender nor a field From: its sender is not known";
    for (const auto* text : {"", "\n", "\nFrom: a@x\n", "hello", "Subject: x\n\n", "X-Receiver: b@y\n"})
        CHECK(read(text) == unknown);
    CHECK(read("X-Sender: a@x\nX-Sender: b@x\n\n") == "X-Sender is given twice, expected once");
    CHECK(read("X-Sender: a@x\nX-Receiver:\n\n") == "X-Receiver without an address");
    CHECK(read("X-Sender: a@x\nX-Receiver: b@y\n", false) == "its envelope and header are larger than 1024 KiB");
}

TEST_CASE("a file is whole once it was closed by its writer, or renamed in") {
    WrittenFiles files;
    const auto happens = [&](std::uint32_t mask, std::string name) {
        inotify_event event{};
        event.mask = mask;
        name.resize((name.size() / 16 + 1) * 16);
        event.len = static_cast<std::uint32_t>(name.size());
        std::string bytes(sizeof event, '\0');
        std::memcpy(bytes.data(), &event, sizeof event);
        std::vector<std::string> whole;
        CHECK(files.take(bytes + name, whole));
        return fmt::format("{}", fmt::join(whole, ","));
    };
    using State = WrittenFiles::State;
    CHECK(happens(IN_CREATE, "a.eml") == "");
    CHECK(files.state_of("a.eml") == State::created); // by link(2), perhaps
    CHECK(happens(IN_OPEN, "a.eml") == "");
    CHECK(files.state_of("a.eml") == State::opened);
    CHECK(happens(IN_CLOSE_NOWRITE, "a.eml") == "");
    CHECK(files.state_of("a.eml") == State::created); // somebody has read it, such as Postrider: it does not stay open
    CHECK(happens(IN_OPEN, "a.eml") == "");
    CHECK(happens(IN_MODIFY, "a.eml") == "");
    CHECK(happens(IN_CLOSE_NOWRITE, "a.eml") == "");
    CHECK(files.state_of("a.eml") == State::being_written); // by another program than the reader's
    CHECK(happens(IN_CLOSE_WRITE, "a.eml") == "a.eml");
    CHECK(happens(IN_OPEN, "a.eml") == ""); // by a reader
    CHECK(files.state_of("a.eml") == State::whole);
    CHECK(happens(IN_MODIFY, "a.eml") == "");
    CHECK(files.state_of("a.eml") == State::being_written);
    CHECK(happens(IN_DELETE, "a.eml") == "");
    CHECK(files.state_of("a.eml") == State::unknown);
    CHECK(happens(IN_MOVED_TO, "b.eml") == "b.eml");
    CHECK(happens(IN_MOVED_TO, "b.tmp") == "");
    inotify_event lost{};
    lost.mask = IN_Q_OVERFLOW;
    std::vector<std::string> whole;
    CHECK_FALSE(files.take({reinterpret_cast<const char*>(&lost), sizeof lost}, whole));
    CHECK(files.state_of("b.eml") == State::unknown);
}

TEST_CASE("a file that looks the same but is another one has another key") {
    struct stat first{};
    first.st_ino = 7;
    first.st_size = 100;
    first.st_mtim.tv_sec = 1000; // users set it as they like: cp -p
    first.st_ctim.tv_sec = 2000;
    auto second = first;
    using pickup::FileIdentity;
    CHECK(FileIdentity::of(first) == FileIdentity::of(second));
    CHECK(FileIdentity::of(first).idempotency_key() == FileIdentity::of(second).idempotency_key());
    second.st_ctim.tv_nsec = 1;
    CHECK(FileIdentity::of(first) != FileIdentity::of(second));
    CHECK(FileIdentity::of(first).idempotency_key() != FileIdentity::of(second).idempotency_key());
}
