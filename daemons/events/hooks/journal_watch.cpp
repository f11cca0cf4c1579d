#include "daemons/events/hooks/journal_watch.h"
#include "libspool/journal/names.h"
#include "libspool/journal/segments/segment_list.h"

namespace events {

using namespace std::chrono_literals;
using spool::Result;

namespace {

constexpr smtp::Duration interval = 250ms;

// "": not written yet.
Result<std::string> read_node(spool::Disk& disk) {
    const auto file = disk.open(std::string(spool::journal::node_file), spool::Open::read);
    if (!file && file.error().code == ENOENT) return "";
    if (!file) return std::unexpected(file.error());
    std::string text(64, '\0');
    text.resize(TRY(disk.read(*file, 0, text)));
    while (text.ends_with('\n')) text.pop_back();
    return spool::journal::is_node_id(text) ? text : "";
}

// Without a disk: there is no journal yet.
Result<JournalWatch::View> look_at(JournalWatch::View view, const std::string& path) {
    if (!view.disk) {
        auto opened = spool::RealDisk::open_at(path);
        if (!opened && opened.error().code == ENOENT) return JournalWatch::View{};
        if (!opened) return std::unexpected(opened.error());
        view.disk = *std::move(opened);
    }
    if (view.node.empty()) { // the secret is made before it
        if (const auto secret = TRY(history::read_address_secret(*view.disk, ".")))
            view.hash = std::make_shared<const history::AddressHash>(*secret);
        view.node = TRY(read_node(*view.disk));
    }
    if (view.node.empty()) return JournalWatch::View{};
    view.published = TRY(spool::published_number(*view.disk, ".")).value_or(0);
    return view;
}

} // namespace

JournalWatch::JournalWatch(common::Loop& loop, std::string path, std::function<void(const View&)> looked,
                           std::function<void(const std::string&)> failed)
    : path_(std::move(path)), looked_(std::move(looked)), failed_(std::move(failed)), work_(loop),
      timer_(loop, [this] { look(); }) {
    look();
}

void JournalWatch::look() {
    auto result = std::make_shared<Result<View>>();
    work_.start([view = view_, path = path_, result] { *result = look_at(view, path); },
                [this, result] { take(std::move(*result)); });
}

void JournalWatch::take(Result<View> seen) {
    timer_.start(interval);
    const auto error = seen ? std::string() : seen.error().what;
    if (error != error_) failed_(error_ = error);
    if (!seen || !seen->disk) return;
    view_ = *std::move(seen);
    looked_(view_);
}

} // namespace events
