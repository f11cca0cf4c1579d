// spool check, export, import: the spool's files checked, copied out, and submitted again.
#include "daemons/postrider/queue/spool.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/queue/import_frames.h"
#include "libspool/disk/real_disk.h"
#include "libspool/message/export_format.h"
#include "libspool/store/check.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace postrider {

using nlohmann::json;

namespace {

std::string_view name_of(spool::Finding::What what) {
    switch (what) {
    case spool::Finding::What::damaged: return "damaged";
    case spool::Finding::What::newer: return "newer";
    case spool::Finding::What::unreadable: return "unreadable";
    case spool::Finding::What::foreign: return "foreign";
    }
    return "";
}

spool::Result<> write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(spool::Error::from_errno("write"));
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

// Stands for the node that a message in a file comes from.
constexpr char exported_file[] = "spool export";

// Where a file lies, as a disk and a name on it.
struct FileLocation {
    std::unique_ptr<spool::RealDisk> disk;
    std::string name;
};
spool::Result<FileLocation> locate_file(const std::string& file) {
    const std::filesystem::path path(file);
    const auto folder = path.parent_path().string();
    FileLocation location;
    location.disk = TRY(spool::RealDisk::open_at(folder.empty() ? "." : folder));
    location.name = path.filename().string();
    return location;
}

// The spool itself, not a message in it, cannot be read.
int report_spool_error(const std::string& directory, const spool::Error& error) {
    if (error.code != ENOENT) return report_read_error(directory, error);
    print_error(fmt::format("there is no spool {}: it is created when the mail system starts", directory));
    return not_found;
}

} // namespace

int spool_check(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    auto disk = spool::RealDisk::open_at(config->spool.directory);
    if (!disk) return report_spool_error(config->spool.directory, disk.error());
    const auto report = spool::check_spool(**disk);
    if (!report) return report_spool_error(config->spool.directory, report.error());
    if (arguments.json) {
        json findings = json::array();
        for (const auto& each : report->findings)
            findings.push_back({{"path", each.path}, {"problem", name_of(each.what)}, {"reason", each.why}});
        print_json({{"version", 1},
                    {"spool", config->spool.directory},
                    {"messages", report->messages},
                    {"bytes", report->bytes},
                    {"unfinished", report->unfinished},
                    {"quarantined", report->quarantined},
                    {"bad", report->bad},
                    {"findings", std::move(findings)}});
    } else {
        for (const auto& each : report->findings)
            fmt::print("{}/{}: {}: {}\n", config->spool.directory, each.path, name_of(each.what), each.why);
        fmt::print("{} complete ({} bytes of content), {} being written or never finished, {} damaged\n",
                   report->messages == 1 ? "1 message is" : fmt::format("{} messages are", report->messages),
                   report->bytes, report->unfinished,
                   count_text(static_cast<std::int64_t>(report->findings.size()), "file"));
        if (report->quarantined + report->bad > 0)
            fmt::print("moved aside earlier: {} in quarantine/, {} in bad/; the file NAME.why beside each gives the "
                       "reason\n",
                       report->quarantined, report->bad);
    }
    return report->findings.empty() ? ok : data_error;
}

int spool_export(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    const auto id = spool::QueueId::parse(arguments.words[0]);
    if (!id) return fail(usage, fmt::format("\"{}\" is not a queue id", arguments.words[0]));
    const auto& to = arguments.words[1];
    auto disk = spool::RealDisk::open_at(config->spool.directory);
    if (!disk) return report_spool_error(config->spool.directory, disk.error());
    const bool to_file = to != "-";
    common::Fd file;
    if (to_file) {
        file = common::Fd(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!file && errno == EEXIST)
            return fail(system_error, fmt::format("{} exists and is not overwritten: choose another file", to));
        if (!file) return fail(system_error, fmt::format("{}: {}", to, std::strerror(errno)));
    }
    const int fd = to_file ? file.number() : STDOUT_FILENO;
    spool::Result<> written;
    auto copied =
        spool::export_message(**disk, *id, [&](std::string_view bytes) { return written = write_all(fd, bytes); });
    if (copied && to_file && ::fsync(fd) != 0) written = std::unexpected(spool::Error::from_errno("sync"));
    if (copied && written) return ok;
    if (to_file) ::unlink(to.c_str());
    if (!written) return fail(system_error, fmt::format("{}: {}", to, written.error().what));
    return report_read_error(id->text(), copied.error());
}

int spool_import(const Arguments& arguments) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    const auto& from = arguments.words[0];
    const auto location = locate_file(from);
    if (!location) return fail(no_input, location.error().what);
    auto reader = spool::MessageReader::open_path(*location->disk, location->name);
    if (!reader) {
        if (const auto* io_error = std::get_if<spool::Error>(&reader.error()))
            return fail(no_input, fmt::format("{}: {}", from, std::strerror(io_error->code)));
        print_error(fmt::format("{}: {}", from, spool::text_of(reader.error())));
        return data_error;
    }
    const auto left = spool::remaining_envelope(reader->state()).recipients.size();
    if (left == 0) {
        print_error(fmt::format("{}: delivery is complete: every recipient is accounted for", from));
        return data_error;
    }
    // Under the name of this export: a file that is imported twice makes one message.
    auto envelope = spool::transfer_envelope(reader->state(), exported_file, reader->queue_id(),
                                             reader->state().transfer.generation);
    if (arguments.has("--again")) envelope.transferred->node.clear();
    const auto answer = submit_copy(config->spool, config->mta, *reader, envelope, from, "nothing was imported");
    if (!answer) return answer.error();
    if (arguments.json)
        print_json(
            {{"version", 1}, {"old_id", reader->queue_id().text()}, {"id", answer->queue_id}, {"recipients", left}});
    else if (!answer->text.empty())
        fmt::print("{}: {}\n", reader->queue_id().text(), answer->text);
    else
        fmt::print("{} is queued as {} for {} recipient{}\n", reader->queue_id().text(), answer->queue_id, left,
                   left == 1 ? "" : "s");
    return ok;
}

} // namespace postrider
