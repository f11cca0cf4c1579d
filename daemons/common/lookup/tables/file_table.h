// A table in a text file that is read again when it changes. Small files are read where
// they are queried; large ones on another thread, while the old content is still used.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/lookup/format/contents.h"
#include "daemons/common/lookup/tables/table.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/watched_file.h"
#include <set>

namespace tables {

class FileTable final : public Table {
public:
    // `name`: the specification, for logs and answers. Files of more than `at_once` bytes are read on another thread.
    FileTable(common::Loop& loop, common::Log& log, std::string name, std::string path, Read read, OnAnswer on_answer,
              std::uint64_t at_once = 1 << 20);
    ~FileTable() override;

    Answer find(std::string_view key, smtp::Now now) override;
    bool ask(const std::string& key, smtp::Now now) override;
    void refresh(smtp::Now now) override;
    std::string problem() const override;
    std::vector<Problem> problems() const override;

private:
    struct Work;
    void start();
    void complain();
    void take(std::unique_ptr<const TableContents> contents, std::string why);

    common::Loop& loop_;
    common::Log& log_;
    std::string name_;
    Read read_;
    OnAnswer on_answer_;
    std::uint64_t at_once_;
    common::WatchedFile file_;
    std::unique_ptr<const TableContents> contents_; // null: never read, or not readable
    Work* work_ = nullptr;                          // reading, on another thread
    bool again_ = false;                            // it changed meanwhile
    std::set<std::string> waiting_;                 // keys asked for while nothing had been read
};

} // namespace tables
