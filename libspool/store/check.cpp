#include "libspool/store/check.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/reused_file.h"
#include <algorithm>
#include <set>

namespace spool {

namespace {

std::string directory_name(std::string_view root, unsigned n) {
    constexpr std::string_view digits = "0123456789abcdef";
    return std::string(root) + digits[n >> 4] + digits[n & 15];
}

ReadResult<std::uint64_t> read_all(Disk& disk, const std::string& path, QueueId id) {
    auto reader = MessageReader::open_path(disk, path);
    if (!reader) return ReadResult<std::uint64_t>(std::unexpect, std::move(reader).error());
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
            return QueueId::parse(std::string_view(name).substr(0, name.find('.'))) && !name.ends_with(".why");
        }));
    }

    SpoolReport report() {
        report_.unfinished = unfinished_.size();
        return std::move(report_);
    }
    void put_aside(std::uint64_t quarantined, std::uint64_t bad) {
        report_.quarantined = quarantined;
        report_.bad = bad;
    }

private:
    // Free, or with a message; or one is just being written into it.
    void reused(const std::string& path) {
        auto reader = MessageReader::open_path(disk_, path); // reads and verifies all of it
        if (!reader) reader = MessageReader::open_path(disk_, path);
        if (reader) {
            if (!met_.insert(reader->queue_id()).second) return;
            ++report_.messages;
            report_.bytes += reader->size();
            return;
        }
        if (const auto* error = std::get_if<Error>(&reader.error())) {
            if (error->code != ENOENT) find(Finding::What::unreadable, path, error->what);
            return;
        }
        const auto& damaged = std::get<Damaged>(reader.error());
        if (damaged.how == Damaged::How::unsealed && is_free(disk_, *reused_file_named(path))) return;
        find(damaged.how == Damaged::How::newer ? Finding::What::newer : Finding::What::damaged, path, damaged.what);
    }

    void file(const std::string& path, const std::string& name, bool incoming) {
        if (incoming && name == writer_mark_name) return mark(path);
        if (incoming && name == new_writer_mark_name) return; // a power cut came between
        if (incoming && reused_file_named(name)) return reused(path);
        const auto id = QueueId::parse(name);
        if (!id || id->text() != name) return find(Finding::What::foreign, path, "not a message file's name");
        if (!incoming) unfinished_.erase(*id); // it has been finished, and moved, since it was found in incoming/
        if (met_.contains(*id)) return;
        auto size = read_all(disk_, path, *id);
        // Its log may just be restarted, or the file removed: only damage is still there at the second read.
        if (!size) size = read_all(disk_, path, *id);
        if (size) {
            ++report_.messages;
            report_.bytes += *size;
            if (incoming) met_.insert(*id);
            return;
        }
        if (const auto* error = std::get_if<Error>(&size.error())) {
            if (error->code != ENOENT) find(Finding::What::unreadable, path, error->what);
            return;
        }
        const auto& damaged = std::get<Damaged>(size.error());
        if (incoming && damaged.how == Damaged::How::unsealed) {
            unfinished_.insert(*id);
            return;
        }
        if (incoming) met_.insert(*id);
        find(damaged.how == Damaged::How::newer ? Finding::What::newer : Finding::What::damaged, path, damaged.what);
    }

    void mark(const std::string& path) {
        const auto file = disk_.open(path, Open::read);
        const auto read =
            file ? read_writer_mark(disk_, *file) : Result<std::optional<WriterMark>>(std::unexpected(file.error()));
        if (!read && read.error().code != ENOENT) find(Finding::What::damaged, path, read.error().what);
    }

    void find(Finding::What what, std::string path, std::string why) {
        report_.findings.push_back({what, std::move(path), std::move(why)});
    }

    Disk& disk_;
    SpoolReport report_;
    // Of incoming/, where there are few at any time.
    std::set<QueueId> met_, unfinished_;
};

} // namespace

Result<SpoolReport> check_spool(Disk& disk) {
    Check check(disk);
    TRY(disk.list("messages"));
    // incoming/ first: a message moved to messages/ meanwhile is found there again (and counted once), never missed.
    for (unsigned n = 0; n < 256; ++n) TRY(check.directory(directory_name("incoming/", n)));
    for (unsigned n = 0; n < 256; ++n) TRY(check.directory(directory_name("messages/", n)));
    const auto quarantined = TRY(check.count("quarantine"));
    check.put_aside(quarantined, TRY(check.count("bad")));
    return check.report();
}

} // namespace spool
