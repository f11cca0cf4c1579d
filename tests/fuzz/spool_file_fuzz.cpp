// A message file of any bytes. Checksums are mended first, so that what lies behind them is reached.
#include "libspool/format/crc32c.h"
#include "libspool/format/record.h"
#include "libspool/message/message_reader.h"
#include <cstring>

namespace {
// One file in memory, whatever its name.
class OneFile final : public spool::Disk {
public:
    explicit OneFile(std::string bytes) : bytes_(std::move(bytes)) {}
    spool::Result<spool::File> open(const std::string&, spool::Open) override { return spool::File(*this, 1); }
    spool::Result<std::size_t> read(const spool::File&, std::uint64_t offset, std::span<char> into) override {
        if (offset >= bytes_.size()) return std::size_t{0};
        const auto n = std::min<std::size_t>(into.size(), bytes_.size() - offset);
        std::memcpy(into.data(), bytes_.data() + offset, n);
        return n;
    }
    spool::Result<> write(const spool::File&, std::uint64_t, std::span<const std::string_view>) override { return {}; }
    spool::Result<std::uint64_t> size(const spool::File&) override { return bytes_.size(); }
    spool::Result<> truncate(const spool::File&, std::uint64_t) override { return {}; }
    spool::Result<> allocate(const spool::File&, std::uint64_t, std::uint64_t) override { return {}; }
    spool::Result<> punch_hole(const spool::File&, std::uint64_t, std::uint64_t) override { return {}; }
    spool::Result<> sync(const spool::File&) override { return {}; }
    spool::Result<> sync_data(const spool::File&) override { return {}; }
    spool::Result<spool::Locked> lock(const spool::File&, spool::Lock) override { return spool::Locked::yes; }
    spool::Result<> unlock(const spool::File&) override { return {}; }
    spool::Result<> rename(const std::string&, const std::string&) override { return {}; }
    spool::Result<> unlink(const std::string&) override { return {}; }
    spool::Result<> make_directory(const std::string&, unsigned) override { return {}; }
    spool::Result<std::vector<std::string>> list(const std::string&) override { return std::vector<std::string>{}; }
    spool::Result<spool::Space> space() override { return spool::Space{}; }

private:
    void close(int) noexcept override {}
    std::string bytes_;
};

void mend_header(std::string& bytes) {
    if (bytes.size() < spool::header_size) return;
    std::memcpy(bytes.data(), "Postrid\x1a", 8);
    std::memcpy(bytes.data() + 72, "SEAL", 4);
    const auto crc =
        spool::crc32c(std::string_view(bytes).substr(0, 124), spool::crc32c(std::string_view(bytes).substr(16, 8)));
    std::memcpy(bytes.data() + 124, &crc, 4);
}
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    std::string bytes(reinterpret_cast<const char*>(data), size);
    if (size > 0 && data[size - 1] % 2 == 1) mend_header(bytes);
    (void)spool::parse_log(bytes, spool::QueueId{256}, 1);
    OneFile disk(std::move(bytes));
    auto reader = spool::MessageReader::open_path(disk, "x");
    if (!reader) return 0;
    (void)reader->read_header();
    (void)reader->read_content(1 << 20);
    (void)reader->small_content();
    return 0;
}
