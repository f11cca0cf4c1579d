// A compiled table: a file of LMDB that `postrider map` (or Postfix's postmap) created from a text
// table. Queried in place, from the file's pages in memory; opened again when it was replaced.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/lookup/tables/table.h"
#include "daemons/common/runtime/watched_file.h"
#include <expected>
#include <functional>
#include <memory>

struct MDB_env;

namespace tables {

// One open file.
class LmdbFile {
public:
    // The error says why not, without the path.
    static std::expected<std::unique_ptr<LmdbFile>, std::string> open(const std::string& path);
    // As written, and in the form in which Postfix writes them (a NUL behind both). Never not_yet.
    Answer find(const std::string& key) const;
    // All entries in order; stops when `take` returns false. The error as above.
    std::expected<void, std::string>
    each(const std::function<bool(std::string_view key, std::string_view value)>& take) const;
    std::size_t entries() const;

private:
    struct Close {
        void operator()(MDB_env* env) const;
    };
    std::unique_ptr<MDB_env, Close> env_;
    unsigned database_ = 0;
};

class LmdbTable final : public Table {
public:
    LmdbTable(common::Log& log, std::string name, std::string path);
    ~LmdbTable() override;

    Answer find(std::string_view key, smtp::Now now) override;
    bool ask(const std::string&, smtp::Now) override { return false; }
    void refresh(smtp::Now now) override;
    std::string problem() const override;

private:
    common::Log& log_;
    std::string name_;
    common::WatchedFile watch_;
    std::unique_ptr<LmdbFile> file_; // null: never opened, or it cannot be
};

} // namespace tables
