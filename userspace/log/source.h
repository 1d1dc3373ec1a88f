// The bytes of a log, from a file or a pipe, unpacked where they are zstd frames.
//
// Plain stretches and frames may follow each other in any order: logs are joined by `cat`. Frames
// are recognised by their first bytes, which no record can have: as a record they would be one of
// 40 bytes whose first field has number 758. Whoever reads records looks for them at the border of
// a record (starts_frame()) and hands back what it has (unpack()); the end of a frame is found
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "userspace/log/descriptor.h"

struct ZSTD_DCtx_s;

namespace fairswitch {

class LogSource {
  public:
    // `name` is for messages.
    LogSource(Descriptor file, std::string name);

    // The next bytes of the log into `to`; 0 at the end. Throws Failure when reading fails.
    std::size_t read(std::span<std::byte> to);

    // The bytes read last stand in the file as they are.
    bool plain() const { return mode_ == Mode::kPlain; }

    static constexpr std::size_t kMagicBytes = 4;
    static bool starts_frame(std::span<const std::byte> bytes);
    // `bytes` were read last and begin a frame: from here on they are unpacked.
    void unpack(std::span<const std::byte> bytes);

    // Bytes of the file, packed or not, handed out or being unpacked.
    std::uint64_t bytes() const { return consumed_; }
    // At the end: bytes of a frame that the file ends in.
    std::uint64_t torn_bytes() const { return torn_bytes_; }
    // At the end: bytes from the begin of a frame that can't be unpacked.
    std::uint64_t corrupt_bytes() const { return corrupt_bytes_; }

  private:
    struct FreeContext {
        void operator()(ZSTD_DCtx_s* context) const;
    };

    std::size_t read_file(std::span<std::byte> to);
    bool fill();
    std::size_t read_plain(std::span<std::byte> to);
    std::size_t read_frame(std::span<std::byte> to);
    void cross_border();
    void give_up();

    const std::string name_;
    Descriptor file_;
    std::unique_ptr<ZSTD_DCtx_s, FreeContext> context_;  // made when the first frame is seen
    // At a border: the frame before has ended, and what follows hasn't been looked at yet, so that
    // a pipe isn't waited for before its records are handed out.
    enum class Mode { kPlain, kFrame, kBorder };
    Mode mode_ = Mode::kPlain;
    std::vector<std::byte> packed_;  // read from the file, not yet handed out
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::uint64_t consumed_ = 0;
    std::uint64_t frame_bytes_ = 0;  // of the frame being unpacked
    std::uint64_t torn_bytes_ = 0;
    std::uint64_t corrupt_bytes_ = 0;
};

}  // namespace fairswitch
