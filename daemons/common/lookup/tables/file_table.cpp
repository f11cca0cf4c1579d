#include "daemons/common/lookup/tables/file_table.h"
#include "daemons/common/runtime/read_file.h"
#include <cerrno>
#include <cstring>
#include <expected>
#include <fmt/format.h>
#include <utility>

namespace tables {

namespace {

constexpr std::size_t max_table_file = std::size_t{1} << 30;

// The text, or why not.
std::expected<std::string, std::string> text_of(const std::string& path) {
    auto text = common::read_bounded(path, max_table_file);
    if (text) return *std::move(text);
    if (text.error() == EFBIG)
        return std::unexpected("larger than 1 GiB; compile it with \"postrider map\" and name it as \"lmdb:\"");
    return std::unexpected(std::strerror(text.error()));
}

} // namespace

struct FileTable::Work {
    uv_work_t request{};
    FileTable* owner = nullptr; // null: the result is no longer wanted
    std::string path;
    Read read = nullptr;
    std::unique_ptr<const TableContents> contents;
    std::string why;

    void run() {
        auto text = text_of(path);
        if (text)
            contents = read(*text);
        else
            why = std::move(text).error();
    }
};

FileTable::FileTable(common::Loop& loop, common::Log& log, std::string name, std::string path, Read read,
                     OnAnswer on_answer, std::uint64_t at_once)
    : loop_(loop), log_(log), name_(std::move(name)), read_(read), on_answer_(std::move(on_answer)), at_once_(at_once),
      file_(std::move(path)) {}

FileTable::~FileTable() {
    if (work_) work_->owner = nullptr;
}

Answer FileTable::find(std::string_view key, smtp::Now now) {
    refresh(now);
    if (!file_.problem().empty()) return Answer::unavailable(problem());
    if (!contents_) return Answer::not_yet();
    auto answer = contents_->find(key);
    if (answer.status == Answer::Status::unavailable) answer.why = fmt::format("table {}: {}", name_, answer.why);
    return answer;
}

bool FileTable::ask(const std::string& key, smtp::Now) {
    if (!work_ || contents_) return false;
    waiting_.insert(key);
    return true;
}

std::string FileTable::problem() const {
    return file_.problem().empty() ? "" : fmt::format("table {}: {}", name_, file_.problem());
}

std::vector<Problem> FileTable::problems() const {
    return contents_ ? contents_->problems().first() : std::vector<Problem>{};
}

void FileTable::refresh(smtp::Now now) {
    switch (file_.check(now)) {
    case common::WatchedFile::Change::none: return;
    case common::WatchedFile::Change::failed: contents_.reset(); return complain();
    case common::WatchedFile::Change::changed: break;
    }
    if (file_.size() > at_once_) return start();
    Work work;
    work.path = file_.path();
    work.read = read_;
    work.run();
    take(std::move(work.contents), std::move(work.why));
}

void FileTable::start() {
    if (work_) {
        again_ = true;
        return;
    }
    work_ = new Work;
    work_->owner = this;
    work_->path = file_.path();
    work_->read = read_;
    work_->request.data = work_;
    uv_queue_work(
        &loop_.uv(), &work_->request, [](uv_work_t* request) { static_cast<Work*>(request->data)->run(); },
        [](uv_work_t* request, int) {
            const std::unique_ptr<Work> work(static_cast<Work*>(request->data));
            auto* self = work->owner;
            if (!self) return;
            self->work_ = nullptr;
            self->take(std::move(work->contents), std::move(work->why));
            if (std::exchange(self->again_, false)) self->start();
            for (const auto& key : std::exchange(self->waiting_, {})) self->on_answer_(key);
        });
}

void FileTable::complain() { log_.warning("{}; mail that depends on it waits until it can be read", problem()); }

void FileTable::take(std::unique_ptr<const TableContents> contents, std::string why) {
    contents_ = std::move(contents);
    if (!contents_) {
        if (file_.failed(std::move(why)) == common::WatchedFile::Change::failed) complain();
        return;
    }
    file_.clear_problem();
    const auto& problems = contents_->problems();
    log_.info("table {}: {} entries", name_, contents_->entries());
    for (const auto& problem : problems.first())
        log_.warning("table {}, line {}: {}", name_, problem.line, problem.message);
    if (problems.count() > Problems::most)
        log_.warning("table {}: {} more lines like these", name_, problems.count() - Problems::most);
}

} // namespace tables
