// A tool of the build: prints a source that holds the content of files. Usage: embed-files HEADER FILE …
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string name_of(const std::string& path) {
    auto name = path.substr(path.find_last_of('/') + 1);
    for (char& c : name)
        if (c == '.' || c == '-') c = '_';
    return name;
}

} // namespace

int main(int count, char** words) {
    if (count < 2) return 2;
    std::printf("#include \"%s\"\n\nnamespace http::pages {\n", words[1]);
    for (int i = 2; i < count; ++i) {
        std::ifstream file(words[i], std::ios::binary);
        if (!file) {
            std::fprintf(stderr, "%s: cannot be read\n", words[i]);
            return 1;
        }
        const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        const auto name = name_of(words[i]);
        std::printf("static constexpr char %s_bytes[] = {", name.c_str());
        for (const char c : content) std::printf("%d,", static_cast<signed char>(c));
        std::printf("};\nconst std::string_view %s(%s_bytes, sizeof %s_bytes);\n", name.c_str(), name.c_str(),
                    name.c_str());
    }
    std::puts("}");
    return 0;
}
