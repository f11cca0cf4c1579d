#include "daemons/categorizer/lookup/user_files.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace categorizer {

using namespace std::chrono_literals;
using Said = UserFileAnswer::Said;
namespace uf = proto::user_files;

namespace {

constexpr std::size_t max_kept_files = 20'000, most_kept_bytes = 64 << 20;
// A second on a quiet system. While others are still being read, an expansion may wait for them all.
constexpr auto kept_for = 1s, kept_at_most = 60s;
constexpr auto patience = 60s;             // for `local`
constexpr auto file_warning_interval = 1h; // the same warning
constexpr std::size_t max_remembered_warnings = 1000;

} // namespace

UserFiles::UserFiles(common::DaemonContext& context, std::function<void(const UserFile&)> found)
    : context_(context), found_(std::move(found)), late_(context.loop, [this] { report_late_answers(); }),
      local_(context.loop, context.log, context.run_directory + "/private/local", uf::conversation, context.identity,
             {[this](uf::Message&& message) { on_message(std::move(message)); }, [this] { on_connected(); }}) {}

void UserFiles::configure(const config::Local& settings) {
    forward_ = !settings.delivery.forward.empty();
    cache_.clear();
    cache_bytes_ = 0;
}

smtp::Monotonic UserFiles::now() const {
    return smtp::Monotonic(std::chrono::milliseconds(uv_now(&context_.loop.uv())));
}

UserFileAnswer UserFiles::answer(const UserFile& file) {
    if (file.path.empty() && !forward_) return {};
    const auto kept = cache_.find(file);
    if (kept == cache_.end()) return {Said::not_yet, "", "", ""};
    if (now() < kept->second.at + (open_.empty() && !receiving_answers_ ? kept_for : kept_at_most))
        return kept->second.answer;
    cache_bytes_ -= kept->second.answer.text.size();
    cache_.erase(kept);
    return {Said::not_yet, "", "", ""};
}

void UserFiles::find(const UserFile& file) {
    const auto [open, fresh] = open_.try_emplace(file);
    if (!fresh) return;
    open->second = {++last_request_, now()};
    requests_.emplace(last_request_, file);
    send(last_request_, file); // or when it is up
    if (!late_.armed()) late_.start(patience);
}

// Lists name files in a few hundred bytes (alias_targets.h): a question fits a frame.
void UserFiles::send(std::uint64_t request, const UserFile& file) {
    static_cast<void>(local_.send(uf::Read{request, file.user, file.path, file.extension}));
}

// Questions sent over a previous connection will not be answered.
void UserFiles::on_connected() {
    for (const auto& [file, open] : open_) send(open.request, file);
}

void UserFiles::on_message(uf::Message&& message) {
    auto* answer = std::get_if<uf::Answer>(&message);
    if (!answer || answer->text.size() > uf::largest_file)
        return local_.fail("unexpected message: only Answer is accepted here");
    const auto request = requests_.find(answer->request);
    if (request == requests_.end()) return; // it came too late
    const UserFile file = request->second;
    UserFileAnswer out;
    out.path = std::move(answer->path);
    switch (answer->status) {
    case uf::Status::none: break;
    case uf::Status::found:
        out.said = Said::found;
        out.text = std::move(answer->text);
        break;
    case uf::Status::refused: refused(file, answer->why); break;
    case uf::Status::unreadable:
        out.said = Said::unreadable;
        out.why = std::move(answer->why);
        break;
    }
    known(file, std::move(out));
}

void UserFiles::known(const UserFile& file, UserFileAnswer&& answer) {
    const auto open = open_.extract(file);
    requests_.erase(open.mapped().request);
    if (cache_.size() >= max_kept_files || cache_bytes_ > most_kept_bytes) {
        cache_.clear();
        cache_bytes_ = 0;
    }
    if (const auto before = cache_.find(file); before != cache_.end())
        cache_bytes_ -= before->second.answer.text.size();
    cache_bytes_ += answer.text.size();
    cache_.insert_or_assign(file, CacheEntry{std::move(answer), now()});
    receiving_answers_ = true; // a question that waited for several has all of them now
    found_(open.key());
    receiving_answers_ = false;
}

void UserFiles::report_late_answers() {
    std::vector<UserFile> late;
    smtp::Monotonic next = smtp::Monotonic::max();
    for (const auto& [file, open] : open_) {
        if (now() >= open.since + patience)
            late.push_back(file);
        else
            next = std::min(next, open.since + patience);
    }
    if (next != smtp::Monotonic::max()) late_.start(next - now());
    for (const auto& file : late)
        if (open_.contains(file))
            known(file,
                  {Said::unreadable, "", "files of user " + file.user + ": the local daemon does not answer", ""});
}

void UserFiles::refused(const UserFile& file, const std::string& why) {
    warn(fmt::format("{}: not used; mail for {} is delivered as if the file did not exist", smtp::printable(why, 512),
                     smtp::printable(file.user, 64)));
}

void UserFiles::warn(const std::string& text) {
    if (last_warnings_.size() >= max_remembered_warnings) last_warnings_.clear();
    auto& told = last_warnings_[text];
    if (told != smtp::Monotonic{} && now() < told + file_warning_interval) return;
    told = now();
    context_.log.warning("{}", text);
}

} // namespace categorizer
