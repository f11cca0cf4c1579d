#include "tests/libspool/disk/fake_disk.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include "libspool/format/record.h"
#include <algorithm>
#include <random>

namespace spool::test {

namespace {
std::unexpected<Error> failed(const std::string& action, int code) {
    return std::unexpected(Error::from_errno(action, code));
}
std::string parent_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}
// "messages/A0/0123456789ABCD" → "messages/ID"; "incoming/1f/writer" → "incoming/writer"; "incoming/1f" →
// "incoming/SLOT".
std::string general(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return path;
    const auto last = path.substr(slash + 1);
    const auto root = path.substr(0, path.find('/'));
    if (QueueId::parse(last)) return root + "/ID";
    if (reused_file_named(last)) return root + "/REUSED";
    if (last.size() == 2) return root + (root == "incoming" ? "/SLOT" : "/HASH");
    return root + "/" + last;
}
} // namespace

FakeDisk::FakeDisk() {
    auto root = std::make_shared<Node>();
    root->directory = true;
    now_["."] = durable_["."] = root;
}

Result<> FakeDisk::change(bool& torn) {
    torn = false;
    if (off_) return failed("power is off", EIO);
    const auto number = operations_++;
    if (number == cut_at_) {
        off_ = torn = true;
        return {};
    }
    if (number == fail_at_) {
        torn = true;
        return {};
    }
    if (fail_all_ != 0) return failed("disk", fail_all_);
    return {};
}

#define CHANGE(action)                                                                                                 \
    bool torn;                                                                                                         \
    if (auto gate = change(torn); !gate) return std::unexpected(gate.error());                                         \
    const auto verdict = [&]() -> Result<> {                                                                           \
        if (!torn) return {};                                                                                          \
        return failed(action, off_ ? EIO : fail_code_);                                                                \
    };

void FakeDisk::apply(Tree& tree, const Change& change) {
    if (!change.from.empty()) tree.erase(change.from);
    if (!change.to.empty()) tree[change.to] = change.node;
}

// Changes that are wanted, and every earlier one they rest on (of the same file or the same name), become
// durable.
void FakeDisk::make_names_durable(const std::function<bool(const Change&)>& wanted) {
    std::vector<bool> take(pending_.size());
    for (std::size_t n = pending_.size(); n-- > 0;) {
        take[n] = take[n] || wanted(pending_[n]);
        if (!take[n]) continue;
        for (std::size_t m = 0; m < n; ++m) {
            const auto &a = pending_[m], &b = pending_[n];
            const auto same = [&](const std::string& x) { return !x.empty() && (x == b.from || x == b.to); };
            if (a.node == b.node || same(a.from) || same(a.to)) take[m] = true;
        }
    }
    std::vector<Change> rest;
    for (std::size_t n = 0; n < pending_.size(); ++n) {
        if (take[n])
            apply(durable_, pending_[n]);
        else
            rest.push_back(pending_[n]);
    }
    pending_ = std::move(rest);
}

Result<File> FakeDisk::open(const std::string& path, Open how) {
    const std::lock_guard lock(mutex_);
    if (off_) return failed("open " + path, EIO);
    auto found = now_.find(path);
    if (how == Open::create && found != now_.end()) return failed("create " + path, EEXIST);
    if (found == now_.end()) {
        if (how != Open::create && how != Open::upsert) return failed("open " + path, ENOENT);
        const auto parent = now_.find(parent_of(path));
        if (parent == now_.end() || !parent->second->directory) return failed("create " + path, ENOENT);
        CHANGE("create " + path);
        auto node = std::make_shared<Node>();
        if (!torn || off_) { // the name may be there when the power goes at this instant
            pending_.push_back({"", path, node});
            apply(now_, pending_.back());
        }
        if (auto bad = verdict(); !bad) return std::unexpected(bad.error());
        found = now_.find(path);
    }
    if ((how == Open::directory) != found->second->directory)
        return failed("open " + path, found->second->directory ? EISDIR : ENOTDIR);
    const int number = next_handle_++;
    handles_[number] = Handle{found->second, path, how != Open::read && how != Open::directory};
    return File(*this, number);
}

void FakeDisk::close(int number) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(number);
    if (found == handles_.end()) return; // from before a restart
    auto& node = *found->second.node;
    std::erase(node.locks, number);
    if (node.locks.empty()) node.exclusive = false;
    handles_.erase(found);
}

Result<std::size_t> FakeDisk::read(const File& file, std::uint64_t offset, std::span<char> into) {
    const std::lock_guard lock(mutex_);
    if (off_) return failed("read", EIO);
    const auto& bytes = handle(file).node->now;
    if (offset >= bytes.size()) return std::size_t{0};
    const auto n = std::min<std::size_t>(into.size(), bytes.size() - offset);
    std::copy_n(bytes.data() + offset, n, into.data());
    bytes_read_ += n;
    return n;
}

Result<> FakeDisk::write(const File& file, std::uint64_t offset, std::span<const std::string_view> parts) {
    const std::lock_guard lock(mutex_);
    CHANGE("write");
    if (!handle(file).writable) return failed("write", EBADF);
    std::string all;
    for (const auto& part : parts) all += part;
    if (torn) all.resize(all.size() / 2);
    auto& bytes = handle(file).node->now;
    if (bytes.size() < offset + all.size()) bytes.resize(offset + all.size());
    bytes.replace(offset, all.size(), all);
    // A record's type is in its fifth byte.
    handle(file).last_written = offset < header_size             ? " (log mark)"
                                : all.size() > 5 && all[4] == 29 ? " (checkpoint)"
                                                                 : " (records)";
    if (torn && fail_code_ == EIO) handle(file).node->finished = true;
    return verdict();
}

Result<std::uint64_t> FakeDisk::size(const File& file) {
    const std::lock_guard lock(mutex_);
    if (off_) return failed("size", EIO);
    return handle(file).node->now.size();
}

Result<> FakeDisk::truncate(const File& file, std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    CHANGE("truncate");
    if (!torn) handle(file).node->now.resize(size);
    return verdict();
}

Result<> FakeDisk::allocate(const File&, std::uint64_t, std::uint64_t) {
    const std::lock_guard lock(mutex_);
    CHANGE("allocate");
    return verdict();
}

Result<> FakeDisk::punch_hole(const File& file, std::uint64_t offset, std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    CHANGE("punch hole");
    auto& bytes = handle(file).node->now;
    if (!torn && offset < bytes.size())
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), std::min(size, bytes.size() - offset), '\0');
    return verdict();
}

Result<> FakeDisk::sync_any(const File& file, const char* kind, bool name_too) {
    const std::lock_guard lock(mutex_);
    CHANGE("sync");
    auto& h = handle(file);
    if (h.node->finished) synced_after_failure_ = true;
    if (torn) {
        h.node->finished = true;
        return verdict();
    }
    auto name = std::string(h.node->directory ? "directory" : kind) + " " + general(h.path);
    if (name.starts_with("data ") && name.ends_with("/ID")) name += h.last_written;
    sync_names_.insert(name);
    if (swallow_ && swallow_(name)) return {};
    ++syncs_done_;
    if (h.node->directory) {
        make_names_durable([&](const Change& c) {
            return (!c.from.empty() && parent_of(c.from) == h.path) || (!c.to.empty() && parent_of(c.to) == h.path);
        });
        return {};
    }
    h.node->durable = h.node->now;
    if (name_too && keeps_name) make_names_durable([&](const Change& c) { return c.node == h.node; });
    return {};
}

Result<> FakeDisk::sync(const File& file) { return sync_any(file, "file", true); }
Result<> FakeDisk::sync_data(const File& file) { return sync_any(file, "data", false); }

Result<Locked> FakeDisk::lock(const File& file, Lock kind) {
    const std::lock_guard lock(mutex_);
    if (off_) return failed("lock", EIO);
    auto& node = *handle(file).node;
    const bool mine = std::ranges::find(node.locks, file.handle()) != node.locks.end();
    const bool others = node.locks.size() > (mine ? 1u : 0u);
    if (others && (kind == Lock::exclusive || node.exclusive)) return Locked::held_by_another;
    if (!mine) node.locks.push_back(file.handle());
    node.exclusive = kind == Lock::exclusive;
    return Locked::yes;
}

Result<> FakeDisk::unlock(const File& file) {
    const std::lock_guard lock(mutex_);
    auto& node = *handle(file).node;
    std::erase(node.locks, file.handle());
    if (node.locks.empty()) node.exclusive = false;
    return {};
}

Result<> FakeDisk::rename(const std::string& from, const std::string& to) {
    const std::lock_guard lock(mutex_);
    if (off_) return failed("rename " + from, EIO);
    const auto found = now_.find(from);
    if (found == now_.end() || !now_.contains(parent_of(to))) return failed("rename " + from, ENOENT);
    CHANGE("rename " + from);
    if (!torn || off_) {
        pending_.push_back({from, to, found->second});
        apply(now_, pending_.back());
    }
    return verdict();
}

Result<> FakeDisk::unlink(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (off_) return failed("unlink " + path, EIO);
    const auto found = now_.find(path);
    if (found == now_.end()) return failed("unlink " + path, ENOENT);
    CHANGE("unlink " + path);
    if (!torn || off_) {
        pending_.push_back({path, "", found->second});
        apply(now_, pending_.back());
    }
    return verdict();
}

Result<> FakeDisk::make_directory(const std::string& path, unsigned) {
    const std::lock_guard lock(mutex_);
    if (off_) return failed("mkdir " + path, EIO);
    if (now_.contains(path)) return {};
    if (!now_.contains(parent_of(path))) return failed("mkdir " + path, ENOENT);
    CHANGE("mkdir " + path);
    if (torn) return verdict();
    auto node = std::make_shared<Node>();
    node->directory = true;
    pending_.push_back({"", path, node});
    apply(now_, pending_.back());
    return {};
}

Result<std::vector<std::string>> FakeDisk::list(const std::string& path) {
    if (const auto act = before_listing_) act();
    const std::lock_guard lock(mutex_);
    if (off_) return failed("list " + path, EIO);
    if (!now_.contains(path)) return failed("list " + path, ENOENT);
    std::vector<std::string> names;
    for (const auto& [each, node] : now_)
        if (each != "." && parent_of(each) == path) names.push_back(path == "." ? each : each.substr(path.size() + 1));
    return names;
}

void FakeDisk::restart(Keep keep, std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    std::mt19937_64 random(seed);
    const auto chance = [&] { return keep == Keep::by_seed && random() % 2 == 0; };
    if (keep == Keep::everything || keep == Keep::names_without_data) {
        make_names_durable([](const Change&) { return true; });
    } else if (keep == Keep::by_seed) {
        std::set<const Change*> lucky;
        for (const auto& c : pending_)
            if (chance()) lucky.insert(&c);
        make_names_durable([&](const Change& c) { return lucky.contains(&c); });
    }
    pending_.clear();
    // A directory nobody's name leads to any more takes what is in it along.
    std::erase_if(durable_, [&](const auto& entry) {
        for (auto path = entry.first; path != "."; path = parent_of(path))
            if (!durable_.contains(path)) return true;
        return false;
    });
    for (auto& [path, node] : durable_) {
        if (keep == Keep::everything) node->durable = node->now;
        if (keep == Keep::names_without_data && node->durable.size() < node->now.size())
            node->durable.resize(node->now.size(), '\0'); // the size got there, the data did not
        if (keep == Keep::by_seed) {
            // Page by page (small ones, to be nasty): written back or not; the size is one that was true.
            constexpr std::size_t page = 64;
            std::string mixed = node->durable;
            if (chance()) mixed.resize(node->now.size(), '\0');
            for (std::size_t at = 0; at < std::min(mixed.size(), node->now.size()); at += page)
                if (chance()) {
                    const auto n = std::min({page, mixed.size() - at, node->now.size() - at});
                    mixed.replace(at, n, node->now, at, n);
                }
            node->durable = mixed;
        }
        node->now = node->durable;
        node->locks.clear();
        node->exclusive = node->finished = false;
    }
    now_ = durable_;
    handles_.clear();
    off_ = false;
    cut_at_ = fail_at_ = UINT64_MAX;
    fail_all_ = 0;
}

std::vector<std::string> FakeDisk::paths() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [path, node] : now_)
        if (!node->directory) out.push_back(path);
    return out;
}

std::string FakeDisk::contents(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return now_.at(path)->now;
}

void FakeDisk::set_contents(const std::string& path, std::string bytes) {
    const std::lock_guard lock(mutex_);
    auto& node = now_[path];
    if (!node) node = std::make_shared<Node>();
    durable_[path] = node;
    node->now = node->durable = std::move(bytes);
}

bool FakeDisk::exists(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return now_.contains(path);
}

} // namespace spool::test
