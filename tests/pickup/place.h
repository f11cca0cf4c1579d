// A pickup without its process: a spool, what submissions share, and short ways to make one.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/ipc/message.h"
#include "daemons/pickup/submission.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <optional>

namespace pickup::testing {

using namespace proto::submit;
using namespace std::chrono_literals;

struct Place {
    Place() {
        auto opened = spool::RealDisk::open_at(path);
        REQUIRE(spool::prepare_spool(**opened, {2}));
        disk = std::move(*opened);
        config.mta.hostname = "mta.example";
        config.mta.origin = "example.org";
        config.spool.directory = path;
        config.spool.minimum_free = 0;
        config.spool.minimum_free_inodes = 0;
        config.spool.sync_threads = 2;
        config.submit.message_size = 300'000;
        config.submit.recipients = 3;
        config.submit.connections_per_user = 2;
        auto made =
            common::SpoolWriter::open(loop, log, config.spool, 2, [](auto) {}, metrics, common::MailSource::local);
        REQUIRE(made);
        spool_writer = std::move(*made);
        submission_queue.emplace(loop, log, path + "/run", ipc::Identity{proto::Role::pickup, 2, {}},
                                 spool_writer->reusable_files());
        recipients.emplace(loop, log, path + "/run", ipc::Identity{proto::Role::pickup, 2, {}});
        keys.emplace(log, spool_writer->pool(), config.idempotency, path, std::uint8_t{2});
        log.configure({}, common::Fd(::open((path + "/log").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600)));
        context.emplace(SubmissionContext{loop, log, std::make_shared<const Settings>(config), *spool_writer,
                                          *submission_queue, *keys, *recipients});
        use(config);
    }

    // As after a reload.
    void use(const config::Config& changed) {
        config = changed;
        context->config = std::make_shared<const Settings>(changed);
        context->filters = ContentFilters::configured(changed.content, nullptr, changed.addresses.masquerade,
                                                      changed.milters, [](std::string_view) {});
    }
    std::string logged() {
        log.flush();
        return directory.text("log");
    }

    template <class Done> void run_until(Done done) {
        const auto end = std::chrono::steady_clock::now() + 20s;
        common::Timer tick(loop, [] {});
        while (!done()) {
            REQUIRE(std::chrono::steady_clock::now() < end);
            tick.start(5ms);
            uv_run(&loop.uv(), UV_RUN_ONCE);
        }
    }

    TemporaryDirectory directory{"drop", "run/private"};
    const std::string path = directory.path();
    std::unique_ptr<spool::RealDisk> disk;
    config::Config config;
    common::Loop loop;
    common::Log log{loop, "pickup"};
    common::Metrics metrics;
    std::unique_ptr<common::SpoolWriter> spool_writer;
    std::optional<common::SubmissionQueue> submission_queue;
    std::optional<common::idempotency::Client> keys;
    std::optional<common::RecipientChecker> recipients;
    std::optional<SubmissionContext> context;
};

inline Begin to(std::vector<std::string> lists, std::string sender = "ann") {
    Begin begin;
    begin.sender = std::move(sender);
    for (auto& each : lists) begin.recipients.push_back({std::move(each), {}, 0});
    return begin;
}

inline Answer submit(Place& place, const Begin& begin, std::string_view content, uid_t uid = 1234,
                     RejectionNotice notice = RejectionNotice::to_program) {
    std::optional<Answer> answer;
    auto submission = Submission::create(*place.context, uid, [&](const Answer& a) { answer = a; }, notice);
    auto head = begin; // as sendmail cuts it: some recipients here, the others behind
    if (head.recipients.size() > 100) head.recipients.resize(100);
    submission->take(head);
    for (std::size_t at = head.recipients.size(); at < begin.recipients.size(); at += 100) {
        const auto from = begin.recipients.begin() + static_cast<std::ptrdiff_t>(at);
        submission->take(Recipients{
            {from, from + static_cast<std::ptrdiff_t>(std::min<std::size_t>(100, begin.recipients.size() - at))}});
    }
    for (; !content.empty(); content.remove_prefix(std::min<std::size_t>(content.size(), 1000)))
        submission->take(Content{std::string(content.substr(0, 1000))});
    submission->take(End{});
    place.run_until([&] { return answer.has_value(); });
    return *answer;
}

// `name`: of its file, which is a reused one if that is small enough; each is used once here.
inline spool::MessageReader read(Place& place, const std::string& name) {
    const auto id = spool::QueueId::parse(name.substr(0, name.find('.')));
    REQUIRE(id);
    auto reader = spool::MessageReader::open(*place.disk, *id, spool::Location::incoming);
    REQUIRE(reader);
    return std::move(*reader);
}

inline std::string frame(const Message& message) {
    std::string wire;
    const auto begun = ipc::begin_frame(wire);
    std::visit([&](const auto& m) { ipc::encode<Message>(m, wire); }, message);
    REQUIRE(ipc::end_frame(wire, begun));
    return wire;
}

} // namespace pickup::testing
