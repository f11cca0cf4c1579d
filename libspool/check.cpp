#include "libspool/check.h"
#include "libspool/message_reader.h"
#include "libspool/queue_id_source.h"
#include <algorithm>

namespace spool {

namespace {

std::string directory_name(std::string_view root, unsigned n) {
    constexpr std::string_view digits = "0123456789abcdef";
    return std::string(root) + digits[n >> 4] + digits[n & 15];
}

ReadResult<std::uint64_t> read_all(Disk& disk, const std::string& path, QueueId id) {
    auto reader = MessageReader::open_path(disk, path);
    if (!reader) return std::unexpected(std::move(reader).error());
    if (reader->queue_id() != id)
        return std::unexpected(Damaged{Damaged::How::damaged, "header: is of " + reader->queue_id().text()});
    for (std::uint64_t at = 0; at < reader->size() || at == 0;) {
        const auto piece = reader->piece(at);
        if (!piece) return std::unexpected(piece.error());
        if (piece->empty()) break;
        at += piece->size();
    }
    return reader->size();
}

class Check {
public:
    explicit Check(Disk& disk) : disk_(disk) {}

    Result<> directory(const std::string& path) {
        auto names = disk_.list(path);
        if (!names && names.error().code == ENOENT) return {};
        if (!names) return std::unexpected(names.error());
        std::ranges::sort(*names);
        for (const auto& name : *names) file(path + "/" + name, name, path.starts_with("incoming/"));
        return {};
    }

    Result<std::uint64_t> count(const std::string& path) {
        auto names = disk_.list(path);
        if (!names && names.error().code == ENOENT) return std::uint64_t{0};
        if (!names) return std::unexpected(names.error());
        return static_cast<std::uint64_t>(std::ranges::count_if(*names, [](const std::string& name) {
            return QueueId::parse(std::string_view(name).substr(0, name.find('.'))) &&
                   !name.ends_with(".why");
        }));
    }

    SpoolReport report;

private:
    void file(const std::string& path, const std::string& name, bool incoming) {
        if (incoming && name == writer_mark_name) return mark(path);
        const auto id = QueueId::parse(name);
        if (!id || id->text() != name) return find(Finding::What::foreign, path, "not a message file's name");
        auto size = read_all(disk_, path, *id);
        // Somebody may just be starting its log anew, or removing it: what is damaged stays so.
        if (!size) size = read_all(disk_, path, *id);
        if (size) {
            ++report.messages;
            report.bytes += *size;
            return;
        }
        if (const auto* error = std::get_if<Error>(&size.error())) {
            if (error->code != ENOENT) find(Finding::What::unreadable, path, error->what);
            return;
        }
        const auto& damaged = std::get<Damaged>(size.error());
        if (incoming && damaged.how == Damaged::How::unsealed) {
            ++report.unfinished;
            return;
        }
        find(damaged.how == Damaged::How::newer ? Finding::What::newer : Finding::What::damaged, path,
             damaged.what);
    }

    void mark(const std::string& path) {
        const auto file = disk_.open(path, Open::read);
        const auto read = file ? read_writer_mark(disk_, *file)
                               : Result<std::optional<WriterMark>>(std::unexpected(file.error()));
        if (!read && read.error().code != ENOENT) find(Finding::What::damaged, path, read.error().what);
    }

    void find(Finding::What what, std::string path, std::string why) {
        report.findings.push_back({what, std::move(path), std::move(why)});
    }

    Disk& disk_;
};

} // namespace

Result<SpoolReport> check_spool(Disk& disk) {
    Check check(disk);
    TRY(disk.list("messages"));
    // incoming/ first: what is moved to messages/ meanwhile is met there again, never missed.
    for (unsigned n = 0; n < 256; ++n) TRY(check.directory(directory_name("incoming/", n)));
    for (unsigned n = 0; n < 256; ++n) TRY(check.directory(directory_name("messages/", n)));
    check.report.quarantined = TRY(check.count("quarantine"));
    check.report.bad = TRY(check.count("bad"));
    return std::move(check.report);
}

} // namespace spool
