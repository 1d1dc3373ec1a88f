// fairswitch-fuzz-seeds DIR: writes inputs for every target into DIR/TARGET/, from which the
// fuzzers set out. Real bytes where there are some.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/log_files.h"
#include "tests/unit/real_records.h"
#include "userspace/log/writer.h"

namespace {

namespace fs = std::filesystem;
using namespace fairswitch;
using namespace fairswitch::testing;

std::string contents(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

class Corpus {
  public:
    explicit Corpus(fs::path dir) : dir_(std::move(dir)) {}

    void add(const char* target, const std::string& input) {
        fs::create_directories(dir_ / target);
        std::ofstream(dir_ / target / ("seed-" + std::to_string(count_++)), std::ios::binary)
            << input;
    }

    std::string packed(const std::string& records) {
        const std::string path = dir_ / "packed";
        {
            LogWriter writer(path, some_header(), LogWriter::Packing::kZstd);
            writer.append(as_bytes(records));
            writer.close(End());
        }
        const std::string bytes = contents(path);
        fs::remove(path);
        return bytes;
    }

  private:
    const fs::path dir_;
    int count_ = 0;
};

std::string word(std::uint64_t value, std::size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
}

void add_binary(Corpus& corpus) {
    std::string all;
    for (const RealCase& real : kRealCases) {
        const std::string bytes = bytes_of_hex(real.hex);
        corpus.add("record", bytes);
        corpus.add("ring", word(1024 - 128, 8) + word(bytes.size(), 2) + bytes);
        all += bytes;
    }
    const std::string pad("\x86\x00\x5a\x83\x00\x7a\x80\x00", 8);
    corpus.add("ring", word(0, 8) + word(72, 2) + pad + marker(1));
    corpus.add("log", header_bytes() + all + end_bytes());
    corpus.add("log", header_bytes() + pad + header_bytes() + marker(1, 5) + marker(2, 9));
    corpus.add("log", corpus.packed(all));
    corpus.add("log", corpus.packed(marker(1)) + header_bytes() + end_bytes());
    corpus.add("packed_log", std::string("\0\xff", 2) + header_bytes() + marker(1) + end_bytes());
    corpus.add("packed_log", std::string("\x07\x04", 2) + header_bytes() + all);
}

void add_text(Corpus& corpus) {
    corpus.add("cyclictest",
               " Max CPUs = 2\n       0:       1:     103\n       0:       2:      99\n"
               "       1:       1:   -2147483648\nT: 0 ( 5634) P: 0 I:2777 C:    300 Min:     14 "
               "Act:   65 Avg:   68 Max:     108\n");
    corpus.add("cyclictest",
               "\1# Histogram\n000024 000002\t000000\n000025 000001\t000007\n# Total: 000000003 "
               "000000007\n# Histogram Overflows: 00295 00000\n# Histogram Overflow at cycle "
               "number:\n# Thread 0: 00001\n\033[2A");
    corpus.add("command_line", "cyclictest -t 1 -i 2777 -v --policy=other -o 10 -N");
    corpus.add("command_line", "cyclictest -mqv --interval=100 --nsecs --oscope 3 -r");
    for (const char* arm : {"stock", "dequeue-delayed", "lag-clamp=without,requeue-clock=with",
                            "dequeue-delayed+lag-clamp", "a,,b", "lag-clamp=maybe"}) {
        corpus.add("arm", arm);
    }
    for (const char* filter : {"\5"
                               "0,2-3",
                               "\1pick-keep,cancel-preempt", "\2hackbench", "\3latency>1ms",
                               "\4"
                               "50ms"}) {
        corpus.add("filter", filter);
    }
    corpus.add("waker",
               "# fairswitch waker 1\n# thread 0 interval_ns 1000000 busy_ns 200000\n0 17 "
               "120017000000 120017057311\nskip 0 18 2\ndropped 0 3\nend 0 slept 14998 skipped 2 "
               "dropped 3\n");
    const std::string source =
        "static void f(struct rq *rq)\n{\n\tif (g(rq)) /* \"*/\n\t\treturn;\n}\n";
    const std::string after =
        "static void f(struct rq *rq)\n{\n\tif (fsw_with(rq, FSW_V_LAG_CLAMP) && g(rq))\n\t\t"
        "return;\n}\n";
    for (const auto& entry : fs::recursive_directory_iterator(FAIRSWITCH_SOURCE "/module")) {
        if (entry.path().extension() != ".cocci") continue;
        corpus.add("semantic_patch", contents(entry.path()) + '\0' + source + '\0' + after);
    }
    corpus.add("semantic_patch", "// title: t\n// expect: f 1\n" + ('\0' + source) + '\0' + after);
    corpus.add("kallsyms",
               "ffffffff81000000 T _text\nffffffff81000000 t _stext\nffffffff81000040 t twice\n"
               "ffffffff81000080 t twice\nffffffffc0000000 t init\t[fairswitch]\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: fairswitch-fuzz-seeds DIR\n");
        return 2;
    }
    fs::remove_all(argv[1]);
    fs::create_directories(argv[1]);
    Corpus corpus(argv[1]);
    add_binary(corpus);
    add_text(corpus);
    return 0;
}
