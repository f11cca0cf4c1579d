// A directory that goes away with its test, and short ways to look into it. First among the members of whoever has one,
// so that it goes last.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

class TemporaryDirectory {
public:
    // With these directories in it.
    explicit TemporaryDirectory(std::initializer_list<std::string_view> directories = {}) {
        char name[] = "/tmp/postrider-test-XXXXXX";
        if (!mkdtemp(name)) throw std::runtime_error("no temporary directory can be made");
        path_ = name;
        for (const auto each : directories) std::filesystem::create_directories(path_ / each);
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;

    const std::filesystem::path& path() const { return path_; }

    // Of files in it, by their names from there.
    std::string text(const std::filesystem::path& file) const {
        std::ifstream in(path_ / file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }
    void write(const std::filesystem::path& file, const std::string& content) const {
        std::ofstream(path_ / file, std::ios::binary) << content;
    }
    std::vector<std::string> names(const std::filesystem::path& directory) const {
        std::vector<std::string> out;
        for (const auto& entry : std::filesystem::directory_iterator(path_ / directory))
            out.push_back(entry.path().filename());
        return out;
    }

private:
    std::filesystem::path path_;
};
