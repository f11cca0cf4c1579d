// The parameters of a table's file while they are read, each taken by its name; what is wrong with them, and those that
// have not been taken. Knows what Postfix has and we do not.
#pragma once
#include "daemons/common/lookup/database/parameters.h"
#include "daemons/common/lookup/database/table_file.h"
#include <set>

namespace tables {

class FileParameters {
public:
    explicit FileParameters(std::vector<Parameter> parameters) : parameters_(std::move(parameters)) {}

    std::string text(std::string_view name, std::string_view otherwise = {});
    std::vector<std::string> words(std::string_view name, std::string_view otherwise); // between blanks or commas
    bool yes_or_no(std::string_view name, bool otherwise);
    std::uint64_t number(std::string_view name, std::uint64_t otherwise, std::uint64_t least, std::uint64_t most);
    smtp::Duration time(std::string_view name, smtp::Duration otherwise, smtp::Duration least, smtp::Duration most);
    Template parsed_template(std::string_view name, std::string_view otherwise);

    void missing(std::string_view name);
    void refuse(std::string_view name, std::string why);
    void unsupported(std::string_view name, std::string why); // Postfix has it
    void note(std::string_view name, std::string why);

    // Those that are left are unknown, or without effect here. The notes.
    std::vector<std::string> finish(Kind kind);
    const std::vector<FileProblem>& problems() const { return problems_; }

private:
    const Parameter* find(std::string_view name) const;
    void report(std::string_view name, std::string why, bool is_unsupported);

    std::vector<Parameter> parameters_;
    std::set<std::string, std::less<>> taken_;
    std::vector<FileProblem> problems_;
    std::vector<std::string> notes_;
};

} // namespace tables
