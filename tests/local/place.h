// A directory that goes away with its test, and short ways to look into it.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

struct Place {
    Place() {
        char name[] = "/tmp/postrider-local-XXXXXX";
        path = mkdtemp(name);
    }
    ~Place() { std::filesystem::remove_all(path); }
    Place(const Place&) = delete;

    std::string text(const std::filesystem::path& file) const {
        std::ifstream in(path / file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    }
    void write(const std::filesystem::path& file, const std::string& content) const {
        std::ofstream(path / file, std::ios::binary) << content;
    }
    std::vector<std::string> names(const std::filesystem::path& directory) const {
        std::vector<std::string> out;
        for (const auto& entry : std::filesystem::directory_iterator(path / directory))
            out.push_back(entry.path().filename());
        return out;
    }
    std::filesystem::path path;
};
